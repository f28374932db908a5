"""The matrix checks pass a right kernel and fail each wrong one."""

import math

import marginals
import numpy as np
import pytest

from hdpkit.testing import enumeration as en
from hdpkit.testing.exact import errors_of, is_irreducible

SHAPE = en.Shape.from_lengths([2, 2])
VALUES = [0, 1, 1, 1]
TOLERANCE = 1e-12


def errors(P, pi):
    """The largest errors of rows, of the flow into states, and of detailed balance."""
    return [float(by_state.max()) for by_state in errors_of(P, pi, reversible=True).values()]


def without(key: en.Key, i: int) -> frozenset:
    """The seating of all but customer i, as the sets of customers beneath each table."""
    tables: dict[tuple[int, int], set[int]] = {}
    for j, seats in enumerate(key):
        for node, table in zip(SHAPE.path(SHAPE.home[j]), seats, strict=True):
            tables.setdefault((node, table), set()).add(j)
    rest = ((node, frozenset(beneath - {i})) for (node, _), beneath in tables.items())
    return frozenset((node, beneath) for node, beneath in rest if beneath)


def gibbs(posterior: dict[en.Key, float], i: int) -> np.ndarray:
    """Seat customer i anew: to every state with the same rest, in proportion to its probability."""
    states = list(posterior)
    rest = [without(key, i) for key in states]
    pi = np.array(list(posterior.values()))
    P = np.array(
        [[pi[t] if rest[s] == rest[t] else 0.0 for t in range(len(states))] for s in range(len(states))]
    )
    return P / P.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def chain():
    log_marginal = marginals.dirichlet_multinomial_log_marginal(0.5, 2)
    posterior = en.exact_posterior(SHAPE, VALUES, log_marginal, [1.5, 0.7, 0.4], [0.2, 0.0, 0.5])
    return list(posterior), np.array(list(posterior.values())), [gibbs(posterior, i) for i in range(4)]


def test_a_right_gibbs_sweep_passes(chain):
    _, pi, steps = chain
    sweep = np.linalg.multi_dot(steps)
    assert max(errors(sweep, pi)[:2]) <= TOLERANCE
    assert is_irreducible(sweep)
    for step in steps:
        assert max(errors(step, pi)) <= TOLERANCE
        assert not is_irreducible(step)  # one customer alone doesn't reach every seating
    assert errors(sweep, pi)[2] > 1e-4  # a sweep in order is not reversible, and needn't be


def test_a_gibbs_step_towards_the_wrong_law_fails(chain):
    states, pi, _ = chain
    # the planted bug: a new table's mass leaves out a factor
    wrong = {key: p * 0.9 ** en.n_tables(key, SHAPE) for key, p in zip(states, pi, strict=True)}
    step = gibbs(wrong, 0)
    of_rows, of_flow, of_balance = errors(step, pi)
    assert of_rows <= TOLERANCE
    assert of_flow > 1e-4
    assert of_balance > 1e-5


def test_not_a_number_never_passes():
    P = np.array([[math.nan, 1.0], [0.5, 0.5]])
    assert np.isnan(errors(P, np.array([0.5, 0.5]))).all()
