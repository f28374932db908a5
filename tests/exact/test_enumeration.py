"""The exact enumeration against hand counts, published numbers and a second derivation of the same law."""

import itertools
import math
from collections import Counter

import marginals
import numpy as np
import pytest

from hdpkit.testing import enumeration as en
from hdpkit.testing import states as hs
from hdpkit.testing.enumeration import Shape
from hdpkit.testing.measure_contract import atomic_log_marginal

FLAT = Shape(parent=(-1,), home=(0,) * 5)
TWO_LEVELS = Shape.from_lengths([3, 2])
ROOT_DATA = Shape(parent=(-1, 0, 0), home=(1, 0, 2, 1, 0))  # data customers at the root too, out of order
CHAIN = Shape(parent=(-1, 0, 1), home=(2, 2, 1, 2))  # three levels, a path
TREE = Shape(parent=(-1, 0, 0, 1, 1), home=(3, 4, 2, 1, 3))  # three levels, a customer at an inner node
IDLE = Shape(parent=(-1, 0, 0, 2), home=(1, 1, 1))  # two restaurants that no one enters
SHAPES = {
    "flat": FLAT,
    "two levels": TWO_LEVELS,
    "root data": ROOT_DATA,
    "chain": CHAIN,
    "tree": TREE,
    "idle": IDLE,
}

# theta and d of the nodes, taken in turn: plain, discounts, theta in (-d, 0] at some
CORNERS = {
    "no discount": ([1.5, 0.7, 0.2], [0.0, 0.0, 0.0]),
    "discounts": ([0.4, 2.0, 0.1], [0.5, 0.25, 0.9]),
    "theta down to -d": ([-0.3, 0.0, 1.0], [0.5, 0.25, 0.0]),
}


def corner(name: str, shape: Shape) -> tuple[list[float], list[float]]:
    thetas, ds = CORNERS[name]
    return [thetas[j % 3] for j in range(shape.n_nodes)], [ds[j % 3] for j in range(shape.n_nodes)]


def total(shape: Shape, theta: list[float], d: list[float], log_prior=en.log_prior) -> float:
    return math.fsum(math.exp(log_prior(key, shape, theta, d)) for key in en.seatings(shape))


@pytest.mark.parametrize(
    ("lengths", "count"),
    [([2, 2], 27), ([3, 2], 134), ([2, 2, 2], 409), ([3, 3], 712), ([4, 3], 4528), ([3, 3, 2], 14724)],
)
def test_number_of_seatings_and_each_only_once(lengths, count):
    keys = list(en.seatings(Shape.from_lengths(lengths)))
    assert len(keys) == len(set(keys)) == count


# ---- the prior


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_prior_sums_to_one(shape, name):
    assert total(shape, *corner(name, shape)) == pytest.approx(1, abs=1e-12)


def sequential_probability(key, shape, theta, d, order) -> float:
    """Product of predictive probabilities when the data customers arrive one by one.

    Sit at a table of n: (n - d)/(theta + c). Open one: (theta + d T)/(theta + c), for certain if the
    restaurant is empty; the new table then enters the parent as a customer.
    """
    sizes: list[dict[int, int]] = [{} for _ in shape.parent]
    probability = 1.0
    for i in order:
        for node, table in zip(shape.path(shape.home[i]), key[i], strict=True):
            here = sizes[node]
            c = sum(here.values())
            if table in here:
                probability *= (here[table] - d[node]) / (theta[node] + c)
                here[table] += 1
                break
            if c > 0:
                probability *= (theta[node] + d[node] * len(here)) / (theta[node] + c)
            here[table] = 1
    return probability


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_joint_is_the_product_of_predictives_in_any_order(shape, name):
    theta, d = corner(name, shape)
    orders = list(itertools.permutations(range(shape.n_customers)))[:: max(1, shape.n_customers**2 - 6)]
    for key in itertools.islice(en.seatings(shape), 0, None, 3):
        joint = math.exp(en.log_prior(key, shape, theta, d))
        for order in orders:
            assert sequential_probability(key, shape, theta, d, order) == pytest.approx(joint, rel=1e-12)


# ---- the posterior


def documents(docs: list[list[int]]) -> tuple[Shape, list[int]]:
    return Shape.from_lengths([len(doc) for doc in docs]), [term for doc in docs for term in doc]


