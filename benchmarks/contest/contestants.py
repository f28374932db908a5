"""Topic models of several programs with a common interface: sweeps, their time, and held-out scores.

``seconds`` is sampler time: the wall-clock time of the start and all sweeps, without reading files,
converting documents for other programs, and scoring. ``processor`` is the time of processors within it.
"""

import collections
import contextlib
import math
import re
import time

import numpy as np
from heldout import topics_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.kinds.topics import Topics
from hdpkit.random import STARTS, Streams

ETA = 0.1
ETA_OF_FIT = 0.05  # the default of `hdpkit fit`
STORES = ("explicit", "histogram")
# Moves of a sweep if hyperparameters are resampled.
SCHEDULES = {
    "gibbs": lambda: [moves.TableGibbs()],
    "dishes": lambda: [moves.TableGibbs(), moves.DishGibbs()],
    "split-merge": lambda: [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()],
}


def start_of(text):
    """The ``init`` given by a text: "default", "sequential", "one", or for instance "Random(100)"."""
    if text == "default":
        return {}
    called = re.fullmatch(r"([A-Z]\w*)\(([\d, ]*)\)", text)
    if called is None:
        return {"init": text}
    arguments = [int(number) for number in called[2].split(",") if number.strip()]
    return {"init": getattr(hk.init, called[1])(*arguments)}


class Contestant:
    """Sampler time of a program, by the clock and of processors; log joint nan if not reported."""

    seconds = processor = 0.0
    log_joint = math.nan

    @contextlib.contextmanager
    def timed(self):
        """Count the time of a block."""
        began, worked = time.perf_counter(), time.process_time()
        yield
        self.seconds += time.perf_counter() - began
        self.processor += time.process_time() - worked


class Ours(Contestant):
    """hdpkit's two-level HDP.

    Parameters
    ----------
    start : str
        As in `start_of`.
    schedule : str, optional
        One of SCHEDULES, with which concentrations and eta are resampled too; by default only TableGibbs,
        with alpha = gamma = 1 and eta = 0.1.
    """

    def __init__(self, corpus, store, kernel="auto", start="default", schedule=None, seed=0):
        fixed = schedule is None
        eta = ETA if fixed else hk.Gamma(1.0, 1.0 / ETA)
        prior = 1.0 if fixed else hk.Gamma(1.0, 1.0)
        root = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=prior)
        document = hk.Restaurant(root, concentration=prior, each="document")
        self.name, self.store = f"hdpkit, {store}", store
        self.franchise = hk.Franchise(document, corpus, store=store, kernel=kernel)
        resampled = [] if fixed else [moves.Concentration(), moves.BaseMeasureParameters()]
        self.scheduler = hk.Scheduler([*SCHEDULES[schedule or "gibbs"](), *resampled])
        self.start, self.seed = start_of(start), seed
        self.n_tokens = len(corpus)
        self.in_moves = 0.0  # excludes the start and the recording of the trace

    def sweep(self, n=1):
        first = {"init": None} if self.seconds else {"rng": self.seed, **self.start}
        with self.timed():
            trace = self.scheduler.run(self.franchise, sweeps=n, **first)
        self.in_moves += float(trace.moves["seconds"].sum())

    @property
    def n_topics(self):
        return self.franchise.n_dishes

    def topics(self):
        return topics_of(self.franchise)


class Fit(Contestant):
    """The default fit of `hdpkit fit`, sweep by sweep.

    Attributes
    ----------
    parts : dict
        Seconds by the clock of the start, of each move, and of the rest: the records of the trace, and the
        copy of the state after each sweep.
    """

    def __init__(self, corpus, threads=1, seed=0):
        kind = Topics(eta=ETA_OF_FIT, bursty=False)
        self.name = f"hdpkit fit, {threads} thread{'s' if threads > 1 else ''}"
        self.franchise = kind.franchise(corpus)
        self.scheduler = hk.Scheduler(kind.moves(self.franchise.declarations[-1]), threads=threads)
        self.streams = Streams(seed)
        self.parts = collections.Counter()
        self.draws, self.n_sweeps = None, 0

    def sweep(self, n=1):
        for _ in range(n):
            with self.timed():
                self._sweep()

    def _sweep(self):
        began = time.perf_counter()
        if self.draws is None:  # as a run does, whose start isn't timed
            start(self.franchise, "auto", self.streams.source(STARTS))
            most = 10**6
            self.draws = self.scheduler.sample(self.franchise, most, self.streams.seed, init=None)
            self.parts["start"] = time.perf_counter() - began
            began = time.perf_counter()
        draw = next(self.draws)
        self.parts["trace"] += time.perf_counter() - began
        for record in draw.moves:
            self.parts[record.move] += record.seconds
            self.parts["trace"] -= record.seconds
        self.n_sweeps += 1
        self.log_joint = float(draw.values["log_joint"])

    @property
    def n_topics(self):
        return self.franchise.n_dishes

    def topics(self):
        return topics_of(self.franchise)


