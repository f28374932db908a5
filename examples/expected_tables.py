"""Expected, approximate and sampled numbers of tables, by word frequency: Figure 1 of Blunsom et al. (2009).

The expected number of tables of a word with frequency n in a Dirichlet process is known exactly
(`hk.expected_tables`) if the base distribution is fixed. This script plots it for the words of a real text,
together with Antoniak's approximation and with the numbers that samplers find: in a unigram model, whose base
is fixed (uniform over the vocabulary), and in a bigram model, where each word has a restaurant of the words
that follow it and all share an inferred base. The text is the documentation of the installed NumPy and SciPy,
or your own.

    python examples/expected_tables.py --all --sweeps 12 --picture expected_tables.png
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import attrs
import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import collect_docstrings, prose

CONCENTRATIONS = (100.0, 1_000.0, 10_000.0, 100_000.0)
SOME = ("numpy.linalg", "scipy.linalg")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
BOUNDARY = -1  # before the first word of a text


@attrs.frozen
class Text:
    """Words as numbers in descending order of frequency, and the word before each."""

    words: np.ndarray
    previous: np.ndarray
    vocabulary: list[str]

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Text:
        """Words in lower case; no word stands before the first of a text."""
        sequences = [found for text in texts if (found := WORD.findall(text.lower()))]
        spelled, codes = np.unique([word for words in sequences for word in words], return_inverse=True)
        order = np.argsort(-np.bincount(codes), kind="stable")
        words = np.argsort(order)[codes]
        previous = np.concatenate([[BOUNDARY], words[:-1]])
        previous[np.cumsum([0, *map(len, sequences[:-1])])] = BOUNDARY
        return cls(words.astype(np.int32), previous, spelled[order].tolist())

    @property
    def frequencies(self) -> np.ndarray:
        return np.bincount(self.words)


def read(packages=SOME):
    """The docstrings of packages, including function words, without examples."""
    return Text.from_texts(map(prose, collect_docstrings(packages).texts))


def read_file(path):
    """A text file in which each line is a separate text."""
    return Text.from_texts(Path(path).read_text(encoding="utf-8", errors="replace").splitlines())


def unigrams(text, concentration):
    """One restaurant with a fixed base."""
    root = hk.Restaurant(base=hk.Uniform(len(text.vocabulary)), concentration=concentration)
    return hk.Franchise(root, hk.Groups.from_labels(text.words))


def bigrams(text, concentration):
    """A restaurant for each previous word; their base is the root, which is inferred."""
    root = hk.Restaurant(base=hk.Uniform(len(text.vocabulary)), concentration=hk.Gamma(1.0, 1 / 3000))
    restaurants = hk.Restaurant(base=root, concentration=concentration, each="previous")
    return hk.Franchise(restaurants, hk.Groups.from_labels(text.words, {"previous": text.previous}))


def sample_fixed(text, concentration, draws, seed):
    """Tables of each word with the base fixed, averaged over independent draws.

    Words don't influence each other, so seating customers one by one gives a draw from the posterior; every
    draw seats all customers again.
    """
    franchise, total = unigrams(text, concentration), np.zeros(len(text.vocabulary))
    for number in range(draws):
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=draws * seed + number)
        total += [franchise.seating.tables(0, word) for word in range(len(total))]
    return total / draws


def sample_inferred(text, concentration, sweeps, seed):
    """Tables of each word in all bigram restaurants, averaged over the last three quarters of a chain."""
    franchise, total = bigrams(text, concentration), np.zeros(len(text.vocabulary))
    first = sweeps // 4

    def after(draw):
        if draw.sweep > first:  # the root's customers are the tables of the other restaurants
            total[:] += [draw.franchise.seating.customers(0, word) for word in range(len(total))]

    schedule = hk.Scheduler([moves.TableGibbs(), moves.Concentration()])
    schedule.run(franchise, sweeps=sweeps, rng=seed, callbacks=[after])
    return total / (sweeps - first)


def by_restaurant(text, mass):
    """Expected tables of each word in the bigram restaurants together, if their base were fixed."""
    n_terms = len(text.vocabulary)
    pairs, frequencies = np.unique(text.previous * n_terms + text.words, return_counts=True)
    return np.bincount(pairs % n_terms, hk.expected_tables(frequencies, mass))


@attrs.frozen
class Tables:
    """Numbers of tables of each word for one concentration."""

    expected: np.ndarray
    antoniak: np.ndarray
    fixed: np.ndarray
    by_restaurant: np.ndarray
    inferred: np.ndarray


def study(text, concentration, sweeps, seed=0):
    mass = concentration / len(text.vocabulary)
    return Tables(
        expected=hk.expected_tables(text.frequencies, mass),
        antoniak=hk.expected_tables(text.frequencies, mass, "antoniak"),
        fixed=sample_fixed(text, concentration, sweeps, seed),
        by_restaurant=by_restaurant(text, mass),
        inferred=sample_inferred(text, concentration, sweeps, seed),
    )


def classes(frequencies, n):
    """The frequency class of each word; the first classes are single frequencies."""
    edges = np.unique(np.geomspace(1, frequencies.max() + 1, n).round())
    return np.unique(np.searchsorted(edges, frequencies, side="right"), return_inverse=True)[1]


def means(values, groups):
    return np.bincount(groups, values) / np.bincount(groups)


def draw(text, found, path):
    """Tables by frequency: lines expected, dashes Antoniak's, stars fixed base, circles inferred base."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(8.4, 5.8), layout="constrained")
    axes = figure.subplots()
    n = np.unique(np.geomspace(1, text.frequencies.max(), 300).round())
    groups = classes(text.frequencies, 30)
    at = means(text.frequencies, groups)
    for number, (concentration, tables) in enumerate(found.items()):
        color, mass = f"C{number}", concentration / len(text.vocabulary)
        axes.plot(n, hk.expected_tables(n, mass), color=color, linewidth=1.2)
        axes.plot(n, hk.expected_tables(n, mass, "antoniak"), color=color, linewidth=1.2, linestyle="--")
        axes.plot(at, means(tables.fixed, groups), "*", color=color, markersize=8)
        axes.plot(at, means(tables.inferred, groups), "o", color=color, markersize=5, fillstyle="none")
    styles = {
        "expected, base fixed": {"linestyle": "-"},
        "Antoniak's approximation": {"linestyle": "--"},
        "sampled, base fixed (unigram)": {"linestyle": "", "marker": "*", "markersize": 8},
        "sampled, base inferred (bigram)": {"linestyle": "", "marker": "o", "fillstyle": "none"},
    }
    handles = [Line2D([], [], color="0.2", label=label, **style) for label, style in styles.items()]
    handles += [
        Line2D([], [], color=f"C{number}", linewidth=4, label=f"α = {concentration:,.0f}")
        for number, concentration in enumerate(found)
    ]
    axes.legend(handles=handles, fontsize=8, loc="upper left")
    axes.set(xscale="log", yscale="log", xlabel="frequency of the word", ylabel="tables of the word")
    figure.savefig(path, dpi=90)


