"""Chains over shards, and the chain of one process to which they must be equal."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.random import Streams
from hdpkit.run.shards.franchise import ShardedChain
from hdpkit.run.sweeps import Order

SCHEDULE = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration(), moves.BaseMeasureParameters()]
BURSTY = [*SCHEDULE, moves.Discount()]
"""A schedule for topics that differ by document."""


def corpus(n_documents=60, n_terms=40, seed=3):
    """Documents of three topics, some of them empty."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(n_terms, 0.1), size=3)
    lengths = generator.integers(0, 40, size=n_documents)
    lengths[[0, n_documents // 2]] = 0
    shares = generator.dirichlet(np.full(3, 0.5), size=n_documents)
    documents = [
        generator.choice(n_terms, size=n, p=p @ topics) for n, p in zip(lengths, shares, strict=True)
    ]
    return hk.Corpus.from_documents([d.tolist() for d in documents], n_terms=n_terms)


def restaurant(eta=None, bursty=False):
    """Every hyperparameter is drawn, or all but eta; ``bursty``: topics differ by document."""
    measure = hk.DirichletMultinomial(hk.Gamma(1.0, 2.0) if eta is None else eta)
    measure = hk.Bursty(measure, hk.Gamma(1.0, 0.1), hk.Beta(1.0, 2.0)) if bursty else measure
    root = hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))


def started(data, root="weights", schedule=SCHEDULE, bursty=False):
    """A franchise over the whole corpus after a sweep, whose hyperparameters aren't those of a start."""
    franchise = hk.Franchise(restaurant(bursty=bursty), data, store="counts", root=root)
    franchise.expand_cells()
    hk.Scheduler(schedule).run(franchise, sweeps=1, rng=5, init=hk.init.Random(6))
    if bursty:  # whose words have a table each at such a start
        hk.Scheduler(schedule).run(franchise, sweeps=1, rng=6, init=franchise.freeze())
    return franchise


def in_one_process(sweeps, data, root="weights", schedule=SCHEDULE, bursty=False):
    """A state, that after so many sweeps of a scheduler which starts with it, and the trace."""
    franchise = started(data, root, schedule, bursty)
    begun = franchise.freeze()
    trace = hk.Scheduler(schedule).run(franchise, sweeps=sweeps, rng=11, init=begun)
    return begun, franchise.freeze(), trace


class Ended(NamedTuple):
    """A run over shards at its end."""

    franchise: shards.ShardedFranchise
    trace: hk.Trace | None
    made: int  # sweeps of this call

    def state(self):
        return self.franchise.freeze()


def run_shards(
    declared, source, schedule, *, sweeps, rng, backend=None, init="auto", root="weights", threads=1,
    spool=None, folder=None, checkpoint=10, callback=None, allow=(),
):  # fmt: skip
    """A chain up to a sweep, begun or gone on with in its folder; with 0 sweeps its start."""
    franchise = shards.ShardedFranchise(declared, source, root=root, spool=spool)
    backend, made = backend or shards.Local(), []
    if sweeps == 0:
        chain = ShardedChain(franchise, hk.Scheduler(schedule, threads).moves, backend)
        chain.streams = Streams(rng)
        return Ended(franchise, None, len(list(chain.draws(Order(0, init)))))

    def listen(draw):
        made.append(draw.sweep)
        return None if callback is None else callback(draw)

    given = {"callbacks": [listen], "checkpoint": hk.Checkpoint(checkpoint)}
    given |= {"backend": backend, "on_interrupt": "raise"}
    if isinstance(folder, Path | str) and backend.lead((Path(folder) / "run.json").exists):
        there = hk.open_run(folder, allow)
        left = sweeps - backend.lead(lambda: there.sweeps[0] or 0)
        trace = there.resume(left, franchise=franchise, **given)
    else:
        scheduler = hk.Scheduler(schedule, threads)
        trace = scheduler.run(franchise, sweeps, rng, init, folder=folder, **given)
    return Ended(franchise, trace, len(made))


def same(one, other):
    """Whether two frozen states are the same, to the last bit."""
    for key in ("slots", "dish_ids", "births", "concentration", "discount", "sweep"):
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)
    assert one["measure"] == other["measure"]
    assert bool(one["bank"]) == bool(other["bank"])
    for key in one["bank"] or ():
        np.testing.assert_array_equal(one["bank"][key], other["bank"][key], err_msg=key)
    assert one["seating"].keys() == other["seating"].keys()
    for key, column in one["seating"].items():
        np.testing.assert_array_equal(column, other["seating"][key], err_msg=key)
    assert one["components"].keys() == other["components"].keys()
    for name, part in one["components"].items():
        for key, value in part.items():
            np.testing.assert_array_equal(value, other["components"][name][key], err_msg=name)


