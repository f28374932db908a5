"""Missing detail of seatings, drawn by its law: the checks that planted faults name."""

import math
from collections import defaultdict

import numpy as np
from marginals import dirichlet_multinomial_log_marginal
from observed_checks import model_of

import hdpkit as hk
from hdpkit.stores import Detail, FrozenSeating
from hdpkit.testing.cases import GRAPHS, TinyShape, tiny_franchise
from hdpkit.testing.enumeration import Shape, log_prior, seatings
from hdpkit.testing.exact import TOLERANCE, ExactModel, law_of
from hdpkit.testing.states import frozen_key, labelled_arrays, to_counts

MEASURE, WITNESS = hk.DirichletMultinomial(0.5, n_terms=3), dirichlet_multinomial_log_marginal(0.5, 3)


def tree_of(shape):
    """The topology of a franchise, and its shape."""
    tree = tiny_franchise(shape, MEASURE).topology
    return tree, Shape(tuple(tree.parent.tolist()), tuple(tree.home.tolist()))


def compare(law, expected):
    assert law.keys() == expected.keys()
    assert max(abs(law[key] - p) for key, p in expected.items()) <= TOLERANCE


def law_of_seats(frozen, tree, shape, discount=None):
    """Probability of each labelled seating that is drawn for a frozen one."""

    def run(source):
        seats = frozen.to(Detail.SEATS, tree, source, discount).arrays()
        again, before = FrozenSeating.of(seats).to(frozen.DETAIL).arrays(), frozen.arrays()
        assert all(np.array_equal(again[name], before[name]) for name in before)
        return frozen_key(seats, shape)

    return law_of(run)


def seats_have_the_law_of_the_model(shapes):
    """Who sits where, drawn from counts, has the law of the model given the counts."""
    for of, d in ((of, d) for of in shapes for d in (0.0, 0.6)):
        tree, shape = tree_of(of)
        discount = np.array([0.3 * (d > 0), *[d] * (shape.n_nodes - 1)])
        members = defaultdict(dict)
        for key in seatings(shape):
            prior = math.exp(log_prior(key, shape, [1.3] * shape.n_nodes, discount.tolist()))
            members[to_counts(key, shape)][key] = prior
        for counts, priors in members.items():
            seats = FrozenSeating.of(labelled_arrays(next(iter(priors)), shape))
            frozen = seats.to(Detail.COUNTS, tree)
            assert frozen_key(frozen.arrays(), shape) == counts
            law = law_of_seats(frozen, tree, shape, discount)
            compare(law, {key: prior / sum(priors.values()) for key, prior in priors.items()})


def check_seats_drawn_from_counts():
    """With and without discounts."""
    seats_have_the_law_of_the_model((TinyShape({"document": [0, 0, 0, 0, 1]}, 5),))


def drawn_alike(states, tree, shape, values=None):
    """All labelled seatings that fit the same dishes and sizes are drawn with the same probability."""
    fitting, frozen = defaultdict(list), {}
    for key in states:
        sizes = FrozenSeating.of(labelled_arrays(key, shape, values)).to(Detail.SIZES)
        bins = tuple(tuple(column.tolist()) for column in sizes.arrays().values())
        fitting[bins].append(key)
        frozen[bins] = sizes
    for bins, keys in fitting.items():
        compare(law_of_seats(frozen[bins], tree, shape), dict.fromkeys(keys, 1 / len(keys)))


def check_seats_drawn_from_sizes():
    """Seats are dealt uniformly, also to tables of the root that serve one observed dish."""
    for name in ("3+2", "three levels"):
        tree, shape = tree_of(name)
        drawn_alike(seatings(shape), tree, shape)
    model = model_of("2+1 with one at the root", [0, 0, 0, 0])
    drawn_alike(model.states, model.franchise.topology, model.shape, model.values)


def check_seats_of_arms():
    """Where restaurants have several parents, customers are dealt uniformly to the tables of all arms."""
    for name in GRAPHS:
        model = ExactModel(tiny_franchise(name, MEASURE, store="explicit"), WITNESS)
        drawn_alike(model.states, model.franchise.topology, model.shape)
