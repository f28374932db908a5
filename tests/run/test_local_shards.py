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

import hdpkit as hk
from hdpkit import moves, shards

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


def test_an_infinite_concentration_of_bursts_is_the_chain_of_plain_topics():
    begun, ended, trace = in_one_process(2, DATA, schedule=SCHEDULE[:3])
    measure = hk.Bursty(hk.DirichletMultinomial(hk.Gamma(1.0, 2.0)), float("inf"))
    root = hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0))
    run = run_shards(
        hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0)), shards.cut(DATA, 3),
        SCHEDULE[:3], sweeps=2, rng=11, init=begun, backend=shards.Local(2),
    )  # fmt: skip
    same(run.state(), ended)
    same_numbers(run.trace, trace)


def test_topics_under_a_small_eta_do_not_depend_on_the_parts():
    schedule, small = [moves.SliceGibbs(), moves.RootWeights()], restaurant(0.01 / DATA.n_terms)
    franchise = hk.Franchise(small, DATA, store="counts", root="weights")
    franchise.expand_cells()
    hk.Scheduler(schedule).run(franchise, sweeps=1, rng=5, init=hk.init.Random(6))
    begun = franchise.freeze()
    hk.Scheduler(schedule).run(franchise, sweeps=3, rng=11, init=begun)
    run = run_shards(
        small, shards.cut(DATA, 3), schedule, sweeps=3, rng=11, init=begun, backend=shards.Local(2)
    )
    same(run.state(), franchise.freeze())
