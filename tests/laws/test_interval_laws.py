"""Calibration of intervals: parameters and data from the model, a chain, and where the truth lies."""

import importlib

import attrs
import numpy as np
import pytest
from one_sample import one_sample_p

import hdpkit as hk
from hdpkit import moves
from hdpkit.posterior.alignment import TermVectors
from hdpkit.posterior.components import Components
from hdpkit.testing.pvalues import SampledTests

ETA, GAMMA, ALPHA = 0.2, 1.0, 3.0
PSEUDO = np.repeat([[10, 0], [0, 10]], 3, axis=1)  # no other dish is as similar to their mean topics
SEEN, DOCUMENTS = 8, 3  # customers of a document
STICKS = 60
AFTER, EVERY, STATES = 20, 3, 38
LEVELS = (0.9, 0.5)
READ = ("topic", "share")
REPLICATES = {"short": 8, "long": 500}


@attrs.frozen
class Case:
    """What a franchise is made of."""

    store: str
    root: object
    schedule: tuple
    by_cell: bool = False


CASES = {
    "finite, by cell": Case("counts", hk.FixedWeights(2), (moves.CountGibbs(),), by_cell=True),
    "weights": Case("counts", "weights", (moves.SliceGibbs(), moves.TableCounts(), moves.RootWeights())),
    "restaurant": Case("histogram", "restaurant", (moves.TableGibbs(), moves.DishGibbs())),
}
FAMILY = SampledTests()
RUNS = {f"{name}, {size}": (name, size) for name in CASES for size in REPLICATES}
for one in RUNS:
    FAMILY.register(one, READ)


def of_the_model(case, generator):
    """Documents, and the true topic and share of the first component."""
    known = len(PSEUDO)
    if case.root in ("weights", "restaurant"):
        first = generator.dirichlet([1.0, 1.0, GAMMA])
        broken = generator.beta(1.0, GAMMA, size=STICKS)
        broken[-1] = 1.0
        psi = np.append(first[:known], first[known] * broken * np.append(1.0, np.cumprod(1.0 - broken[:-1])))
    else:
        psi = np.full(known, 1.0 / known)
    shapes = np.full((len(psi), PSEUDO.shape[1]), ETA)
    shapes[:known] += PSEUDO
    topics = np.array([generator.dirichlet(row) for row in shapes])
    # Shapes that are nearly 0 may give a sum of 0.
    shares = np.array([generator.gamma(np.maximum(ALPHA * psi, 1e-12)) for _ in range(DOCUMENTS)])
    shares /= shares.sum(axis=1, keepdims=True)
    dishes = [generator.choice(len(psi), size=SEEN, p=row) for row in shares]
    words = [[int(generator.choice(len(topics[k]), p=topics[k])) for k in row] for row in dishes]
    return words, dict(zip(READ, map(float, (topics[0, 0], shares[0, 0])), strict=True))


def franchise_of(case, words):
    root = hk.Restaurant(hk.DirichletMultinomial(ETA), concentration=GAMMA)
    document = hk.Restaurant(root, concentration=ALPHA, each="document")
    corpus = hk.Corpus.from_documents(words, n_terms=PSEUDO.shape[1])
    if case.by_cell:
        corpus = hk.Corpus.from_counts(corpus.to_counts())
    rows = PSEUDO / PSEUDO.sum(axis=1, keepdims=True)
    known = hk.Known(rows, counts=int(PSEUDO[0].sum()))
    return hk.Franchise(document, corpus, store=case.store, root=case.root, known=known)


def law_of(draws):
    """Probabilities of the places: of a draw among quantiles of other draws, interpolated between them."""
    tails = np.array([0.05, 0.25, 0.75, 0.95])
    return np.diff([0.0, *((draws - 1) * tails + 1) / (draws + 1), 1.0])


def place(truth, ends):
    """Between which ends of intervals the truth lies, of the wider one first."""
    (low, high), (inner_low, inner_high) = ends
    return sum(truth > end for end in (low, inner_low, inner_high, high))


def one_replicate(case, generator):
    """The place of each truth in its intervals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "hdpkit.posterior.components.halves_of", lambda samples: np.zeros(len(samples), dtype=np.int64)
        )
        for module in ("components", "intervals"):
            own = int(generator.integers(2**31))
            patch.setattr(importlib.import_module(f"hdpkit.posterior.{module}"), "_SEED", own)
        return places(case, generator)


def places(case, generator):
    """The same with the seeds as they are."""
    words, truth = of_the_model(case, generator)
    franchise = franchise_of(case, words)
    samples = hk.Samples(after=AFTER, every=EVERY)
    seed = int(generator.integers(2**31))
    trace = hk.Scheduler(case.schedule).run(
        franchise, AFTER + EVERY * STATES, rng=seed, samples=samples, record={}
    )
    ends = {name: [] for name in READ}
    drawn = list(trace.samples)
    labels = [np.where(sample.ids < len(PSEUDO), sample.ids, -1) for sample in drawn]
    for level in LEVELS:
        aligned = Components(drawn, labels, TermVectors(drawn), level)
        k = int(aligned.which(drawn[0])[0])
        ends["topic"].append((aligned.rows_lower[k, 0], aligned.rows_upper[k, 0]))
        ends["share"].append((aligned.group_shares_lower[0, k], aligned.group_shares_upper[0, k]))
    return {name: place(truth[name], ends[name]) for name in READ}


@pytest.mark.parametrize("name", RUNS)
def test_truths_lie_in_intervals_as_often_as_they_should(name):
    case, size = CASES[RUNS[name][0]], RUNS[name][1]

    def run(more, seed):
        generator = np.random.default_rng(seed)
        found = [one_replicate(case, generator) for _ in range(REPLICATES[size] * more)]
        return {
            # They have many draws for each state.
            read: one_sample_p(np.bincount([one[read] for one in found], minlength=5), law_of(STATES * 6))
            for read in READ
        }

    FAMILY.check(name, run)
