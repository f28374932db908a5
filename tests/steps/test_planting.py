"""Faults are planted in copies: production has no switch, and copies without a fault are production."""

import importlib

import numpy as np
import pytest
from bugs import ALL_FAULTS, planting
from fused_cases import many_dishes

import hdpkit as hk
from hdpkit import moves
from hdpkit.steps import sweeps
from hdpkit.steps.fused import _fused_topics as fused_topics

ROOT = planting.ROOT / "hdpkit"


def test_every_patch_applies_to_the_source():
    changed = planting.patched()
    for number in range(1, len(ALL_FAULTS) + 1):
        assert any(f"hdpkit_fault == {number})" in text for text in changed.values()), number


def test_production_has_no_switch_for_tests():
    for kind in ("pyx", "pxd", "h", "cpp"):
        for path in ROOT.rglob(f"*.{kind}"):
            if kind != "cpp" or path.name.startswith("isa_"):
                words = path.read_text(encoding="utf-8").lower().replace("default", "")
                assert "fault" not in words, path


@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_copies_without_a_fault_have_the_chain_of_production(store):
    def moved(franchise):
        for move in (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()):
            move.apply(franchise, hk.random.RandomStream((1, 2)))
        return franchise.dishes

    franchise = many_dishes(store)
    expected = moved(franchise.copy())
    production = fused_topics.reseat
    kernel = next(one for one in sweeps.reseat.kernels if one.run is production)
    with planting.planted_fault(ALL_FAULTS[0]):
        assert kernel.run is not production
        planting.switch(0)
        assert np.array_equal(moved(franchise.copy()), expected)
    assert kernel.run is production
    for name, place in planting.MODULES.items():
        for key, value in vars(importlib.import_module(f"{place}.{name}")).items():
            assert "planted" not in str(getattr(value, "__module__", "")), key
