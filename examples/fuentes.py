"""The study of Fuentes et al. 2011 repeated: Theorem 1, Table 2, the number of topics, and the two documents.

    python examples/fuentes.py                        # everything, in about a minute
    python examples/fuentes.py --figure fuentes.png

The paper is "Dirichlet Allocation Using Product Partition Models"; its results here are in
benchmarks/results/fuentes.md.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import hdpkit as hk
from hdpkit import moves

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# ---------------------------------------------------------------------- Theorem 1, by transition matrices


def transition_matrices(alpha: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Law and transition matrices of (z1, z2), theta ~ Dirichlet(alpha): full, collapsed sweep, one site.

    The full sampler draws theta given z, then z given theta: P(z' | z) is a Dirichlet-multinomial. The
    collapsed sweep draws z1 given z2, then z2 given z1; one site: one of them, each with probability 1/2.
    """
    k, total = len(alpha), float(alpha.sum())
    states = list(itertools.product(range(k), repeat=2))

    def both(z: tuple[int, int], a: Floats) -> float:
        return float(a[z[0]] / a.sum() * (a[z[1]] + (z[0] == z[1])) / (a.sum() + 1.0))

    def given(new: int, other: int) -> float:
        return float((alpha[new] + (new == other)) / (total + 1.0))

    law = np.array([both(z, alpha) for z in states])
    full, sweep, site = (np.zeros((k * k, k * k)) for _ in range(3))
    for row, z in enumerate(states):
        seen = alpha + np.bincount(z, minlength=k)
        for column, new in enumerate(states):
            full[row, column] = both(new, seen)
            sweep[row, column] = given(new[0], z[1]) * given(new[1], new[0])
            site[row, column] = 0.5 * (new[1] == z[1]) * given(new[0], z[1])
            site[row, column] += 0.5 * (new[0] == z[0]) * given(new[1], z[0])
    return law, full, sweep, site


def lag_one(h: Floats, law: Floats, matrix: Floats) -> float:
    """Lag-1 autocovariance of h(z) in a stationary chain."""
    h = h - law @ h
    return float((law * h) @ matrix @ h)


def ratio_range(law: Floats, matrix: Floats, full: Floats) -> tuple[float, float]:
    """The minimum and maximum of Cov(h) / Cov_full(h) over functions h for which Cov_full(h) isn't 0."""
    flow, flow_full = law[:, None] * matrix, law[:, None] * full
    centre = np.eye(len(law)) - law[None, :]  # subtracts the mean of h
    quadratic = centre.T @ (flow + flow.T) @ centre / 2.0
    values, vectors = np.linalg.eigh(centre.T @ flow_full @ centre)
    used = values > 1e-12
    root = vectors[:, used] / np.sqrt(values[used])
    found = np.linalg.eigvalsh(root.T @ quadratic @ root)
    return float(found[0]), float(found[-1])


# ---------------------------------------------------------------------- Table 2


def mean_estimates(
    alpha: Floats, n: int, sweeps: int, chains: int, sampler: str, rng: np.random.Generator
) -> Floats:
    """Mean of E(theta | z) over the iterations, one row per chain: shape (chains, k).

    ``sampler`` is "full" (theta itself, as drawn), "full, averaged" (E(theta | z)), "sweep" (an iteration
    draws every z_i given the others), "one site, random" or "one site, in turn" (an iteration draws one).
    """
    k, total = len(alpha), float(alpha.sum())
    rows = np.arange(chains)
    theta = rng.dirichlet(alpha, size=chains)
    z = (rng.random((chains, n))[:, :, None] > np.cumsum(theta, axis=1)[:, None, :]).sum(axis=2)
    z = np.minimum(z, k - 1)
    counts = (z[:, :, None] == np.arange(k)).sum(axis=1).astype(float)
    sums = np.zeros((chains, k))

    def draw_site(i: Ints) -> None:
        counts[rows, z[rows, i]] -= 1.0
        below = np.cumsum(counts + alpha, axis=1)
        new = (rng.random(chains)[:, None] * below[:, -1:] > below).sum(axis=1)
        z[rows, i] = np.minimum(new, k - 1)
        counts[rows, z[rows, i]] += 1.0

    for sweep in range(sweeps):
        if sampler.startswith("full"):
            gamma = rng.standard_gamma(counts + alpha)
            theta = gamma / gamma.sum(axis=1, keepdims=True)
            counts = rng.multinomial(n, theta).astype(float)
            sums += theta if sampler == "full" else (counts + alpha) / (n + total)
            continue
        if sampler == "sweep":
            for i in range(n):
                draw_site(np.full(chains, i))
        else:
            draw_site(rng.integers(0, n, chains) if "random" in sampler else np.full(chains, sweep % n))
        sums += (counts + alpha) / (n + total)
    return sums / sweeps


