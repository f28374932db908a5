"""The inverse of a Cholesky factor and its changes of rank one, in the bank of the normal-inverse-Wishart."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bugs.planting import compiler

import hdpkit as hk

HEADER = Path(hk.__file__).parent / "measures" / "inverse_factor.h"
EXPORTS = """
#include "inverse_factor.h"
extern "C" {
int64_t size(int64_t D) { return hdpkit_factor_size(D); }
void invert(const double *L, int64_t D, double *W) { hdpkit_invert_factor(L, D, W); }
double whiten(const double *W, const double *x, int64_t P, double *z) { return hdpkit_whiten(W, x, P, z); }
void lengths(const double *W, const double *x, int64_t P, double *out) { hdpkit_lengths(W, x, P, out); }
void change(double *W, const double *u, double sign, int64_t P, double *sums) {
    hdpkit_change_factor(W, u, sign, P, sums);
}
}
"""
FAULTS = {
    "rank-one change of the wrong sign": ("after = before + sign * v * v", "after = before - sign * v * v"),
    "removals that add": ("share[r] = sign * v / before", "share[r] = v / before"),
    "share of the next row": ("share[r] = sign * v / before", "share[r] = sign * v / after"),
    "sums of changed rows": ("sum += u[4 * p + r] * entry", "sum += u[4 * p + r] * W[r]"),
    "rows that keep their lengths": ("sqrt(before / after)", "sqrt(1.0)"),
}
DIMENSIONS = (1, 2, 3, 4, 5, 9, 50)


def compiled(folder, header, plain=False):
    """The functions of the header, by ctypes."""
    (folder / "inverse_factor.h").write_text(header, encoding="utf-8")
    (folder / "exports.cpp").write_text(EXPORTS, encoding="utf-8")
    library = folder / "exports.so"
    flags = ["-DHDPKIT_PLAIN_LANES"] if plain else []
    subprocess.run(
        [compiler(), "-O2", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC", *flags,
         "-I", HEADER.parent, "-o", library, folder / "exports.cpp"],
        check=True, capture_output=True,
    )  # fmt: skip
    functions = ctypes.CDLL(str(library))
    functions.size.restype = ctypes.c_int64
    functions.whiten.restype = ctypes.c_double
    return functions


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


class Factor:
    """W of a matrix, in the layout of the header."""

    def __init__(self, functions, matrix):
        self.functions, self.D = functions, len(matrix)
        self.panels = -(-self.D // 4)
        L = np.linalg.cholesky(matrix)
        np.fill_diagonal(L, 1.0 / np.diag(L))
        columns = np.concatenate([L[j:, j] for j in range(self.D)])
        self.W = np.empty(functions.size(ctypes.c_int64(self.D)))
        functions.invert(pointer(columns), ctypes.c_int64(self.D), pointer(self.W))

    def whiten(self, x):
        given, z = np.zeros(4 * self.panels), np.empty(4 * self.panels)
        given[: self.D] = x
        length = self.functions.whiten(
            pointer(self.W), pointer(given), ctypes.c_int64(self.panels), pointer(z)
        )
        return length, z

    def lengths(self, four):
        given, out = np.zeros((4 * self.panels, 4)), np.empty(4)
        given[: self.D] = four.T
        self.functions.lengths(pointer(self.W), pointer(given), ctypes.c_int64(self.panels), pointer(out))
        return out

    def change(self, v, sign):
        _, u = self.whiten(v)
        sums = np.empty(4 * self.panels)
        arguments = pointer(u), ctypes.c_double(sign), ctypes.c_int64(self.panels), pointer(sums)
        self.functions.change(pointer(self.W), *arguments)


def check_changes(functions):
    """Vectors are added to a matrix and removed from it; lengths are those under NumPy's factor."""
    generator = np.random.default_rng(3)
    for D in DIMENSIONS:
        root = generator.normal(size=(D, 2 * D))
        matrix = root @ root.T + np.eye(D)
        factor = Factor(functions, matrix)
        added = []
        for step in range(30):
            if added and step % 3 == 2:
                v, sign = added.pop(int(generator.integers(len(added)))), -1.0
            else:
                v, sign = generator.normal(size=D) * 2.0, 1.0
                added.append(v)
            factor.change(v, sign)
            matrix = matrix + sign * np.outer(v, v)
            x = generator.normal(size=(4, D))
            expected = np.linalg.inv(np.linalg.cholesky(matrix)) @ x.T
            for one, z in zip(x, expected.T, strict=True):
                length, whitened = factor.whiten(one)
                assert whitened[:D] == pytest.approx(z, rel=1e-9, abs=1e-9)
                assert length == pytest.approx(z @ z, rel=1e-9)
            assert factor.lengths(x).tolist() == [factor.whiten(one)[0] for one in x], "the same bits"


