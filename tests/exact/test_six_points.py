"""Mixtures of six points: all 203 partitions by brute force, with independent marginals."""

import math

import numpy as np
import pytest
from marginals import (
    normal_gamma_log_marginal,
    normal_inverse_wishart_log_marginal,
    von_mises_fisher_log_marginal,
)
from montecarlo import swept

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams

CONCENTRATION = 0.8
POINTS = np.array([[0.0, 0.1], [0.3, -0.2], [1.1, 0.9], [1.4, 1.2], [0.7, 0.4], [-0.9, 1.3]])
UNIT = (POINTS + 0.3) / np.linalg.norm(POINTS + 0.3, axis=1, keepdims=True)
MEASURES = {
    "normal": (
        hk.NormalInverseWishart([0.2, 0.4], 0.3, 4.0, [[0.4, 0.1], [0.1, 0.3]]),
        normal_inverse_wishart_log_marginal,
        POINTS,
    ),
    "diagonal": (hk.NormalGamma([0.2, 0.4], 0.3, 2.0, [0.3, 0.2]), normal_gamma_log_marginal, POINTS),
    "directions": (hk.VonMisesFisher(6.0, [0.6, 0.8], 0.5), von_mises_fisher_log_marginal, UNIT),
}
cases = pytest.mark.parametrize("name", MEASURES)


def partitions(n):
    """Every partition, as the numbers of the blocks in the order of their first members."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*one, block] for one in found for block in range(max(one) + 2)]
    return np.array(found)


def franchise_of(name):
    measure, _, points = MEASURES[name]
    root = hk.Restaurant(base=measure, concentration=CONCENTRATION)
    return hk.Franchise(root, hk.Groups.from_labels(points, {}))


def log_joints(name):
    """log p(partition) p(points | partition) of all partitions, up to a constant."""
    measure, witness, points = MEASURES[name]
    log_marginal, known, out = witness(**measure.parameters), {}, []
    for one in partitions(6):
        total = 0.0
        for block in range(one.max() + 1):
            inside = tuple(np.flatnonzero(one == block).tolist())
            if inside not in known:
                known[inside] = log_marginal([points[i] for i in inside])
            total += known[inside] + math.log(CONCENTRATION) + math.lgamma(len(inside))
        out.append(total)
    return np.array(out)


@cases
def test_joint_probabilities_of_all_partitions(name):
    franchise, expected = franchise_of(name), log_joints(name)
    assert len(expected) == 203
    found = []
    for one in partitions(6):
        start(franchise, one, Streams(0).source(STARTS))
        found.append(franchise.log_joint())
    shift = np.array(found) - expected
    assert np.ptp(shift) < 1e-9


@cases
@pytest.mark.parametrize("more", [[], [moves.SplitMerge()]], ids=["TableGibbs", "SplitMerge"])
def test_a_chain_visits_partitions_as_often_as_they_are_probable(name, more):
    """Probabilities that two points share a dish, and of the number of dishes."""
    logs, all_of_them = log_joints(name), partitions(6)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    together = all_of_them[:, :, None] == all_of_them[:, None, :]
    sizes = [all_of_them.max(axis=1) + 1 == k for k in range(1, 7)]
    expected = np.append(np.einsum("s,sij->ij", p, together).ravel(), [p[own].sum() for own in sizes])
    franchise, seen = franchise_of(name), []

    for state in swept([moves.TableGibbs(), *more], franchise, 3000, 5):
        of_size = [state.n_dishes == k for k in range(1, 7)]
        seen.append(np.append((state.dishes[:, None] == state.dishes).ravel(), of_size))
    batches = np.array(seen, dtype=float).reshape(30, 100, -1).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(30)
    assert np.all(np.abs(batches.mean(axis=0) - expected) <= 5.0 * error + 0.002)
