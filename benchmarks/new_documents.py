"""New documents: speed of `hk.TopicModel.transform`, and perplexity compared with a fit that includes them.

    python benchmarks/new_documents.py TRAIN.ldac [--observed FILE] [--held FILE] [--sweeps 200]

One run, one thread. The test documents are split in two halves (see heldout.py, which finds them).

- Speed: `transform` of the complete test documents by EM, median of --calls calls, in tokens of the documents
  per second of processor time; and the same for tomotopy's `HDPModel.infer`, without the time to make its
  documents (`pip install 'hdpkit[benchmarks]'`; without it these rows are left out).
- Perplexity of the held-out halves. "fixed": fitted to the training documents; shares of the observed
  halves by `transform`'s EM with fixed topics (`score_method="fixed"`). "learned": the same fit with the
  default score of `TopicModel.perplexity`: topics learn the observed words of each document separately.
  "joined": fitted to the training documents and the observed halves together, with the shares of the chain
  (`Sample.group_weights`). "partial_fit": the observed halves are added to the first fit, for --partial
  sweeps. Each averaged over the --samples samples of the chain's second half, p(w | d) = mean over samples of
  sum_k theta_k phi_k(w), and for its last state alone. tomotopy: shares by `infer`, its last state.
- Origin of the gap: how much of the difference between "fixed" and "joined" is due to held-out words that
  occur in the document's observed half, and how much to all others.

tomotopy runs the same number of sweeps, and 20 for each document in `infer` (--infer).
"""

import argparse
import copy
import itertools
import math
import statistics
import time

import heldout
import numpy as np
import scipy.sparse as sp
from machine import block, version

import hdpkit as hk
from hdpkit.posterior.evaluation.completion import FixedTopics


def log_probabilities(states, cells):
    """Log probabilities of held-out cells, averaged over states: pairs of FixedTopics and shares."""
    logs = [topics.log_probabilities(theta, cells) for topics, theta in states]
    return np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))


def perplexity(states, held):
    """Perplexity of the held-out halves."""
    cells = sp.csr_array(held)
    return math.exp(-float(log_probabilities(states, cells) @ cells.data) / cells.data.sum())


def states_of(model, n):
    """Samples of a model whose last n documents are the observed halves, with the chain's shares."""
    return [(topics_of(sample), sample.group_weights()[-n:]) for sample in model.samples_]


def by_em(model, observed):
    """Samples of a model with shares by EM."""
    topics = [topics_of(sample) for sample in model.samples_]
    return [(one, one.fit(observed, model.transform_tolerance)) for one in topics]


def of_chain(model, held):
    """Perplexity with the chain's shares: over all samples, and of the last state."""
    last, n = model.franchise_.sample(), held.shape[0]
    one = perplexity([(topics_of(last), last.group_weights()[-n:])], held)
    return perplexity(states_of(model, n), held), one


def shown(found, beside=None):
    """Perplexity over samples and of the last state as text, with the excess over another one."""
    more = [
        "" if beside is None else f" ({a / b - 1:+.2%})" for a, b in zip(found, beside or found, strict=True)
    ]
    return f"{found[0]:.1f}{more[0]} averaged, {found[1]:.1f}{more[1]} the last state alone"


def where_from(fixed, joined, observed, held):
    """Print how much words that occur in the observed half, and all others, contribute to the difference."""
    cells = sp.csr_array(held)
    gain = log_probabilities(joined, cells) - log_probabilities(fixed, cells)
    document = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    seen = np.asarray(sp.csr_array(observed)[document, cells.indices]).ravel() > 0
    total = cells.data.sum()
    for name, chosen in (("that the observed half has", seen), ("that it hasn't", ~seen)):
        share, nats = cells.data[chosen].sum() / total, gain[chosen] @ cells.data[chosen] / total
        print(
            f"words {name}: {share:.1%} of the tokens, {nats:+.4f} nats of {gain @ cells.data / total:+.4f}"
        )


def topics_of(sample):
    """The topics of a sample, fixed for new documents."""
    n_terms = sample.counts.shape[1]
    prior = float(sample.hyperparameters["concentration/document"]) * sample.root_weights
    return FixedTopics.of(sample.topics(), np.full(n_terms, 1 / n_terms), prior)


def timed(call, calls):
    """The result of a call, and the median of its processor time."""
    seconds = []
    for _ in range(calls):
        began = time.process_time()
        found = call()
        seconds.append(time.process_time() - began)
    return found, statistics.median(seconds)


