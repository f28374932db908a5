"""Topics of labelled documents: hdpkit beside tomotopy and clusters of embeddings.

    OPENBLAS_NUM_THREADS=1 python benchmarks/topics_and_peers.py [--data scipy numpy] [--seeds 0 1]
        [--ldac NAME=FILE ...]

Labelled documents are docstrings of the subpackages of an installed package, by default of SciPy, NumPy,
scikit-learn and, if they are installed, matplotlib and pandas: tokens of three letters or more without
scikit-learn's English stop words, in at least two documents. Files (LDA-C) have no labels. A tenth of the
documents, at random, is left out.

- hdpkit: `hk.TopicModel` with its defaults.
- tomotopy: `HDPModel` with ``eta=0.1``, from 2 topics (its default) and from 100, 1,000 sweeps, one thread.
- embeddings: TF-IDF, 50 singular vectors, HDBSCAN with at least 10 documents a cluster; the words of a
  cluster are its documents'. (BERTopic clusters embeddings of a neural network, which is not run here.)

*K* is the number of topics, and *of 1 %* that of topics with at least so much of the tokens (of the documents
for embeddings). *ARI* and *NMI* compare the largest topic of each document with its label; documents outside
the clusters of HDBSCAN don't count, and *left out* is their share. *NPMI* is the coherence of the ten most
frequent words of topics of 1 %, over documents; *nats* the mean log probability of a word of the held-out
halves of the documents that were left out, by document completion: fold-in of hdpkit by default, a fixed
point (`heldout.perplexity`) for tomotopy. Seconds are those of the fit, by the clock.
"""

import argparse
import importlib.util
import time
from collections import Counter

import heldout
import machine
import numpy as np
import scipy.sparse
from contest.contestants import Tomotopy
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import hdpkit as hk
from hdpkit.io import collect_docstrings
from hdpkit.summaries import coherence

PACKAGES = {
    "scipy": "scipy",
    "numpy": "numpy",
    "scikit-learn": "sklearn",
    "matplotlib": "matplotlib",
    "pandas": "pandas",
}
SMALLEST = 50
"""Subpackages with fewer documents are left out."""

HEAD = (
    f"| data | labels | system | K | of 1 % | ARI | NMI | left out | NPMI | nats | seconds |\n{'|---' * 11}|"
)


def documentation(package):
    """Counts of the words of docstrings, and the number of the subpackage of each."""
    found = collect_docstrings([package])
    parts = [".".join(name.split(".")[:2]) for name in found.names]
    many = {part for part, n in Counter(parts).items() if n >= SMALLEST and "._" not in part}
    texts = [text for text, part in zip(found.texts, parts, strict=True) if part in many]
    words = CountVectorizer(stop_words="english", min_df=2, token_pattern=r"(?u)\b[^\W\d_]{3,}\b")
    counts = words.fit_transform(texts)
    kept = np.asarray(counts.sum(axis=1)).ravel() > 0
    labels = np.unique([part for part in parts if part in many], return_inverse=True)[1]
    return scipy.sparse.csr_array(counts[kept]), labels[kept]


def halves(counts):
    """Two halves of the tokens of each document, at random."""
    held = counts.copy()
    held.data = np.random.default_rng(0).binomial(counts.data, 0.5)
    return counts - held, held


def read_out(shares, rows, counts):
    """Largest topic of each document, the shares of topics, and their coherence."""
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    weights = lengths @ shares / lengths.sum()
    large = weights >= 0.01
    documents = [row.tolist() for row in np.split(counts.indices, counts.indptr[1:-1])]
    tops = np.argsort(-rows[large], axis=1)[:, :10]
    return {
        "K": shares.shape[1], "large": int(large.sum()), "of": shares.argmax(axis=1),
        "npmi": float(np.mean(coherence(tops.tolist(), documents, "c_npmi", window=10**6))),
    }  # fmt: skip


