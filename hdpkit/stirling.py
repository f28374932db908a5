"""Generalised Stirling numbers in Python. The compiled twins are in `stores._stirling`."""

from __future__ import annotations

from math import exp, inf, log, log1p


def log_stirling(n: int, t: int, d: float = 0.0) -> float:
    """log S_d(n, t), where S_d(n + 1, t) = S_d(n, t - 1) + (n - t d) S_d(n, t) and S_d(0, 0) = 1."""
    if not 0 <= t <= n:
        return -inf
    row = [0.0]  # log S_d(i, 0 ..)
    for i in range(n):
        shared = [-inf, *(log(i - j * d) + row[j] for j in range(1, len(row)))]
        opened = [-inf, *row]
        row = [_log_sum(a, b) for a, b in zip(opened, [*shared, -inf], strict=True)][: t + 1]
    return row[t]


def _log_sum(a: float, b: float) -> float:
    """log(exp a + exp b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -inf else high + log1p(exp(low - high))


def one_shares(n: int, t: int, d: float) -> float:
    """S_d(n + 1, t) / S_d(n, t)."""
    return exp(log_stirling(n + 1, t, d) - log_stirling(n, t, d))


def one_opens(n: int, t: int, d: float) -> float:
    """S_d(n + 1, t + 1) / S_d(n, t)."""
    return exp(log_stirling(n + 1, t + 1, d) - log_stirling(n, t, d))


def one_alone(n: int, t: int, d: float) -> float:
    """S_d(n - 1, t - 1) / S_d(n, t): the probability that the last of n customers at t tables sits alone."""
    return exp(log_stirling(n - 1, t - 1, d) - log_stirling(n, t, d))
