"""Inconsistent frozen states raise an error before any of their numbers is used as an index."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves

WORST = (0, -1, 2**31 - 1, -(2**31), 1000)


def franchise(store, depth=2):
    documents = np.random.default_rng(0).integers(0, 8, size=(6, 12)).tolist()
    corpus = hk.Corpus.from_documents(documents, n_terms=8, groups={"author": [0, 0, 0, 1, 1, 1]})
    declared = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(2.0, 2.0))
    for label in ["author", "document"][-(depth - 1) :] if depth > 1 else []:
        declared = hk.Restaurant(declared, concentration=hk.Gamma(2.0, 2.0), each=label)
    state = hk.Franchise(declared, corpus, store=store)
    hk.Scheduler([moves.TableGibbs()]).run(state, 3, rng=0)
    return state


def changed(seating, draw):
    """A seating with one array of it changed."""
    made = {name: array.copy() for name, array in seating.items()}
    array = made[draw.choice(sorted(made))]
    i, j = draw.integers(len(array), size=2)
    kind = draw.integers(5)
    if kind == 0:
        array[[i, j]] = array[[j, i]]
    elif kind == 1:
        array[i] += draw.choice([-1, 1])
    elif kind == 2:
        array[:] = draw.permutation(array)
    elif kind == 3:
        array[i] = draw.choice(WORST)
    else:
        array[i] = array[j]
    return made


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_what_is_taken_over_passes_its_audit(store, depth):
    state, draw = franchise(store, depth), np.random.default_rng(depth)
    frozen = state.freeze()
    refused = 0
    for _ in range(300):
        try:
            state.thaw({**frozen, "seating": changed(frozen["seating"], draw)})
        except errors.DataError:
            refused += 1
            continue
        state.audit()
        state.thaw(frozen)
    assert refused > 60


FORGED = {
    "slots far out": {"slots": lambda old: np.append(old, 2**31 - 1)},
    "slots without a dish": {"slots": lambda old: np.append(old, old[-1] + 1)},
    "a slot held and taken": {"held": lambda old: np.array([0], np.int32)},
    "held far out": {"held": lambda old: np.array([2**31 - 2], np.int32)},
    "held twice": {"held": lambda old: np.array([50, 50], np.int32)},
    "one restaurant's own concentration": {"concentration": lambda old: old + np.arange(len(old))},
    "sweep": {"sweep": lambda old: 2**63},
    "sweep NaN": {"sweep": lambda old: float("nan")},
    "streams": {"streams": lambda old: {"seed": -1, "chain": 0}},
    "streams of what": {"streams": lambda old: {"seed": 1, "chain": 0, "more": 1}},
    "chain": {"streams": lambda old: {"seed": 1, "chain": 1e9}},
    "components": {"components": lambda old: 3},
    "measure": {"measure": lambda old: {"eta": 1.0}},
    "ids twice": {"dish_ids": lambda old: np.full_like(old, old[0])},
    "ids beyond the births": {"dish_ids": lambda old: old + 10**6},
    "negative ids": {"dish_ids": lambda old: -1 - old},
    "too few ids": {"dish_ids": lambda old: old[:-1]},
    "no ids": {"dish_ids": lambda old: None},
    "births": {"births": lambda old: -1},
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_forged_numbers_leave_the_franchise_alone(store, name):
    state = franchise(store)
    before = state.freeze()
    with pytest.raises(errors.DataError, match="in the frozen state"):
        state.thaw({**before, **{key: make(before[key]) for key, make in FORGED[name].items()}})
    state.audit()
    assert all(
        np.array_equal(before["seating"][key], value) for key, value in state.freeze()["seating"].items()
    )


@pytest.mark.parametrize(
    "forge",
    [
        lambda bank: {**bank, "parameters": bank["parameters"][:-1]},
        lambda bank: {**bank, "parameters": [np.array([1.0, 2.0]), *bank["parameters"][1:]]},
        lambda bank: {**bank, "parameters": [np.array(np.nan), *bank["parameters"][1:]]},
        lambda bank: {**bank, "parameters": [np.array("text"), *bank["parameters"][1:]]},
        lambda bank: {**bank, "slots": bank["slots"] + 1},
        lambda bank: {"slots": bank["slots"]},
        lambda bank: [1, 2],
    ],
)
def test_parameters_are_such_as_the_likelihood_takes(forge):
    data = hk.Groups.from_labels([0.0, 1.0, 5.0, 6.0])
    measure = hk.NonConjugate(lambda x, p: -0.5 * float((x - p) ** 2), lambda rng: float(rng.normal()))
    state = hk.Franchise(hk.Restaurant(measure), data)
    hk.Scheduler([moves.TableGibbs()]).run(state, 3, rng=0)
    frozen = state.freeze()
    with pytest.raises(errors.DataError, match="bank, in the frozen state"):
        state.thaw({**frozen, "bank": forge(frozen["bank"])})
    state.thaw(frozen)
    state.audit()


class Opens(moves.Move):
    """A mistake of a user's: a dish that nobody gets."""

    def __init__(self, at):
        self.at = at

    def apply(self, state, rng, steps=None):
        if state.sweep == self.at:
            state.open_dish()
        return moves.MoveInfo()


@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_a_dish_without_customers_is_not_saved(store, tmp_path):
    state = franchise(store)
    with pytest.raises(errors.StateError, match="open_dish"):
        hk.Scheduler([moves.TableGibbs(), Opens(2)]).run(state, 5, rng=0, folder=tmp_path / "run")
    state.audit()
    assert hk.open_run(tmp_path / "run").sweeps == [2]
    frozen = state.freeze()
    state.open_dish()
    for step in (state.freeze, state.copy, state.settle):
        with pytest.raises(errors.StateError, match="open_dish"):
            step()
    with pytest.raises(errors.ClosedError):
        state.freeze()
    state.thaw(frozen)
    state.audit()
