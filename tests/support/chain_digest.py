"""Runs the moves with fused sweeps and prints the results, for tests that compare processes."""

import hashlib
import importlib.util
import json
import sys


def take_the_place_of_the_baseline(path):
    """Load another compilation of the baseline, before the package looks for it."""
    name = "hdpkit.steps.fused.isa_baseline"
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


def digest(store, discounts, sparse=False):
    """A number for a whole run to the last bit: its trace, its last state, and all weights of one
    more sweep.
    """
    import numpy as np
    from choice_sources import AskedSource
    from fused_cases import corpus
    from sites import at_random, record_sites

    import hdpkit as hk
    from hdpkit import moves

    prior = hk.Gamma(2.0, 0.2)
    discount = hk.Beta(1.0, 3.0) if discounts else 0.0
    eta = 0.05 if not discounts else hk.Gamma(1.0, 10.0)
    measure = hk.SparseDirichletMultinomial(eta) if sparse else hk.DirichletMultinomial(eta)
    root = hk.Restaurant(base=measure, concentration=prior, discount=discount)
    document = hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), discount=discount, each="document")
    franchise = hk.Franchise(document, corpus(20, 80, 150), store=store)
    schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]
    if discounts:
        schedule += [moves.Discount(), moves.BaseMeasureParameters()]
    trace = hk.Scheduler(schedule).run(franchise, sweeps=12, rng=3, init="sequential")
    found = hashlib.sha256()
    for name in ("n_dishes", "n_tables", "log_joint"):
        found.update(trace[name].tobytes())
    frozen = franchise.freeze()
    for name in sorted(frozen["seating"]):
        found.update(frozen["seating"][name].tobytes())
    found.update(frozen["concentration"].tobytes() + frozen["discount"].tobytes())

    take = at_random(np.random.default_rng(5))

    def ask(weights):
        found.update(weights.tobytes())
        return take(weights)

    record_sites(franchise, 0, franchise.topology.n_customers, ask, floats=True)
    for move in schedule[:3]:
        move.apply(franchise, AskedSource(ask))
    return found.hexdigest()


def digest_of_blocks(store, seed):
    """The same for moves of whole tables alone, with what they proposed and all weights of one more each."""
    import numpy as np
    from block_cases import Watched, state_number
    from choice_sources import AskedSource
    from sites import at_random

    from hdpkit import moves
    from hdpkit.random import RandomStream

    franchise, found = state_number(seed, store), hashlib.sha256()
    splits = [Watched(), Watched(scans=0), Watched(scans=2)]

    def add(move):
        if isinstance(move, Watched):
            sides, *logs = move.found
            found.update(sides.tobytes() + np.array(logs).tobytes())
        seating = franchise.freeze()["seating"]
        for name in sorted(seating):
            found.update(seating[name].tobytes())

    for number in range(20):
        for move in [moves.DishGibbs(), *splits]:
            move.apply(franchise, RandomStream((seed, number)))
            add(move)

    take = at_random(np.random.default_rng(5))

    def ask(weights):
        found.update(weights.tobytes())
        return take(weights)

    for move in [moves.DishGibbs(), *splits]:
        move.apply(franchise, AskedSource(ask))
        add(move)
    return found.hexdigest()


def digest_of_cells(n_terms, dishes, finite):
    """The same for counts by cell, small and large: trace, last state, and the weights of the root."""
    import numpy as np

    import hdpkit as hk
    from hdpkit import moves

    shape = (20, n_terms)
    counts = np.random.default_rng(1).poisson(np.random.default_rng(2).gamma(0.2, 200.0, size=shape))
    base = hk.DirichletMultinomial(0.1)
    root = hk.Restaurant(base=base, concentration=1.0 if finite else hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), each="document")
    weights = hk.FixedWeights(dishes) if finite else "weights"
    franchise = hk.Franchise(document, hk.Corpus.from_counts(counts), store="counts", root=weights)
    schedule = [moves.CountGibbs(), moves.TableCounts()] + ([] if finite else [moves.RootWeights()])
    trace = hk.Scheduler(schedule).run(franchise, sweeps=4, rng=3, init=hk.init.Random(dishes))
    found = hashlib.sha256(trace["log_joint"].tobytes())
    frozen = franchise.freeze()["seating"]
    for name in sorted(frozen):
        found.update(frozen[name].tobytes())
    found.update(franchise.root_weights()[0].tobytes())
    return found.hexdigest()


def digests():
    """Every case of this file."""
    runs = {
        f"{store}, discounts {discounts}": digest(store, discounts)
        for store in ("explicit", "histogram")
        for discounts in (False, True)
    }
    blocks = {
        f"{store}, {state}": digest_of_blocks(store, seed)
        for store in ("explicit", "histogram")
        for state, seed in (("long blocks", 3), ("many dishes", 9), ("some at the root", 1))
    }
    sparse = {
        f"sparse, {store}, discounts {discounts}": digest(store, discounts, sparse=True)
        for store, discounts in (("explicit", True), ("histogram", False))
    }
    cells = {
        f"cells, {dishes}, {finite}": digest_of_cells(40, dishes, finite)
        for dishes, finite in ((5, False), (30, True), (90, False))
    }
    return runs | blocks | sparse | cells


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_the_place_of_the_baseline(sys.argv[1])
    from hdpkit.steps.fused import instruction_set

    print(
        json.dumps(
            {
                "instruction_set": instruction_set.instruction_set(),
                "file": instruction_set.chosen.__file__,
                "digests": digests(),
            }
        )
    )
