"""Weights of the root in saved states: copies, frozen states, run folders, chains, extremes; old names."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError, DeclarationError, ParameterError, ScheduleError, StateError
from hdpkit.random import RandomStream
from hdpkit.testing.machines import same

SCHEDULE = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge(), moves.Concentration(), moves.RootWeights()])


def weighted(root="weights", concentration=hk.Gamma(2.0, 1.0), **options):  # noqa: B008 - immutable
    corpus = hk.Corpus.from_documents([[0, 0, 1, 2], [1, 2, 2], [2, 2, 0]], n_terms=3)
    base = hk.Restaurant(base=hk.DirichletMultinomial(0.5), concentration=concentration)
    document = hk.Restaurant(base=base, concentration=0.7, each="document")
    return hk.Franchise(document, corpus, root=root, **options)


@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_a_run_in_a_folder_is_resumed_bit_for_bit(store, tmp_path):
    whole = SCHEDULE.run(weighted(store=store), sweeps=30, rng=3)
    SCHEDULE.run(weighted(store=store), sweeps=12, rng=3, folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    assert run.franchise().root.declared == "weights"
    resumed = run.resume(sweeps=18)
    for key in ("n_dishes", "log_joint", "root weights/remainder"):
        assert np.array_equal(whole[key], resumed[key])


def test_chains_have_weights(tmp_path):
    trace = SCHEDULE.run(weighted(), sweeps=4, rng=3, chains=2)
    alone = SCHEDULE.run(weighted(), sweeps=4, rng=3)
    assert np.array_equal(np.asarray(trace["root weights/remainder"])[0], alone["root weights/remainder"])


def test_copies_and_thawed_states_go_on_alike():
    franchise = weighted()
    SCHEDULE.run(franchise, sweeps=5, rng=1)
    frozen, twin = franchise.freeze(), franchise.copy()
    other = weighted()
    other.thaw(frozen)
    for state in (franchise, twin, other):
        moves.TableGibbs().apply(state, RandomStream((1, 5)))
        state.audit()
    assert same(twin.freeze(), franchise.freeze())
    assert same(other.freeze(), franchise.freeze())


def test_states_go_from_a_restaurant_to_weights_and_back():
    plain, franchise = weighted("restaurant"), weighted()
    hk.Scheduler([moves.TableGibbs()]).run(plain, sweeps=5, rng=1)
    franchise.thaw(plain.freeze(), RandomStream((1, 5)))
    franchise.audit()
    drawn = franchise.root_weights()
    expected = plain.root_weights()
    assert not np.allclose(drawn[0], expected[0])
    before = franchise.freeze()
    with pytest.raises(StateError, match="source"):
        franchise.thaw(plain.freeze())
    assert same(franchise.freeze(), before)
    plain.thaw(franchise.freeze())
    plain.audit()


@pytest.mark.parametrize("weights", [None, [0.5], [0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0], "ab"])
def test_weights_that_are_none_are_refused(weights):
    franchise = weighted()
    SCHEDULE.run(franchise, sweeps=1, rng=1, init="one")
    frozen = franchise.freeze()
    frozen["components"] = {"root weights": {"weights": weights}}
    with pytest.raises(DataError, match="root weights"):
        weighted().thaw(frozen)


@pytest.mark.parametrize("gamma", [1e-10, 1e6])
@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_extreme_concentrations(gamma, store):
    franchise = weighted(concentration=gamma, store=store)
    schedule = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge(), moves.RootWeights()])
    trace = schedule.run(franchise, sweeps=50, rng=1, audit_every=1)
    assert np.isfinite(trace["log_joint"]).all()
    assert (trace["n_dishes"].mean() < 1.5) == (gamma < 1.0)


def test_steps_that_need_a_restaurant_or_a_source_say_so():
    franchise = weighted()
    SCHEDULE.run(franchise, sweeps=1, rng=1)
    before = franchise.freeze()
    with pytest.raises(StateError, match="source"):
        franchise.open_dish()
    with pytest.raises(StateError, match="root_integrated"):
        franchise.reseat_groups(franchise.groups(), 0, 1, 0, RandomStream((1, 1)))
    with pytest.raises(ScheduleError, match="RootWeights"):
        moves.RootWeights().check(weighted("restaurant"))
    with pytest.raises((ParameterError, DeclarationError), match="root"):
        weighted("atoms")
    assert same(franchise.freeze(), before)


def test_a_part_that_fails_at_a_birth_leaves_no_dish():
    class Failing(hk.Part):
        def born(self, slot, source, customers):
            raise ValueError("on purpose")

    franchise = weighted("restaurant")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=1)
    franchise.register("failing", Failing())
    n = franchise.n_dishes
    with pytest.raises(ValueError, match="on purpose"), franchise.transaction():
        franchise.open_dish(RandomStream((1, 1)))
    assert franchise.n_dishes == n
    franchise.audit()


def test_the_old_names_of_parts_work():
    class Births(hk.Part):
        slots: tuple = ()

        def born(self, slot):
            self.slots = (*self.slots, slot)

    franchise, births = weighted(), Births()
    franchise.register("births", births)
    SCHEDULE.run(franchise, sweeps=3, rng=1)
    assert len(births.slots) >= franchise.n_dishes