class Tomotopy(Contestant):
    """tomotopy's HDPModel on one thread.

    It doesn't report the number of tables of a topic; the root's weights are computed from the expected
    numbers given its assignments (a sum of alpha beta_k / (alpha beta_k + i) for each word but the last of
    each topic and document), iterated until weights and numbers agree.
    """

    def __init__(self, corpus, initial_k, fixed=True, seed=1):
        import tomotopy

        self.name = f"tomotopy, initial_k={initial_k}"
        self.model = tomotopy.HDPModel(initial_k=initial_k, alpha=1.0, gamma=1.0, eta=ETA, seed=seed)
        if fixed:
            self.model.optim_interval = 0
        words = [str(term) for term in range(corpus.n_terms)]
        for d in range(corpus.n_documents):
            terms = corpus.terms[corpus.document_customers(d)].tolist()
            if terms:
                self.model.add_doc([words[term] for term in terms])
        self.n_terms, self.n_tokens = corpus.n_terms, len(corpus)

    def sweep(self, n=1):
        with self.timed():
            self.model.train(n, workers=1)

    @property
    def in_moves(self):
        """The same as `seconds`: nothing is recorded."""
        return self.seconds

    @property
    def n_topics(self):
        return self.model.live_k

    def topics(self):
        from scipy.special import digamma

        model = self.model
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        columns = np.array([int(word) for word in model.used_vocabs])
        phi = np.zeros((len(live) + 1, self.n_terms))
        phi[:-1, columns] = [model.get_topic_word_dist(k) for k in live]
        phi[-1] = 1.0 / self.n_terms
        counts = np.array([np.bincount(document.topics, minlength=model.k)[live] for document in model.docs])
        weights = np.full(len(live), 1.0 / len(live))
        for _ in range(50):
            mass = model.alpha * weights
            tables = np.where(counts > 0, mass * (digamma(mass + counts) - digamma(mass)), 0.0).sum(axis=0)
            weights = tables / (tables.sum() + model.gamma)
        return phi, model.alpha * np.append(weights, 1.0 - weights.sum())


class Gensim(Contestant):
    """gensim's HdpModel (online variational inference); a sweep is one chunk of 256 documents."""

    CHUNK = 256

    def __init__(self, corpus, seed=1):
        self.name = "gensim HdpModel"
        counts = corpus.to_counts()
        ends = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
        both = (counts.indices.tolist(), counts.data.tolist())
        rows = [list(zip(both[0][a:b], both[1][a:b], strict=True)) for a, b in ends]
        self.rows = [row for row in rows if row]
        self.settings = {
            "id2word": {term: str(term) for term in range(corpus.n_terms)}, "chunksize": self.CHUNK,
            "alpha": 1.0, "gamma": 1.0, "eta": ETA, "random_state": seed, "max_chunks": 1,
        }  # fmt: skip
        self.model, self.next = None, 0
        self.n_tokens = len(corpus)

    def sweep(self, n=1):
        from gensim.models import HdpModel

        for _ in range(n):
            chunk = self.rows[self.next : self.next + self.CHUNK]
            with self.timed():
                if self.model is None:
                    self.model = HdpModel(self.rows, **self.settings)  # processes the first chunk immediately
                else:
                    self.model.update_chunk(chunk)
            self.next += self.CHUNK
            if self.next >= len(self.rows):
                self.next = 0

    @property
    def n_topics(self):
        """Number of topics with at least a thousandth of the root's weight, of the 150 that it keeps."""
        return int((self.model.hdp_to_lda()[0] >= 1e-3).sum())

    def topics(self):
        self.model.update_expectations()
        alpha, beta = self.model.hdp_to_lda()
        return beta, alpha
