"""Signatures found in simulated cohorts, and the coverage of the intervals of exposures.

    OPENBLAS_NUM_THREADS=1 python benchmarks/signature_cohorts.py [--seeds 20] [--fits ranks levels ...]
        [--sweeps 300] [--chains 2] [--samples 200] [--most 50000] [--precision B] [--overdispersed B]
        [--dispersion V] [--hypermutators N] [--keep RESULTS]

Cohorts are those of ``examples/signature_cohorts.py``. A signature is found if a reported signature has a
cosine of 0.9 or more with it (matched one to one); other reported signatures are false.

- ranks: two chains that begin like those of ``hdpkit signatures``: with the number of signatures that
  held-out mutations support (`hdpkit.signatures.choose_rank`).
- start: only these signatures, without chains.
- truth: two chains that begin with the true signatures.
- levels: as ranks, with types above the samples.
- bursty: as ranks, with signatures that differ by sample (`hk.Bursty`, ``hdpkit signatures --bursty``).
- known: as ranks, with every other true signature known (`hk.Known`, 1,000 mutations each).
- factors: two chains that begin with 20 factors of the counts.
- nmf: scikit-learn's NMF (Kullback-Leibler), at the true K, and at the largest stable K: five fits of
  resampled counts, whose signatures are grouped by best match, have a mean silhouette (cosine) of 0.8 or
  more, and none of the signatures has one below 0.2.

With ``--precision`` signatures differ by sample, and with ``--overdispersed`` the counts of a sample vary
more than those of a mixture of signatures; both are precisions of Dirichlet distributions. With
``--dispersion`` counts have gamma-Poisson distributions with this additional squared coefficient of
variation. *Doubted* are reported signatures with a remark (``signature_tables``): false, true.

A line of JSON is appended to RESULTS for each seed and fit; existing results aren't computed again.
"""

import argparse
import json
import runpy
import time
import warnings
from pathlib import Path

import machine
import numpy as np
from scipy.optimize import linear_sum_assignment

import hdpkit as hk
from hdpkit.signatures import choose_rank, extract_signatures, signature_tables

COHORTS = runpy.run_path(str(Path(__file__).resolve().parent.parent / "examples" / "signature_cohorts.py"))
make_cohort, model, fit_cells, matched, cosines = (
    COHORTS[name] for name in ("make_cohort", "model", "fit", "matched", "cosines")
)
KNOWN = slice(0, 12, 2)
RULES = [(0.9, 0.5), (0.9, 1.0), (0.95, 0.5), (0.95, 1.0)]
"""Similarity, and smallest share of the chains that must have a signature."""

FITS = ("ranks", "start", "truth", "levels", "bursty", "known", "factors", "nmf")
RANGE = range(8, 17)
REFITS = 5


def scored(cohort, matrix, components=None):
    """Scores of a fit; coverage is over samples and found signatures."""
    pairs = matched(cohort.signatures, matrix)
    remarks = () if components is None else signature_tables(components)["overview"]["remark"]
    there, held = {i for i, _, _ in pairs}, [j for _, j, _ in pairs]
    row = {
        "reported": len(matrix),
        "found": len(pairs),
        "missed": [i + 1 for i in range(12) if i not in there],
        "cosine": float(np.mean([cosine for *_, cosine in pairs])) if pairs else None,
        "doubted": [
            sum(bool(remark) and (j in held) == true for j, remark in enumerate(remarks))
            for true in (False, True)
        ],
    }
    if components is not None and pairs:
        true = cohort.exposures[:, [i for i, _, _ in pairs]]
        low, high = components.exposures_lower[:, held], components.exposures_upper[:, held]
        covered = (true >= low - 0.5) & (true <= high + 0.5)
        row["covered"], row["covered_present"] = float(covered.mean()), float(covered[true > 0].mean())
        off = np.abs(components.exposures[:, held] - true)[true > 0] / cohort.counts.sum(axis=1).repeat(
            (true > 0).sum(axis=1)
        )
        row["off"] = float(off.mean())
    return row


def by_chains(cohort, trace, declared=None):
    """Scores by each of the rules."""
    for similarity, chains in RULES:
        found = extract_signatures(
            trace, cohort.corpus, similarity=similarity, chains=chains, declared=declared
        )
        row = scored(cohort, found.rows, found)
        yield f", similarity {similarity}, agreement {chains}", row


