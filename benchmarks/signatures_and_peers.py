"""Number of signatures in simulated cohorts: ``hdpkit signatures`` beside factorisations with rank selection.

    OPENBLAS_NUM_THREADS=1 python benchmarks/signatures_and_peers.py [--cohorts 10] [--first 0]
        [--sweeps N]

Cohort s has 4, 6, 8, 10 or 12 of the signatures of ``examples/signature_cohorts.py`` (12: with the two
close ones), in turn, and 60, 120 or 200 samples of 300 to 30,000 mutations. A sample has a signature with
probability 0.6, and its share is a Gamma variable. In cohorts with odd numbers the signatures differ by
sample (Dirichlet, precision 1,000).

A signature is *found* if a reported one has a cosine of 0.9 or more with it (matched one to one), and the
other reported ones are *false*. *Settled* are those on whose shares the chains agree, and *green and false*
counts false ones that are settled in a run whose verdict on reading is green.

- hdpkit: the command with its defaults.
- nmf: scikit-learn's NMF (Kullback-Leibler), at the largest stable rank of 2 to 16: ``signature_cohorts.py``.
"""

import argparse
import contextlib
import io
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import block
from signature_cohorts import COHORTS, is_stable, matched

import hdpkit as hk
from hdpkit.cli.main import main as command
from hdpkit.signatures import extract_signatures

SIZES, SAMPLES = (4, 6, 8, 10, 12), (60, 120, 200)


def cohort(seed):
    """Counts, shape (n_samples, 96), and the true signatures."""
    rng = np.random.default_rng([seed, 7])
    K, n = SIZES[seed % len(SIZES)], SAMPLES[seed % len(SAMPLES)]
    every = COHORTS["make_signatures"](rng)
    signatures = every if K == 12 else every[np.sort(rng.choice(11, K, replace=False))]
    shares = rng.gamma(1.0, size=(n, K)) * (rng.random((n, K)) < 0.6)
    shares[shares.sum(axis=1) == 0.0, 0] = 1.0
    totals = np.exp(rng.uniform(np.log(300), np.log(30_000), n)).astype(np.int64)
    exposures = rng.multinomial(totals, shares / shares.sum(axis=1, keepdims=True))
    laws = [rng.dirichlet(1000.0 * law + 1e-9, size=n) if seed % 2 else law for law in signatures]
    return sum(rng.multinomial(exposures[:, k], laws[k]) for k in range(K)), signatures


def write_table(counts, path):
    lines = ["Type," + ",".join(f"T{i:03}" for i in range(len(counts)))]
    names = COHORTS["SBS96"].names
    lines += [f"{name}," + ",".join(map(str, row)) for name, row in zip(names, counts.T, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def by_hdpkit(counts, seed, more):
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "counts.csv", Path(folder) / "run"
        write_table(counts, table)
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            command(["signatures", str(table), "--seed", str(seed), "--out", str(out)])
        run = hk.open_run(out)
        found = extract_signatures(run)
        return found.rows, np.asarray(found.settled), hk.summaries.diagnose(run).readable.light


def by_nmf(counts, seed, ranks):
    fits = [is_stable(counts, k, seed) for k in ranks]
    means = next((means for good, means in reversed(fits) if good), fits[0][1])
    return means, np.zeros(len(means), dtype=bool), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cohorts", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sweeps", type=int, help="of each chain; by default those of the command")
    parser.add_argument("--ranks", type=int, default=16, help="largest rank of the factorisation")
    options = parser.parse_args()
    print(block(), flush=True)
    print(
        "| cohort | samples | true | system | reported | found | false | light | settled | green and false "
        f"| seconds |\n{'|---' * 11}|", flush=True,
    )  # fmt: skip
    more = [] if options.sweeps is None else ["--sweeps", str(options.sweeps)]
    systems = {
        "hdpkit": lambda counts, seed: by_hdpkit(counts, seed, more),
        "nmf": lambda counts, seed: by_nmf(counts, seed, range(2, options.ranks + 1)),
    }
    within = dict.fromkeys(systems, 0)
    for seed in range(options.first, options.first + options.cohorts):
        counts, true = cohort(seed)
        for name, fit in systems.items():
            began = time.perf_counter()
            rows, settled, light = fit(counts, seed)
            seconds = time.perf_counter() - began
            held = [j for _, j, _ in matched(true, rows)]
            wrong = np.setdiff1d(np.arange(len(rows)), held)
            green = int(settled[wrong].sum()) if light == "green" else 0
            within[name] += abs(len(rows) - len(true)) <= 1
            cells = (
                seed, len(counts), len(true), name, len(rows), len(held), len(wrong), light,
                int(settled.sum()) if light else "", green if light else "", f"{seconds:.0f}",
            )  # fmt: skip
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    for name, n in within.items():
        print(f"{name}: within one of the true number in {n} of {options.cohorts} cohorts")


if __name__ == "__main__":
    main()
