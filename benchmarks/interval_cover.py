"""How often 90 % intervals contain the truth, in simulated data, and what they lose where.

    OPENBLAS_NUM_THREADS=1 python benchmarks/interval_cover.py [--kinds topics signatures ...] [--seeds 3]
        [--sweeps 300] [--samples 100] [--few 10] [--keep RESULTS]

- topics: 8 topics of 200 terms, 200 documents of 60 tokens.
- mixture: 5 normal components in two dimensions, 300 points.
- hidden-markov: 4 states with normal observations, 10 sequences of 100.
- signatures: 5 signatures over 96 channels, 60 samples of 1,000 to 5,000 mutations; a sample has each of them
  with probability 0.7. Counts are multinomial, and the model is that of ``hdpkit signatures --no-bursty``.

The model, the moves and the start are those of each kind, two chains. Components are matched with the truth,
one to one, by their terms or else by their points; others aren't counted, and *found* says how many are. Rows
of the table are the same chains read in different ways:

- default: --few samples of each chain, evenly spaced.
- pooled: the same; quantiles over all samples in place of the smallest and largest in halves of chains.
- many: all --samples of each chain.
- one chain: those of the first chain.
- true assignment: all samples; each dish belongs to the true component that is nearest to it (only of terms).
- from the truth: all samples of chains that begin with the true components of the tokens or points, or the
  true signatures.
- true eta: the same with the eta of the data in place of the usual one (only of terms).
- known signatures: all samples of chains with the true signatures, which never change, and no others.

A share of a document or sample, or a probability of a term, is in its interval if it is at most half a token
away: a lower end that rounds to no token contains 0. *Above 0* are those that stand for one token or more.

A line of JSON is appended to RESULTS for each seed and kind; existing results aren't computed again.
"""

import argparse
import json
import warnings
from pathlib import Path
from unittest import mock

import attrs
import numpy as np
from machine import block
from scipy.optimize import linear_sum_assignment

import hdpkit as hk
from hdpkit.kinds.hidden_markov import HiddenMarkov
from hdpkit.kinds.points import Mixture
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.kinds.topics import Topics
from hdpkit.posterior.alignment import TermVectors, merged_sample
from hdpkit.posterior.components import Components
from hdpkit.signatures import choose_rank

NEAR = 0.7  # cosine of a component and the true one
READ = ("shares", "groups", "groups above 0", "rows", "rows above 0", "transitions")


@attrs.frozen(eq=False)
class Truth:
    """Data with what they are made of: dishes of customers, and the quantities whose intervals are tried."""

    kind: object
    data: object
    dishes: object  # of each customer; of counts the rows
    shares: np.ndarray
    rows: dict  # name -> one number of each component, or "terms"
    groups: np.ndarray | None = None
    totals: np.ndarray | None = None
    transitions: np.ndarray | None = None
    eta: float | None = None  # of which the rows over terms are drawn


def topics(rng, size):
    k, n, length = 8, int(200 * size), 60
    rows = rng.dirichlet(np.full(200, 0.1), k)
    groups = rng.dirichlet(np.full(k, 0.2), n)
    dishes = [rng.choice(k, length, p=share) for share in groups]
    words = [[int(rng.choice(200, p=rows[z])) for z in own] for own in dishes]
    dishes = np.concatenate(dishes)
    return Truth(
        Topics(), hk.Corpus.from_documents(words, n_terms=200), dishes,
        np.bincount(dishes, minlength=k) / len(dishes), {"terms": rows}, groups, np.full(n, length),
        eta=0.1,
    )  # fmt: skip


def mixture(rng, size):
    k, n = 5, int(300 * size)
    while True:
        means = rng.normal(0.0, 5.0, (k, 2))
        apart = np.linalg.norm(means[:, None] - means, axis=2) + 9.0 * np.eye(k)
        if apart.min() > 3.0:
            break
    dishes = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
    values = means[dishes] + rng.normal(size=(n, 2))
    return Truth(
        Mixture(), hk.Groups.from_labels(values), dishes,
        np.bincount(dishes, minlength=k) / n, {f"mean[{d}]": means[:, d] for d in range(2)},
    )  # fmt: skip