def nmf(counts, k, seed):
    """Signatures of a factorisation; rows sum to one."""
    from sklearn.decomposition import NMF

    model = NMF(
        k, init="random", solver="mu", beta_loss="kullback-leibler", max_iter=200, tol=1e-5, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(counts)
    return model.components_ / model.components_.sum(axis=1, keepdims=True), model.reconstruction_err_


def is_stable(counts, k, seed):
    """Whether fits of resampled counts find the same signatures; and the means of these."""
    from sklearn.metrics import silhouette_samples

    rng = np.random.default_rng([seed, k])
    fits, labels = [], []
    for refit in range(REFITS):
        drawn = np.stack([rng.multinomial(row.sum(), row / row.sum()) for row in counts])
        found, _ = nmf(drawn, k, refit)
        order = linear_sum_assignment(-cosines(fits[0], found))[1] if fits else np.arange(k)
        fits.append(found[order])
        labels.append(np.arange(k))
    where = np.concatenate(labels)
    widths = silhouette_samples(np.vstack(fits), where, metric="cosine")
    by_signature = np.bincount(where, widths) / REFITS
    return bool(by_signature.mean() >= 0.8 and by_signature.min() >= 0.2), np.mean(fits, axis=0)


def by_nmf(cohort, seed):
    tries = [nmf(cohort.counts, 12, refit) for refit in range(REFITS)]
    yield ", true K", scored(cohort, min(tries, key=lambda one: one[1])[0])
    fits = [is_stable(cohort.counts, k, seed) for k in RANGE]
    means = next((means for good, means in reversed(fits) if good), fits[0][1])
    yield f", largest stable K of {RANGE[0]} to {RANGE[-1]}", scored(cohort, means)


def rows_of(cohort, kind, seed, options):
    if kind == "nmf":
        return dict(by_nmf(cohort, seed))
    if kind == "start":
        return {"": scored(cohort, choose_rank(model(), cohort.corpus, rng=seed).topics)}
    declared = hk.Known(cohort.signatures[KNOWN], counts=1000.0) if kind == "known" else None
    init, levels, bursty = hk.init.Factors(20), kind == "levels", kind == "bursty"
    if kind == "truth":
        init = hk.init.Factors(topics=cohort.signatures)
    elif kind != "factors":
        init = choose_rank(model(levels, bursty), cohort.corpus, known=declared, rng=seed).init
    trace = fit_cells(
        cohort, options.sweeps, seed, init, options.chains, known=declared, levels=levels, bursty=bursty
    )
    return dict(by_chains(cohort, trace, declared))


def table(results):
    names = list(dict.fromkeys(name for _, rows in results for name in rows))
    heads = [
        "fit",
        "cohorts",
        "found",
        "missed",
        "false",
        "mean cosine",
        "cover",
        "cover above 0",
        "both close",
        "doubted",
    ]
    print(f"| {' | '.join(heads)} |")
    print("| --- " * len(heads) + "|")
    for name in names:
        rows = [rows[name] for _, rows in results if name in rows]

        def mean(key, form, rows=rows):
            values = [row[key] for row in rows if row.get(key) is not None]
            return format(float(np.mean(values)), form) if values else ""

        found = np.array([row["found"] for row in rows])
        false = np.mean([row["reported"] - row["found"] for row in rows])
        close = sum(not {11, 12} & set(row["missed"]) for row in rows)
        cells = [
            f"{len(rows)}",
            f"{found.mean():.1f} ({found.min()} to {found.max()})",
            f"{12 - found.mean():.1f}",
            f"{false:.1f}",
            mean("cosine", ".3f"),
            mean("covered", ".0%"),
            mean("covered_present", ".0%"),
            f"{close}",
            "{:.1f}, {:.1f}".format(*np.mean([row["doubted"] for row in rows], axis=0)),
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fits", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--most", type=int, default=50_000)
    parser.add_argument("--precision", type=float, help="of signatures that differ by sample")
    parser.add_argument("--overdispersed", type=float, help="precision of spectra around mixtures")
    parser.add_argument("--dispersion", type=float, help="of gamma-Poisson counts")
    parser.add_argument("--hypermutators", type=int, default=0, help="samples with ten times --most more")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    results, done = [], set()
    if options.keep is not None and options.keep.exists():
        for line in options.keep.read_text(encoding="utf-8").splitlines():
            held = json.loads(line)
            results.append((held["seed"], held["rows"]))
            done.add((held["seed"], held["fit"]))
    print(machine.block())
    for kind in options.fits:
        for seed in range(options.seeds):
            if (seed, kind) in done:
                continue
            cohort = make_cohort(
                seed, options.samples, most=options.most, precision=options.precision,
                overdispersed=options.overdispersed, dispersion=options.dispersion,
                hypermutators=options.hypermutators,
            )  # fmt: skip
            began = time.perf_counter()
            rows = {kind + rule: row for rule, row in rows_of(cohort, kind, seed, options).items()}
            results.append((seed, rows))
            if options.keep is not None:
                seconds = time.perf_counter() - began
                line = json.dumps({"seed": seed, "fit": kind, "seconds": seconds, "rows": rows})
                with options.keep.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
    table(results)


if __name__ == "__main__":
    main()
