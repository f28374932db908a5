"""Drawn shares of groups: the truth has a uniform rank among draws given a state, over every root
and store.
"""

import attrs
import numpy as np
import pytest
from calibration import random_rank, rank_uniformity_p
from scipy.stats import norm

import hdpkit as hk
from hdpkit.franchise.sample import _pitman_yor
from hdpkit.random import Streams
from hdpkit.stores import CellsStore
from hdpkit.testing.pvalues import SampledTests

STICKS = 300  # what they leave is below 1e-3 of a restaurant with the discounts below
DRAWS, REPLICATES, CUSTOMERS = 9, 200, 5
GAMMA, ALPHA = 2.0, 10.0
TYPES = ["a", "a", "b"]
KNOWN = 2


@attrs.frozen
class Case:
    """What a franchise is made of."""

    store: str = "counts"
    root: object = "restaurant"
    types: bool = False
    discount: float = 0.0
    of_root: float = 0.0
    known: bool = False
    by_cell: bool = False
    by_step: bool = False

    def franchise(self):
        base = hk.DirichletMultinomial(0.5, n_terms=1)
        above = hk.Restaurant(base, concentration=GAMMA, discount=self.of_root)
        if self.types:
            above = hk.Restaurant(above, concentration=ALPHA, discount=self.discount, each="type")
        document = hk.Restaurant(above, concentration=ALPHA, discount=self.discount, each="document")
        groups = {"type": TYPES} if self.types else None
        counts = np.full((3, 1), CUSTOMERS)
        corpus = hk.Corpus.from_counts(counts, groups=groups)
        if not self.by_cell:
            corpus = hk.Corpus.from_documents([[0] * CUSTOMERS] * 3, n_terms=1, groups=groups)
        known = hk.Known([[1.0]] * KNOWN, counts=3) if self.known else None
        return hk.Franchise(document, corpus, store=self.store, root=self.root, known=known)


WEIGHTS, FINITE = {"root": "weights"}, {"root": hk.FixedWeights(6)}
CASES = {
    **{f"restaurant, {store}": Case(store) for store in ("explicit", "histogram", "counts")},
    "restaurant, three levels": Case(types=True),
    "restaurant, discounts": Case("histogram", discount=0.3, of_root=0.25),
    "restaurant, discounts over counts": Case(discount=0.3),
    "restaurant, discounts, three levels": Case("explicit", types=True, discount=0.3, of_root=0.25),
    "restaurant, known components": Case(known=True),
    **{f"weights, {store}": Case(store, **WEIGHTS) for store in ("explicit", "histogram", "counts")},
    "weights, by cell": Case(by_cell=True, **WEIGHTS),
    "weights, three levels by cell": Case(types=True, by_cell=True, **WEIGHTS),
    "weights, discounts": Case("histogram", discount=0.3, of_root=0.25, **WEIGHTS),
    "weights, known components": Case(known=True, **WEIGHTS),
    "fixed weights": Case(**FINITE),
    "fixed weights, three levels by cell": Case(types=True, by_cell=True, **FINITE),
    "proportions": Case(by_step=True, **WEIGHTS),
    "proportions, three levels": Case(by_step=True, types=True, by_cell=True, **WEIGHTS),
    "proportions, discounts": Case("histogram", by_step=True, types=True, discount=0.3, **WEIGHTS),
}
SOON = (
    "restaurant, counts", "restaurant, discounts, three levels", "weights, three levels by cell",
    "proportions, discounts",
)  # fmt: skip
READ = ("a dish of the group", "a dish of another group", "a new dish")
FAMILY = SampledTests()
for one in CASES:
    FAMILY.register(one, READ)
MOMENTS = {"small": (0.2, 0.8), "below zero": (-0.2, 0.4), "middle": (5.0, 0.1), "none": (3.0, 0.0)}
for one in MOMENTS:
    FAMILY.register(f"process, {one}", 3)


def sticks(theta, d, generator):
    """Weights of a Pitman-Yor process, the last of which is what the others leave."""
    places = np.arange(1, STICKS)
    shares = np.append(generator.beta(1.0 - d, theta + d * places), 1.0)
    return shares * np.append(1.0, np.cumprod(1.0 - shares[:-1]))


def of_root(case, generator):
    """Weights of the root's sticks; known components are the first."""
    if isinstance(case.root, hk.FixedWeights):
        return np.full(case.root.n_dishes, 1.0 / case.root.n_dishes)
    if not case.known:
        return sticks(GAMMA, case.of_root, generator)
    d = case.of_root
    first = generator.dirichlet(np.append(np.full(KNOWN, 1.0 - d), GAMMA + KNOWN * d))
    return np.append(first[:-1], first[-1] * sticks(GAMMA + KNOWN * d, d, generator))


