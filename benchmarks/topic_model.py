"""Comparison of topic models: speed, memory, and held-out perplexity by sampler time.

    python benchmarks/topic_model.py TRAIN.ldac [--parts speed memory heldout] [--out curves.png]
                                     [--observed FILE --held FILE] [--reference AP.ldac] [--targets 2391]

hdpkit's two-level HDP compared with tomotopy's HDPModel and gensim's HdpModel (`pip install
'hdpkit[benchmarks]'`; packages that aren't installed are left out, and the output says so). One thread each,
in one run, taking turns.

- **speed**: alpha = gamma = 1 and eta = 0.1 fixed on both sides, from 100 random topics; 30 sweeps each, then
  seven alternating blocks of five sweeps. Printed: K, nanoseconds per token (median, smallest, largest), and
  the speed relative to tomotopy at equal K; if K of hdpkit differs by more than 15 %, its nanoseconds at
  tomotopy's K are interpolated linearly from its blocks from two starts. Repeated for each instruction set
  of this processor (a process each). `with the trace` includes the scores recorded after every sweep.
- **memory**: bytes per token after the same number of sweeps: as reported by the franchise
  (`memory_bytes`), the same without the topic-term counts, the growth of the process and its largest growth
  in between (Linux only; otherwise nan), and the corpus itself.
- **heldout**: perplexity by document completion (benchmarks/heldout.py). The halves of the test documents are
  in the folder of the training documents (NAME.train.ldac, NAME.test_obs.ldac, NAME.test_held.ldac, gzipped
  or not) or are given. hdpkit begins with `--start` (by default that of a Scheduler), with concentrations
  (Gamma(1, 1)) and eta (Gamma(1, 10)) resampled; tomotopy begins with 100 topics and with 2, and optimises
  alpha and gamma; gensim keeps its defaults except for eta = 0.1. Sampler time is wall-clock time: for
  hdpkit it includes the start, all moves and the recording of the trace. Scoring isn't included.

Times are also in reference seconds (benchmarks/reference_second.py), so that figures of different machines
can be compared: `--reference` is the corpus of the unit, by default the corpus itself. `--points` are
published figures, drawn if corpus and size agree (benchmarks/published_points.csv).
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from contest import curves, memory, speed
from contest.contestants import SCHEDULES, STORES, Ours
from heldout import read
from machine import block, version
from reference_second import ReferenceClock

import hdpkit as hk
from hdpkit.steps.fused.instruction_set import available

HERE = Path(__file__).resolve().parent
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}
PEERS = ("tomotopy", "gensim", "matplotlib")


def work(job):
    """Run one part in this process."""
    options = SimpleNamespace(**job)
    corpus, observed, held = read(options.corpus, options.observed, options.held)
    if options.part == "speed":
        return speed.measure(corpus, options.dishes, options.settle, options.blocks, options.kernel)
    if options.part == "memory":
        return memory.measure(corpus, options.system, options.dishes, options.settle, options.kernel)
    ours = [
        Ours(corpus, store, options.kernel, options.start, options.schedule, options.seed)
        for store in options.stores
    ]
    others = curves.peers(corpus, (100, 2), options.seed)
    clock = ReferenceClock(hk.Corpus.from_ldac(options.reference) if options.reference else corpus)
    return curves.measure([*ours, *others], observed, held, options.first, options.seconds, clock)


def in_a_process_of_its_own(job, instruction_set=None):
    """The result of `work` in a new process with one thread."""
    environment = {**os.environ, **ONE_THREAD}
    if instruction_set is not None:
        environment["HDPKIT_ISA"] = instruction_set
    command = [sys.executable, __file__, "--work", json.dumps(job)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", help="training documents, LDA-C, plain or gzipped")
    parser.add_argument("--observed", help="LDA-C file of the test documents' observed halves")
    parser.add_argument("--held", help="LDA-C file of the test documents' held-out halves")
    parser.add_argument("--reference", help="LDA-C file that reference seconds are measured on")
    parser.add_argument("--parts", nargs="+", choices=("speed", "memory", "heldout"))
    parser.add_argument("--kernel", default="auto", help="of ours: auto, fused, generic, reference")
    parser.add_argument(
        "--instruction-sets", nargs="+", choices=available(), default=available(), help="speed"
    )
    parser.add_argument("--dishes", type=int, default=100, help="topics at the start; speed and memory")
    parser.add_argument("--settle", type=int, default=30, help="sweeps before figures; speed and memory")
    parser.add_argument("--blocks", type=int, default=7, help="of five sweeps; speed")
    parser.add_argument("--seconds", type=float, default=60.0, help="sampler time of each; heldout")
    parser.add_argument("--first", type=float, default=0.25, help="sampler time of the first score")
    parser.add_argument("--start", default="default", help='heldout: "sequential", "one", "Random(100)", ...')
    parser.add_argument("--schedule", choices=SCHEDULES, default="gibbs", help="heldout: ours in a sweep")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=["histogram"], help="heldout")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", type=float, nargs="+", default=[], help="perplexities to be reached")
    parser.add_argument("--points", default=HERE / "published_points.csv", help="figures of others")
    parser.add_argument("--out", help="file of the plot")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.corpus or options.work):
        parser.error("CORPUS is missing")
    return options


def main():
    options = parse()
    if options.work:
        print("\n" + json.dumps(work(json.loads(options.work))))
        return
    corpus, observed, _ = read(options.corpus, options.observed, options.held)
    parts = options.parts or ["speed", "memory", *(["heldout"] if observed is not None else [])]
    job = {name: value for name, value in vars(options).items() if name not in ("points", "json", "work")}
    print(block())
    print(f"{corpus!r}\n")
    for peer in PEERS:
        if version(peer) is None:
            print(f"{peer} isn't installed, and so left out (pip install 'hdpkit[benchmarks]')\n")

    results = {}
    if "speed" in parts:
        found = [in_a_process_of_its_own({**job, "part": "speed"}, isa) for isa in options.instruction_sets]
        results["speed"] = found
        speed.print_rows(found)
    if "memory" in parts:
        systems = [name for name in memory.SYSTEMS if name not in PEERS or version(name) is not None]
        rows = [in_a_process_of_its_own({**job, "part": "memory", "system": name}) for name in systems]
        results["memory"] = rows
        memory.print_rows(rows)
    if "heldout" in parts:
        if observed is None:
            sys.exit("heldout: no halves of test documents; name them by --observed and --held")
        name = re.sub(r"(\.train)?\.ldac(\.gz)?$", "", Path(options.corpus).name)
        points = curves.published(options.points, name, len(corpus))
        found = in_a_process_of_its_own({**job, "part": "heldout"})
        results["heldout"] = found
        curves.print_curves(found, points, options.targets)
        if options.out and version("matplotlib") is not None:
            curves.draw(found, points, f"{name}: {len(corpus):,} tokens", options.out)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
