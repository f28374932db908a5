"""The fused sweep of topic models over a sparse measure: the tests of the plain one, and specific ones."""

import numpy as np
import pytest
from fused_cases import corpus, franchise_over, lockstep, p_of, total_variation
from hdpkit.numerics import log
from production import exact_law, production_law
from sites import NEW
from test_fused_ends import STATES as SMALL
from test_fused_ends import at_the_ends, off_by
from test_fused_sites import VARIATION, drawn, law_at, standing

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError
from hdpkit.franchise.starts import start
from hdpkit.measures.selection import SelectionProportions
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps import _sweeps as sweeps
from hdpkit.steps.fused import _fused_topics as fused_topics
from hdpkit.testing.machines import same
from hdpkit.testing.pvalues import SampledTests

both_stores = pytest.mark.parametrize("store", ["explicit", "histogram"])

MEASURES = {
    "integrated": lambda: hk.SparseDirichletMultinomial(0.3, hk.Beta(1.0, 3.0)),
    "uniform": lambda: hk.SparseDirichletMultinomial(0.05),
    "given": lambda: hk.SparseDirichletMultinomial(0.7, 0.2),
    "nearly all terms": lambda: hk.SparseDirichletMultinomial(0.1, 0.999),
    "stored": lambda: hk.SparseDirichletMultinomial(0.3, hk.Beta(1.0, 3.0), proportions="stored"),
}


def state(measure, store, *, root=(20.0, 0.2), below=(3.0, 0.2), data=None, **settings):
    data = corpus(20, 50, 200) if data is None else data
    franchise = franchise_over(data, store, root=root, below=below, measure=measure, **settings)
    assert franchise.kernel("reseat") == "fused"
    return franchise


@pytest.fixture
def mean_proportions(monkeypatch):
    """Births draw nothing at random, so that kernels can be compared step by step."""

    def drawn_(self, slot, a, n, source):
        selection = self.state.measure.selection
        pi = (selection.r + a) / (selection.r + selection.s + self.state.measure.n_terms)
        return log(pi), log(1.0 - pi)

    monkeypatch.setattr(SelectionProportions, "_drawn", drawn_)


# ------------------------------------------------------------------ numbers


@both_stores
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.usefixtures("mean_proportions")
def test_every_site_of_a_sweep(name, store):
    franchise = state(MEASURES[name](), store)
    assert franchise.n_dishes >= 20
    doubles, floats = lockstep(franchise)
    assert sum(site.outcome == NEW for site in doubles) >= 5
    assert any(site.outcome % 2 for site in doubles)
    for exact, rounded in zip(doubles, floats, strict=True):
        assert total_variation(exact.law, rounded.law) <= VARIATION


def check_bounds(franchise):
    """What is kept by increments is what a recount gives, and nothing is above its bound."""
    root, ceiling, reach = fused_topics.bounds(franchise.bank)
    slots = franchise.slots.occupied_slots()
    counts = np.zeros((len(root), len(reach)), dtype=np.uint64)
    counts[slots] = franchise.bank.counts(slots)
    known = reach != np.uint64(2**64 - 1)
    assert np.array_equal(reach[known], (ceiling @ counts)[known])
    assert np.all(root <= ceiling * 2.0**-31)
    m = np.array([franchise.store.customers(0, slot) for slot in slots]) - franchise.hyperparameters.d[0]
    inside = franchise.bank.factors(slots)[:, 0]
    assert np.allclose(root[slots], m * inside, rtol=1e-6, atol=0.0)
    assert root.sum() == pytest.approx(root[slots].sum())
    assert np.array_equal(franchise.bank.sizes(slots)[0], (franchise.bank.counts(slots) > 0).sum(axis=1))
    return known