def drawn(case, franchise, generator):
    """A state, frozen, and the true shares of its dishes and of a new one in every restaurant."""
    tree = franchise.topology
    weights, atom, dish = [of_root(case, generator)], [None], [None]
    dish[0] = np.arange(len(weights[0]))
    for node in range(1, tree.n_nodes):
        above = int(tree.parent[node])
        weights.append(sticks(ALPHA, case.discount, generator))
        atom.append(generator.choice(len(weights[above]), size=STICKS, p=weights[above]))
        dish.append(dish[above][atom[node]])
    first = tree.first[-1]
    eaten = [[] for _ in range(tree.n_nodes)]  # by restaurant, the stick of each customer
    eaten[0] = list(range(KNOWN)) if case.known else []
    for node in range(first, tree.n_nodes):
        eaten[node] = generator.choice(STICKS, size=CUSTOMERS, p=weights[node]).tolist()
    of_data = np.concatenate([dish[node][eaten[node]] for node in range(first, tree.n_nodes)])
    for node in range(tree.n_nodes - 1, 0, -1):
        eaten[int(tree.parent[node])] += atom[node][sorted(set(eaten[node]))].tolist()
    seen = [*(range(KNOWN) if case.known else ()), *dict.fromkeys(of_data.tolist())]
    seen = list(dict.fromkeys(seen))
    slot = {one: place for place, one in enumerate(seen)}
    entries = []
    for node in range(tree.n_nodes):
        for one in sorted(set(dish[node][eaten[node]].tolist()), key=slot.get):
            here = [stick for stick in eaten[node] if dish[node][stick] == one]
            entries.append((node, slot[one], len(here), len(set(here))))
    columns = np.array(entries, dtype=np.int32).T.copy()
    truth = np.zeros((tree.n_nodes, len(seen) + 1))
    for node in range(tree.n_nodes):
        np.add.at(truth[node], [slot.get(one, len(seen)) for one in dish[node].tolist()], weights[node])
    names = ("count_node", "count_dish", "count_customers", "count_tables")
    seating = dict(zip(names, columns, strict=True))
    slots = np.array([slot[one] for one in of_data.tolist()], dtype=np.int32)
    if case.by_cell:
        each = [
            np.unique(slots[i : i + CUSTOMERS], return_counts=True) for i in range(0, len(slots), CUSTOMERS)
        ]
        seating |= {
            "cell_runs": np.array([len(one) for one, _ in each], dtype=np.int32),
            "run_dish": np.concatenate([one for one, _ in each]).astype(np.int32),
            "run_count": np.concatenate([n for _, n in each]).astype(np.int32),
            "cell_key": np.zeros(4, dtype=np.int32),
        }
    else:
        known = np.arange(KNOWN if case.known else 0, dtype=np.int32)
        seating["dish"] = np.append(slots, known).astype(np.int32)
    return seating, truth


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in SOON else pytest.mark.long) for one in CASES]
)
def test_the_truth_has_a_uniform_rank(name):
    case = CASES[name]
    franchise = case.franchise()
    template = franchise.freeze()
    tree, n_documents = franchise.topology, 3

    def run(more, seed):
        generator = np.random.default_rng(seed)
        ranks = [[] for _ in READ]
        for replicate in range(REPLICATES * more):
            seating, truth = drawn(case, franchise, generator)
            slots = np.arange(truth.shape[1] - 1, dtype=np.int32)
            state = {**template, "seating": seating, "slots": slots, "dish_ids": slots, "births": len(slots)}
            if case.root == "weights":
                state["components"] = {**template["components"], "root weights": {"weights": truth[0]}}
            streams = Streams(seed + replicate)
            franchise.thaw(state, streams.source(1))
            assert isinstance(franchise.store, CellsStore) == case.by_cell
            own = shares_of(franchise, case, streams, n_documents)
            dish = int(franchise.dishes[0])
            true = truth[tree.first[-1] :]
            for found, (group, k) in zip(ranks, ((0, dish), (1, dish), (2, -1)), strict=True):
                found.append(random_rank(true[group, k], own[:, group, k], generator))
        return dict(zip(READ, (rank_uniformity_p(found, DRAWS + 1) for found in ranks), strict=True))

    FAMILY.check(name, run)


def shares_of(franchise, case, streams, n_documents):
    """Draws of the shares in the documents."""
    if not case.by_step:
        sample, source = franchise.sample(), streams.source(2)
        return np.array([sample.draw_group_weights(source) for _ in range(DRAWS)])
    found = []
    for i in range(DRAWS):
        franchise.draw_proportions(streams.source(2, i))
        found.append(franchise.drawn_proportions()[-n_documents:])
    return np.array(found)


@pytest.mark.parametrize("name", MOMENTS)
def test_shares_of_a_pitman_yor_process_have_their_third_moments(name):
    """From the law of the partition of three customers, whose tables' dishes are drawn from the base."""
    theta, d = MOMENTS[name]
    base, n = np.array([0.1, 0.3, 0.6]), 20_000
    one, two = (1 - d) * (2 - d), 3 * (theta + d) * (1 - d)
    third = (one * base + two * base**2 + (theta + d) * (theta + 2 * d) * base**3) / (
        (theta + 1) * (theta + 2)
    )

    def run(more, seed):
        m = n * more
        generator = np.random.default_rng(seed)
        shares = _pitman_yor(np.full(m, theta), np.full(m, d), np.tile(base, (m, 1)), generator)
        assert np.allclose(shares.sum(axis=1), 1.0)
        cubes = shares**3
        z = (cubes.mean(axis=0) - third) / (cubes.std(axis=0) / m**0.5)
        return 2.0 * norm.sf(np.abs(z))

    FAMILY.check(f"process, {name}", run)
