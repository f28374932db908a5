"""Table Gibbs over topic models at the ends of all hyperparameters together, from production's own draws."""

import attrs
import numpy as np
import pytest
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from production import exact_law, production_law
from sites import NEW

import hdpkit as hk
from hdpkit.errors import ParameterError
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps import sweeps
from hdpkit.steps.fused import _fused_topics as fused_topics

# Probabilities are off by what docs/correctness.md allows: 24 bits within the tables that are shared, floats
# in running sums, 2**-16 of the smooth part. A new table's dish has its law however rare new tables are.
ABSOLUTE, RELATIVE = 1e-6, 2e-5
RARE = 2.0**-22  # of 40 bits that the draw has, 18 are left for what is in there


def state(documents, dishes, n_terms, eta, root, below, store, above="restaurant"):
    """A franchise with these dishes; (concentration, discount) of the root and of documents."""
    restaurant = hk.Restaurant(base=hk.DirichletMultinomial(eta), concentration=1.0, discount=0.3)
    document = hk.Restaurant(base=restaurant, concentration=1.0, discount=0.3, each="document")
    data = hk.Corpus.from_documents(documents, n_terms=n_terms)
    franchise = hk.Franchise(document, data, store=store, root=above)
    start(franchise, np.array(dishes), Streams(1).source(STARTS))
    for name, (theta, d) in (("root", root), ("document", below)):
        franchise.hyperparameters.assign(name, concentration=theta, discount=d)
    return franchise


def off_by(law, exact):
    """Outcomes whose probability is not what it should be, with both."""
    wrong = [
        (code, law.get(code, 0.0), exact.get(code, 0.0))
        for code in law.keys() | exact.keys()
        if abs(law.get(code, 0.0) - exact.get(code, 0.0)) > ABSOLUTE + RELATIVE * exact.get(code, 0.0)
    ]
    opened, expected = ({k: p for k, p in each.items() if k % 2} for each in (law, exact))
    whole, among = sum(opened.values()), sum(expected.values())
    if among > RARE:
        wrong += [
            (code, opened.get(code, 0.0) / max(whole, 1e-300), expected[code] / among)
            for code in expected
            if abs(opened.get(code, 0.0) / max(whole, 1e-300) - expected[code] / among) > 2 * RELATIVE
        ]
    return wrong


def check_every_customer(franchise):
    """Hold each customer at the only table of its dish against the formula; return how many there are."""
    checked = 0
    for customer, node in enumerate(franchise.topology.home.tolist()):
        if franchise.seating.tables(node, franchise.seating.dish_of(customer)) == 1:
            wrong = off_by(production_law(franchise, customer), exact_law(franchise, customer))
            assert wrong == [], (franchise.measure, franchise.root, franchise.hyperparameters, customer)
            checked += 1
    return checked


STATES = [
    ([[0]], [0]),
    ([[0], [0]], [0, 0]),
    ([[0], [0]], [0, 1]),
    ([[0, 0]], [0, 0]),
    ([[0, 0, 1], [0, 2]], [0, 0, 1, 0, 1]),
    ([[0, 1, 0, 1, 2, 2], [2], [1, 1]], [0, 0, 1, 1, 2, 2, 3, 0, 4]),
    ([[0] * 40 + [1]], [0] * 40 + [1]),
]
ABOVE = (2.0**-53, 1e-15, 1e-12, 1e-9, 1e-8, 1e-7, 8e-6, 1e-4, 1e-2, 0.3, 0.7, 1.0)  # 1 - d, theta + d


def at_the_ends(generator):
    """(concentration, discount), near the ends of what they may be as often as not."""
    d = 1.0 - float(generator.choice(ABOVE))
    kinds = [
        -d + float(generator.choice(ABOVE)),
        1.0,
        -0.999 * d or 1e-300,
        10.0 ** generator.uniform(-20, 20),
        10.0 ** generator.uniform(20, 300),
    ]
    return max(float(kinds[generator.integers(len(kinds))]), float(np.nextafter(-d, 1.0))), d


