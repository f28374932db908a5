"""A user-defined part of the state: a weight for each dish.

Weights w_k ~ Gamma(2, 1) are drawn when dishes are born, count in the log joint, are updated by a move, and
are saved and resumed with the rest of the state.
"""

import math
import tempfile
from pathlib import Path

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.protocol import accepts


class DishWeights(hk.Part):
    """A weight for each dish, by slot."""

    def __init__(self):
        self.of = {}

    def born(self, slot, source, customers):
        self.of[slot] = source.gamma(2.0)

    def died(self, slot):
        del self.of[slot]

    def relabelled(self, mapping):
        self.of = {int(mapping[slot]): weight for slot, weight in self.of.items()}

    def reset(self, slots):
        self.of = dict.fromkeys(slots.tolist(), 2.0)  # until they are drawn or thawed

    def started(self, state, source):
        self.of = {slot: source.gamma(2.0) for slot in self.of}

    def audit(self, slots):
        if sorted(self.of) != slots.tolist():
            raise hk.errors.AuditError("weights", sorted(self.of), slots.tolist(), "Report it.")

    def freeze(self):
        return {str(slot): weight for slot, weight in self.of.items()}

    def thaw(self, frozen):
        self.of = {int(slot): weight for slot, weight in frozen.items()}

    def log_density(self, state):
        return sum(math.log(weight) - weight for weight in self.of.values())

    def scalars(self, state):
        return {"mean": sum(self.of.values()) / max(len(self.of), 1)}


class UpdateWeights(moves.Move):
    """Metropolis on the logarithm of each weight."""

    continuous, updates = True, ("weights",)

    def apply(self, state, rng, steps=None):
        part, accepted = state.components["weights"], 0
        for slot, weight in sorted(part.of.items()):
            other = weight * math.exp(rng.normal())
            if accepts(2.0 * math.log(other / weight) + weight - other, rng):
                part.of[slot], accepted = other, accepted + 1
        return moves.MoveInfo(len(part.of), accepted)


SCHEDULE = hk.Scheduler([moves.TableGibbs(), UpdateWeights()])


def declare():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.5)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=0.7, each="document"), corpus)
    franchise.register("weights", DishWeights())
    return franchise


def main(folder):
    SCHEDULE.run(declare(), sweeps=500, rng=0, folder=folder)
    trace = hk.open_run(folder, allow=[DishWeights, UpdateWeights]).resume(sweeps=500)
    mean = trace["weights/mean"].mean()
    print(f"{trace['n_dishes'].mean():.2f} dishes on average, with weights of {mean:.2f}")
    return trace


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as kept:
        main(Path(kept) / "run")
