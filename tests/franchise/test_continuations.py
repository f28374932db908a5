"""Every kind of franchise goes on bit for bit: from folders, as copies, pickles and frozen states."""

import copy
import pickle

import numpy as np
import pytest
from kind_cases import CASES, GAMMA, started
from montecarlo import swept
from states import same_state

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import Streams

ALLOWED = ["kind_cases", "parameter_cases", "shared_values_checks"]
NEW = {"author": ["a", None, "d"]}


@pytest.mark.parametrize("name", CASES)
def test_a_chain_goes_on_bit_for_bit(name, tmp_path):
    (whole, init), (part, _) = started(name), started(name)
    schedule, folder = hk.Scheduler(CASES[name].schedule), tmp_path / "run"
    expected = schedule.run(whole, 7, rng=3, init=init, audit_every=1)
    schedule.run(part, 3, rng=3, init=init, folder=folder)
    early = part.freeze()
    thawed, _ = started(name)
    thawed.thaw(early)
    thawed.streams = Streams(3)
    twins = [part.copy(), pickle.loads(pickle.dumps(part)), copy.deepcopy(part), thawed]
    for twin in twins:
        twin.audit()
        rest = schedule.run(twin, 4, init=None)
        assert same_state(twin.freeze(), whole.freeze())
        assert np.array_equal(rest["log_joint"], expected["log_joint"][3:])
    assert same_state(part.freeze(), early)
    for sweeps in (1, 3):
        trace = hk.open_run(folder, allow=ALLOWED).resume(sweeps)
    run = hk.open_run(folder, allow=ALLOWED)
    back = run.franchise()
    assert same_state(back.freeze(), whole.freeze())
    assert set(trace) == set(expected)
    for key in expected:
        assert all(map(np.array_equal, trace[key], expected[key])), key
    assert [one.hyperparameters for one in back.declarations] == [
        one.hyperparameters for one in whole.declarations
    ]
    assert type(back.store) is type(whole.store)
    assert back.held_groups() == whole.held_groups()


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_the_chain_of_its_moves(name):
    """So laws of long chains are tested without the time of traces."""
    (one, init), (other, _) = started(name), started(name)
    schedule = CASES[name].schedule
    numbers = [(state.n_dishes, state.n_tables) for state in swept(schedule, one, 6, 4, init)]
    trace = hk.Scheduler(schedule).run(other, sweeps=6, rng=4, init=init)
    assert numbers == list(zip(trace["n_dishes"].tolist(), trace["n_tables"].tolist(), strict=True))
    assert same_state(one.freeze(), other.freeze())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.threaded])
def test_a_chain_does_not_depend_on_threads(name):
    ends = []
    for threads in (1, 2, 5):
        state, init = started(name)
        hk.Scheduler(CASES[name].schedule, threads=threads).run(state, sweeps=6, rng=3, init=init)
        ends.append(state.freeze())
    assert same_state(ends[1], ends[0])
    assert same_state(ends[2], ends[0])


@pytest.mark.parametrize("name", [name for name in CASES if isinstance(CASES[name].make().data, hk.Corpus)])
def test_documents_join(name):
    franchise, init = started(name)
    hk.Scheduler(CASES[name].schedule).run(franchise, 3, rng=1, init=init)
    before, dishes = franchise.freeze(), franchise.dishes
    new = hk.Corpus.from_counts(
        np.array([[1, 1, 1, 0, 0, 0], [0] * 6, [0, 0, 0, 0, 0, 7]]), groups=NEW, names=list("xyz")
    )
    more = franchise.data.plus(new)
    joined = franchise.with_documents(more, rng=3)
    assert same_state(franchise.freeze(), before)
    joined.audit()
    n = len(dishes)
    assert len(joined.data) == n + 10
    assert (joined.dishes >= 0).all()
    assert same_state(franchise.with_documents(more, rng=3).freeze(), joined.freeze())
    # Those who were there stay together as they were.
    pairs = set(zip(dishes.tolist(), joined.dishes[:n].tolist(), strict=True))
    assert len(pairs) == len(set(dishes.tolist()))
    assert joined.sweep == franchise.sweep
    assert joined.streams.seed == franchise.streams.seed
    for level in [declared.name for declared in franchise.declarations]:
        old, now = (np.ravel(one.concentration(level)) for one in (franchise, joined))
        assert np.array_equal(now[: len(old)], old)
    assert joined.base_parameters == franchise.base_parameters
    assert joined.held_groups() == franchise.held_groups()


@pytest.mark.parametrize("store", ["histogram", "counts", "explicit"])
def test_points_join_groups_that_were_there_and_new_ones(store):
    data = hk.Groups.from_labels([0.0, 5.0, 0.1, 5.1], {"site": ["b", "a", None, "b"]})
    root = hk.Restaurant(base=hk.NormalGamma(0, 1, 1, 1), concentration=1.0)
    site = hk.Restaurant(base=root, each="site", concentration=hk.Each(GAMMA))
    franchise = hk.Franchise(site, data, store=store)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=5, rng=0)
    franchise.set_concentration("site", [2.0, 3.0])
    more = data.plus(hk.Groups.from_labels([5.2, 0.2, 0.3], {"site": ["c", None, "a"]}))
    joined = franchise.with_documents(more, rng=1)
    joined.audit()
    assert joined.keys("site") == ["b", "a", "c"]
    assert joined.concentration("site")[:2].tolist() == [2.0, 3.0]
    assert (joined.dishes >= 0).all()
    pairs = set(zip(franchise.dishes.tolist(), joined.dishes[:4].tolist(), strict=True))
    assert len(pairs) == len(set(franchise.dishes.tolist()))
    assert joined.restaurant("site", "c").n_customers == 1


class Ages(hk.Part):
    """Births of dishes, counted; it knows its franchise, as a user's part may."""

    def __init__(self, franchise):
        self.franchise, self.births = franchise, 0

    def born(self, slot, source, customers):
        self.births += 1

    def clone(self, state):
        twin = Ages(state)
        twin.births = self.births
        return twin


def test_a_part_that_knows_its_franchise():
    franchise, init = started("histogram")
    franchise.register("ages", Ages(franchise))
    hk.Scheduler(CASES["histogram"].schedule).run(franchise, 2, rng=0, init=init)
    twin = pickle.loads(pickle.dumps(franchise))
    assert twin.components["ages"].franchise is twin
    assert twin.components["ages"].births >= franchise.components["ages"].births > 0
