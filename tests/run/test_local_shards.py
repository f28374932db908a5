"""A chain over shards equals that of one process, to the last bit; the law of its sweep by enumeration."""

import attrs
import numpy as np
import pytest
from hdpkit._count_changes import read_sparse
from hdpkit.measures._bursty import BurstyBank
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
from hdpkit import errors, moves, shards
from hdpkit.errors import DataError
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.random import Streams

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


@pytest.mark.parametrize(
    ("of_root", "of_documents", "error", "what"),
    [
        ({}, {"concentration": hk.Each(hk.Gamma(1.0, 1.0))}, errors.ParameterError, "concentration"),
        ({}, {"discount": 0.2}, errors.ParameterError, "discount"),
        ({}, {"discount": hk.Beta(1.0, 1.0)}, errors.ParameterError, "discount"),
        ({}, {"discount": hk.Each(hk.Beta(1.0, 1.0))}, errors.ParameterError, "discount"),
        ({"discount": 0.2}, {}, errors.ParameterError, "discount"),
        ({"discount": hk.Beta(1.0, 1.0)}, {}, errors.ParameterError, "discount"),
        ({"base": hk.SparseDirichletMultinomial()}, {}, errors.KernelError, "base"),
        ({"base": hk.Bursty(hk.SparseDirichletMultinomial(0.5))}, {}, errors.ScheduleError, "moves"),
        (
            {"base": hk.Bursty(hk.DirichletMultinomial(), hk.Each(hk.Gamma(1.0, 1.0)))},
            {},
            errors.ScheduleError,
            "moves",
        ),
        ({"base": hk.Bursty(hk.DirichletMultinomial(), each="root")}, {}, errors.ScheduleError, "moves"),
        ({"base": hk.SparseDirichletMultinomial(hk.Gamma(1.0, 1.0))}, {}, errors.KernelError, "base"),
    ],
)
def test_other_hyperparameters_are_refused(of_root, of_documents, error, what):
    root = hk.Restaurant(**{"base": hk.DirichletMultinomial(0.5), **of_root})
    declared = hk.Restaurant(root, each="document", **of_documents)
    with pytest.raises(error, match=f"^{what} = "):
        run_shards(declared, shards.cut(DATA, 2), [moves.SliceGibbs()], sweeps=1, rng=0)


@pytest.mark.parametrize(
    ("measure", "error", "what"),
    [
        (hk.Bursty(hk.SparseDirichletMultinomial(0.5)), errors.ScheduleError, "moves"),
        (hk.Bursty(hk.DirichletMultinomial(0.5), hk.Each(hk.Gamma(1.0, 1.0))), errors.ScheduleError, "moves"),
        (hk.Bursty(hk.DirichletMultinomial(0.5), each="root"), errors.ScheduleError, "moves"),
    ],
)
def test_no_folder_is_made_for_topics_that_workers_do_not_serve(tmp_path, measure, error, what):
    declared = hk.Restaurant(hk.Restaurant(measure), each="document")
    with pytest.raises(error, match=f"^{what} = "):
        run_shards(
            declared, shards.cut(DATA, 2), [moves.SliceGibbs()], sweeps=1, rng=0, folder=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


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
        run_shards(
            restaurant(), shards.cut(DATA, 3), schedule, sweeps=3, rng=11, init=begun, backend=shards.Local(3)
        ).state(),
        ended,
    )


@pytest.mark.parametrize(
    ("method", "prior", "in_order"),
    [
        ("auto", hk.Gamma(1.0, 1.0), True),
        ("slice", hk.Gamma(1.0, 1.0), False),
        ("auto", hk.Beta(2.0, 2.0), False),
        ("auto", None, False),
    ],
)
def test_lengths_of_documents_are_known_in_order_only_where_a_move_draws_for_each(method, prior, in_order):
    """By slice the concentration depends on how many documents have how many tokens and tables."""
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    declared = hk.Restaurant(root, each="document", concentration=0.7 if prior is None else prior)
    schedule = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration(method)]

    def ended(workers, sweeps):
        run = run_shards(
            declared, shards.cut(DATA, 4), schedule, sweeps=sweeps, rng=3, init=hk.init.Random(6),
            backend=shards.Local(workers),
        )  # fmt: skip
        for worker in run.franchise._backend._workers:
            whole = worker.franchise.whole_corpus
            assert (whole.lengths is not None) == in_order
            assert whole.n_customers == DATA.n_tokens
            if not in_order:
                with pytest.raises(errors.StateError, match="counted_totals_of"):
                    worker.franchise.totals_of(1)
        return run.state()

    franchise = hk.Franchise(declared, DATA, store="counts", root="weights")
    franchise.expand_cells()
    franchise.thaw(ended(1, 0))
    hk.Scheduler(schedule).run(franchise, sweeps=3, rng=3, init=None)
    same(ended(3, 3), franchise.freeze())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n_blocks", [1, 2, 7, 60])