SAMPLERS = ("full", "full, averaged", "sweep", "one site, in turn", "one site, random")


def table_two(
    alpha: Floats, seed: int, chains: int = 20, repeats: int = 100
) -> dict[str, tuple[float, float]]:
    """Standard deviation between ``chains`` chains of 500 iterations, averaged over the topics.

    Returns
    -------
    dict
        Sampler -> (standard deviation of the first 20 chains, of all ``chains * repeats`` chains).
    """
    found = {}
    for number, sampler in enumerate(SAMPLERS):
        rng = np.random.default_rng((seed, number))
        means = mean_estimates(alpha, 8, 500, chains * repeats, sampler, rng)
        found[sampler] = tuple(float(m.std(axis=0, ddof=1).mean()) for m in (means[:chains], means))
    return found


# ---------------------------------------------------------------------- the variable number of topics


class FullGibbs:
    """The two-stage Gibbs sampler of section 3, over counts: beta and theta given z, then z given both.

    A cell (document, term) is one multinomial over the topics, since its tokens are exchangeable.

    Parameters
    ----------
    counts : int array, shape (n_documents, n_terms)
    alpha : float array, shape (n_topics,)
        Dirichlet parameters of the proportions.
    b : float
        Dirichlet parameter of the topics over terms.
    as_printed : bool
        Draw the proportions of topics that a document doesn't use with parameter 1, as printed in the paper,
        instead of the model's alpha. That chain has another stationary distribution.
    """

    def __init__(self, counts: Ints, alpha: Floats, b: float, seed: int, as_printed: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.documents, self.terms = np.nonzero(counts)
        self.n = counts[self.documents, self.terms]
        self.shape, self.alpha, self.b, self.as_printed = counts.shape, alpha, b, as_printed
        start = self.rng.dirichlet(np.ones(len(alpha)), size=len(self.n))
        self.of_cells = self.rng.multinomial(self.n, start)

    def sweep(self) -> None:
        """Draw all variables once."""
        (n_documents, n_terms), k = self.shape, len(self.alpha)
        by_document, by_term = np.zeros((n_documents, k)), np.zeros((n_terms, k))
        np.add.at(by_document, self.documents, self.of_cells)
        np.add.at(by_term, self.terms, self.of_cells)
        prior = np.broadcast_to(self.alpha, by_document.shape)
        if self.as_printed:
            prior = np.where(by_document > 0, prior, 1.0)
        theta = self.rng.standard_gamma(by_document + prior)  # the norms cancel below
        beta = self.rng.standard_gamma(by_term + self.b)
        beta /= np.maximum(beta.sum(axis=0), 1e-300)
        weights = theta[self.documents] * beta[self.terms]
        self.of_cells = self.rng.multinomial(self.n, weights / weights.sum(axis=1, keepdims=True))

    def topics_of_documents(self) -> Ints:
        """k_d: the number of topics that each document uses."""
        used = np.zeros((self.shape[0], len(self.alpha)), dtype=bool)
        np.logical_or.at(used, self.documents, self.of_cells > 0)
        found: Ints = used.sum(axis=1)
        return found

    def n_topics(self) -> int:
        """Number of topics with at least one token."""
        return int(self.of_cells.any(axis=0).sum())


def synthetic(
    n_topics: int, n_terms: int, n_documents: int, length: int, alpha: float, b: float, seed: int
) -> tuple[Ints, Ints]:
    """Documents from hierarchy (1): counts, and the true number of topics of each document."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, b), size=n_topics)
    counts = np.zeros((n_documents, n_terms), dtype=np.int64)
    used = np.zeros(n_documents, dtype=np.int64)
    for d in range(n_documents):
        of_topics = rng.multinomial(length, rng.dirichlet(np.full(n_topics, alpha)))
        used[d] = np.count_nonzero(of_topics)
        counts[d] = sum(rng.multinomial(m, topic) for m, topic in zip(of_topics, topics, strict=True))
    return counts, used


def spiky(n_topics: int) -> Floats:
    """The alpha of Figure 1."""
    return np.where(np.arange(n_topics) < 4, 30.0, 0.1)


def figure_one(
    counts: Ints,
    alpha: Floats,
    b: float,
    seed: int,
    sweeps: int = 2000,
    burn_in: int = 500,
    as_printed: bool = False,
) -> Ints:
    """k_d after each sweep: shape (sweeps - burn_in, n_documents)."""
    chain = FullGibbs(counts, alpha, b, seed, as_printed)
    found = []
    for sweep in range(sweeps):
        chain.sweep()
        if sweep >= burn_in:
            found.append(chain.topics_of_documents())
    return np.array(found)


def finite_chain(
    corpus: hk.Corpus,
    n_topics: int,
    alpha: float,
    b: float,
    seed: int,
    sweeps: int = 2000,
    burn_in: int = 500,
) -> Ints:
    """Sampled allocations of a finite model in hdpkit with one alpha for all topics."""
    root = hk.Restaurant(hk.DirichletMultinomial(b))
    document = hk.Restaurant(root, concentration=n_topics * alpha, each="document")
    franchise = hk.Franchise(document, corpus, store="counts", root=hk.FixedWeights(n_topics))
    record = {"dishes": lambda state: state.dishes}
    trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps, rng=seed, record=record)
    found: Ints = trace["dishes"][burn_in:]
    return found


def topics_of_documents(corpus: hk.Corpus, allocations: Ints) -> Ints:
    """k_d: the number of topics that each document uses, in each allocation: shape (n, n_documents)."""
    home = np.asarray(corpus.codes("document"))
    pairs = [np.unique(np.column_stack([home, row]), axis=0) for row in allocations]
    return np.array([np.bincount(own[:, 0], minlength=corpus.n_documents) for own in pairs])


def ranked_allocations(
    corpus: hk.Corpus, allocations: Ints, n_topics: int, alpha: float, b: float
) -> tuple[Ints, Floats]:
    """Distinct allocations, the most probable first, and log p(z, data): equation 3 with its denominators.

    Topics are numbered in order of their first token.
    """
    values, home = np.asarray(corpus.values), np.asarray(corpus.codes("document"))

    def by_first(row: Ints) -> Ints:
        _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse]

    def log_joint(z: Ints) -> float:
        score = printed_score(z, values, home, alpha, b)
        for owners, total in ((z, corpus.n_terms * b), (home, n_topics * alpha)):
            sizes = np.unique(owners, return_counts=True)[1]
            score += sum(math.lgamma(total) - math.lgamma(total + int(n)) for n in sizes)
        return score

    distinct = np.unique([by_first(row) for row in allocations], axis=0)
    logs = np.array([log_joint(row) for row in distinct])
    order = np.argsort(-logs, kind="stable")
    return distinct[order], logs[order]


# ---------------------------------------------------------------------- the two documents

DOCUMENTS = (
    "At least 15 people died and 25,000 residents of Surat town were evacuated after torrential rains "
    "flooded the west Indian town, United News of India reported Friday. UNI said the victims lived in "
    "slum localities which were the worst affected in the deluge Thursday night. It said 25,000 slum "
    "residents lost their homes in the floods and were moved to relief camps. Surat in Gujarat state is "
    "560 miles southwest of New Delhi. At least 50 people have drowned or died in collapsed houses across "
    "India since the monsoon broke this month, newspapers reported. Worst affected are northeastern Assam "
    "state and eastern Bihar state.",
    "A Navy anti-submarine helicopter crashed while preparing to land on a frigate in the North Arabian "
    "Sea and its three crewmen were presumed dead, officials announced Friday. The SH-2F helicopter was "
    "returning to the USS Barbey at the end of a dawn flight and crashed on approach, said Ken Mitchell, "
    "spokesman for North Island Naval Air Station. The Barbey is based at San Diego. The crash occurred "
    "about 7 p.m. PST Thursday, Mitchell said. Lost and presumed dead were Lt. Cmdr. Gerald C. Pelz, 37, "
    "of Coronado, Calif., Lt. j.g. Gerald T. Ramsdell, age unknown, of Ridgewood, N.J., and the "
    "anti-submarine warfare operator, Petty Officer 3rd Class William E. Martinie, 24, of Peoria, Ill. "
    "Helicopters from the aircraft carrier USS Nimitz, 70 miles away, and boats from the Barbey and USS "
    "California unsuccessfully searched for survivors. The craft was part of Helicopter Anti-Submarine "
    "Squadron Light 33.",
)
_STOPPED = (
    "a about across after an and are at away based been by end for from had has have in is it its least of "
    "on or said since the their this three to was were which while"
)
STOP_WORDS = frozenset(_STOPPED.split())
OF_TABLE_3 = ("died", "india", "slum", "state", "surat", "barbey", "helicopter", "uss", "north", "gerald")


def two_documents() -> hk.Corpus:
    """The corpus of section 3.1.2, without stop words, numbers and single letters."""
    words = [re.findall(r"[a-z]{2,}", text.lower()) for text in DOCUMENTS]
    return hk.Corpus.from_documents([[w for w in own if w not in STOP_WORDS] for own in words])


def printed_score(z: Ints, values: Ints, home: Ints, alpha: float, b: float) -> float:
    """Equation 3 as printed in the paper, in logs, up to a constant."""
    score = 0.0
    for cells, a in (((z, values), b), ((z, home), alpha)):
        _, counts = np.unique(np.column_stack(cells), axis=0, return_counts=True)
        score += sum(math.lgamma(int(n) + a) - math.lgamma(a) for n in counts)
    return score


def table_three(corpus: Any, ranked: Ints, top: int = 15) -> dict[str, list[int]]:
    """How often among the best a word's first token is in the main topic of document 1, of 2, of neither."""
    first = {word: int(np.argmax(corpus.values == corpus.vocabulary.index(word))) for word in OF_TABLE_3}
    home = np.asarray(corpus.codes("document"))
    found = {word: [0, 0, 0] for word in OF_TABLE_3}
    for row in ranked[:top]:
        main = [int(np.bincount(row[home == d]).argmax()) for d in (0, 1)]
        for word, token in first.items():
            found[word][main.index(row[token]) if row[token] in main else 2] += 1
    return found


# ---------------------------------------------------------------------- output


def print_theorem() -> None:
    """Theorem 1 on two variables."""
    print(
        "Theorem 1: lag-1 autocovariance of 1[z_1 = 1]; range of the ratio to that of the full sampler, all h"
    )
    print("| alpha | full | collapsed sweep | one site | ratio, sweep | ratio, one site |")
    print("| --- | --- | --- | --- | --- | --- |")
    for alpha in ((0.5, 0.5), (1.0, 1.0), (0.05, 2.0), (0.2,) * 5, (3.0, 3.0, 1.0, 1.0, 1.0)):
        law, full, sweep, site = transition_matrices(np.array(alpha))
        h = np.repeat(np.arange(len(alpha)) == 0, len(alpha)).astype(float)
        covariances = " | ".join(f"{lag_one(h, law, matrix):.6g}" for matrix in (full, sweep, site))
        ranges = " | ".join("{:.3f} to {:.3f}".format(*ratio_range(law, m, full)) for m in (sweep, site))
        print(f"| {', '.join(map('{:g}'.format, alpha))} | {covariances} | {ranges} |")


def print_table_two(repeats: int) -> None:
    """Table 2, both rows, at two sizes of alpha."""
    print(f"\nTable 2: deviation between 20 chains, and between {20 * repeats}, of 500 iterations")
    print(f"| alpha | {' | '.join(SAMPLERS)} |\n| --- |{' --- |' * len(SAMPLERS)}")
    for theta in ((0.2,) * 5, (1 / 3, 1 / 3, 1 / 9, 1 / 9, 1 / 9)):
        for total in (1.0, 5.0):
            found = table_two(total * np.array(theta), 0, repeats=repeats)
            cells = " | ".join(f"{few:.4f}, {many:.4f}" for few, many in found.values())
            print(f"| {total:g} x ({', '.join(f'{t:.4f}' for t in theta)}) | {cells} |")


def runs_of_figure_one(sweeps: int) -> tuple[Ints, dict[str, Ints]]:
    """True k_d of the simulated documents, and the sampled ones of each model."""
    counts, true = synthetic(10, 50, 25, 100, 0.3, 0.1, 1)
    corpus = hk.Corpus.from_counts(counts)
    burn_in = sweeps // 4
    found = {
        "spiky alpha, exact": figure_one(counts, spiky(50), 0.1, 0, sweeps, burn_in),
        "spiky alpha, as printed": figure_one(counts, spiky(50), 0.1, 0, sweeps, burn_in, as_printed=True),
    }
    for n_topics, alpha in ((50, 0.06), (10, 0.3)):
        drawn = finite_chain(corpus, n_topics, alpha, 0.1, 0, sweeps, burn_in)
        found[f"{n_topics} topics, alpha {alpha:g}"] = topics_of_documents(corpus, drawn)
    return true, found


def print_figure_one(true: Ints, found: dict[str, Ints]) -> None:
    """Compare the number of topics of documents with the truth."""
    print("\nFigure 1: topics of a document; the truth, means over the sweeps")
    print("| model | documents 1 to 4 | mean of 25 | correlation with the truth |\n| --- | --- | --- | --- |")
    print(f"| truth | {', '.join(map(str, true[:4]))} | {true.mean():.1f} | |")
    for name, k in found.items():
        means = k.mean(axis=0)
        shown = ", ".join(f"{m:.1f}" for m in means[:4])
        print(f"| {name} | {shown} | {means.mean():.1f} | {np.corrcoef(means, true)[0, 1]:.2f} |")


def print_two_documents(sweeps: int, alpha: float = 0.01, b: float = 0.5) -> Ints:
    """Section 3.1.2, corrected; returns k_d after each sweep."""
    corpus = two_documents()
    k = corpus.n_terms
    drawn = finite_chain(corpus, k, alpha, b, 0, sweeps, 0)
    used, (ranked, _) = topics_of_documents(corpus, drawn), ranked_allocations(corpus, drawn, k, alpha, b)
    home, values = np.asarray(corpus.codes("document")), np.asarray(corpus.values)
    printed = [printed_score(z, values, home, alpha, b) for z in ranked]
    n = ranked.max(axis=1) + 1
    print(f"\nTwo documents: {len(values)} tokens, {k} terms and as many topics, {sweeps} sweeps")
    for number, row in enumerate(used.T):
        print(f"document {number + 1} uses {row.mean():.1f} topics, from {row.min()} to {row.max()}")
    best = int(np.argmax(printed))
    print(f"the best allocation has {n[0]} topics; by equation 3 as printed {n[best]}, of rank {best + 1}")
    print("| word | main topic of document 1 | of document 2 | neither |\n| --- | --- | --- | --- |")
    for word, cells in table_three(corpus, ranked).items():
        print(f"| {word} | {' | '.join(map(str, cells))} |")
    return used


def draw(true: Ints, found: dict[str, Ints], of_two: Ints, path: str) -> None:
    """Histograms of k_d: four of the simulated documents by model, and the two documents."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(found) + 1, 4, figsize=(8.0, 7.0), layout="constrained")
    for row, (name, k) in zip(axes, found.items(), strict=False):
        for d, cell in enumerate(row):
            cell.hist(k[:, d], bins=np.arange(0.5, 25.5), density=True, color="0.6")
            cell.axvline(true[d], color="C3")
            cell.set_title(f"{name}, document {d + 1}" if d == 0 else f"document {d + 1}", fontsize=7)
    for d, cell in enumerate(axes[-1]):
        if d < of_two.shape[1]:
            cell.hist(of_two[:, d], bins=np.arange(0.5, 25.5), density=True, color="C0")
            cell.set_title(f"two documents, document {d + 1}", fontsize=7)
        else:
            cell.set_axis_off()
    for cell in axes.ravel():
        cell.tick_params(labelsize=6)
        cell.set_yticks([])
    figure.savefig(path, dpi=90)


def main(arguments: Any = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=50, help="of the 20 chains of Table 2")
    parser.add_argument("--sweeps", type=int, default=2000, help="of Figure 1")
    parser.add_argument("--ap-sweeps", type=int, default=3000, help="over the two documents")
    parser.add_argument("--figure", help="where to draw Figures 1 and 2")
    options = parser.parse_args(arguments)

    print_theorem()
    print_table_two(options.repeats)
    true, found = runs_of_figure_one(options.sweeps)
    print_figure_one(true, found)
    used = print_two_documents(options.ap_sweeps)
    if options.figure:
        draw(true, found, used, options.figure)


if __name__ == "__main__":
    main(sys.argv[1:])
