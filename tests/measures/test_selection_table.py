"""The table of sums over selected terms, and errors for parameters and dishes that don't exist."""

import math

import numpy as np
import pytest
from hdpkit.measures._selection import Selection

from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.measures import selection as readable


def walk_of_states(steps, V, seed):
    """(a, n) as customers come and go, and a jump now and then."""
    generator = np.random.default_rng(seed)
    a, n = 1, 1
    for _ in range(steps):
        if generator.random() < 0.01:
            a = int(generator.integers(1, V + 1))
            n = a + int(generator.integers(0, 5000))
        new = generator.random() < 0.2
        if generator.random() < 0.5:
            a, n = min(V, a + new), n + 1
        else:
            a = max(1, a - new)
            n = max(a, n - 1)
        yield a, n


@pytest.mark.parametrize("law", [{"r": 1.0, "s": 1.0}, {"log_pi": -1.7, "log_rest": -0.2}], ids=str)
def test_a_table_changes_no_bit(law):
    kept, small, fresh = (
        Selection(60, 0.5, **law),
        Selection(60, 0.5, limit=1, **law),
        Selection(60, 0.5, **law),
    )
    for a, n in walk_of_states(4000, 60, 1):
        c, e, share = fresh.computed(a, n)
        assert kept.coefficients(a, n) == (c, e) == small.coefficients(a, n)
        assert kept.log_share(a, n) == share == small.log_share(a, n)


def test_memory_of_a_table_is_bounded():
    limit = 200_000
    selection = Selection(1000, 0.5, r=1.0, s=1.0, limit=limit)
    empty = selection.memory_bytes()
    sizes = []
    for a, n in walk_of_states(3000, 1000, 2):
        selection.coefficients(a, n)
        sizes.append(selection.memory_bytes())
    scratch = 50_000
    assert empty < sizes[0]
    assert max(sizes) > limit / 2
    assert max(sizes) <= 1.1 * limit + scratch


# ---------------------------------------------------------------------------------- outside the domain


@pytest.mark.parametrize(
    ("check", "bad"),
    [
        (readable.check_n_terms, [0, -1, 2.0, True, 2**31, None]),
        (readable.check_smoothing, [0, 0.0, -1.0, math.inf, math.nan, 1e7, 1e-7, "1", None, True]),
        (lambda value: readable.check_shape("r", value), [0, -2.0, math.inf, math.nan, 1e7, 1e-7, "1", None]),
    ],
)
def test_checks_of_parameters(check, bad):
    for value in bad:
        with pytest.raises(ParameterError):
            check(value)


def test_parameters_that_pass():
    assert readable.check_n_terms(np.int64(7)) == 7
    assert readable.check_smoothing(1) == 1.0
    assert readable.check_shape("s", 1e-3) == 1e-3
    with pytest.raises(DeclarationError, match="n_terms"):
        readable.check_n_terms(1)


@pytest.mark.parametrize(
    "options",
    [
        {"n_terms": 1},
        {"smoothing": 0.0},
        {"smoothing": math.inf},
        {"r": 0.0},
        {"s": math.nan},
        {"r": None},
        {"log_pi": -1.0},
        {"r": None, "s": None, "log_pi": 0.0, "log_rest": -1.0},
        {"r": None, "s": None, "log_pi": -1.0, "log_rest": -math.inf},
        {"limit": -1},
        {"limit": 0},
    ],
)
def test_laws_that_there_are_not(options):
    with pytest.raises(ParameterError):
        Selection(**({"n_terms": 5, "smoothing": 0.5, "r": 1.0, "s": 1.0} | options))


def test_dishes_that_there_are_not():
    selection = Selection(5, 0.5, r=1.0, s=1.0)
    for a, n in ((0, 1), (6, 7), (-1, 3), (2, -1), (2, 2**41), (2.0, 3), (True, 1)):
        for call in (selection.coefficients, selection.log_sum, selection.expected, selection.computed):
            with pytest.raises(ParameterError):
                call(a, n)
    with pytest.raises(ParameterError):
        selection.log_ratio(3, 5, 2, 6)
    with pytest.raises(TypeError):
        selection.draw(2, 3, None)
    assert selection.log_density(4, 2, 3) == -math.inf
