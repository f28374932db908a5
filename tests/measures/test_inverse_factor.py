"""The inverse of a Cholesky factor and its changes of rank one, in the bank of the normal-inverse-Wishart."""

import numpy as np
import pytest

import hdpkit as hk

DIMENSIONS = (1, 2, 3, 4, 5, 9, 50)


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