def words_of(counts):
    """Documents as lists of words, for tomotopy."""
    cells = sp.csr_array(counts)
    ends = cells.indptr
    return [
        [str(v) for v, n in zip(cells.indices[a:b], cells.data[a:b], strict=True) for _ in range(int(n))]
        for a, b in itertools.pairwise(ends)
    ]


def of_tomotopy(corpus, observed, held, options):
    """Rows for tomotopy: speed of infer, perplexity."""
    import tomotopy

    model = tomotopy.HDPModel(initial_k=100, alpha=1.0, gamma=1.0, eta=options.eta, seed=1)
    for words in words_of(corpus.to_counts()):
        if words:
            model.add_doc(words)
    model.train(options.sweeps, workers=1)

    def inferred(counts):
        made = [model.make_doc(words or ["0"]) for words in words_of(counts)]
        model.infer(made, iterations=options.infer, workers=1)
        return np.array([doc.get_topic_dist() for doc in made])

    _, seconds = timed(lambda: inferred(observed + held), options.calls)
    theta = inferred(observed)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    phi = np.zeros((len(live), corpus.n_terms))
    column = [int(word) for word in model.used_vocabs]
    for row, k in zip(phi, live, strict=True):
        row[column] = model.get_topic_word_dist(k)
    theta = theta[:, live] / theta[:, live].sum(axis=1, keepdims=True)
    cells = sp.csr_array(held)
    document = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    found = (theta[document] * phi.T[cells.indices]).sum(axis=1)
    known = found > 0  # words unseen by tomotopy have no probability, and are left out of its mean
    score = math.exp(-float(np.log(found[known]) @ cells.data[known]) / cells.data[known].sum())
    tokens = (observed + held).sum() / seconds
    print(f"tomotopy: {len(live)} topics; infer, {options.infer} sweeps: {tokens:,.0f} tokens/s")
    print(f"perplexity, tomotopy's infer: {score:.1f} ({cells.data[~known].sum()} unknown tokens left out)")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", help="LDA-C file, plain or gzipped")
    parser.add_argument("--observed", help="LDA-C file of observed halves")
    parser.add_argument("--held", help="LDA-C file of held-out halves")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--partial", type=int, nargs="+", help="sweeps of partial_fit; default half, and all")
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--infer", type=int, default=20)
    parser.add_argument("--eta", type=float, default=0.1)
    options = parser.parse_args()

    corpus, observed, held = heldout.read(options.train, options.observed, options.held)
    if observed is None:
        parser.error("no halves of test documents: name them by --observed and --held")
    print(block())
    settings = {"eta": options.eta, "sweeps": options.sweeps, "samples": options.samples, "random_state": 0}
    model = hk.TopicModel(**settings).fit(corpus)
    new = sp.csr_array(observed + held)
    shares, seconds = timed(lambda: model.transform(new), options.calls)
    sums = np.abs(shares.sum(axis=1) - 1).max()
    print(f"hdpkit: {model.n_components_} topics; transform: {new.sum() / seconds:,.0f} tokens/s, ", end="")
    print(f"rows sum to one within {sums:.1g}")

    joined = hk.TopicModel(**settings).fit(sp.vstack([corpus.to_counts(), observed], format="csr"))
    expected = of_chain(joined, held)
    print(f"perplexity, joined: {shown(expected)}")
    for method in ("fixed", "learned"):
        model.set_params(score_method=method)
        began = time.process_time()
        averaged = model.perplexity(observed, held)
        seconds = time.process_time() - began
        kept, model.samples_ = model.samples_, ()
        found = averaged, model.perplexity(observed, held)
        model.samples_ = kept
        print(f"perplexity, {method}: {shown(found, expected)}; {seconds:.1f} s")
    print(f"joined, shares by EM, averaged: {perplexity(by_em(joined, observed), held):.1f}")
    where_from(by_em(model, observed), states_of(joined, held.shape[0]), observed, held)
    for sweeps in options.partial or (options.sweeps // 2, options.sweeps):
        grown = copy.deepcopy(model).set_params(partial_sweeps=max(1, sweeps)).partial_fit(observed)
        print(f"perplexity, partial_fit, {sweeps} sweeps: {shown(of_chain(grown, held), expected)}")
    if version("tomotopy") is not None:
        of_tomotopy(corpus, observed, held, options)


if __name__ == "__main__":
    main()
