"""The exact-kernel test where selection proportions are stored: a state is a seating and a pi for every dish.

A birth draws pi, which can't be enumerated. It is scripted: the density of a transition is the probability of
its discrete branches (the number of selected terms is one of them) times the density of pi.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.base_measures.proportions import NAME
from hdpkit.checks import instance, positive_number
from hdpkit.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import ScriptedSource, Streams
from hdpkit.stores import FrozenSeating
from hdpkit.testing.exact import TOLERANCE, ExactFailure, ExactModel
from hdpkit.testing.geweke import apply_moves
from hdpkit.testing.marginals import selected_numbers, sparse_dirichlet_multinomial_log_marginal
from hdpkit.testing.pvalues import one_sample_p

__all__ = ["SELECTION_P_VALUES", "ExactSelectionModel", "check_selection_balance", "one_step_of_selections"]

Floats = npt.NDArray[np.float64]
Point = tuple[int, tuple[float, ...]]

FRESH = 0.37  # pi of the dishes that are born in a script
DIGITS = 11  # by which points are told apart
BINS = 10

SELECTION_P_VALUES = ("seating", "first dish", "second dish")


class ExactSelectionModel(ExactModel):
    """A tiny franchise with stored selection proportions: every seating, and the law of pi given each.

    p(seating, pi | data) is the posterior of the seating, with pi integrated out, times p(pi_k | data of the
    dish) for every dish: a mixture of beta laws over the number of selected terms, found by going through all
    subsets of the vocabulary. Dishes are in order of their first customer.
    """

    def __init__(self, franchise: Franchise) -> None:
        measure: Any = franchise.measure
        smoothing, self.n_terms = float(measure.smoothing), int(measure.n_terms)
        self.r_s = float(measure.selection.r), float(measure.selection.s)
        witness = sparse_dirichlet_multinomial_log_marginal(smoothing, self.n_terms, self.r_s)
        super().__init__(franchise, witness)
        self.mixtures: list[list[Floats]] = []
        for frozen in self._frozen:
            dishes = FrozenSeating.of(frozen["seating"]).dishes
            blocks = [np.flatnonzero(dishes == dish) for dish in dict.fromkeys(dishes.tolist())]
            laws = [
                np.array(selected_numbers(smoothing, self.n_terms, [self.values[i] for i in block], self.r_s))
                for block in blocks
            ]
            self.mixtures.append([law / law.sum() for law in laws])

    def enter(self, state: int, proportions: Sequence[float] | Floats | None = None) -> Franchise:
        """Put the franchise into a state, with these proportions of its dishes."""
        frozen = self._frozen[state]
        parts = {name: part for name, part in frozen["components"].items() if name != NAME}
        if proportions is not None:
            given = np.asarray(proportions, dtype=float)
            parts[NAME] = {"logs": np.stack([np.log(given), np.log1p(-given)], axis=1)}
        self.franchise._freezing.take_over({**frozen, "components": parts})
        return self.franchise

    def proportions(self) -> Floats:
        """Proportions that the franchise has now, dishes in order of their first customer."""
        part: Any = self.franchise.measure_parts[NAME]
        order = list(dict.fromkeys(self.franchise.dishes.tolist()))
        of_dishes: Floats = part.proportions()[order]
        return of_dishes

    def density(self, state: int, proportions: Sequence[float] | Floats) -> float:
        """p(seating, proportions | data), with respect to the proportions."""
        from scipy.stats import beta

        r, s = self.r_s
        total, R = float(self.pi[state]), np.arange(self.n_terms + 1)
        for law, x in zip(self.mixtures[state], proportions, strict=True):
            total *= float(np.dot(law, beta.pdf(x, r + R, s + self.n_terms - R)))
        return total

    def drawn(self, state: int, generator: np.random.Generator) -> Floats:
        """Exact draws of the proportions given a seating."""
        r, s = self.r_s
        R = [generator.choice(len(law), p=law) for law in self.mixtures[state]]
        return np.array([generator.beta(r + n, s + self.n_terms - n) for n in R])

    def uniform(self, state: int, proportions: Floats) -> list[float]:
        """Distribution functions of the proportions given a seating: uniform numbers."""
        from scipy.stats import beta

        r, s = self.r_s
        R = np.arange(self.n_terms + 1)
        return [
            float(np.dot(law, beta.cdf(x, r + R, s + self.n_terms - R)))
            for law, x in zip(self.mixtures[state], proportions, strict=True)
        ]

    def generic_proportions(self, state: int) -> Floats:
        """Proportions of which no two are the same."""
        n = len(self.mixtures[state])
        return np.sqrt(np.arange(2.0, n + 2.0) + state % 7) / 5.0

    def transitions(
        self, move: Move, step: int, state: int, proportions: Sequence[float] | Floats, fresh: float
    ) -> dict[Point, tuple[float, Floats]]:
        """Density of every end of a step, all births of which draw this proportion.

        Returns
        -------
        dict
            (state, rounded proportions) to (density, proportions). Where a dish is born the density is with
            respect to its proportion, else it is a probability.
        """
        ends: dict[Point, tuple[float, Floats]] = {}
        source, total = ScriptedSource(continuous=[fresh]), 0.0
        while True:
            move.apply(self.enter(state, proportions), source, (step, step + 1))
            after = self.proportions()
            flow = source.probability
            total += flow
            if source.values:
                flow *= math.exp(source.log_density)
            point = self.read(), tuple(np.round(after, DIGITS).tolist())
            ends[point] = ends.get(point, (0.0, after))[0] + flow, after
            if not source.advance():
                break
        if not abs(total - 1.0) <= TOLERANCE:
            raise ExactFailure(f"{move.name}, step {step}: probabilities sum to {total!r}")
        return ends


def check_selection_balance(model: ExactSelectionModel, move: Move, *, tolerance: float = TOLERANCE) -> int:
    """Check detailed balance of every step of a move with respect to p(seating, proportions | data).

    From every seating with generic proportions, to every end and back. Returns the number of pairs.

    Raises
    ------
    ExactFailure
        Naming the step and the error.
    """
    instance(
        "model", model, ExactSelectionModel, "an ExactSelectionModel", remedy="ExactSelectionModel(...)."
    )
    instance("move", move, Move, "a move", remedy="Pass an instance: MyMove(), not MyMove.")
    positive_number("tolerance", tolerance)
    pairs = 0
    for step in range(move.n_steps(model.franchise)):
        for state in range(len(model.states)):
            given = model.generic_proportions(state)
            here: Point = state, tuple(np.round(given, DIGITS).tolist())
            for (after, _), (flow, ends) in model.transitions(move, step, state, given, FRESH).items():
                if after < state:  # that pair was looked at from the other side
                    continue
                # The way back gives birth to the dish that died, if one did, with the proportion that it had.
                dead = [x for x in given.tolist() if np.abs(ends - x).min(initial=1.0) > 1e-10]
                back = model.transitions(move, step, after, ends, dead[0] if dead else FRESH)
                there = model.density(state, given) * flow
                again = model.density(after, ends) * back.get(here, (0.0, ends))[0]
                if not abs(there - again) <= tolerance * max(1.0, there):
                    raise ExactFailure(
                        f"{move.name}, step {step}, {model.franchise!r}: detailed balance of seating, "
                        f"pi: {model.states[state]} to {model.states[after]}: {there!r} and {again!r}"
                    )
                pairs += 1
    return pairs


def one_step_of_selections(
    model: ExactSelectionModel, moves: Move | Sequence[Move], draws: int, seed: int
) -> dict[str, float]:
    """P-values of the hypothesis that moves leave p(seating, proportions | data) invariant.

    Seatings and proportions are drawn exactly, the moves are applied once, whole, with a `RandomStream`. The
    seatings that result must have their law, and given them the proportions of the first and of the second
    dish theirs.

    Returns
    -------
    dict of str to float
        Under the names of `SELECTION_P_VALUES`.
    """
    schedule = [moves] if isinstance(moves, Move) else list(moves)
    streams = Streams(seed)
    exact = streams.source(1).generator
    starts = exact.choice(len(model.pi), size=draws, p=model.pi / model.pi.sum())
    ends = np.empty(draws, dtype=np.int64)
    found: list[list[float]] = [[], []]
    for number, start in enumerate(starts.tolist()):
        franchise = model.enter(start, model.drawn(start, exact))
        apply_moves(franchise, schedule, streams.source(2, number))
        ends[number] = state = model.read()
        for values, u in zip(found, model.uniform(state, model.proportions()), strict=False):
            values.append(u)
    p_values = [one_sample_p(np.bincount(ends, minlength=len(model.pi)), model.pi / model.pi.sum())]
    for values in found:
        bins = np.minimum(np.array(values) * BINS, BINS - 1).astype(int)
        p_values.append(one_sample_p(np.bincount(bins, minlength=BINS), np.full(BINS, 1.0 / BINS)))
    return dict(zip(SELECTION_P_VALUES, p_values, strict=True))
