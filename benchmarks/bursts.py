"""Topics that differ by document against plain ones: scores, topics and agreement after the same seconds.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bursts.py CORPUS... [--seconds 10 40] [--eta 0.05] [--starts]

CORPUS is NAME=FILE[@VOCABULARY] (any corpus file; for NAME.train.ldac the halves of the test documents are
beside it), NAME=installed for the documentation of the installed NumPy and SciPy, or NAME=sentences for the
first sentence of each of its texts. Without given halves every tenth document is a test document, and each of
its words is in the observed half with probability 1/2.

For each corpus the model of ``hdpkit fit`` is run with `hk.DirichletMultinomial` and with `hk.Bursty`, for
the given seconds of processor time, concentrations and (unless it is given) eta resampled: two chains from
the default start and, with --starts, one from a single topic. The columns: perplexity of the held-out
halves by document completion; of the same words by a chain of its own that also has the observed halves,
for the same seconds, over ten states two sweeps apart ("joint"); of those of their words that don't occur in
the observed half, given that they don't; topics, topics that hold half of the tokens; coherence (NPMI of the
ten first terms, mean over topics with 1 % of the tokens or more, in the training documents); the share of
tokens in topics common to both chains, by the definition of the verdict on a run. With --starts: the distance
between the starts in nats of the log joint, topics, and the largest difference of one of the twenty largest
shares.
"""

import argparse
import time

import heldout
import machine
import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer

import hdpkit as hk
from hdpkit.io import collect_docstrings, demo_corpus, read_corpus
from hdpkit.kinds.topic_model import joint_probabilities
from hdpkit.kinds.topics import default_moves
from hdpkit.posterior.evaluation.completion import FixedTopics
from hdpkit.posterior.readability import components_of_pieces

HEAD = (
    "corpus", "model", "seconds", "sweeps", "completion", "joint", "new words", "topics", "half of tokens",
    "NPMI", "in common", "concentration of bursts",
)  # fmt: skip
STARTS = (
    "corpus",
    "model",
    "seconds",
    "log joints",
    "apart (nats)",
    "topics",
    "largest difference of a share",
)


def corpora_of(source):
    """Training documents, and the observed and held-out halves of test documents."""
    if source == "installed":
        corpus = demo_corpus()
    elif source == "sentences":
        collected = collect_docstrings(("numpy", "scipy", "sklearn"))
        first = {" ".join(text.split(".", 1)[0].split()) for text in collected.texts}
        vectoriser = CountVectorizer(min_df=5, max_df=0.2)
        counts = scipy.sparse.csr_array(vectoriser.fit_transform(sorted(first)))
        corpus = hk.Corpus.from_counts(
            counts[counts.sum(axis=1) > 0], vocabulary=list(vectoriser.get_feature_names_out())
        )
    else:
        file, _, vocabulary = source.partition("@")
        if ".train." in file:
            corpus, observed, held = heldout.read(file)
            return corpus, hk.Corpus.from_counts(observed), hk.Corpus.from_counts(held)
        corpus = read_corpus(file, vocabulary=vocabulary or None)
    counts = scipy.sparse.csr_array(corpus.to_counts())
    test = np.arange(counts.shape[0]) % 10 == 9
    kept = np.flatnonzero(np.asarray((counts[~test] > 0).sum(axis=0)).ravel() >= 1)
    train, rest = counts[~test][:, kept], scipy.sparse.csr_array(counts[test][:, kept])
    observed = rest.copy()
    observed.data = np.random.default_rng(0).binomial(rest.data, 0.5)
    held = scipy.sparse.csr_array(rest - observed)
    complete = (observed.sum(axis=1) > 0) & (held.sum(axis=1) > 0)
    words = None if corpus.vocabulary is None else [corpus.vocabulary[v] for v in kept]
    return (
        hk.Corpus.from_counts(train, vocabulary=words),
        *(
            hk.Corpus.from_counts(scipy.sparse.csr_array(half)[complete], vocabulary=words)
            for half in (observed, held)
        ),
    )


class Chain:
    """A chain with its processor time."""

    def __init__(self, corpus, measure, start, seed):
        self.corpus, self.start, self.seed, self.seconds = corpus, start, seed, 0.0
        root = hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0))
        document = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document")
        self.franchise = hk.Franchise(document, corpus)
        self.scheduler = hk.Scheduler(default_moves(document))
        self.begun = False

    def run(self, until):
        """Sweep until the chain has had this many seconds."""
        spent, began = self.seconds, time.process_time()

        def over(draw):
            return spent + time.process_time() - began >= until

        if spent < until:
            given = {"init": None} if self.begun else {"init": self.start, "rng": self.seed}
            self.scheduler.run(self.franchise, 10**6, callbacks=[over], **given)
            self.begun, self.seconds = True, spent + time.process_time() - began

    @property
    def shares(self):
        """Shares of tokens of the dishes, the largest first."""
        sizes = np.bincount(self.franchise.dishes)
        return np.sort(sizes / sizes.sum())[::-1]


