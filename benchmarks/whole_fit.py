"""Where the time of a whole fit goes, and when it reaches a perplexity and a log joint.

    OPENBLAS_NUM_THREADS=1 python benchmarks/whole_fit.py CORPUS.ldac [--seconds 60] [--threads 1 2]
        [--targets 2400 2300] [--log-joints -3e6] [--documents N] [--test-documents 300] [--json FILE]

The default fit of hdpkit with one thread and with two, tomotopy's HDPModel (initial_k=100, one thread) and
gensim's HdpModel take turns in one process (`pip install 'hdpkit[benchmarks]'`; what isn't installed is left
out). Printed:

- held-out perplexity (benchmarks/heldout.py) and K by sampler time, which includes the start, all moves and
  the trace, but not the scoring;
- sampler seconds to each of --targets, by default perplexities at five places of the first fit's curve, and
  to each of --log-joints, by default the log joints there. Only hdpkit reports a log joint. In brackets:
  seconds of processor time, which depend less on other programs;
- seconds by part: importing hdpkit's command and reading the file; the start; each move; the records of the
  trace with the copy of the state after each sweep; and, of --report-sweeps more sweeps into a run folder
  with ten samples, the folder's files, and what `hdpkit fit` prints at its end.

The halves of the test documents are found as in heldout.py. If there are none, every tenth document is one
(of the first --documents), of which at most --test-documents are scored, and half of its tokens are held out.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import heldout
from contest import curves
from contest.contestants import Fit
from machine import block

import hdpkit as hk
from hdpkit.io import read_corpus
from hdpkit.summaries import components, diagnose

PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the first curve, whose values are the default targets
SAMPLES = 10


def seconds_of(work):
    """Seconds of a call by the clock, and its result."""
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def importing():
    """Seconds of a process that only imports the command."""
    command = [sys.executable, "-c", "import hdpkit.cli.main, hdpkit.cli.fit"]
    return seconds_of(lambda: subprocess.run(command, check=True))[0]


def report(fit, sweeps):
    """Seconds of the files of a run folder, and of the topics and verdicts printed at the end of a fit."""
    fit.draws.close()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        begin = fit.franchise.sweep
        samples = hk.Samples(begin, max(1, sweeps // SAMPLES))
        whole, trace = seconds_of(
            lambda: fit.scheduler.run(fit.franchise, sweeps, init=None, samples=samples, folder=folder)
        )
        files = whole - float(trace.moves["seconds"].sum()) - sweeps * fit.parts["trace"] / fit.n_sweeps
        printed, _ = seconds_of(lambda: printed_by(folder))
    return {"run folder": files, "report": printed}


def printed_by(folder):
    """What `hdpkit fit` reads of a run folder to print topics and verdicts."""
    run = hk.open_run(folder)
    return components(run).table(10), diagnose(run)


def reached(curve, column, target, better):
    """Sampler and processor seconds of the first point as good as a target, as text."""
    for point in curve:
        if better(point[column], target):
            return f"{point[0]:.2f} ({point[3]:.2f})"
    return "-"


def print_targets(found, targets, column, name, better):
    """A table with a row for each target, and a column for each program."""
    names = [one for one, curve in found.items() if curve and curve[0][column] == curve[0][column]]
    print(f"\n| {name} | {' | '.join(names)} |\n|{' --- |' * (1 + len(names))}")
    for target in targets:
        cells = [reached(found[one], column, target, better) for one in names]
        print(f"| {target:,.1f} | {' | '.join(cells)} |")


def at_places(curve, column):
    """Values at some places of a curve, by the number of its points."""
    last = len(curve) - 1
    return list(dict.fromkeys(curve[round(place * last)][column] for place in PLACES))


def print_parts(rows, shared):
    """A table of seconds, and of their share in the sampler time."""
    print("\n| part | " + " | ".join(fit.name for fit in rows) + " |\n|" + " --- |" * (1 + len(rows)))
    for part, seconds in shared.items():
        print(f"| {part} |" + f" {seconds:.3f} |" * len(rows))
    for part in dict.fromkeys(part for fit in rows for part in fit.parts):
        cells = [f"{fit.parts[part]:.3f} ({fit.parts[part] / fit.seconds:.0%})" for fit in rows]
        print(f"| {part} | {' | '.join(cells)} |")
    print("| sweeps | " + " | ".join(str(fit.n_sweeps) for fit in rows) + " |")
    print("| seconds a sweep after the start | ", end="")
    print(" | ".join(f"{(f.seconds - f.parts['start']) / f.n_sweeps:.4f}" for f in rows) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="LDA-C file of the training documents, plain or gzipped")
    parser.add_argument("--observed", help="one half of the test documents")
    parser.add_argument("--held", help="the other half, which is scored")
    parser.add_argument("--documents", type=int, help="the first so many, without files of test documents")
    parser.add_argument("--test-documents", type=int, default=300, help="at most, without files of them")
    parser.add_argument("--seconds", type=float, default=60.0, help="sampler seconds of each program")
    parser.add_argument("--first", type=float, default=0.25, help="sampler seconds of the first score")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of the fits of hdpkit")
    parser.add_argument("--targets", type=float, nargs="+", help="held-out perplexities to be reached")
    parser.add_argument("--log-joints", type=float, nargs="+", help="log joints to be reached")
    parser.add_argument("--only-hdpkit", action="store_true", help="leave the other programs out")
    parser.add_argument("--report-sweeps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the curves and the parts here")
    options = parser.parse_args()

    shared = {"importing": importing(), "reading": seconds_of(lambda: read_corpus(options.corpus))[0]}
    corpus, observed, held = heldout.read(options.corpus, options.observed, options.held)
    if observed is None:
        corpus, observed, held = heldout.split(corpus, options.documents, options.test_documents)
    elif options.documents is not None:
        parser.error("--documents is for a corpus without files of test documents")
    print(block())
    print(f"{corpus!r}, seed {options.seed}")
    fits = [Fit(corpus, threads, options.seed) for threads in options.threads]
    others = [] if options.only_hdpkit else curves.peers(corpus, (100,), options.seed)
    found = curves.measure([*fits, *others], observed, held, options.first, options.seconds, None)
    curves.print_curves(found, {}, [])
    first = found["curves"][fits[0].name]
    scores, joints = options.targets or at_places(first, 1), options.log_joints or at_places(first, 4)
    print_targets(found["curves"], scores, 1, "perplexity", lambda value, target: value <= target)
    print_targets(found["curves"], joints, 4, "log joint", lambda value, target: value >= target)
    for fit in fits:
        fit.parts.update(report(fit, options.report_sweeps))
    print_parts(fits, shared)
    if options.json:
        parts = {fit.name: {**shared, **fit.parts} for fit in fits}
        options.json.write_text(json.dumps({"curves": found["curves"], "parts": parts}), encoding="utf-8")


if __name__ == "__main__":
    main()
