"""A user's own moves over documents and over totals: one chain, to the last bit, wherever it runs."""

import attrs
import moves_over_shards as example
import numpy as np
import pytest
from shard_cases import corpus, restaurant, run_shards, same, same_numbers

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.errors import ReturnValueError, ScheduleError
from hdpkit.random import Streams
from hdpkit.testing import check_move
from hdpkit.testing.geweke import check_geweke
from hdpkit.testing.pvalues import SampledTestFailure

DATA = corpus()


class TokenGibbs(moves.ByDocument):
    """Gibbs: the dish of each token given those of the others, new dishes included."""

    def document(self, document, common):
        z, prior = document.dishes, document.concentration * common.weights
        m = np.bincount(z, minlength=len(prior))
        for i, x in enumerate(document.terms):
            m[z[i]] -= 1
            z[i] = document.rng.choose(common.topics[:, x] * (m + prior))
            m[z[i]] += 1
        return moves.MoveInfo(len(z), len(z))


class PriorLeftOut(TokenGibbs):
    """A bug: as if the concentration were nearly 0, so that dishes hardly enter a document."""

    def document(self, document, common):
        return super().document(attrs.evolve(document, concentration=1e-3), common)


def declared(root):
    """Documents over a root, eta fixed."""
    of_root = {"concentration": hk.Gamma(1.0, 1.0)} if root == "weights" else {}
    base = hk.Restaurant(hk.DirichletMultinomial(0.2), **of_root)
    return hk.Restaurant(base, each="document", concentration=hk.Gamma(1.0, 1.0))


def one_process(schedule, sweeps, root="weights"):
    """A state, that after so many sweeps of a scheduler, and its trace."""
    franchise = hk.Franchise(declared(root), DATA, store="counts", root=root)
    franchise.expand_cells()
    hk.Scheduler([moves.SliceGibbs()]).run(franchise, sweeps=1, rng=5, init=hk.init.Random(5))
    begun = franchise.freeze()
    trace = hk.Scheduler(schedule).run(franchise, sweeps=sweeps, rng=11, init=begun)
    franchise.audit()
    return begun, franchise.freeze(), trace


def over_workers(schedule, sweeps, begun, workers, root="weights", **options):
    return run_shards(
        declared(root), shards.cut(DATA, 4), schedule, sweeps=sweeps, rng=11, init=begun, root=root,
        backend=shards.Local(workers), **options,
    )  # fmt: skip