def hidden_markov(rng, size):
    k, n, length = 4, max(int(10 * size), 2), 100
    means = np.array([-4.0, -1.0, 1.5, 5.0])
    rows = 0.8 * np.eye(k) + 0.2 * rng.dirichlet(np.ones(k), k)
    dishes = np.empty((n, length), dtype=np.int64)
    for own in dishes:
        own[0] = rng.integers(k)
        for i in range(1, length):
            own[i] = rng.choice(k, p=rows[own[i - 1]])
    values = means[dishes] + rng.normal(size=dishes.shape)
    return Truth(
        HiddenMarkov(), hk.Sequences.from_arrays([own[:, None] for own in values]), dishes.ravel(),
        np.bincount(dishes.ravel(), minlength=k) / dishes.size, {"mean[0]": means}, transitions=rows,
    )  # fmt: skip


def signatures(rng, size):
    k, n = 5, int(60 * size)
    rows = rng.dirichlet(np.full(96, 0.3), k)
    groups = rng.gamma(1.0, size=(n, k)) * (rng.random((n, k)) < 0.7)
    groups[~groups.any(axis=1), 0] = 1.0
    groups /= groups.sum(axis=1, keepdims=True)
    totals = rng.integers(1000, 5000, n)
    counts = [rng.multinomial(total, share) for total, share in zip(totals, groups, strict=True)]
    table = sum(rng.multinomial(one, row) for one, row in zip(np.transpose(counts), rows, strict=True))
    corpus = hk.Corpus.from_counts(table)
    shares = np.sum(counts, axis=0) / totals.sum()
    return Truth(Cohort(bursty=False), corpus, rows, shares, {"terms": rows}, groups, totals, eta=0.3)


KINDS = {"topics": topics, "mixture": mixture, "hidden-markov": hidden_markov, "signatures": signatures}


def chains(truth, options, seed, start):
    """Samples of two chains, and the franchise."""
    kind, init = truth.kind, "auto"
    if start == "known":
        names, channels = (tuple(map(str, range(n))) for n in truth.dishes.shape)
        known = KnownSignatures(names, channels, truth.dishes, None)
        kind = attrs.evolve(kind, known=known, only_known=True)
    declared, franchise = kind.declare(truth.data), kind.franchise(truth.data)
    if start == "truth" and isinstance(truth.kind, Cohort):
        init = hk.init.Factors(topics=truth.dishes)
    elif start == "truth":
        init = truth.dishes
    elif start == "usual" and isinstance(truth.kind, Cohort):
        init = choose_rank(declared, truth.data, rng=seed).init
    trace = hk.Scheduler(kind.moves(declared)).run(
        franchise, options.sweeps, rng=seed, init=init, chains=2, samples=options.samples, processes=1
    )
    return list(trace.samples), franchise


def kept(samples, n):
    """So many samples of each chain, evenly spaced."""
    by_chain = [[one for one in samples if one.chain == c] for c in sorted({one.chain for one in samples})]
    return [own[i] for own in by_chain for i in np.linspace(0, len(own) - 1, min(n, len(own))).astype(int)]


def cosines(one, other):
    one, other = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (one, other))
    return one @ other.T


def likeness(found, truth):
    """Cosine of each true component and each found one."""
    if "terms" in truth.rows:
        return cosines(truth.rows["terms"], found.rows)
    own = np.eye(len(truth.shares))[truth.dishes]
    return cosines(own.T, found.memberships[:, :-1].T)


def by_truth(samples, truth):
    """Components of samples in which each dish belongs to the true component that is nearest to it."""
    merged, labels = [], []
    for sample in samples:
        alike = cosines(sample.topics(), truth.rows["terms"])
        to = alike.argmax(axis=1)
        merged.append(merged_sample(sample, to))
        labels.append(np.unique(to))
    return Components(merged, labels, TermVectors(merged), 0.9)