def some_eta(generator, n_terms):
    widths = [(-3, 3), (-3, 7), (-40, 40), (-300, 290)]
    eta = 10.0 ** generator.uniform(*widths[generator.integers(len(widths))])
    if generator.random() < 0.3:
        eta = np.full(n_terms, eta)
        eta[generator.integers(3)] *= 10.0 ** generator.uniform(-10, 10)
    return eta


def campaign(configurations, seed, drawn, checked=("fused", "generic")):
    """Check so many random franchises with these kernels; returns how many had each kernel."""
    generator, served = np.random.default_rng(seed), {"fused": 0, "generic": 0}
    while sum(served.values()) < configurations:
        try:
            franchise = drawn(generator)
        except ParameterError:
            continue  # the measure refuses this eta, or a restaurant its numbers
        kernel = franchise.kernel("reseat")
        if kernel in checked:
            check_every_customer(franchise)
        served[kernel] += 1
    return served


def topics_at_the_ends(generator, **keywords):
    n_terms = int(generator.choice([3, 10, 1000, 10_000]))
    documents, dishes = STATES[generator.integers(len(STATES))]
    store = str(generator.choice(["explicit", "histogram"]))
    settings = {"eta": some_eta(generator, n_terms), "root": at_the_ends(generator)}
    return state(
        documents, dishes, n_terms, store=store, **settings, below=at_the_ends(generator), **keywords
    )


def test_the_law_at_the_ends_of_everything():
    served = campaign(120, 1, topics_at_the_ends)
    assert min(served.values()) > 15


CASES = {
    # n_terms, eta, (theta0, d0), P(a second token of the term joins the dish of the first)
    "eta": (10, 1e6, (-1.0 + 16e-6, 1.0 - 8e-6), 0.5),
    "vocabulary": (10_000, 100.0, (-1.0 + 2e-7, 1.0 - 1e-7), 1.01 / 2.01),
}


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("case", CASES)
def test_one_dish_and_a_root_whose_concentration_is_near_its_lower_end(case, store):
    n_terms, eta, root, join = CASES[case]
    franchise = state([[0], [0]], [0, 0], n_terms, eta, root, (1.0, 0.0), store)
    dish = int(franchise.slots.occupied_slots()[0])
    assert production_law(franchise, 0)[2 * dish + 1] == pytest.approx(join, rel=1e-5)
    source, n = RandomStream((1, 1)), 2000
    alone = 0
    for _ in range(n):
        franchise.reseat(0, 2, source)
        alone += franchise.n_dishes == 1
    assert abs(alone / n - join) < 0.06


def looks_at_eta_only(monkeypatch):
    """The choice as it was once: whatever the discounts and concentrations, the fused sweep serves."""
    row = next(
        row
        for row in sweeps.reseat.kernels
        if row.run is fused_topics.reseat
        and DirichletMultinomialBank in row.banks
        and "restaurant" in row.roots
    )
    old = attrs.evolve(row, within=lambda bank, numbers: bank.smallest_eta >= 1e-28)
    kernels = [old if one is row else one for one in sweeps.reseat.kernels]
    monkeypatch.setattr(sweeps.reseat, "kernels", kernels)


def test_a_choice_that_looks_at_eta_only_is_caught(monkeypatch):
    looks_at_eta_only(monkeypatch)
    with pytest.raises(AssertionError):
        campaign(120, 1, topics_at_the_ends)
    for n_terms, eta, root, join in CASES.values():
        law = production_law(state([[0], [0]], [0, 0], n_terms, eta, root, (1.0, 0.0), "histogram"), 0)
        assert law[NEW] > 0.99 > join


def test_a_long_document_counts():
    """A dish of one table may be as large as its document."""
    for length, kernel in ((10_000, "fused"), (20_000, "generic")):
        documents = [[0] * length, [1]]
        root = hk.Restaurant(hk.DirichletMultinomial(1.0), concentration=1.0, discount=0.999)
        franchise = hk.Franchise(hk.Restaurant(root, each="document"), hk.Corpus.from_documents(documents))
        assert franchise.kernel("reseat") == kernel
