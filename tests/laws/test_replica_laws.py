"""Sweeps over documents at powers of the likelihood, and whole sweeps of all chains: sampled laws."""

import numpy as np
from one_sample import one_sample_p
from replica_checks import Joint
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import Streams
from hdpkit.run.sweeps import Ensemble
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
DRAWS = 2000

FAMILY.register("powers of topics", 3)
FAMILY.register("all chains")


def test_powers_of_topics_have_their_law():
    # All customers eat one dish: its topic is Dirichlet(eta + power counts), each entry of which is beta.
    power, counts = 0.4, np.array([7, 1, 0])
    measure = hk.DirichletMultinomial(0.5, n_terms=3).tempered(power)
    corpus = hk.Corpus.from_counts(counts[None])
    base = hk.Restaurant(base=measure, concentration=1e-30)
    franchise = hk.Franchise(
        hk.Restaurant(base=base, concentration=1.0, each="document"), corpus, store="counts", root="weights"
    )
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, init="one")
    shapes = 0.5 + power * counts
    slots, occupied = np.array([0, 1], dtype=np.int32), np.array([True, False])

    def run(more, seed):
        source, found = Streams(seed).source(1), []
        drawn = [
            measure.draw_term_weights(franchise.bank, slots, occupied, source) for _ in range(DRAWS * more)
        ]
        for place in (0, 2):
            entries = np.array(drawn)[:, 0, place] ** (1.0 / power)
            found.append(_uniform(stats.beta(shapes[place], shapes.sum() - shapes[place]).cdf(entries)))
        entries = np.array(drawn)[:, 1, 1] ** (1.0 / power)
        return [*found, _uniform(stats.beta(0.5, 1.0).cdf(entries))]

    FAMILY.check("powers of topics", run)


def _uniform(numbers):
    bins = np.minimum((numbers * 20).astype(int), 19)
    return one_sample_p(np.bincount(bins, minlength=20), np.full(20, 0.05))


def test_a_sweep_of_all_chains_leaves_their_joint_law_invariant():
    joint = Joint((1.0, 0.5), "2+1")
    schedule = [moves.TableGibbs(), joint.move, moves.DishGibbs(), joint.move]

    def run(more, seed):
        generator, counts = np.random.default_rng(seed), np.zeros(len(joint.states), dtype=np.int64)
        streams = Streams(seed)
        own = joint.models[0].franchise
        ensemble = Ensemble.of(schedule, own, streams)
        starts = generator.choice(len(joint.states), DRAWS * more, p=joint.pi / joint.pi.sum())
        for sweep, start in enumerate(starts.tolist()):
            for model, number in zip(joint.models, joint.states[start], strict=True):
                model.enter(number)
            for place, move in enumerate(schedule):
                ensemble.apply(move, place + 1, sweep, streams)
            counts[joint.place[tuple(model.read() for model in joint.models)]] += 1
        return one_sample_p(counts, joint.pi / joint.pi.sum())

    FAMILY.check("all chains", run)