def score_of(chain, observed, held):
    """Perplexity of completion, and of new words if it is known."""
    found = hk.evaluate(chain.franchise, observed, held_out=held, fit="em")
    return found.perplexity, getattr(found, "new_perplexity", np.nan)


def joint_score(chain, held):
    """Perplexity of held-out halves whose observed halves are the last documents of a chain."""
    cells = scipy.sparse.csr_array(held.to_counts(), dtype=float)
    new = np.full(cells.shape[1], 1 / cells.shape[1])
    total = np.zeros(cells.nnz)
    for _ in range(10):
        chain.scheduler.run(chain.franchise, 2, init=None)
        if chain.franchise.measure.seats_values:
            total += joint_probabilities(cells, -1, new, chain.franchise)
            continue
        sample = chain.franchise.sample()
        weights = sample.group_weights(slice(-cells.shape[0], None))
        rows = sample.topic_blocks(np.arange(sample.n_dishes))
        topics = FixedTopics.of(rows, new, sample.root_weights)
        total += np.exp(topics.log_probabilities(weights, cells))
    return float(np.exp(-(cells.data @ np.log(total / 10)) / cells.data.sum()))


def npmi(chain):
    """Mean NPMI of the ten first terms, over documents, of the topics with 1 % of the tokens or more."""
    sizes = np.bincount(chain.franchise.dishes)
    topics = np.asarray(chain.franchise.dish_parameters())[sizes >= 0.01 * sizes.sum()]
    has = scipy.sparse.csc_array(chain.corpus.to_counts(), dtype=bool).astype(float)
    found = []
    for topic in topics:
        first = np.argsort(-topic)[:10]
        both = (has[:, first].T @ has[:, first]).toarray() / has.shape[0]
        alone, joint = np.diag(both), both + 1e-12
        values = np.log(joint / np.outer(alone, alone)) / -np.log(joint)
        found.append(values[np.triu_indices(len(first), 1)].mean())
    return float(np.mean(found))


def rows_of(name, source, options):
    """The rows of a corpus in both tables."""
    corpus, observed, held = corpora_of(source)
    both = hk.Corpus.from_counts(
        scipy.sparse.vstack([corpus.to_counts(), observed.to_counts()], format="csr")
    )
    plain = hk.DirichletMultinomial(eta=options.eta or hk.Gamma(1.0, 20.0))
    scored, starts = [], []
    for model, measure in (("plain", plain), ("bursty", hk.Bursty(plain))):
        chains = [Chain(corpus, measure, "auto", seed) for seed in (0, 1)]
        chains += [Chain(corpus, measure, "one", 2)] if options.starts else []
        with_halves = Chain(both, measure, "auto", 0)
        for seconds in options.seconds:
            for chain in chains:
                chain.run(seconds)
            first = chains[0]
            shares = first.shares
            found = components_of_pieces([[chain.franchise.sample()] for chain in chains[:2]])
            common = found.shares[found.in_all_chains].sum()
            b = first.franchise.base_parameters.get("concentration/bursts", np.inf)
            completion, new = score_of(first, observed, held)
            with_halves.run(seconds)
            joint = joint_score(with_halves, held)
            half = 1 + np.searchsorted(np.cumsum(shares), 0.5)
            scored.append((
                name, model, f"{seconds:g}", f"{first.franchise.sweep}", f"{completion:,.0f}",
                f"{joint:,.0f}", f"{new:,.0f}", f"{first.franchise.n_dishes}", f"{half}",
                f"{npmi(first):.3f}", f"{common:.0%}", f"{b:.0f}",
            ))  # fmt: skip
            print(f"| {' | '.join(scored[-1])} |", flush=True)
            if options.starts:
                starts.append(compared(name, model, seconds, chains[0], chains[2]))
    return scored, starts


def compared(name, model, seconds, one, other):
    """The row that compares chains from two starts."""
    joints = [chain.franchise.log_joint() for chain in (one, other)]
    tops = [np.pad(chain.shares[:20], (0, max(0, 20 - len(chain.shares)))) for chain in (one, other)]
    return (
        name, model, f"{seconds:g}", ", ".join(f"{joint:,.0f}" for joint in joints),
        f"{abs(joints[0] - joints[1]):,.0f}", f"{one.franchise.n_dishes}, {other.franchise.n_dishes}",
        f"{np.abs(tops[0] - tops[1]).max():.3f}",
    )  # fmt: skip


def table(head, rows):
    """Print a table."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("--seconds", type=float, nargs="+", default=[10.0, 40.0])
    parser.add_argument("--eta", type=float, help="by default Gamma(1, 20), resampled")
    parser.add_argument("--starts", action="store_true")
    options = parser.parse_args()
    print(machine.block(), flush=True)
    found = [rows_of(*given.partition("=")[::2], options) for given in options.corpora]
    table(HEAD, [row for scored, _ in found for row in scored])
    if options.starts:
        table(STARTS, [row for _, starts in found for row in starts])


if __name__ == "__main__":
    main()
