"""Intervals: halves of chains, and how often they contain the truth."""

import numpy as np

import hdpkit as hk
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.signatures import choose_rank

SAMPLES, CHANNELS, SIGNATURES = 40, 60, 4
SEEDS = range(2)


def simulated(rng):
    """Counts of signatures that are in 7 of 10 samples, with the true signatures and their mutations."""
    rows = rng.dirichlet(np.full(CHANNELS, 0.3), SIGNATURES)
    shares = rng.gamma(1.0, size=(SAMPLES, SIGNATURES)) * (rng.random((SAMPLES, SIGNATURES)) < 0.7)
    shares[~shares.any(axis=1), 0] = 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    totals = rng.integers(500, 2000, SAMPLES)
    counts = np.array([rng.multinomial(n, share @ rows) for n, share in zip(totals, shares, strict=True)])
    return counts, rows, shares * totals[:, None]


def fitted(seed):
    """Signatures of two short chains, and the true ones with their mutations."""
    counts, rows, exposures = simulated(np.random.default_rng(seed))
    kind, corpus = Cohort(bursty=False), hk.Corpus.from_counts(counts)
    declared = kind.declare(corpus)
    trace = hk.Scheduler(kind.moves(declared)).run(
        kind.franchise(corpus), 100, rng=seed, init=choose_rank(declared, corpus, rng=seed).init, chains=2,
        samples=10, processes=1,
    )  # fmt: skip
    return kind.extracted(trace, corpus), rows, exposures


def test_intervals_contain_the_truth():
    inside = {"exposures": [], "above 0": [], "rows": []}
    for found, rows, exposures in map(fitted, SEEDS):
        alike = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ found.rows.T
        j = (alike / np.linalg.norm(found.rows, axis=1)).argmax(axis=1)
        assert len(set(j.tolist())) == SIGNATURES
        # A lower end that rounds to no mutation contains 0.
        held = (found.exposures_lower[:, j] - 0.5 <= exposures) & (
            exposures <= found.exposures_upper[:, j] + 0.5
        )
        inside["exposures"].extend(held.ravel())
        inside["above 0"].extend(held[exposures >= 1.0])
        inside["rows"].extend(((found.rows_lower[j] <= rows) & (rows <= found.rows_upper[j])).ravel())
    cover = {name: np.mean(each) for name, each in inside.items()}
    assert cover["exposures"] >= 0.85, cover
    assert cover["above 0"] >= 0.8, cover
    assert cover["rows"] >= 0.85, cover