@both_stores
@pytest.mark.parametrize("name", ["integrated", "stored"])
def test_bounds_hold_whatever_happens_between_sweeps(name, store):
    franchise = state(MEASURES[name](), store)
    n, source = franchise.topology.n_customers, RandomStream((4, 4))
    between = [
        lambda: None,
        lambda: franchise.set_concentration("root", 0.1),
        lambda: moves.SplitMerge().apply(franchise, source),
        lambda: franchise.set_concentration("root", 300.0),
        lambda: moves.DishGibbs().apply(franchise, source),
        franchise.settle,
        lambda: franchise.bank.adopt(franchise.measure),
    ]
    if name == "stored":
        between.append(lambda: moves.SelectorCounts().apply(franchise, source))
    for change in between:
        change()
        franchise.reseat(0, n, source)
        assert check_bounds(franchise).any()
        franchise.reseat(n // 3, 2 * n // 3, source)
        check_bounds(franchise)
    franchise.audit()


@both_stores
@pytest.mark.parametrize("name", ["integrated", "stored"])
def test_the_chain_does_not_depend_on_what_is_remembered(name, store):
    """Neither the workspace, nor what the table of sums holds, nor how a sweep is cut."""
    remembers = state(MEASURES[name](), store)
    forgets = remembers.copy()
    n = remembers.topology.n_customers
    sources = [RandomStream((4, 5)) for _ in range(2)]
    for _ in range(2):
        remembers.reseat(0, n, sources[0])
        for first in range(0, n, 97):
            forgets.reseat(first, min(first + 97, n), sources[1])
            fused_topics.forget(forgets.bank)
            forgets.bank.adopt(forgets.measure)
        assert same(remembers.freeze(), forgets.freeze())


# ------------------------------------------------------------------ production's draws


def at_the_ends_of_sparsity(generator):
    """A sparse measure, near the ends of what its parameters may be as often as not."""
    smoothing = 10.0 ** generator.uniform(-6, 6 if generator.random() < 0.3 else 0)
    shapes = 10.0 ** generator.uniform(*((-6, 6) if generator.random() < 0.3 else (-1, 1)), size=2)
    kind = generator.integers(3)
    if kind == 0:
        return hk.SparseDirichletMultinomial(smoothing, float(10.0 ** generator.uniform(-6, -0.01)))
    proportions = "stored" if kind == 1 else "integrated"
    return hk.SparseDirichletMultinomial(smoothing, hk.Beta(*shapes.tolist()), proportions=proportions)


def campaign(configurations, seed):
    """Check every customer of so many random configurations; returns how many had each kernel."""
    generator, served = np.random.default_rng(seed), {"fused": 0, "generic": 0}
    while sum(served.values()) < configurations:
        documents, dishes = SMALL[generator.integers(len(SMALL))]
        data = hk.Corpus.from_documents(documents, n_terms=int(generator.choice([3, 10, 1000])))
        restaurant = hk.Restaurant(base=at_the_ends_of_sparsity(generator), concentration=1.0, discount=0.3)
        document = hk.Restaurant(base=restaurant, concentration=1.0, discount=0.3, each="document")
        franchise = hk.Franchise(document, data, store=str(generator.choice(["explicit", "histogram"])))
        start(franchise, np.array(dishes), Streams(1).source(STARTS))
        try:
            for each in ("root", "document"):
                theta, d = at_the_ends(generator) if generator.random() < 0.5 else (1.0, 0.2)
                franchise.hyperparameters.assign(each, concentration=theta, discount=d)
        except ParameterError:
            continue
        kernel = franchise.kernel("reseat")
        if kernel == "fused":
            for customer, node in enumerate(franchise.topology.home.tolist()):
                if franchise.seating.tables(node, franchise.seating.dish_of(customer)) == 1:
                    law, exact = production_law(franchise, customer), exact_law(franchise, customer)
                    assert off_by(law, exact) == [], (franchise.measure, customer)
        served[kernel] += 1
    return served


def test_the_law_at_the_ends_of_everything():
    served = campaign(40, 1)
    assert min(served.values()) >= 5


FAMILY = SampledTests()
KINDS = [(store, kind) for store in ("explicit", "histogram") for kind in ("stays", "closes")]
for store_, kind_ in KINDS:
    FAMILY.register(f"one step of production, sparse: {store_}, {kind_}")


@pytest.mark.parametrize(("store", "kind"), KINDS)
def test_one_step_of_production(store, kind):
    franchise = franchise_over(
        corpus(5, 24, 8),
        store,
        root=(10.0, 0.3),
        below=(4.0, 0.4),
        measure=hk.SparseDirichletMultinomial(0.6, hk.Beta(2.0, 2.0)),
        sweeps=4,
    )
    those = [i for i in range(franchise.topology.n_customers) if standing(franchise, i) == kind]
    customer = max(those, key=lambda i: law_at(franchise, i)[NEW])
    law, draws = law_at(franchise, customer), 20_000 if store == "explicit" else 5_000
    assert law[NEW] > 0.01
    FAMILY.check(
        f"one step of production, sparse: {store}, {kind}",
        lambda more, seed: [p_of(drawn(franchise, customer, more * draws, seed, store == "histogram"), law)],
    )


# ------------------------------------------------------------------ edges


@both_stores
def test_rows_that_grow_within_a_sweep(store):
    franchise = state(MEASURES["integrated"](), store, init="one", sweeps=0)
    franchise.set_concentration("root", 1e3)
    franchise.set_concentration("document", 10.0)
    franchise.reseat(0, franchise.topology.n_customers, RandomStream((2, 3)))
    assert len(fused_topics.bounds(franchise.bank)[0]) >= 64
    check_bounds(franchise)
    franchise.audit()


@pytest.mark.parametrize(
    ("measure", "root", "below"),
    [
        (hk.SparseDirichletMultinomial(1e4), (1.0, 0.0), (1.0, 0.0)),
        (hk.SparseDirichletMultinomial(0.3, hk.Beta(1e-6, 1e6)), (1.0, 0.0), (1.0, 0.0)),
        (hk.SparseDirichletMultinomial(0.3), (1e-12, 0.0), (1.0, 0.0)),
        (hk.SparseDirichletMultinomial(0.3), (1.0, 0.0), (1e-30, 0.0)),
        (hk.SparseDirichletMultinomial(0.3), (1.0, 0.0), (1.0, 1.0 - 2.0**-40)),
        (hk.SparseDirichletMultinomial(0.3), (1e200, 0.0), (1.0, 0.0)),
    ],
    ids=["smoothing", "selection", "root", "documents", "discount", "concentration"],
)
@both_stores
def test_beyond_its_range_the_generic_sweep_runs(measure, root, below, store):
    fused = franchise_over(corpus(4, 12, 30), store, measure=measure, root=root, below=below, sweeps=0)
    assert fused.kernel("reseat") == "generic"
    generic = fused.copy()
    n = fused.topology.n_customers
    fused.reseat(0, n, RandomStream((6, 1)))
    sweeps.reseat(generic.walk(), generic.bank, 0, n, RandomStream((6, 1)))
    assert same(fused.freeze(), generic.freeze())


def test_under_weights_the_generic_sweep_runs():
    franchise = franchise_over(
        corpus(4, 12, 30), "explicit", measure=MEASURES["uniform"](), above="weights", sweeps=1
    )
    assert franchise.kernel("reseat") == "generic"


# ------------------------------------------------------------------ many dishes, many customers