def test_posterior_of_a_corpus_of_seven_tokens():
    shape, values = documents([[0, 0, 1], [1, 2], [2, 2]])
    log_marginal = marginals.dirichlet_multinomial_log_marginal(0.5, 3)
    posterior = en.exact_posterior(shape, values, log_marginal, [1.5, 0.7, 0.7, 0.7], [0.0] * 4)
    assert math.fsum(posterior.values()) == pytest.approx(1, abs=1e-12)
    dishes = hs.pushforward(posterior, en.n_dishes)
    tables = hs.pushforward(posterior, lambda key: en.n_tables(key, shape))
    assert [dishes[k] for k in range(1, 6)] == pytest.approx(
        [0.03815, 0.31058, 0.43317, 0.18609, 0.03011], abs=6e-6
    )
    assert [tables[t] for t in range(3, 8)] == pytest.approx(
        [0.14235, 0.37802, 0.34055, 0.12364, 0.01544], abs=6e-6
    )


def test_expected_tables_where_a_known_package_is_wrong():
    shape, values = documents([[0, 0, 1], [0, 2]])
    log_marginal = marginals.dirichlet_multinomial_log_marginal(0.4, 3)
    posterior = en.exact_posterior(shape, values, log_marginal, [1.3, 0.8, 0.8], [0.0] * 3)
    expected = sum(p * en.n_tables(key, shape) for key, p in posterior.items())
    assert expected == pytest.approx(3.349, abs=5e-4)  # the wrong kernel gives 2.76


def test_observed_dishes_leave_out_seatings_that_mix_values():
    shape = Shape.from_lengths([2, 1])
    theta, d = [0.5, 1.0, 1.0], [0.25, 0.5, 0.0]
    evidence = {}
    for values in itertools.product(range(2), repeat=3):
        log_marginal = atomic_log_marginal([0.3, 0.7])
        evidence[values] = math.fsum(
            math.exp(en.log_prior(key, shape, theta, d) + en.log_likelihood(key, values, log_marginal))
            for key in en.seatings(shape)
        )
        posterior = en.exact_posterior(shape, values, log_marginal, theta, d)
        assert all(
            values[tables[-1]] == value
            for key in posterior
            for tables, value in zip(key, values, strict=True)
        )
    assert math.fsum(evidence.values()) == pytest.approx(1, abs=1e-12)
    assert sum(p for values, p in evidence.items() if values[1] == 0) == pytest.approx(0.3, abs=1e-12)


# ---- marginals of a dish


@pytest.mark.parametrize("eta", [0.4, [0.2, 1.0, 3.0]])
def test_dirichlet_multinomial_is_the_product_of_its_predictives(eta):
    log_marginal = marginals.dirichlet_multinomial_log_marginal(eta, 3)
    etas = np.broadcast_to(eta, 3)
    values = [0, 2, 2, 1, 2, 0]
    by_chain = sum(math.log((values[:n].count(v) + etas[v]) / (n + etas.sum())) for n, v in enumerate(values))
    assert log_marginal(values) == pytest.approx(by_chain, abs=1e-12)
    assert log_marginal([]) == 0
    assert math.fsum(
        math.exp(log_marginal(x)) for x in itertools.product(range(3), repeat=4)
    ) == pytest.approx(1)


# ---- lumping


@pytest.mark.parametrize(
    "shape",
    [TWO_LEVELS, Shape((-1, 0, 0), (1, 0, 1, 1, 2)), TREE, CHAIN],
    ids=["two levels", "root data", "tree", "chain"],
)
def test_histograms_determine_the_joint_and_count_their_seatings(shape):
    theta, d = corner("discounts", shape)
    prior = {key: math.exp(en.log_prior(key, shape, theta, d)) for key in en.seatings(shape)}
    members: dict[en.Histograms, list[float]] = {}
    for key, probability in prior.items():
        members.setdefault(hs.to_histograms(key, shape), []).append(probability)
    assert len(members) < len(prior)
    for (_, tables), probabilities in members.items():
        assert max(probabilities) == pytest.approx(min(probabilities), rel=1e-12)
        # n!/prod_s (s!^c_s c_s!) seatings for each restaurant and dish
        seatings = 1
        for _, _, sizes in tables:
            below = math.prod(math.factorial(s) ** c * math.factorial(c) for s, c in Counter(sizes).items())
            seatings *= math.factorial(sum(sizes)) // below
        assert len(probabilities) == seatings
    found = hs.pushforward(prior, lambda key: hs.to_histograms(key, shape))
    assert found == pytest.approx({h: sum(ps) for h, ps in members.items()})
