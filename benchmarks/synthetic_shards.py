"""A synthetic corpus of any size, in shards, drawn from a topic model block by block.

    python benchmarks/synthetic_shards.py FOLDER [--tokens 100000000] [--shards 8] [--seed 0] [--like RUN]
        [--topics 100] [--terms 20000] [--length 150] [--alpha 5] [--gamma 20] [--eta 0.05] [--zipf 1.0]

With --like RUN the model is the last state of a run of hdpkit fit: its topics, root weights, concentration of
documents, and the lengths of documents in its corpus. Otherwise root weights are the K largest sticks of a
DP(gamma), topics are Dirichlet(eta V p) around Zipf's law p (the share of term v is proportional to
1 / (v + 3)^zipf), and lengths are negative binomial with mean --length and a standard deviation of two thirds
of that. The weights of a document are Dirichlet(alpha root weights). Documents are drawn in blocks, each from
its own random stream, keyed by the seed and the number of the block, so the corpus depends neither on the
number of shards nor on the available memory. Topics (phi), root weights and options are written to
FOLDER-truth.npz.

Printed: sizes, seconds, tokens/s, bytes on disk, and the peak memory of the process.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from machine import block, peak

import hdpkit as hk

DOCUMENTS = 2000
"""Number of documents drawn at once."""


class Drawn:
    """A model with the parameters of the options."""

    def __init__(self, options):
        generator = np.random.default_rng([options.seed, 0])
        sticks = generator.beta(1.0, options.gamma, size=50 * options.topics)
        weights = sticks * np.cumprod(np.append(1.0, 1.0 - sticks[:-1]))
        weights = np.sort(weights)[::-1][: options.topics]
        common = 1.0 / (np.arange(options.terms) + 3.0) ** options.zipf
        shapes = options.eta * options.terms * common / common.sum()
        # Logarithms, since for shapes near 0 the variates themselves underflow.
        topics = np.empty((options.topics, options.terms))
        for topic in topics:
            logs = np.log(generator.gamma(shapes + 1.0)) + np.log(generator.random(options.terms)) / shapes
            topic[:] = np.exp(logs - logs.max())
            topic /= topic.sum()
        self.topics, self.weights, self.alpha = topics, weights / weights.sum(), options.alpha
        variance = (options.length / 1.5) ** 2
        self.success = options.length / max(variance, options.length * 1.01)
        self.shape = options.length * self.success / (1.0 - self.success)

    def lengths(self, generator):
        """Lengths of some documents."""
        return generator.negative_binomial(self.shape, self.success, size=DOCUMENTS)


class Fitted:
    """The last state of a run."""

    def __init__(self, folder):
        franchise = hk.open_run(folder).franchise()
        weights, _ = franchise.root_weights()
        self.topics, self.weights = franchise.dish_parameters(), weights / weights.sum()
        self.alpha = franchise.concentration("document")
        self.known = np.asarray(franchise.data.document_lengths)

    def lengths(self, generator):
        """Lengths of some documents of the run's corpus."""
        return generator.choice(self.known, size=DOCUMENTS)


def drawn(model, n_tokens, seed):
    """Blocks of documents as sparse counts, with ``n_tokens`` tokens in total."""
    cumulative = np.cumsum(model.topics, axis=1)
    cumulative /= cumulative[:, -1:]
    tokens = number = 0
    while tokens < n_tokens:
        number += 1
        generator = np.random.default_rng([seed, number])
        lengths = model.lengths(generator)
        if tokens + lengths.sum() > n_tokens:  # the last documents are cut to this total
            lengths = np.diff(np.minimum(np.append(0, np.cumsum(lengths)), n_tokens - tokens))
            lengths = lengths[lengths > 0]
        shares = generator.gamma(model.alpha * model.weights, size=(len(lengths), len(model.weights)))
        shares[:, 0] += shares.sum(axis=1) == 0
        by_topic = generator.multinomial(lengths, shares / shares.sum(axis=1, keepdims=True))
        document, term = [], []
        for k, own in enumerate(by_topic.T):
            document.append(np.repeat(np.arange(len(lengths)), own))
            term.append(np.searchsorted(cumulative[k], generator.random(own.sum()), side="right"))
        where = (np.concatenate(document), np.concatenate(term))
        tokens += len(where[0])
        ones = np.ones(len(where[0]), np.int64)
        yield sp.csr_array(sp.coo_array((ones, where), (len(lengths), cumulative.shape[1])))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--like", type=Path, metavar="RUN")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--terms", type=int, default=20_000)
    parser.add_argument("--length", type=float, default=150.0)
    parser.add_argument("--alpha", type=float, default=5.0)
    parser.add_argument("--gamma", type=float, default=20.0)
    parser.add_argument("--eta", type=float, default=0.05)
    parser.add_argument("--zipf", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    print(block())
    model = Drawn(options) if options.like is None else Fitted(options.like)
    begin = time.perf_counter()
    blocks = drawn(model, options.tokens, options.seed)
    sharded = hk.ShardedCorpus.from_counts(blocks, options.folder, options.shards)
    seconds = time.perf_counter() - begin
    kept = {name: value for name, value in vars(options).items() if name not in ("folder", "like")}
    beside = options.folder.with_name(f"{options.folder.name}-truth.npz")
    np.savez_compressed(beside, phi=model.topics, root_weights=model.weights, **kept)
    size = sum(path.stat().st_size for path in options.folder.rglob("*") if path.is_file())
    largest = max(shard.n_cells for shard in sharded.shards) * sharded.n_shards / sharded.n_cells
    rows = {
        "topics": f"{len(model.topics):,}",
        "documents": f"{sharded.n_documents:,}",
        "tokens": f"{sharded.n_tokens:,}",
        "cells": f"{sharded.n_cells:,}",
        "shards": f"{sharded.n_shards}, the largest {largest:.4f} of their mean",
        "seconds": f"{seconds:.1f}",
        "tokens/s": f"{sharded.n_tokens / seconds:,.0f}",
        "bytes on disk": f"{size:,}",
        "peak memory": f"{peak() / 2**20:,.0f} MiB",
    }
    for name, value in rows.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