def draw_errors(path, customers=(5, 1000)):
    """Relative errors of the formulas by mass; for "digamma" the largest over nearby masses."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    axes = figure.subplots()
    centres = 10.0 ** np.arange(-12.0, 12.01, 0.25)
    near = centres[:, None] * np.geomspace(0.75, 1.33, 200)
    for n, style in zip(customers, ("-", "--"), strict=True):
        for number, method in enumerate(("digamma", "antoniak", "corrected")):
            errors = np.abs(hk.expected_tables(n, near, method) / hk.expected_tables(n, near) - 1).max(axis=1)
            axes.plot(centres, errors, style, color=f"C{number}", label=f"{method}, n = {n:,}")
    axes.set(xscale="log", yscale="log", ylim=(1e-17, 10), xlabel="mass a", ylabel="relative error")
    axes.legend(fontsize=8, loc="center left")
    figure.savefig(path, dpi=90)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", nargs="?", help="a text file (default: docstrings of installed packages)")
    parser.add_argument("--all", action="store_true", help="all of NumPy and SciPy, not their linear algebra")
    parser.add_argument("--sweeps", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="where to draw tables by frequency")
    parser.add_argument("--errors", help="where to draw the errors of the formulas")
    options = parser.parse_args(arguments)

    text = read_file(options.text) if options.text else read(("numpy", "scipy") if options.all else SOME)
    frequencies = text.frequencies
    print(f"{len(text.words):,} words, {len(text.vocabulary):,} different ones")
    print("| α | frequency | words | expected | Antoniak | base fixed | by restaurant | base inferred |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    found = {}
    decades = np.floor(np.log10(frequencies)).astype(int)
    for concentration in CONCENTRATIONS:
        tables = found[concentration] = study(text, concentration, options.sweeps, options.seed)
        for decade in range(decades.max() + 1):
            these = decades == decade
            cells = [f"{column[these].mean():,.2f}" for column in attrs.astuple(tables)]
            name = f"{10**decade:,} to {10 ** (decade + 1) - 1:,}"
            print(f"| {concentration:,.0f} | {name} | {these.sum():,} | {' | '.join(cells)} |", flush=True)
    if options.picture:
        draw(text, found, options.picture)
    if options.errors:
        draw_errors(options.errors)


if __name__ == "__main__":
    main(sys.argv[1:])
