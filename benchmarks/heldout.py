"""Held-out perplexity by document completion: the score by which all topic models are compared here.

    python benchmarks/heldout.py TRAIN.ldac [--observed FILE] [--held FILE] [--dishes 10] [--sweeps 10]

Topics phi_k and root weights beta are those of the training state. Each test document is split in two halves:
its proportions theta are fitted to the observed half, and the other half is scored:

- theta_k is proportional to prior_k + E[n_k], with prior_k = alpha beta_k and E[n_k] the expected number of
  the observed half's words from topic k under theta: a fixed point, found by EM. It is the only maximum of a
  concave function, so the result doesn't depend on the start;
- a new topic is one of the topics: its prior is alpha x (1 - sum of beta), and its words have the
  distribution H (uniform);
- the score is exp(-mean of log sum_k theta_k phi_k(w)) over all words of the held-out halves.

EM of a document ends when no theta_k changes by more than TOLERANCE in a step; further steps change scores by
less than one in ten thousand. `hdpkit.evaluation` computes this; a franchise is scored by `hdpkit.evaluate`.

As a script: the score of a two-level HDP after some sweeps from random dishes.
"""

import argparse
import re
import time
from pathlib import Path

import numpy as np
import scipy.sparse

import hdpkit as hk
from hdpkit import moves
from hdpkit.evaluation import completion_perplexity, fit_proportions

TOLERANCE = 1e-6


def proportions(phi, prior, terms, counts, tolerance=TOLERANCE):
    """Proportions of one document from the terms and counts of its observed half: shape (K,).

    Other parameters as in `perplexity`; see `hdpkit.evaluation.fit_proportions`.
    """
    return fit_proportions(np.asarray(phi)[:, terms], prior, counts, tolerance)


def perplexity(phi, prior, observed, held, tolerance=TOLERANCE):
    """Return exp(-mean log probability) of the held-out halves, for topics of any program.

    Parameters
    ----------
    phi : array, shape (K, V)
        Topics: posterior means given the training state, including a uniform row for a new topic.
    prior : array, shape (K,)
        alpha beta_k of each row of phi.
    observed, held : sparse arrays of counts, shape (D, V)
        The two halves of each test document, in the same order.
    tolerance : float
        EM ends when no proportion changes by more than this.
    """
    return completion_perplexity(phi, prior, observed, held, tolerance)


def topics_of(franchise):
    """Topics of a two-level HDP and alpha beta, with a new topic last: arrays (K + 1, V) and (K + 1,)."""
    if len(franchise.declarations) != 2:
        raise ValueError("a two-level franchise is needed: documents over one root")
    alpha = franchise.concentration(franchise.declarations[-1].name)
    weights, remainder = franchise.root_weights()
    eta = franchise.measure.eta_vector
    phi = np.vstack([franchise.dish_parameters(), eta / eta.sum()])
    return phi, alpha * np.append(weights, remainder)


def of_franchise(franchise, observed, held, tolerance=TOLERANCE):
    """Score a franchise of documents below one root in its current state. Parameters as in `perplexity`."""
    halves = [hk.Corpus.from_counts(half) for half in (observed, held)]
    return hk.evaluate(franchise, halves[0], held_out=halves[1], fit="em", tolerance=tolerance).perplexity


def read(train, observed=None, held=None):
    """Read a corpus and the halves of its test documents.

    Parameters
    ----------
    train : path
        LDA-C file, plain or gzipped.
    observed, held : paths, optional
        By default NAME.test_obs.ldac and NAME.test_held.ldac in the folder of NAME.train.ldac, gzipped or
        not.

    Returns
    -------
    corpus : Corpus
    observed, held : sparse arrays of counts, shape (D, V), or None if there are none
    """
    train = Path(train)
    found = [given or beside(train, half) for given, half in ((observed, "obs"), (held, "held"))]
    if None in found:
        return hk.Corpus.from_ldac(train), None, None
    sizes = [hk.Corpus.from_ldac(path).n_terms for path in (train, *found)]
    corpora = [hk.Corpus.from_ldac(path, n_terms=max(sizes)) for path in (train, *found)]
    return corpora[0], corpora[1].to_counts(), corpora[2].to_counts()


def split(corpus, documents=None, most=None):
    """Nine of ten documents, and the halves of the others: a Corpus and two sparse arrays.

    Parameters
    ----------
    documents : int, optional
        The first so many documents only.
    most : int, optional
        Largest number of test documents; further ones are left out.
    """
    counts = corpus.to_counts()[:documents].tocsr()
    test = np.arange(counts.shape[0]) % 10 == 9
    whole = counts[test][:most].tocoo()
    rows, terms = (np.repeat(axis, whole.data) for axis in (whole.row, whole.col))
    held = np.random.default_rng(0).permutation(len(rows)) % 2 == 1
    halves = [
        scipy.sparse.csr_array((np.ones(mask.sum(), dtype=np.int64), (rows[mask], terms[mask])), whole.shape)
        for mask in (~held, held)
    ]
    return hk.Corpus.from_counts(counts[~test]), *halves


def beside(train, half):
    """Path of a half of the test documents in the folder of the training documents, or None."""
    name = re.sub(r"(\.train)?\.ldac(\.gz)?$", "", train.name)
    paths = (train.with_name(f"{name}.test_{half}.ldac{packed}") for packed in ("", ".gz"))
    return next((path for path in paths if path.exists()), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", help="LDA-C file, plain or gzipped")
    parser.add_argument("--observed", help="LDA-C file of observed halves")
    parser.add_argument("--held", help="LDA-C file of held-out halves")
    parser.add_argument("--dishes", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=10)
    options = parser.parse_args()

    from machine import block  # imported here, since tests load this module alone

    corpus, observed, held = read(options.train, options.observed, options.held)
    if observed is None:
        parser.error("no halves of test documents: name them by --observed and --held")
    print(block())
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.1), concentration=1.0)
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    franchise = hk.Franchise(document, corpus)
    start = hk.init.Random(options.dishes)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=options.sweeps, rng=0, init=start)
    began = time.perf_counter()
    score = of_franchise(franchise, observed, held)
    print(f"{franchise!r}")
    print(f"held-out perplexity {score:.1f} ({time.perf_counter() - began:.2f} s to score)")


if __name__ == "__main__":
    main()