SCHEDULES = {
    "own before": [TokenGibbs(), moves.SliceGibbs(), moves.RootWeights()],
    "own after, and totals between": [
        moves.CountGibbs(), example.WalkOnConcentration(), example.CopyDish(), moves.Concentration(),
    ],
    "own alone": [TokenGibbs(), moves.RootWeights(), moves.Concentration("slice")],
    "two of own, the last alone": [moves.RootWeights(), example.CopyDish(), TokenGibbs()],
    "the package's twice": [moves.SliceGibbs(), moves.RootWeights(), moves.SliceGibbs()],
    "time tables": [
        TokenGibbs().every(2), moves.SliceGibbs().until(3).repeat(2), example.CopyDish().repeat(3),
        moves.RootWeights().after(1), example.WalkOnConcentration().repeat(2),
        hk.Mixture([(moves.Concentration("slice"), 1.0), (example.WalkOnConcentration(), 2.0)]),
    ],
    "totals alone": [moves.RootWeights(), moves.Concentration(), example.WalkOnConcentration()],
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_any_schedule_of_moves_over_documents_and_totals(name):
    begun, ended, trace = one_process(SCHEDULES[name], 5)
    for workers, threads in ((1, 1), (2, 2), (3, 1)):
        run = over_workers(SCHEDULES[name], 5, begun, workers, threads=threads)
        same(run.state(), ended)
        same_numbers(run.trace, trace)
    changed = np.any(begun["seating"]["dish"] != ended["seating"]["dish"])
    assert changed == (name != "totals alone")


def test_fixed_weights_and_a_checkpoint(tmp_path):
    schedule, root = [TokenGibbs(), example.CopyDish(), moves.Concentration()], hk.FixedWeights(6)
    begun, ended, _ = one_process(schedule, 4, root)
    for sweeps, workers in ((1, 2), (2, 3), (4, 1)):
        own = [TokenGibbs, example.CopyDish]
        run = over_workers(schedule, sweeps, begun, workers, root=root, folder=tmp_path / "run", allow=own)
    same(run.state(), ended)


def test_held_documents_keep_their_dishes():
    franchise = hk.Franchise(restaurant(0.2), DATA, store="counts", root="weights")
    hk.Scheduler([moves.SliceGibbs()]).run(franchise, sweeps=1, rng=5, init=hk.init.Random(5))
    franchise.expand_cells()
    keys = franchise.keys("document")[3:9]
    franchise.hold(keys)
    held = np.isin(DATA.document, np.arange(3, 9))
    before = franchise.dish_ids[franchise.dishes]
    hk.Scheduler([TokenGibbs()]).run(franchise, sweeps=3, rng=1, init=None)
    franchise.audit()
    after = franchise.dish_ids[franchise.dishes]
    assert np.array_equal(before[held], after[held])
    assert np.mean(before[~held] != after[~held]) > 0.1


def test_the_harness_checks_moves_over_documents_and_over_totals():
    # Of two tokens, none can copy the other's dish: the proposal back would be impossible.
    assert "counts: Geweke's test" in check_move(example.CopyDish(), shapes=["3+3"])[0]
    assert len(check_move(example.WalkOnConcentration(), shapes=["2+1 with one at the root"])) >= 3
    assert check_geweke(TokenGibbs(), shapes=["2+1"], replicas=120)
    with pytest.raises(SampledTestFailure, match=r"PriorLeftOut on '2\+2'"):
        check_geweke(PriorLeftOut(), shapes=["2+2"])


class OfOneWorker(example.WalkOnConcentration):
    """Declares totals, but depends on the documents of the worker."""

    def apply(self, state, rng, steps=None):
        state.set_concentration("document", 0.5 + 0.1 * len(state.data.values) / DATA.n_tokens)
        return moves.MoveInfo(1, 1)


def test_a_move_over_totals_that_depends_on_the_part_is_an_error():
    begun, _, _ = one_process([moves.SliceGibbs()], 1)
    schedule = [moves.SliceGibbs(), OfOneWorker()]
    with pytest.raises(ScheduleError, match=r"moves = .*OfOneWorker.*same result in every worker"):
        over_workers(schedule, 1, begun, 2)


class Failing(TokenGibbs):
    """One document fails, in its own way."""

    def __init__(self, how):
        self.how = how

    def document(self, document, common):
        info = super().document(document, common)
        return self.how(document, common, info) if document.number == 37 else info


def error_of_a_user(document, common, info):
    raise KeyError("mine")


def beyond(document, common, info):
    document.dishes[0] = len(common.weights)
    return info


def shorter(document, common, info):
    document.dishes = document.dishes[1:]
    return info


def fractions(document, common, info):
    document.dishes = document.dishes + 0.5
    return info


def nothing(document, common, info):
    return None


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        (error_of_a_user, KeyError, "mine"),
        (beyond, ReturnValueError, r"document\(\) = .*document 37 from 0 to"),
        (shorter, ReturnValueError, "document 37"),
        (fractions, ReturnValueError, "document 37"),
        (nothing, ReturnValueError, "MoveInfo"),
    ],
)
def test_what_a_move_does_wrong_is_an_error_everywhere_and_changes_nothing(how, error, message):
    franchise = hk.Franchise(restaurant(0.2), DATA, store="counts", root="weights")
    hk.Scheduler([TokenGibbs()]).run(franchise, sweeps=1, rng=5, init=hk.init.Random(5))
    before = franchise.freeze()
    with pytest.raises(error, match=message):
        Failing(how).apply(franchise, Streams(1).source(1))
    franchise.audit()
    same(franchise.freeze(), before)
    with pytest.raises(error, match=message):
        over_workers([Failing(how)], 1, before, 2)
