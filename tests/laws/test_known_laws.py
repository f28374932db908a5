"""Known components under sweeps over documents: the law of whole sweeps, of customers and by cell."""

from collections import defaultdict

import numpy as np
import pytest
from exact_bursts import ExactBurstyModel
from marginals import dirichlet_multinomial_log_marginal
from montecarlo import swept
from one_sample import one_sample_p

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams
from hdpkit.testing.exact import ExactModel
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)
MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
KNOWN = hk.Known([[0.7, 0.3, 0.0], [0.2, 0.2, 0.6]], counts=5, frozen=[True, False])
# Restaurants above the documents, whether one is held, the root, and the move.
CELLS = {
    "customers of known dishes, by cell": (None, False, "weights", moves.CountGibbs()),
    "the same while a group is held": (None, True, "weights", moves.CountGibbs()),
    "the same with a level above the documents": (["a", "a"], False, "weights", moves.CountGibbs()),
    "the same while a group is held, one without the level": (
        ["a", None],
        True,
        "weights",
        moves.CountGibbs(),
    ),
    "by cell in a finite model": (None, False, hk.FixedWeights(3), moves.CountGibbs()),
    "by cell in a finite model of three levels": (["a", "a"], False, hk.FixedWeights(3), moves.CountGibbs()),
    "by customer in a finite model of three levels": (
        ["a", None],
        True,
        hk.FixedWeights(4),
        moves.SliceGibbs(),
    ),
    "by customer with a level above the documents": (["a", "a"], False, "weights", moves.SliceGibbs()),
}
for one in CELLS:
    FAMILY.register(one)
# The move, the kernel, and concentration and discount of topics that differ by document.
BURSTS = {
    "topics that differ by document, by cell": (moves.CountGibbs(), "auto", (0.8, 0.0), hk.FixedWeights(3)),
    "the same without a fixed number of topics": (moves.CountGibbs(), "auto", (0.8, 0.0), "weights"),
    "the same by customer": (moves.SliceGibbs(), "auto", (0.8, 0.3), "weights"),
    "the same by readable code": (moves.SliceGibbs(), "reference", (0.8, 0.3), hk.FixedWeights(3)),
}
for one in BURSTS:
    FAMILY.register(one)


def check_chain(case, law, schedule, begin, read, sweeps, init="auto"):
    """Every sixth state of a chain, read, against the law."""
    keys = sorted(law)

    def run(more, seed):
        found = dict.fromkeys(keys, 0)
        for state in swept(schedule, begin.copy(), sweeps * more, seed % 2**31, init):
            found[read(state)] += state.sweep % 6 == 0
        return one_sample_p(np.array([found[key] for key in keys]), np.array([law[key] for key in keys]))

    FAMILY.check(case, run)


LATER = ("by cell in a finite model", "by customer with a level above the documents")


@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=pytest.mark.long if one in LATER else []) for one in CELLS]
)
def test_cells_of_known_dishes_have_their_law(case):
    types, hold, root, move = CELLS[case]
    counts = np.array([[1, 1, 0], [0, 1, 1]])
    base = hk.Restaurant(MEASURE, concentration=1.5)
    if types is not None:
        base = hk.Restaurant(base, concentration=1.2, each="type")
    document = hk.Restaurant(base, concentration=0.7, each="document")
    corpus = hk.Corpus.from_counts(counts, groups=None if types is None else {"type": types})
    finite = isinstance(root, hk.FixedWeights)
    of_exact = root if finite else "restaurant"
    exact = hk.Franchise(document, corpus, store="counts", kernel="generic", known=KNOWN, root=of_exact)
    start(exact, "one", Streams(0).source(STARTS))
    schedule = [
        move,
        *([moves.TableCounts()] if types is None else ()),
        *(() if finite else [moves.RootWeights()]),
    ]
    begin = hk.Franchise(document, corpus, store="counts", root=root, known=KNOWN)
    hk.Scheduler(schedule).run(begin, sweeps=1, rng=1)
    if hold:
        begin.hold([0])
        start(exact, begin.dishes, Streams(0).source(STARTS))
        exact.hold([0])
    model = ExactModel(exact, WITNESS)
    law = defaultdict(float)
    for p, (dishes, _) in zip(model.pi, model.states, strict=True):
        # The last two customers are the components: their labels are those of their dishes.
        law[sum(d == dishes[-2] for d in dishes[:-2]), sum(d == dishes[-1] for d in dishes[:-2])] += p

    def components(state):
        return int(np.sum(state.dishes == 0)), int(np.sum(state.dishes == 1))

    check_chain(case, law, schedule, begin, components, 1800, None if hold else "auto")


@pytest.mark.parametrize("case", BURSTS)
def test_terms_of_known_dishes_that_repeat_have_their_law(case):
    """Customers of each component, and the tables of all terms."""
    move, kernel, bursts, root = BURSTS[case]
    inner = DirichletMultinomialReference(0.5, n_terms=3) if kernel == "reference" else MEASURE
    base = hk.Restaurant(hk.Bursty(inner, *bursts), concentration=1.5)
    document = hk.Restaurant(base, concentration=0.7, each="document")
    corpus = hk.Corpus.from_counts(np.array([[2, 0, 0], [0, 1, 1]]))
    finite = isinstance(root, hk.FixedWeights)
    single = {"store": "counts", "kernel": "generic" if kernel == "auto" else kernel}  # not by cell
    exact = hk.Franchise(document, corpus, **single, known=KNOWN, root=root if finite else "restaurant")
    start(exact, "one", Streams(0).source(STARTS))
    schedule = [move, moves.TableCounts(), *(() if finite else [moves.RootWeights()])]
    begin = hk.Franchise(document, corpus, store="counts", root=root, known=KNOWN, kernel=kernel)
    hk.Scheduler(schedule).run(begin, sweeps=1, rng=1)
    model, law = ExactBurstyModel(exact, WITNESS), defaultdict(float)
    for p, ((dishes, _), (opens, _)) in zip(model.pi, model.states, strict=True):
        eaten = np.array(dishes[:-2])
        law[int(np.sum(eaten == dishes[-2])), int(np.sum(eaten == dishes[-1])), sum(opens)] += p

    def components_and_tables(state):
        tables = int(state.totals_in_dishes()[1].sum())
        return int(np.sum(state.dishes == 0)), int(np.sum(state.dishes == 1)), tables

    check_chain(case, law, schedule, begin, components_and_tables, 600 if kernel == "reference" else 1800)
