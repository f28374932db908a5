"""What the verdict "readable" keeps between independent runs, and how soon it is given.

    OPENBLAS_NUM_THREADS=1 python benchmarks/verdicts.py CORPUS... [--seconds 120] [--eta 0.05] [--sweeps 500]
        [--samples 10]

CORPUS is NAME=FILE[:N][@VOCABULARY] for the documents of a file (N of them, drawn with seed 0, with the terms
that two of these have), NAME=installed for the documentation of the installed NumPy and SciPy, or
NAME=simulated for 1,000 documents drawn from a model with 40 topics. If VOCABULARY consists of the channels
of mutations, the model, the schedule and the start are those of ``hdpkit signatures``.

Three chains have seeds of their own. Each pair of them is a run of two chains, and the third is a run that is
independent of it. They are judged in rounds, as by ``--until readable``: the first has a tenth of the sweeps,
each further one as many as all before it. In the first round in which the verdict on a pair is green, its
components are looked for in the third chain, by the definition of the verdict: those that occur in half of
the samples of both, and whose means have a cosine of at least 0.8. Chains end when all pairs are green, or
when each has had the given seconds of processor time (two chains on two free processors take as many seconds
of the clock). For pairs that never were green the shares are those of the last round.
"""

import argparse
import itertools
import time

import machine
import numpy as np
import scipy.sparse

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import demo_corpus, read_corpus
from hdpkit.kinds.catalog import kind_of
from hdpkit.kinds.topics import default_moves
from hdpkit.posterior.readability import components_of_pieces
from hdpkit.posterior.rounds import samples_of_round
from hdpkit.signatures import choose_rank
from hdpkit.summaries import diagnose

HEAD = (
    "| corpus | documents | tokens | components | readable | after seconds | sweeps | in common: the pair | "
    "with the third |\n|---|---|---|---|---|---|---|---|---|"
)


def corpus_of(source):
    """The corpus that an argument names."""
    if source == "installed":
        return demo_corpus()
    if source == "simulated":
        rng = np.random.default_rng(5)
        topics, weights = rng.dirichlet(np.full(2000, 0.05), size=40), rng.dirichlet(np.ones(40))
        shares = rng.dirichlet(3.0 * weights + 1e-9, size=1000)
        return hk.Corpus.from_counts(np.array([rng.multinomial(100, row @ topics) for row in shares]))
    source, _, vocabulary = source.partition("@")
    file, _, n = source.partition(":")
    corpus = read_corpus(file, vocabulary=vocabulary or None)
    if not n or int(n) >= corpus.n_documents:
        return corpus
    chosen = np.sort(np.random.default_rng(0).choice(corpus.n_documents, int(n), replace=False))
    counts = scipy.sparse.csr_array(corpus.to_counts())[chosen]
    kept = np.flatnonzero(np.asarray((counts > 0).sum(axis=0)).ravel() >= 2)
    words = None if corpus.vocabulary is None else [corpus.vocabulary[v] for v in kept]
    return hk.Corpus.from_counts(counts[:, kept], vocabulary=words)


class Chain:
    """A chain in rounds, and its processor time."""

    def __init__(self, corpus, eta, seed):
        self.seed, self.trace = seed, None
        began = time.process_time()
        cohort = kind_of(corpus).name == "signatures"
        root = hk.Restaurant(
            hk.DirichletMultinomial(0.5 if cohort else eta), concentration=hk.Gamma(1.0, 1.0)
        )
        sample = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document")
        if cohort:
            self.franchise = hk.Franchise(sample, corpus, store="counts", root="weights")
            schedule = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
            self.start = choose_rank(sample, corpus, rng=seed).init
        else:
            self.franchise = hk.Franchise(sample, corpus)
            schedule, self.start = default_moves(sample), "auto"
        self.scheduler = hk.Scheduler(schedule)
        self.seconds = time.process_time() - began

    def run(self, sweeps, samples, limit):
        """A round, which ends early when the limit is reached."""
        begun, began, spent = self.franchise.sweep if self.trace else 0, time.process_time(), self.seconds
        given = {"init": None} if self.trace else {"init": self.start, "rng": self.seed}
        trace = self.scheduler.run(
            self.franchise, sweeps, samples=samples_of_round(samples, begun, sweeps),
            callbacks=[lambda draw: spent + time.process_time() - began >= limit], **given,
        )  # fmt: skip
        self.trace = trace if self.trace is None else self.trace.followed_by(trace, begun // 2)
        self.seconds = spent + time.process_time() - began

    def later(self, after):
        """The samples after a sweep."""
        return [sample for sample in self.trace.samples if sample.sweep > after][-5:]


def judged(chains, corpus):
    """For each pair: light, seconds, sweep, share in common within it, and with the third chain."""
    found = []
    for pair in itertools.combinations(range(3), 2):
        two, third = [chains[i] for i in pair], chains[3 - sum(pair)]
        diagnosis = diagnose(hk.ChainTrace([chain.trace for chain in two]), data=corpus)
        verdict, after = diagnosis.readable, diagnosis.after
        own = verdict.figures.get("shared", np.nan)
        pieces = [two[0].later(after) + two[1].later(after), third.later(after)]
        common = components_of_pieces(pieces) if all(pieces) else None
        kept = np.nan if common is None else common.shares[common.in_all_chains].sum()
        found.append((verdict.light, max(chain.seconds for chain in two), diagnosis.last, own, kept))
    return found


def row_of(name, source, options):
    """A line of the table."""
    corpus = corpus_of(source)
    chains = [Chain(corpus, options.eta, seed) for seed in range(3)]
    first, sweeps = [None] * 3, max(1, options.sweeps // 10)
    while True:
        for chain in chains:
            chain.run(sweeps, options.samples, options.seconds)
        pairs = judged(chains, corpus)
        over = max(chain.seconds for chain in chains) >= options.seconds
        for number, pair in enumerate(pairs):
            if first[number] is None and (pair[0] == "green" or over):
                first[number] = pair
        if over or None not in first:
            return line(name, corpus, chains, first)
        sweeps = chains[0].franchise.sweep


def line(name, corpus, chains, pairs):
    """The line of a corpus, from what was found of its pairs."""
    lights, seconds, sweeps, own, kept = zip(*pairs, strict=True)
    cells = [
        name, f"{corpus.n_documents:,}", f"{corpus.n_tokens:,}",
        ", ".join(f"{chain.franchise.n_dishes}" for chain in chains), f"{lights.count('green')} of 3",
        ", ".join(f"{one:.0f}" for one in seconds), ", ".join(map(str, sweeps)),
        ", ".join(f"{one:.0%}" for one in own), ", ".join(f"{one:.0%}" for one in kept),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--eta", type=float, default=0.05)
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--samples", type=int, default=10)
    options = parser.parse_args()
    print(machine.block(), flush=True)
    print(HEAD, flush=True)
    for given in options.corpora:
        name, _, source = given.partition("=")
        print(row_of(name, source, options), flush=True)


if __name__ == "__main__":
    main()