needs_compiler = pytest.mark.skipif(
    sys.platform == "win32" or compiler() is None or shutil.which(compiler()) is None, reason="no compiler"
)


@needs_compiler
@pytest.mark.parametrize("plain", [False, True], ids=["vectors", "loops"])
def test_lengths_after_changes_of_rank_one(tmp_path, plain):
    check_changes(compiled(tmp_path, HEADER.read_text(encoding="utf-8"), plain))


@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, tmp_path):
    text, (old, new) = HEADER.read_text(encoding="utf-8"), FAULTS[name]
    assert text.count(old) == 1
    with pytest.raises(AssertionError):
        check_changes(compiled(tmp_path, text.replace(old, new)))


def bank_over(values, measure):
    data = hk.Groups.from_labels(values, {})
    return measure.for_data(data).bank(data)


@pytest.mark.parametrize("D", DIMENSIONS)
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
def test_predictives_of_a_bank_with_a_history(D, spread):
    """After any removals and additions, and with a value out of its dish: those of recomputed statistics."""
    generator = np.random.default_rng(D)
    n, K = 60 + 3 * D, 3
    dishes = generator.integers(K, size=n).astype(np.int32)
    dishes[0] = 0
    values = generator.normal(size=(n, D)) * spread + 3.0 * spread * dishes[:, None]
    values[dishes == 0] *= np.linspace(0.01, 3.0, D)  # of different sizes by dimension
    measure = hk.NormalInverseWishart(np.full(D, 0.3 * spread), 0.2, D + 1.5, np.eye(D) * spread**2)
    bank, fresh = bank_over(values, measure), bank_over(values, measure)
    bank.rebuild(dishes, np.arange(K))
    for step in range(3 * n):
        i = step % n if step < 2 * n else int(generator.integers(n))
        bank.remove(int(dishes[i]), [i])
        left = dishes.copy()
        left[i] = -1
        fresh.rebuild(left, np.arange(K))
        expected = fresh.log_predictive(i, np.arange(K))
        assert bank.log_predictive(i, np.arange(K)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        if step % 5 == 0:
            other = int(generator.integers(n))
            expected = fresh.log_predictive(other, np.arange(K))
            assert bank.log_predictive(other, np.arange(K)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        if step % 7 == 0:
            assert bank.log_marginals(np.arange(K)) == pytest.approx(
                fresh.log_marginals(np.arange(K)), rel=1e-9
            )
        if generator.random() < 0.4 and np.count_nonzero(left == dishes[i]) > 1:
            dishes[i] = generator.integers(K)
        bank.add(int(dishes[i]), [i])
    assert [bank.row(k)[0] for k in range(K)] == np.bincount(dishes, minlength=K).tolist()


def test_a_value_that_dominates_its_dish_is_really_removed():
    """Its density under the others isn't taken from a difference that has lost its digits."""
    values = np.array([[1e3, -1e3], [0.1, 0.2], [0.3, -0.1], [0.2, 0.1]])
    measure = hk.NormalInverseWishart([0.0, 0.0], 0.01, 4.0, np.eye(2))
    bank, fresh = bank_over(values, measure), bank_over(values, measure)
    bank.rebuild(np.zeros(4, dtype=np.int32), [0])
    bank.log_predictive(1, [0])
    bank.remove(0, [0])
    fresh.rebuild(np.array([-1, 0, 0, 0], dtype=np.int32), [0])
    assert bank.log_predictive(0, [0]) == pytest.approx(fresh.log_predictive(0, [0]), rel=1e-10)


def test_predictives_have_the_same_bits_in_any_order():
    generator = np.random.default_rng(9)
    values = generator.normal(size=(23, 6))
    measure = hk.NormalInverseWishart(np.zeros(6), 0.2, 8.0, np.eye(6))
    bank = bank_over(values, measure)
    bank.rebuild((np.arange(23) % 2).astype(np.int32), [0, 1])
    in_order = [bank.log_predictive(i, [0, 1]).tolist() for i in range(23)]
    backwards = [bank.log_predictive(i, [0, 1]).tolist() for i in reversed(range(23))]
    assert in_order == backwards[::-1]
