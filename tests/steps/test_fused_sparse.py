"""The fused sweep of topic models over a sparse measure: the tests of the plain one, and specific ones."""

import numpy as np
import pytest
from fused_cases import corpus, franchise_over, lockstep, p_of, total_variation
from hdpkit.numerics import log
from sites import NEW
from test_fused_ends import STATES as SMALL
from test_fused_ends import at_the_ends, campaign
from test_fused_sites import VARIATION, drawn, law_at, standing

import hdpkit as hk
from hdpkit.franchise.starts import start
from hdpkit.measures.proportions import SelectionProportions
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps import _sweeps as sweeps
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


def at_the_ends_of_sparsity(generator):
    """A sparse measure, near the ends of what its parameters may be as often as not."""
    smoothing = 10.0 ** generator.uniform(-6, 6 if generator.random() < 0.3 else 0)
    shapes = 10.0 ** generator.uniform(*((-6, 6) if generator.random() < 0.3 else (-1, 1)), size=2)
    kind = generator.integers(3)
    if kind == 0:
        return hk.SparseDirichletMultinomial(smoothing, float(10.0 ** generator.uniform(-6, -0.01)))
    proportions = "stored" if kind == 1 else "integrated"
    return hk.SparseDirichletMultinomial(smoothing, hk.Beta(*shapes.tolist()), proportions=proportions)


def sparse_at_the_ends(generator):
    documents, dishes = SMALL[generator.integers(len(SMALL))]
    data = hk.Corpus.from_documents(documents, n_terms=int(generator.choice([3, 10, 1000])))
    restaurant = hk.Restaurant(base=at_the_ends_of_sparsity(generator), concentration=1.0, discount=0.3)
    document = hk.Restaurant(base=restaurant, concentration=1.0, discount=0.3, each="document")
    franchise = hk.Franchise(document, data, store=str(generator.choice(["explicit", "histogram"])))
    start(franchise, np.array(dishes), Streams(1).source(STARTS))
    for each in ("root", "document"):
        theta, d = at_the_ends(generator) if generator.random() < 0.5 else (1.0, 0.2)
        franchise.hyperparameters.assign(each, concentration=theta, discount=d)
    return franchise


def test_the_law_at_the_ends_of_everything():
    served = campaign(40, 1, sparse_at_the_ends, checked=["fused"])
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
