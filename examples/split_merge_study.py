"""Wang & Blei's synthetic study (2012, section 4.1): what do split-merge moves do for an HDP topic model?

100 documents of 50 words over 12 terms come from five topics, at most two a document. Topics 1 and 2 share
terms 3 to 9 and differ in terms 1 and 2 only; the others don't use these. Chains of Gibbs sweeps with and
without a large move start from the same state on the same data; "found" means that five dishes hold 98 % of
the words, each with a cosine of at least 0.95 to another true topic, for 20 sweeps running.

    python examples/split_merge_study.py --quick              # seconds: a few short chains
    python examples/split_merge_study.py main                 # the table with and without
    python examples/split_merge_study.py grid                 # separation, mixing, trials a sweep
    python examples/split_merge_study.py figures --out DIR    # figures 3 and 4 (a)-(d); needs matplotlib

What came out is told in docs/split_merge_study.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import binomtest

import hdpkit as hk
from hdpkit import moves

N_TOPICS, N_TERMS = 5, 12
HELD, COSINE, RUNNING = 0.98, 0.95, 20


@attrs.frozen
class Setting:
    """How the data are drawn.

    Attributes
    ----------
    low : float
        Probability of term 2 in topic 1 and of term 1 in topic 2.
    high : float, optional
        Probability of term 1 in topic 1 and of term 2 in topic 2; by default as high as terms 3 to 9.
    single : float
        Share of documents with one topic; the others have two.
    weight : float
        The two topics of a document have weights Beta(weight, weight).
    n_documents, n_words : int
    """

    low: float = 0.008
    high: float | None = None
    single: float = 0.5
    weight: float = 1.0
    n_documents: int = 100
    n_words: int = 50


def true_topics(setting: Setting) -> np.ndarray:
    """The five topics: shape (5, 12)."""
    high = (1.0 - setting.low) / 8.0 if setting.high is None else setting.high
    topics = np.zeros((N_TOPICS, N_TERMS))
    topics[:2, 2:9] = (1.0 - high - setting.low) / 7.0
    topics[0, :2] = high, setting.low
    topics[1, :2] = setting.low, high
    for k, (own, shared) in enumerate([(9, (2, 3, 4)), (10, (4, 5, 6)), (11, (6, 7, 8))]):
        topics[2 + k, own] = 0.4
        topics[2 + k, list(shared)] = 0.2
    return topics


def draw_data(setting: Setting, seed: int) -> tuple[hk.Corpus, np.ndarray]:
    """A corpus, and each word's true topic (from 0) in the order of the corpus."""
    rng = np.random.default_rng([seed, 2012])
    topics = true_topics(setting)
    documents, origins = [], []
    for _ in range(setting.n_documents):
        pair = rng.choice(N_TOPICS, size=2, replace=False)
        first = 1.0 if rng.random() < setting.single else rng.beta(setting.weight, setting.weight)
        origin = pair[(rng.random(setting.n_words) >= first).astype(int)]
        words = [int(rng.choice(N_TERMS, p=topics[k])) for k in origin]
        documents.append(words)
        origins.append(origin)
    return hk.Corpus.from_documents(documents, n_terms=N_TERMS), np.concatenate(origins)


def franchise_of(corpus: hk.Corpus) -> hk.Franchise:
    """The paper's model: eta = 0.5, Gamma(0.1, 1) priors on both concentrations."""
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(0.1, 1.0))
    document = hk.Restaurant(base=root, concentration=hk.Gamma(0.1, 1.0), each="document")
    return hk.Franchise(document, corpus)


def schedule(large: moves.Move | None = None) -> list[moves.Move]:
    """Gibbs sweeps, and a large move if there is one."""
    gibbs = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]
    return gibbs if large is None else [*gibbs, large]


def is_like(counts: np.ndarray, topics: np.ndarray) -> bool:
    """Whether five dishes hold 98 % of the words and are each like another true topic.

    Parameters
    ----------
    counts : int array, shape (K, 12)
        Words of each dish.
    topics : float array, shape (5, 12)
    """
    if len(counts) < N_TOPICS:
        return False
    sizes = counts.sum(axis=1)
    largest = np.argsort(-sizes, kind="stable")[:N_TOPICS]
    if sizes[largest].sum() < HELD * sizes.sum():
        return False
    top = counts[largest] / np.linalg.norm(counts[largest], axis=1, keepdims=True)
    cosines = top @ (topics / np.linalg.norm(topics, axis=1, keepdims=True)).T
    rows, columns = linear_sum_assignment(cosines < COSINE)
    return bool(np.all(cosines[rows, columns] >= COSINE))


class Finder:
    """A callback that ends the run when the topics have been there for 20 sweeps running."""

    def __init__(self, topics: np.ndarray, stop: bool = True) -> None:
        self.topics, self.stop = topics, stop
        self.running = 0
        self.first: int | None = None

    def __call__(self, draw: hk.Draw) -> bool:
        self.running = self.running + 1 if is_like(draw.franchise.dish_counts, self.topics) else 0
        if self.running == RUNNING and self.first is None:
            self.first = draw.sweep - RUNNING + 1
        return self.stop and self.first is not None


@attrs.frozen
class Run:
    """One chain.

    Attributes
    ----------
    first : int or None
        Sweep from which on the topics were there for 20 sweeps; None: never.
    seconds : float
        Seconds of the moves until then (or until the end).
    tried, accepted : int
        Proposals of the large move.
    trace : hk.Trace
    """

    first: int | None
    seconds: float
    tried: int
    accepted: int
    trace: hk.Trace


def run(
    setting: Setting, seed: int, large: moves.Move | None, start: str, sweeps: int, stop: bool = True,
    **options: Any,
) -> Run:  # fmt: skip
    """Run one chain; data and chain have the same seed."""
    corpus, _ = draw_data(setting, seed)
    finder = Finder(true_topics(setting), stop)
    franchise = franchise_of(corpus)
    trace = hk.Scheduler(schedule(large)).run(
        franchise, sweeps, rng=seed, init=start, callbacks=[finder], **options
    )
    log = trace.moves
    until = log["sweep"] <= (finder.first or sweeps)
    own = log["move"] == (large.name if large is not None else "")
    tried, accepted = int(log["tried"][own].sum()), int(log["accepted"][own].sum())
    return Run(finder.first, float(log["seconds"][until].sum()), tried, accepted, trace)
