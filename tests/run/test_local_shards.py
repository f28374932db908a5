"""A chain over shards equals that of one process, to the last bit; the law of its sweep by enumeration."""

import pytest
from shard_cases import (
    SCHEDULE,
    case_corpus,
    case_in_one_process,
    cases,
    corpus,
    in_one_process,
    restaurant,
    run_shards,
    same,
    same_case,
    same_numbers,
)

from hdpkit import shards

DATA = corpus()


@pytest.fixture(scope="module")
def chain():
    return in_one_process(6, DATA)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("n_shards", "workers", "threads"), [(1, 1, 1), (3, 1, 2), (3, 3, 1), (7, 2, 2), (7, 5, 1)]
)
def test_any_number_of_shards_parts_and_threads_gives_the_chain_of_one_process(
    chain, n_shards, workers, threads
):
    begun, ended, trace = chain
    run = run_shards(
        restaurant(), shards.cut(DATA, n_shards), SCHEDULE, sweeps=6, rng=11, init=begun, threads=threads,
        backend=shards.Local(workers),
    )  # fmt: skip
    same(run.state(), ended)
    assert run.trace["largest_shares"].shape == (6, 5)
    same_numbers(run.trace, trace)


@pytest.mark.parametrize("name", cases())
def test_a_prior_on_every_hyperparameter(name, tmp_path):
    case, source = cases()[name], shards.cut(case_corpus(), 4)
    begun, ended, trace = case_in_one_process(case, 6)
    for workers, threads, steps in ((1, 1, [6]), (2, 2, [6]), (3, 1, [6]), (2, 1, [1, 3, 6])):
        for sweeps in steps:  # it goes on from its checkpoint
            run = run_shards(
                case.restaurant, source, case.schedule, sweeps=sweeps, rng=11, init=begun, root=case.root,
                backend=shards.Local(workers), threads=threads,
                folder=tmp_path / "run" if len(steps) > 1 else None,
            )  # fmt: skip
        same_case(case, run.state(), run.trace, ended, trace)