def by_hdpkit(train, observed, held, seed):
    model = hk.TopicModel(random_state=seed)
    shares = model.fit_transform(train)
    seconds = time.perf_counter()
    nats = -np.log(model.perplexity(observed, held))
    return {
        **read_out(shares[:, : model.n_components_], model.components_, train),
        "nats": nats,
        "end": seconds,
    }


def by_tomotopy(first):
    def fit(train, observed, held, seed):
        model = Tomotopy(hk.Corpus.from_counts(train), first, fixed=False, seed=seed + 1)
        model.sweep(1000)
        seconds = time.perf_counter()
        phi, prior = model.topics()
        live = [k for k in range(model.model.k) if model.model.is_live_topic(k)]
        own = np.array([np.bincount(one.topics, minlength=model.model.k)[live] for one in model.model.docs])
        shares = own / own.sum(axis=1, keepdims=True)
        nats = -np.log(heldout.perplexity(phi, prior, observed, held))
        return {**read_out(shares, phi[:-1], train), "nats": nats, "end": seconds}

    return fit


def by_embeddings(train, observed, held, seed):
    embed = make_pipeline(
        TfidfTransformer(sublinear_tf=True), TruncatedSVD(50, random_state=seed), Normalizer()
    )
    of = HDBSCAN(min_cluster_size=10, copy=True).fit_predict(embed.fit_transform(train))
    seconds = time.perf_counter()
    inside = of >= 0
    shares = np.eye(of.max() + 1)[of[inside]]
    found = read_out(shares, shares.T @ train[inside], train[inside])
    return {**found, "of": of, "nats": np.nan, "end": seconds}


SYSTEMS = {
    "hdpkit": by_hdpkit,
    "tomotopy from 2": by_tomotopy(2),
    "tomotopy from 100": by_tomotopy(100),
    "embeddings": by_embeddings,
}


def measured(counts, labels, fit, seed):
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    test, kept = np.split(order, [len(order) // 10])
    train = scipy.sparse.csr_array(counts[np.sort(kept)])
    labels = None if labels is None else labels[np.sort(kept)]
    began = time.perf_counter()
    found = fit(train, *halves(counts[np.sort(test)]), seed)
    inside = found["of"] >= 0
    ari = nmi = np.nan
    if labels is not None:
        both = labels[inside], found["of"][inside]
        ari, nmi = adjusted_rand_score(*both), normalized_mutual_info_score(*both)
    seconds = found["end"] - began
    return [found["K"], found["large"], ari, nmi, 1.0 - inside.mean(), found["npmi"], found["nats"], seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(PACKAGES), choices=PACKAGES)
    parser.add_argument("--ldac", nargs="*", default=[], metavar="NAME=FILE")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    print(machine.block(), flush=True)
    print(HEAD, flush=True)
    sets = [(name, lambda name=name: documentation(PACKAGES[name])) for name in options.data]
    for given in options.ldac:
        name, _, file = given.partition("=")
        sets.append((name, lambda file=file: (hk.Corpus.from_ldac(file).to_counts().tocsr(), None)))
    for name, read in sets:
        if name in PACKAGES and importlib.util.find_spec(PACKAGES[name]) is None:
            continue
        counts, labels = read()
        for system in options.systems:
            rows = [measured(counts, labels, SYSTEMS[system], seed) for seed in options.seeds]
            k, large, ari, nmi, out, npmi, nats, seconds = np.mean(rows, axis=0)
            n = "" if labels is None else labels.max() + 1
            cells = [
                name, n, system, f"{k:.0f}", f"{large:.0f}", f"{ari:.2f}", f"{nmi:.2f}", f"{out:.0%}",
                f"{npmi:.3f}", f"{nats:.3f}", f"{seconds:.0f}",
            ]  # fmt: skip
            print("| " + " | ".join(map(str, cells)).replace("nan", "") + " |", flush=True)


if __name__ == "__main__":
    main()
