"""A chain over shards is that of one process, to the last bit; the law of its sweep by enumeration."""

import numpy as np
import pytest
from shard_cases import SCHEDULE, corpus, in_one_process, restaurant, same

import hdpkit as hk
from hdpkit import errors, moves, shards

DATA = corpus()


@pytest.fixture(scope="module")
def chain():
    return in_one_process(6, DATA)


@pytest.mark.parametrize(
    ("n_shards", "parts", "threads"), [(1, 1, 1), (3, 1, 2), (3, 3, 1), (7, 2, 2), (7, 5, 1)]
)
def test_any_number_of_shards_parts_and_threads_gives_the_chain_of_one_process(
    chain, n_shards, parts, threads
):
    begun, ended, trace = chain
    run = shards.run(
        restaurant(), shards.cut(DATA, n_shards), SCHEDULE, sweeps=6, rng=11, init=begun, threads=threads,
        carrier=shards.Local(parts),
    )  # fmt: skip
    same(run.state(), ended)
    for key, values in run.numbers.items():
        np.testing.assert_array_equal(values, trace[key], err_msg=key)


@pytest.mark.parametrize(
    "schedule",
    [
        [moves.CountGibbs(), moves.RootWeights()],
        [moves.RootWeights(), moves.Concentration("slice"), moves.SliceGibbs()],
    ],
    ids=["drawn proportions", "slices, and the sweep last"],
)
def test_other_schedules(schedule):
    begun, ended, _ = in_one_process(3, DATA, schedule=schedule)
    same(
        shards.run(
            restaurant(), shards.cut(DATA, 3), schedule, sweeps=3, rng=11, init=begun, carrier=shards.Local(3)
        ).state(),
        ended,
    )


def test_an_eta_too_small_for_drawn_topics_is_refused_before_any_sweep():
    root = hk.Restaurant(hk.DirichletMultinomial(0.3 / DATA.n_terms), concentration=1.0)
    small = hk.Restaurant(root, each="document", concentration=1.0)
    with pytest.raises(errors.KernelError, match=r"summed over the terms"):
        shards.run(small, shards.cut(DATA, 2), [moves.SliceGibbs()], sweeps=1, rng=0)
