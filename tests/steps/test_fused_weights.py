"""The fused sweep of topic models under a root with weights, at weights and hyperparameters of all sizes."""

import numpy as np
from fused_cases import corpus, drawn, franchise_over, p_of
from sites import NEW
from test_fused_ends import campaign, topics_at_the_ends
from test_fused_sites import law_at

from hdpkit.franchise.freezing import take_over
from hdpkit.testing.pvalues import SampledTests

SIZES = (1.0, 0.1, 1e-3, 1e-7, 1e-12, 1e-20, 1e-37, 1e-40, 1e-300, 0.0)


def set_weights(franchise, weights):
    """Give the dishes these weights and, last, the remainder, but for a factor."""
    slots = franchise.slots.occupied_slots()
    franchise.root.weights.table.put(slots, weights / weights.sum())


def weights_at_the_ends(generator):
    franchise = topics_at_the_ends(generator, above="weights")
    weights = generator.choice(SIZES, size=franchise.n_dishes + 1)
    weights[generator.integers(len(weights))] = 1.0
    set_weights(franchise, weights)
    return franchise


def test_weights_and_hyperparameters_at_their_ends():
    served = campaign(40, 1, weights_at_the_ends, checked=["fused"])
    assert min(served.values()) > 0


FAMILY = SampledTests()
NAME = "one step of production over counts, under weights"
FAMILY.register(NAME)


def test_one_step_of_production_over_counts():
    data = corpus(5, 24, 8)
    franchise = franchise_over(data, "counts", eta=0.6, root=(10.0, 0.0), below=(4.0, 0.0), above="weights")
    slots = franchise.slots.occupied_slots()
    set_weights(franchise, np.append(np.geomspace(0.01, 1.0, len(slots)), 1.0))
    customer = next(i for i in range(20) if franchise.store.customers(0, franchise.store.dish_of(i)) > 1)
    law = {}
    for code, p in law_at(franchise, customer).items():
        dish = NEW if code == NEW else code // 2
        law[dish] = law.get(dish, 0.0) + p
    assert law[NEW] > 0.01
    state, live = franchise.freeze(), set(law)

    def step(source):
        take_over(franchise, state)
        franchise.reseat(customer, customer + 1, source)

    def outcome():
        dish = int(franchise.store.dish_of(customer))
        return dish if dish in live else NEW

    FAMILY.check(NAME, lambda more, seed: [p_of(drawn(step, outcome, more * 5000, seed), law)])
