"""Simulated cohorts of mutational signatures, with known exposures.

Twelve signatures over the 96 channels of SBS96, similar to reference signatures: three are flat, four are
sparse (most of their mutations are in a few contexts of one substitution), three are in between, and two are
close, with a cosine of 0.9. The 200 samples are of five types. A type has the first flat signature and five
others, each of which a sample has with probability 0.8. Samples have 100 to 50,000 mutations, uniform on a
logarithmic scale.

This script finds the signatures of one cohort with the model and the moves of ``hdpkit signatures``, and
compares them with the true ones. ``benchmarks/signature_cohorts.py`` does so over many seeds and with other
programs.

    python examples/signature_cohorts.py --sweeps 500 --out cohort
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import attrs
import numpy as np
from scipy.optimize import brentq, linear_sum_assignment

import hdpkit as hk
from hdpkit import moves
from hdpkit.signatures import CHANNELS, choose_rank, extract_signatures

SBS96 = CHANNELS["SBS96"]
TYPES = 5
CLOSE = 0.9
"""Cosine of the last two signatures."""

APART = 0.8
"""Largest cosine of all others."""


@attrs.frozen(eq=False)
class Cohort:
    """Counts with their true signatures and exposures.

    Attributes
    ----------
    counts : int64 array, shape (n_samples, 96)
    signatures : float64 array, shape (12, 96)
        Rows sum to one: flat 0 to 2, sparse 3 to 6, between 7 to 9, the close ones 10 and 11.
    exposures : int64 array, shape (n_samples, 12)
        Mutations of each sample caused by each signature.
    types : int64 array, shape (n_samples,)
    """

    counts: np.ndarray
    signatures: np.ndarray
    exposures: np.ndarray
    types: np.ndarray

    @property
    def corpus(self) -> hk.Corpus:
        return hk.Corpus.from_counts(
            self.counts,
            vocabulary=SBS96.names,
            names=[f"T{i:03}" for i in range(len(self.counts))],
            groups={"type": [f"type{kind}" for kind in self.types]},
        )


def cosines(rows, columns):
    """Cosine of each row of one matrix with each row of the other."""
    unit = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (rows, columns)]
    return unit[0] @ unit[1].T


def _tilted(rng, within, between):
    """Shares of 6 substitutions with 16 contexts each, with the parameters of two Dirichlet distributions."""
    return (rng.dirichlet(np.full(6, between))[:, None] * rng.dirichlet(np.full(16, within), size=6)).ravel()


def _close_to(rng, first):
    """A signature whose cosine with the first is `CLOSE`."""
    other = _tilted(rng, 0.5, 1.0)

    def mixed(share):
        return share * first + (1.0 - share) * other

    def apart(share):
        return cosines(mixed(share)[None], first[None])[0, 0] - CLOSE

    return mixed(brentq(apart, 0.0, 1.0))


def make_signatures(rng):
    """Twelve signatures, drawn repeatedly until only the last two are similar; shape (12, 96)."""
    while True:
        flat = [_tilted(rng, 3.0, 3.0) for _ in range(3)]
        sparse = [_tilted(rng, 0.1, 0.1) for _ in range(4)]
        between = [_tilted(rng, 0.5, 1.0) for _ in range(4)]
        found = np.array(flat + sparse + between)
        alike = cosines(found, found) - np.eye(len(found))
        if alike.max() > APART:
            continue
        found = np.vstack([found, _close_to(rng, found[-1])])
        if cosines(found[:10], found[11:]).max() <= APART:
            return found


def make_exposures(rng, n_samples, least, most):
    """Mutations by sample and signature, and the types."""
    while True:
        has = np.zeros((TYPES, 12), dtype=bool)
        has[:, 0] = True
        for kind in range(TYPES):
            has[kind, 1 + rng.choice(11, 5, replace=False)] = True
        if has.any(axis=0).all():
            break
    types = np.arange(n_samples) % TYPES
    liked = has * rng.gamma(2.0, size=has.shape)
    shares = liked[types] * rng.gamma(1.0, size=(n_samples, 12)) * (rng.random((n_samples, 12)) < 0.8)
    shares[:, 0] += 0.05 * shares.sum(axis=1) + 1e-3  # the first is in every sample
    totals = np.exp(rng.uniform(np.log(least), np.log(most), n_samples)).round().astype(np.int64)
    return rng.multinomial(totals, shares / shares.sum(axis=1, keepdims=True)), types


def make_cohort(
    seed, n_samples=200, least=100, most=50_000, precision=None, overdispersed=None, dispersion=None,
    hypermutators=0,
):  # fmt: skip
    """A simulated cohort; the same for the same seed.

    With a ``precision`` signatures differ by sample, as in real tumours: shares of channels from a Dirichlet
    distribution with this precision around those of the signature. With ``overdispersed`` the spectrum of a
    sample is drawn from a Dirichlet distribution with this precision around the mixture of its signatures;
    with a ``dispersion`` a count has a Poisson distribution whose mean is that of the mixture times a Gamma
    variable of mean 1 and this variance. The first samples are ``hypermutators``: they have, of a sparse
    signature, ten times ``most`` mutations more.
    """
    rng = np.random.default_rng(seed)
    signatures = make_signatures(rng)
    exposures, types = make_exposures(rng, n_samples, least, most)
    exposures[:hypermutators, 3] += 10 * most
    laws = [signatures[k] for k in range(12)]
    if precision is not None:
        laws = [rng.dirichlet(precision * law + 1e-9, size=n_samples) for law in laws]
    counts = sum(rng.multinomial(exposures[:, k], laws[k]) for k in range(12))
    if overdispersed is not None:
        totals = exposures.sum(axis=1)
        mixtures = exposures @ signatures / totals[:, None]
        spectra = [rng.dirichlet(overdispersed * mixture + 1e-9) for mixture in mixtures]
        counts = rng.multinomial(totals, spectra)
    if dispersion is not None:
        factors = rng.gamma(1.0 / dispersion, dispersion, size=counts.shape)
        counts = rng.poisson(exposures @ signatures * factors)
    return Cohort(counts, signatures, exposures, types)


def model(levels=False, bursty=False):
    """Samples over signatures, as declared by ``hdpkit signatures``, without levels or with types."""
    measure = hk.DirichletMultinomial(eta=0.5)
    base = hk.Bursty(measure) if bursty else measure
    above = hk.Restaurant(base=base, concentration=hk.Gamma(1.0, 1.0))
    if levels:
        above = hk.Restaurant(base=above, concentration=hk.Gamma(1.0, 1.0), each="type")
    return hk.Restaurant(base=above, concentration=hk.Gamma(1.0, 1.0), each="document")


def fit(cohort, sweeps, seed, init, chains=2, samples=50, known=None, levels=False, bursty=False):
    """A run by the moves of ``hdpkit signatures``, over cells of samples and channels."""
    declared = model(levels, bursty)
    franchise = hk.Franchise(declared, cohort.corpus, store="counts", root="weights", known=known)
    tables = [] if levels else [moves.TableCounts()]
    schedule = [moves.CountGibbs(), *tables, moves.RootWeights(), moves.Concentration()]
    return hk.Scheduler(schedule).run(
        franchise, sweeps=sweeps, rng=seed, init=init, chains=chains, samples=samples
    )


def matched(signatures, found, least=0.9):
    """One-to-one pairs of true and found signatures with the largest sum of cosines.

    Returns
    -------
    pairs : list of (int, int, float)
        Only those with a cosine of ``least`` or more.
    """
    if not len(found):
        return []
    alike = cosines(signatures, found)
    rows, columns = linear_sum_assignment(-np.where(alike >= least, alike, 0.0))
    return [
        (int(i), int(j), float(alike[i, j]))
        for i, j in zip(rows, columns, strict=True)
        if alike[i, j] >= least
    ]


def write(cohort, folder):
    """The matrix, the types and the truth as tables."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    corpus = cohort.corpus

    def table(name, head, rows):
        lines = ["\t".join(map(str, row)) for row in [head, *rows]]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    names = [f"S{k + 1}" for k in range(12)]
    by_channel = zip(SBS96.names, cohort.counts.T, strict=True)
    table("cohort.SBS96.all", ["MutationType", *corpus.names], ([name, *row] for name, row in by_channel))
    shares = zip(SBS96.names, cohort.signatures.T, strict=True)
    table("signatures.txt", ["Type", *names], ([name, *row] for name, row in shares))
    own = zip(corpus.names, cohort.exposures, strict=True)
    table("exposures.tsv", ["sample", *names], ([name, *row] for name, row in own))
    kinds = zip(corpus.names, cohort.types, strict=True)
    table("types.tsv", ["sample", "type"], ([name, f"type{kind}"] for name, kind in kinds))


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=200, help="samples of the cohort")
    parser.add_argument("--least", type=int, default=100, help="mutations of a sample at least")
    parser.add_argument("--most", type=int, default=50_000, help="at most")
    parser.add_argument("--sweeps", type=int, default=200, help="sweeps of each chain")
    parser.add_argument("--out", help="folder for the matrix, the types and the truth")
    options = parser.parse_args(arguments)

    cohort = make_cohort(options.seed, options.samples, options.least, options.most)
    if options.out:
        write(cohort, options.out)
    choice = choose_rank(model(), cohort.corpus, rng=options.seed)
    print(f"start: {choice}")
    trace = fit(cohort, options.sweeps, options.seed, choice.init)
    signatures = extract_signatures(trace, cohort.corpus, similarity=0.95, chains=1.0)
    pairs = {i: (j, cosine) for i, j, cosine in matched(cohort.signatures, signatures.rows)}
    print(f"{len(signatures)} signatures found, {len(pairs)} of them true ones")
    print("| true | mutations | found | cosine |")
    print("| --- | --- | --- | --- |")
    for k, mutations in enumerate(cohort.exposures.sum(axis=0)):
        name, cosine = (
            ("missed", "") if k not in pairs else (signatures.titles[pairs[k][0]], f"{pairs[k][1]:.3f}")
        )
        print(f"| S{k + 1} | {mutations:,} | {name} | {cosine} |")


if __name__ == "__main__":
    main(sys.argv[1:])
