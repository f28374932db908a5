"""Simulation-based calibration that is exact for chains of any length and any speed of mixing."""

import math
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike
from one_sample import one_sample_p
from scipy import stats

from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.random import RandomStream, Streams
from hdpkit.testing.geweke import apply_moves, hyperparameters, rounded

_REPLICA = 1  # place of the streams


def quantities(franchise: Franchise) -> dict[str, float]:
    """The ranked quantities: dishes, tables, parts of the log joint, and every hyperparameter with
    a prior.
    """
    seating, likelihood = franchise.log_seating(), franchise.log_likelihood()
    return rounded(
        {
            "dishes": float(franchise.n_dishes),
            "tables": float(franchise.n_tables),
            "log seating": seating,
            "log likelihood": likelihood,
            "log joint": seating + likelihood + franchise.log_prior(),
            **hyperparameters(franchise),
        }
    )


def apply_backwards(franchise: Franchise, moves: Sequence[Move], rng: RandomStream) -> None:
    """Apply the time reversal of these moves in this order, every step of which is reversible."""
    for move in reversed(moves):
        _reverse(franchise, move, rng)


def _reverse(franchise: Franchise, move: Move, rng: RandomStream) -> None:
    # One labelled seating is drawn, as in the move itself: forwards it is (draw a seating, steps, aggregate).
    with franchise.labelled_seating(rng) if move.needs_tables else nullcontext():
        for step in reversed(range(move.n_steps(franchise))):
            move.apply(franchise, rng, (step, step + 1))


def calibration(
    franchise: Franchise, moves: Sequence[Move], replicas: int, draws: int, seed: int
) -> dict[str, float]:
    """P-values of the hypothesis that the moves draw from the posterior: ranks of the truth are uniform."""
    streams = Streams(seed)
    ranks: dict[str, list[int]] = {}
    for replica in range(replicas):
        source = streams.source(_REPLICA, replica)
        forwards = franchise.simulate(source)
        backwards = forwards.copy()
        truth = quantities(forwards)
        place = source.index(draws + 1)
        chain = []
        for _ in range(place):
            apply_backwards(backwards, moves, source)
            chain.append(quantities(backwards))
        for _ in range(draws - place):
            apply_moves(forwards, moves, source)
            chain.append(quantities(forwards))
        for name, value in truth.items():
            rank = random_rank(value, [values[name] for values in chain], source.generator)
            ranks.setdefault(name, []).append(rank)
    return {name: rank_uniformity_p(own, draws + 1) for name, own in ranks.items()}


def rank_uniformity_p(ranks: ArrayLike, n_bins: int) -> float:
    """P-value of the hypothesis that independent ranks are uniform on 0..n_bins-1."""
    rank, bins = np.asarray(ranks), np.arange(n_bins)
    p_values = [one_sample_p(np.bincount(rank, minlength=n_bins), np.full(n_bins, 1 / n_bins))]
    for score in (bins.astype(np.float64), np.abs(2.0 * bins - (n_bins - 1))):
        if score.std() > 0:
            z = (score[rank].mean() - score.mean()) / (score.std() / math.sqrt(rank.size))
            p_values.append(float(2 * stats.norm.sf(abs(z))))
    return min(1.0, len(p_values) * min(p_values))


def random_rank(truth: float, draws: ArrayLike, rng: np.random.Generator) -> int:
    """Rank of ``truth`` among draws, ties broken at random: in 0..L, uniform if all are exchangeable."""
    sample = np.asarray(draws)
    return int(np.sum(sample < truth)) + int(rng.integers(int(np.sum(sample == truth)) + 1))
