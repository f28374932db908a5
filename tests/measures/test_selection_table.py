"""The table of sums over selected terms, and errors for parameters and dishes that don't exist."""

import numpy as np
import pytest
from hdpkit.measures._selection import Selection


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
