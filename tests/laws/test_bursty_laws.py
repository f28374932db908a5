"""Laws of draws over `Bursty`: its hyperparameters by one step from exact draws, everything by
Geweke's test.
"""

import collections
import itertools
import math

import numpy as np
import pytest
from hyperparameter_law import ConcentrationLaw, DiscountLaw, dkw_p
from scipy.special import expit

import hdpkit as hk
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.moves import BaseMeasureParameters, Concentration, Discount, DishGibbs, TableGibbs
from hdpkit.random import STARTS, Streams
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.pvalues import SampledTests

B, A = hk.Gamma(1.5, 0.4), hk.Beta(1.2, 2.0)
DOCUMENTS = [0] * 14 + [1] * 9 + [2] * 4 + [3]
VALUES = [0, 0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 1, 0, 0, *[1, 1, 1, 2, 0, 1, 1, 1, 1], *[2, 2, 0, 2], 1]


def franchise_of(concentration=B, discount=A, eta=0.5, inner=DirichletMultinomialReference):
    """A franchise whose terms sit at fewer tables than there are terms."""
    measure = hk.Bursty(inner(eta, n_terms=3), concentration, discount)
    root = hk.Restaurant(measure, concentration=0.8)
    data = hk.Groups.from_labels(VALUES, {"document": DOCUMENTS})
    franchise = hk.Franchise(hk.Restaurant(root, each="document", concentration=0.7), data)
    source = Streams(5).source(STARTS)
    start(franchise, "sequential", source)
    if concentration is B:
        franchise.set_base_parameters(**{"concentration/bursts": 0.6})
    TableGibbs().apply(franchise, source)
    return franchise


def counted(franchise):
    """Customers and tables by dish and document, and by term as well, from the frozen state."""
    opens = franchise.freeze()["bank"]["opens"]
    totals, cells = {}, {}
    for dish, document, value, head in zip(franchise.dishes, DOCUMENTS, VALUES, opens, strict=True):
        for table, key in ((totals, (dish, document)), (cells, (dish, document, value))):
            n, t = table.get(key, (0, 0))
            table[key] = n + 1, t + int(head)
    return list(totals.values()), list(cells.values())


class TablesLaw(DiscountLaw):
    """The law of a discount given numbers of customers and tables, summed over the sizes of tables."""

    def __init__(self, prior, theta, totals, cells):
        self.cells = cells
        super().__init__(prior, theta, [[1] * t for _, t in totals])

    def log_density_on_the_line(self, y):
        rest = expit(-y)  # 1 - d
        total = super().log_density_on_the_line(y)
        for n, t in self.cells:
            row = {0: 1.0}  # S_d(i, .), with i - j d = i - j + j (1 - d)
            for i in range(n):
                row = {j: row.get(j - 1, 0.0) + (i - j + j * rest) * row.get(j, 0.0) for j in range(1, i + 2)}
            total = total + np.log(row[t])
        return total


STEPS = {
    f"{move.name}, {move.method}, {kind}": (move, options)
    for move in (Concentration(), Concentration("auxiliary"), Discount(), Discount("auxiliary"))
    for kind, options in {
        "both": {},
        "other fixed": {"discount": 0.3} if move.updates == ("concentration",) else {"concentration": 2.0},
        "no discount": {"discount": 0.0},
    }.items()
    if kind != "no discount" or move.updates == ("concentration",)
}
FAMILY = SampledTests()
for label_ in STEPS:
    FAMILY.register(label_, 1)


def one_step(move, options, draws, seed):
    franchise = franchise_of(**options)
    totals, cells = counted(franchise)
    theta, d = (
        float(franchise.measure.parameters[f"{what}/bursts"]) for what in ("concentration", "discount")
    )
    if move.updates == ("concentration",):
        law = ConcentrationLaw(B, d, *np.array(totals).T.tolist())
    else:
        law = TablesLaw(A, theta, totals, cells)
    key, source = f"{move.updates[0]}/bursts", Streams(seed).source(1)
    ends = np.empty(draws)
    for i, x in enumerate(law.quantile(np.random.default_rng(seed).random(draws)).tolist()):
        franchise.set_base_parameters(**{key: x})
        info = move.apply(franchise, source)
        ends[i] = franchise.base_parameters[key]
        assert info.tried == 1
    return {"0": dkw_p(law.distance(ends), draws)}


@pytest.mark.parametrize("label", STEPS)
def test_one_step(label):
    FAMILY.check(label, lambda more, seed: one_step(*STEPS[label], 400 * more, seed))


def test_likelihoods_kept_for_parameters_are_those_of_a_new_franchise():
    """Parts of the likelihood are kept while eta changes: they are computed anew after every other change."""
    franchise = franchise_of(eta=hk.Gamma(1.0, 1.0))
    source = Streams(3).source(1)
    for move in (BaseMeasureParameters(), Concentration(), Discount(), TableGibbs(), DishGibbs()):
        move.apply(franchise, source)
        copy = franchise.copy()
        copy.bank.rebuild(franchise.store.dishes(), franchise.slots.occupied_slots())
        assert franchise.log_likelihood() == pytest.approx(copy.log_likelihood(), abs=1e-12)


@pytest.mark.parametrize(("b", "a"), [(0.7, 0.0), (2.0, 0.4), (100.0, 0.0)])
def test_data_have_the_law_of_the_model(b, a):
    """Drawn terms and numbers of tables against all of them, enumerated."""
    franchise = tiny_franchise(
        "2+2", hk.Bursty(hk.DirichletMultinomial(0.5, n_terms=2), b, a), values=[0, 0, 1, 1], corner="middle"
    )
    source, n = Streams(4).source(1), 3000
    found = collections.Counter()
    for _ in range(n):
        made = franchise.simulate(source, keep="seating")
        # One dish: the customers of a document are in one restaurant.
        found[tuple(made.data.values.tolist()), tuple(made.freeze()["bank"]["opens"].tolist())] += 1
    expected = collections.Counter()
    for values in itertools.product(range(2), repeat=4):
        for opens in itertools.product([True, False], repeat=4):
            p = probability(values, opens, b, a)
            first = first_ones(values, opens)
            if p > 0.0:
                expected[values, first] += p
    assert sum(expected.values()) == pytest.approx(1.0)
    assert set(found) <= set(expected)
    for state, p in expected.items():
        assert abs(found[state] - n * p) < 5.0 * math.sqrt(n * p * (1 - p)) + 1.0, state


def probability(values, opens, b, a):
    """p(terms, who opens a table) of two documents of two customers, eta 0.5, two terms."""
    p, topic = 1.0, [0.5, 0.5]
    for first in (0, 2):
        if not opens[first]:
            return 0.0
        for i in (first, first + 1):
            t = sum(opens[first:i])
            if opens[i]:
                p *= (b + a * t) / (b + i - first) * topic[values[i]] / sum(topic)
                topic[values[i]] += 1.0
            else:
                p *= (1.0 - a) / (b + 1.0) * (values[i] == values[first])
    return p


def first_ones(values, opens):
    """The tables of each document and term, as its first customers."""
    made = [0] * 4
    for document in ((0, 1), (2, 3)):
        for v in range(2):
            own = [i for i in document if values[i] == v]
            for i in own[: sum(opens[i] for i in own)]:
                made[i] = 1
    return tuple(made)