def covered(found, truth, franchise):
    """Name -> [contained, number] of the intervals of components in common."""
    alike = likeness(found, truth)
    pairs = [(i, j) for i, j in zip(*linear_sum_assignment(-alike), strict=True) if alike[i, j] >= NEAR]
    held = {"found": [len(pairs), len(alike)]}
    if not pairs:
        return held
    i, j = np.array(pairs).T

    def count(name, true, ends, room=0.0, which=None):
        inside = (ends[0] - room <= true) & (true <= ends[1] + room)
        inside = inside if which is None else inside[which]
        held[name] = [int(inside.sum()), inside.size]

    count("shares", truth.shares[i], (found.shares_lower[j], found.shares_upper[j]))
    if truth.groups is not None:
        ends, true = (found.group_shares_lower[:, j], found.group_shares_upper[:, j]), truth.groups[:, i]
        room = 0.5 / truth.totals[:, None]
        count("groups", true, ends, room)
        count("groups above 0", true, ends, room, true >= 2 * room)
    if "terms" in truth.rows:
        ends, true = (found.rows_lower[j], found.rows_upper[j]), truth.rows["terms"][i]
        room = 0.5 / (truth.shares[i] * truth.totals.sum())[:, None]
        count("rows", true, ends, room)
        count("rows above 0", true, ends, room, true >= 2 * room)
    else:
        named = found.named_parameters(franchise.measure)
        numbers = np.concatenate([named[name][j] for name in truth.rows])
        true = np.concatenate([values[i] for values in truth.rows.values()])
        count("rows", true, (numbers[:, 1], numbers[:, 2]))
    if truth.transitions is not None:
        cells = np.ix_(j, j)
        count(
            "transitions", truth.transitions[np.ix_(i, i)],
            (found.transitions_lower[cells], found.transitions_upper[cells]),
        )  # fmt: skip
    return held


def results(name, seed, options):
    truth = KINDS[name](np.random.default_rng(seed), options.size)

    def read(samples, known=None):
        if isinstance(truth.kind, Cohort):
            return truth.kind.extracted(samples, truth.data, known)
        return hk.summaries.components(samples)

    samples, franchise = chains(truth, options, seed, "usual")
    with mock.patch(
        "hdpkit.posterior.components.halves_of", lambda samples: np.zeros(len(samples), dtype=int)
    ):
        pooled = covered(read(kept(samples, options.few)), truth, franchise)
    found = {
        "default": read(kept(samples, options.few)),
        "many": read(samples),
        "one chain": read([one for one in samples if one.chain == samples[0].chain]),
    }
    if "terms" in truth.rows:
        found["true assignment"] = by_truth(samples, truth)
    found["from the truth"] = read(chains(truth, options, seed, "truth")[0])
    if truth.eta is not None:
        same = attrs.evolve(truth, kind=attrs.evolve(truth.kind, eta=truth.eta))
        found["true eta"] = read(chains(same, options, seed, "truth")[0])
    if isinstance(truth.kind, Cohort):
        samples, restricted = chains(truth, options, seed, "known")
        found["known signatures"] = read(samples, restricted.known)
    return {"pooled": pooled} | {how: covered(one, truth, franchise) for how, one in found.items()}


def table(kept_results):
    print(f"| data | read | found | {' | '.join(READ)} |")
    print("| --- " * (3 + len(READ)) + "|")
    for name in dict.fromkeys(kind for kind, _ in kept_results):
        rows = [held for kind, held in kept_results if kind == name]
        for how in rows[0]:
            cells = []
            for read in ("found", *READ):
                sums = np.sum([one[how].get(read, [0, 0]) for one in rows], axis=0)
                cells.append(f"{sums[0] / sums[1]:.0%}" if sums[1] else "")
            print(f"| {name} | {how} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--samples", type=int, default=100, help="of each chain")
    parser.add_argument("--few", type=int, default=10, help="of each chain, by default")
    parser.add_argument("--size", type=float, default=1.0, help="of the data, as a part of the usual one")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    held = []
    if options.keep is not None and options.keep.exists():
        held = [json.loads(line) for line in options.keep.read_text(encoding="utf-8").splitlines()]
    print(block())
    for name in options.kinds:
        for seed in range(options.seeds):
            if any(row["kind"] == name and row["seed"] == seed for row in held):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                held.append({"kind": name, "seed": seed, "cover": results(name, seed, options)})
            if options.keep is not None:
                with options.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(held[-1]) + "\n")
    table([(row["kind"], row["cover"]) for row in held])


if __name__ == "__main__":
    main()