def test_changes_in_blocks_of_terms_are_those_of_all_terms(threads, n_blocks):
    """Also of more blocks than terms; each is told once, and a block in the place of another is refused."""

    def told(worker, n_threads, n_blocks):
        sweeps = DocumentSweeps.of(worker)
        sweeps.begin(Streams(1).source(1), "integrated", n_threads)
        return sweeps.sweep(n_blocks)

    def worker():
        cut = shards.cut(DATA, 2)
        run = run_shards(restaurant(), cut, SCHEDULE, sweeps=0, rng=11, init=hk.init.Random(40))
        return run.franchise._backend._workers[0].franchise

    def read(blocks):
        return np.concatenate([read_sparse(block) for block in blocks], axis=1)

    whole = told(worker(), 1, 1)
    one = worker()
    later = told(one, threads, 0)
    assert later.counts == ()
    blocks = tuple(DocumentSweeps.of(one).block(block, n_blocks) for block in range(n_blocks))
    np.testing.assert_array_equal(read(blocks), read(whole.counts))
    n_slots = len(later.tables)
    for i, block in enumerate(blocks):
        terms = read_sparse(block)[0] // n_slots
        first, last = DATA.n_terms * i // n_blocks, DATA.n_terms * (i + 1) // n_blocks
        assert np.all((first <= terms) & (terms < last))
    assert {DocumentSweeps.of(one).block(block, n_blocks) for block in range(n_blocks)} == {b""}
    before = one.dish_counts.copy()
    if n_blocks == 2:
        with pytest.raises(DataError, match="unchanged since they were written"):
            DocumentSweeps.of(one).end(attrs.evolve(later, counts=blocks[::-1]))
    else:
        DocumentSweeps.of(one).end(attrs.evolve(later, counts=blocks))
        one.audit()
        assert one.dish_counts.sum() == before.sum()


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


def test_a_measure_without_compiled_sweeps_is_refused_before_any_sweep():
    root = hk.Restaurant(hk.SparseDirichletMultinomial(0.5), concentration=1.0)
    sparse = hk.Restaurant(root, each="document", concentration=1.0)
    with pytest.raises(errors.HdpkitError, match="DirichletMultinomial"):
        run_shards(sparse, shards.cut(DATA, 2), [moves.SliceGibbs()], sweeps=1, rng=0)


@pytest.mark.parametrize("name", cases())
def test_log_joint_does_not_depend_on_parts_and_threads(name):
    case = cases()[name]
    begun, _, trace = case_in_one_process(case, 4)
    source, found = shards.cut(case_corpus(), 4), []
    for workers, threads in ((1, 1), (3, 1), (2, 2)):
        run = run_shards(
            case.restaurant, source, case.schedule, sweeps=4, rng=11, init=begun, root=case.root,
            backend=shards.Local(workers), threads=threads,
        )  # fmt: skip
        same_numbers(run.trace, trace)
        found.append(run.trace["log_joint"])
        np.testing.assert_array_equal(found[-1], found[0])


def test_numbers_of_a_bank_of_words_that_repeat():
    """Those of restaurants with lists are the same; numbers that no customers have are refused."""
    generator, n = np.random.default_rng(0), 60
    values, restaurants, dishes = (generator.integers(0, k, n).astype(np.int32) for k in (3, 4, 2))
    found = []
    for scanned in (0, 5, 10**6):
        measure = hk.Bursty(hk.DirichletMultinomial(0.5, n_terms=3), 2.0, 0.2)
        inner = measure.measure.bank(hk.Groups(values=values, labels={}))
        bank = BurstyBank(measure, values, inner, scanned=scanned)
        bank.read_restaurants(restaurants)
        bank.thaw({"opens": np.arange(n) % 2})
        bank.rebuild(dishes, np.arange(2, dtype=np.int32))
        found.append(bank.counted())
        for one, other in zip(found[-1], found[0], strict=True):
            np.testing.assert_array_equal(one, other)
    customers, totals, cells = found[0]
    np.testing.assert_array_equal(customers, np.bincount(dishes))
    places = {(r, k, v) for r, k, v in zip(restaurants, dishes, values, strict=True)}
    assert (totals[:, 2].sum(), cells[:, 2].sum()) == (len({key[:2] for key in places}), len(places))
    assert (totals[:, 0] @ totals[:, 2], cells[:, 0] @ cells[:, 2]) == (n, n)
    wrong = np.array([[1, 2, 1]]), np.array([[1, 0, 1]]), np.array([[1, 1, -1]]), totals[:, :2].copy()
    for bad in wrong:
        for arguments in ((customers, bad, cells), (customers, totals, bad)):
            with pytest.raises(errors.HdpkitError, match=r"totals|cells"):
                bank.take_whole(*arguments)
    bank.take_whole(2 * customers, np.concatenate([totals[:1], totals]), cells)
    np.testing.assert_array_equal(bank.sizes([1, 0]), 2 * customers[::-1])
    with pytest.raises(errors.StateError, match="one of all documents"):
        bank.log_marginals(np.arange(2, dtype=np.int32))
