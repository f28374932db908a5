"""States of topic models that are larger than what can be enumerated, for the tests of the fused sweep."""

from collections import Counter

import numpy as np
from one_sample import one_sample_p
from sites import NEW, at_random, generic_law, record_sites, replayed

import hdpkit as hk
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.stores import Detail, detail_of
from hdpkit.testing.machines import same


def corpus(n_documents, length, n_terms, n_topics=12, seed=0):
    """Documents of a few topics each, of unequal length."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(n_terms, 0.1), size=n_topics)
    documents = []
    for _ in range(n_documents):
        weights = generator.dirichlet(np.full(n_topics, 0.3))
        size = int(generator.integers(length // 2, 3 * length // 2 + 1))
        documents.append(generator.choice(n_terms, size=size, p=weights @ topics))
    return hk.Corpus.from_documents(documents, n_terms=n_terms)


def franchise_over(
    data,
    store,
    *,
    eta=0.1,
    root=(5.0, 0.0),
    below=(1.5, 0.0),
    init=None,
    sweeps=2,
    seed=1,
    above="restaurant",
    measure=None,
):
    """A franchise after some sweeps of production; ``above`` is its root, ``measure`` stands in for eta."""
    base = hk.DirichletMultinomial(eta) if measure is None else measure
    restaurant = hk.Restaurant(base=base, concentration=root[0], discount=root[1])
    document = hk.Restaurant(base=restaurant, concentration=below[0], discount=below[1], each="document")
    franchise = hk.Franchise(document, data, store=store, root=above)
    start(franchise, init or "sequential", Streams(seed).source(STARTS))
    source = RandomStream((seed, 7))
    for _ in range(sweeps):
        franchise.reseat(0, franchise.topology.n_customers, source)
    franchise.settle()
    return franchise


def many_dishes(store):
    """Some seventy dishes. In a sweep many die and more are born, and new blocks of slots come into use."""
    data, eta = corpus(12, 40, 50), np.linspace(0.02, 0.4, 50)
    franchise = franchise_over(data, store, root=(100.0, 0.2), below=(8.0, 0.3), eta=eta, sweeps=3)
    franchise.set_concentration("root", 1.0)
    franchise.reseat(0, franchise.topology.n_customers, RandomStream((5, 7)))
    franchise.set_concentration("root", 100.0)
    franchise.settle()
    return franchise


def many_weights(store):
    """The same under a root with weights; one of them, and what is left for new dishes, are tiny or large."""
    data, eta = corpus(12, 40, 50), np.linspace(0.02, 0.4, 50)
    settings = {"root": (60.0, 0.2), "below": (8.0, 0.0 if store == "counts" else 0.3), "eta": eta}
    franchise = franchise_over(data, store, **settings, sweeps=3, above="weights")
    slots = franchise.slots.occupied_slots()
    weights = np.append(np.geomspace(1e-12, 1.0, len(slots)), 0.5)
    franchise.root.weights.table.put(slots, weights / weights.sum())
    return franchise


def total_variation(p, q):
    return 0.5 * sum(abs(p.get(k, 0.0) - q.get(k, 0.0)) for k in p.keys() | q.keys())


def lockstep(franchise, seed=0):
    """One sweep in doubles, step by step with the generic kernel and at the end with production's floats."""
    n = franchise.topology.n_customers
    in_floats, in_generic = franchise.copy(), franchise.copy()
    sites = record_sites(franchise, 0, n, at_random(np.random.default_rng(seed)))
    assert [site.customer for site in sites] == list(range(n))
    for site in sites:
        law, opens = generic_law(in_generic, site)
        dishes = {dish: site.law.get(2 * dish, 0.0) + site.law.get(2 * dish + 1, 0.0) for dish in law}
        dishes[NEW] = site.law.get(NEW, 0.0)
        assert max(abs(dishes[dish] - law[dish]) for dish in law) <= 1e-12, site.customer
        if opens is not None:
            dish = site.outcome // 2
            assert abs(site.law.get(2 * dish + 1, 0.0) / dishes[dish] - opens) <= 1e-12, site.customer
    floats = record_sites(in_floats, 0, n, replayed(sites), floats=True)
    assert [site.answers for site in floats] == [site.answers for site in sites]
    states = [each.freeze() for each in (franchise, in_floats, in_generic)]
    assert same(states[0], states[1])
    if detail_of(franchise.store) is Detail.COUNTS:  # tables are drawn at the end of each step
        assert np.array_equal(franchise.dishes, in_generic.dishes)
    else:
        assert same(states[0]["seating"], states[2]["seating"])
    if franchise.root.declared == "weights":
        assert same(states[0]["components"], states[2]["components"])
    for each in (franchise, in_floats, in_generic):
        each.audit()
    return sites, floats


def drawn(step, outcome, draws, seed):
    """How often a step of production leads to each outcome, each draw with a key of its own."""
    source, counts = RandomStream(), Counter()
    for draw in range(draws):
        source.rekey(seed, 0, 0, draw, 0)
        step(source)
        counts[outcome()] += 1
    return counts


def p_of(counts, law):
    """P-value of the counts given the law; outcomes that it doesn't have count as impossible."""
    outcomes = sorted(counts.keys() | law.keys())
    weights = np.array([law.get(outcome, 0.0) for outcome in outcomes])
    return one_sample_p([counts.get(outcome, 0) for outcome in outcomes], weights / weights.sum())