def same_numbers(one, other):
    """Whether two chains have the same numbers, to the last bit but for a sum over documents."""
    assert set(one) == set(other)
    for key, values in one.items():
        if key == "log_joint":
            np.testing.assert_allclose(values, other[key], rtol=1e-12)
        else:
            np.testing.assert_array_equal(values, other[key], err_msg=key)


class Case(NamedTuple):
    """A model in which each hyperparameter has a prior, and is drawn."""

    restaurant: hk.Restaurant
    schedule: list
    root: object = "weights"


def declared(of_root, of_documents, eta, bursts=None):
    measure = hk.DirichletMultinomial(eta)
    root = hk.Restaurant(measure if bursts is None else hk.Bursty(measure, *bursts), **of_root)
    return hk.Restaurant(root, each="document", **of_documents)


def cases():
    """By name: all methods of drawing hyperparameters, before and after the sweep over documents."""
    gamma, beta = hk.Gamma(2.0, 1.5), hk.Beta(2.0, 2.0)
    drawn = [moves.SliceGibbs(), moves.RootWeights()]
    both = {"of_root": {"concentration": gamma}, "of_documents": {"concentration": hk.Gamma(1.0, 2.0)}}
    return {
        "auxiliary variables": Case(
            declared(**both, eta=hk.Gamma(2.0, 4.0)),
            [*drawn, moves.Concentration("auxiliary"), moves.BaseMeasureParameters()],
        ),
        "slices, before the sweep": Case(
            declared(**both, eta=hk.Gamma(2.0, 4.0)),
            [moves.BaseMeasureParameters("metropolis", 0.3), moves.Concentration("slice", 0.7), *drawn[::-1]],
        ),
        "other priors": Case(
            declared({"concentration": hk.Shifted(gamma)}, {"concentration": beta}, hk.Beta(4.0, 4.0)),
            [*drawn, moves.Concentration(), moves.BaseMeasureParameters("slice", 0.5)],
        ),
        "each, at the root": Case(
            declared({"concentration": hk.Each(gamma)}, {"concentration": hk.Shifted(beta)}, gamma),
            [moves.CountGibbs(), moves.RootWeights(), moves.Concentration(), moves.BaseMeasureParameters()],
        ),
        "fixed weights": Case(
            declared({}, {"concentration": gamma}, hk.Gamma(2.0, 4.0)),
            [moves.SliceGibbs(), moves.Concentration(), moves.BaseMeasureParameters()],
            hk.FixedWeights(5),
        ),
        "topics that differ by document": Case(
            declared(**both, eta=hk.Gamma(2.0, 4.0), bursts=[hk.Gamma(1.0, 0.1)]),
            [*drawn, moves.Concentration(), moves.BaseMeasureParameters()],
        ),
        "their discount": Case(
            declared(**both, eta=hk.Gamma(2.0, 4.0), bursts=[hk.Gamma(1.0, 0.1), hk.Beta(1.0, 2.0)]),
            [moves.Discount(), moves.Concentration(), moves.BaseMeasureParameters("metropolis", 0.3), *drawn],
        ),
        "their auxiliary variables": Case(
            declared({}, both["of_documents"], hk.Gamma(2.0, 4.0), [hk.Gamma(1.0, 0.1), hk.Beta(1.0, 2.0)]),
            [
                *(moves.CountGibbs(), moves.Concentration("auxiliary"), moves.Discount("auxiliary")),
                moves.BaseMeasureParameters(),
            ],
            hk.FixedWeights(5),
        ),
    }


def case_corpus():
    return corpus(n_documents=24, n_terms=15, seed=9)


def case_in_one_process(case, sweeps):
    """A state, that after so many sweeps of a scheduler which starts with it, and its trace."""
    franchise = hk.Franchise(case.restaurant, case_corpus(), store="counts", root=case.root)
    franchise.expand_cells()
    scheduler = hk.Scheduler(case.schedule)
    scheduler.run(franchise, sweeps=1, rng=5, init=hk.init.Random(5))
    begun = franchise.freeze()
    trace = scheduler.run(franchise, sweeps=sweeps, rng=11, init=begun)
    return begun, franchise.freeze(), trace


def same_case(case, state, numbers, ended, trace):
    """Whether a chain is that of one process, and every hyperparameter that has a prior has changed."""
    same(state, ended)
    same_numbers(numbers, trace)
    bursts = {key for key in case.restaurant.measure.priors if key.endswith("/bursts")}
    drawn = {"base/eta", "concentration/document", *bursts}
    for key in drawn if case.root != "weights" else {*drawn, "concentration/root"}:
        assert len(np.unique(numbers[key])) > 1, key
