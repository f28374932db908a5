"""Held-out perplexity by sampler time, with all programs taking turns in one process."""

import csv
import itertools
import math
from pathlib import Path

from contest.contestants import Gensim, Tomotopy
from heldout import perplexity
from machine import version

GROWTH = 1.25  # ratio of consecutive scoring times
LATE = 1.1  # largest delay of a score listed at a time, since sweeps are completed


def measure(contestants, observed, held, first, seconds, clock):
    """Curves, and the number of reference seconds per measured second.

    Programs advance in turn to the same sampler time, then to GROWTH times as much, and so on; the reference
    clock runs between the rounds.

    Parameters
    ----------
    contestants : list of Contestant
    first, seconds : float
        Sampler time of the first score and of the last.
    clock : ReferenceClock or None

    Returns
    -------
    dict
        ``curves``: name -> [(seconds, perplexity, K, processor seconds, log joint)].
    """
    curves = {one.name: [] for one in contestants}
    times = scoring_times(first, seconds)
    for until in times:
        if clock is not None:
            clock.tick()
        for one in contestants:
            last = one.seconds
            while one.seconds < until:
                one.sweep()
            if one.seconds > last:
                score = perplexity(*one.topics(), observed, held)
                curves[one.name].append((one.seconds, score, one.n_topics, one.processor, one.log_joint))
    found = {"curves": curves, "times": times, "reference": math.nan, "said": ""}
    if clock is not None:
        clock.tick()
        found |= {"reference": clock.seconds, "said": str(clock)}
    return found


def peers(corpus, initial_k, seed):
    """The other programs that are installed, with concentrations resampled."""
    found = []
    if version("tomotopy") is not None:
        found += [Tomotopy(corpus, k, fixed=False, seed=seed + 1) for k in initial_k]
    if version("gensim") is not None:
        found.append(Gensim(corpus, seed))
    return found


def scoring_times(first, last):
    """Sampler times from the first to the last, each GROWTH times the previous one, or slightly more."""
    if first >= last:
        return [last]
    steps = int(math.log(last / first) / math.log(GROWTH))
    return [first * (last / first) ** (i / steps) for i in range(steps)] + [last] if steps else [first, last]


def published(path, name, n_tokens):
    """Published points for a corpus of this name and size: system -> [(reference s, perplexity)].

    The file has the columns corpus, tokens, system, seconds (reference ones), perplexity.
    """
    points = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["corpus"] == name and int(row["tokens"]) == n_tokens:
                points.setdefault(row["system"], []).append((float(row["seconds"]), float(row["perplexity"])))
    return points


def print_curves(found, points, targets):
    """Table of the curves (perplexity and, in brackets, K), and when each reached the targets."""
    scale = found["reference"]
    known = math.isfinite(scale)
    if found["said"]:
        print(f"{found['said']}.\n")
    names = list(found["curves"])
    print("| s | " + "reference s | " * known + " | ".join(names) + " |")
    print("|" + " --- |" * (1 + known + len(names)))
    for begin, end in itertools.pairwise([0.0, *found["times"]]):
        cells = []
        for name in names:
            in_time = [point for point in found["curves"][name] if begin * LATE < point[0] <= end * LATE]
            cells.append(f"{in_time[-1][1]:.1f} ({in_time[-1][2]})" if in_time else "")
        print(f"| {end:.2f} | " + f"{end * scale:.2f} | " * known + " | ".join(cells) + " |")
    print()
    for name, curve in points.items():
        told = ", ".join(f"{score:g} at {seconds:g} reference s" for seconds, score in curve)
        print(f"{name}: {told}\n")
    for target in targets:
        for name, curve in found["curves"].items():
            seconds = next((seconds for seconds, score, *_ in curve if score <= target), None)
            best = min((score for _, score, *_ in curve), default=math.nan)
            when = f"not reached (best {best:.1f})"
            if seconds is not None:
                when = f"by {seconds:.2f} s, {seconds * scale:.2f} reference s"
            print(f"perplexity {target:g}, {name}: {when}")
    if targets:
        print()


def draw(found, points, title, path):
    """Draw the curves."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    known = math.isfinite(found["reference"])
    scale = found["reference"] if known else 1.0
    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    for name, curve in found["curves"].items():
        seconds, scores, *_ = zip(*curve, strict=True)
        style = "-o" if name.startswith("hdpkit") else "--s"
        axes.plot([t * scale for t in seconds], scores, style, markersize=3, label=name)
    for name, curve in points.items() if known else ():
        axes.plot(*zip(*curve, strict=True), "k*:", markersize=8, label=name)
    axes.set(xscale="log", yscale="log", title=title, ylabel="held-out perplexity")
    axes.set_xlabel(f"sampler time, {'reference seconds' if known else 'seconds'}")
    axes.yaxis.set_major_formatter(plt.matplotlib.ticker.ScalarFormatter())
    axes.yaxis.set_minor_formatter(plt.matplotlib.ticker.ScalarFormatter())
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
