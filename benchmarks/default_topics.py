"""What readers get from topic models by base measure: number, agreement of two chains, words, left-out words.

    OPENBLAS_NUM_THREADS=1 python benchmarks/default_topics.py CORPUS... [--settings plain:0.05 bursty:0.2]
        [--sweeps 300] [--seeds 0 1] [--seconds 900] [--until]

CORPUS is NAME=FILE[:N][@VOCABULARY], N documents of a file of counts or of JSON lines (texts under the key
"text", perhaps with a "label"; the function words of their language are left out, and words of a single
document), or NAME=installed for the documentation of the installed NumPy and SciPy.

A tenth of the documents, at random, is left out. Two chains run side by side, with the default moves and
start; with ``--until`` in rounds until they can be read or the seconds are over. A line of the table has, as
means over the seeds:

- K of all chains; the number of topics that both chains of a pair have, by the verdict on reading, and their
  share of the tokens; topics for 90 % of the tokens;
- coherence (NPMI over documents; the mean over the topics in common, by their tokens) and exclusivity;
- the share of the tokens in topics that half of the documents have (each at least 5 % of it);
- nats per left-out word of the left-out documents, given their other half (`TopicModel.score`);
- the share of the left-out documents whose label a logistic regression on the shares of topics predicts;
- the light of the verdict, and seconds by the clock.
"""

import argparse
import time

import machine
import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hdpkit as hk
from hdpkit.io import Layout, TextOptions, demo_corpus, read_corpus
from hdpkit.summaries import coherence, components, exclusivity

HEAD = (
    "| corpus | tokens | setting | K | in common | their tokens | for 90 % | NPMI | exclusivity | "
    f"everywhere | nats | labels | light | seconds |\n{'|---' * 14}|"
)
EVERYWHERE, WITHIN = 0.5, 0.05  # of the documents; of a document


def corpus_of(source):
    """The corpus that an argument names."""
    if source == "installed":
        return demo_corpus()
    source, _, vocabulary = source.partition("@")
    file, _, n = source.partition(":")
    if file.endswith(".jsonl"):
        layout = Layout(text_column="text", group_columns=("label",), optional_groups=True)
        corpus = read_corpus(file, text=TextOptions(min_documents=2), layout=layout)
    else:
        corpus = read_corpus(file, vocabulary=vocabulary or None)
    if not n or int(n) >= corpus.n_documents:
        return corpus
    chosen = np.sort(np.random.default_rng(0).choice(corpus.n_documents, int(n), replace=False))
    return selected(corpus, chosen)


def selected(corpus, documents):
    """Some documents, over all terms of the corpus."""
    counts = scipy.sparse.csr_array(corpus.to_counts())[documents]
    codes, names = corpus.document_labels.get("label", (np.full(corpus.n_documents, -1), ()))
    of = [names[code] if code >= 0 else None for code in codes[documents].tolist()]
    return hk.Corpus.from_counts(counts, vocabulary=corpus.vocabulary, groups={"label": of})


def accuracy(model, train, test):
    """Share of the left-out documents whose label is predicted from their topics; NaN without labels."""
    (given, of), (wanted, names) = (one.document_labels["label"] for one in (train, test))
    if np.all(given < 0):
        return np.nan
    predict = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    known, true = np.array(of)[given], np.array(names)[wanted]
    return float(predict.fit(model.transform(train), known).score(model.transform(test), true))


def measured(train, test, kind, eta, seed, options):
    """Numbers of one pair of chains."""
    model = hk.TopicModel(
        eta=eta, bursty=kind == "bursty", chains=2, n_jobs=2, sweeps=options.sweeps, random_state=seed,
        until="readable" if options.until else None, at_most=options.seconds if options.until else None,
    )  # fmt: skip
    began = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - began
    readable = model.diagnosis_.readable
    found = components(model.samples_)
    agreed = found.selected(found.agreed(chains=1.0))
    shares = agreed.shares / max(agreed.shares.sum(), 1e-300)
    sizes = np.sort(model.component_shares_)[::-1]
    topics = agreed.rows
    first = np.argsort(-topics, axis=1)[:, :10]
    counts = scipy.sparse.csr_array(train.to_counts())
    documents = [row.tolist() for row in np.split(counts.indices, counts.indptr[1:-1])]
    words = coherence(first.tolist(), documents, "c_npmi", window=10**6) if len(first) else np.zeros(0)
    everywhere = (agreed.group_shares[:, : len(agreed)] > WITHIN).mean(axis=0) > EVERYWHERE
    return {
        "K": [one.n_dishes for one in model.franchises_],
        "common": readable.figures.get("components", np.nan),
        "shared": readable.figures.get("shared", np.nan),
        "for 90 %": int(np.searchsorted(np.cumsum(sizes), 0.9)) + 1,
        "npmi": float(shares @ words) if len(first) else np.nan,
        "exclusivity": float(np.mean(exclusivity(topics))) if len(topics) > 1 else np.nan,
        "everywhere": float(agreed.shares[everywhere].sum()),
        "nats": model.score(test),
        "labels": accuracy(model, train, test),
        "light": readable.light,
        "seconds": seconds,
    }


def line(name, n_tokens, setting, found):
    """The line of a corpus and a setting, from the numbers of its seeds."""
    mean = {key: np.mean([one[key] for one in found]) for key in found[0] if key not in ("K", "light")}
    numbers = ", ".join(str(k) for one in found for k in one["K"])
    cells = [
        name, f"{n_tokens:,}", setting, numbers, f"{mean['common']:.0f}", f"{mean['shared']:.0%}",
        f"{mean['for 90 %']:.0f}", f"{mean['npmi']:.3f}", f"{mean['exclusivity']:.2f}",
        f"{mean['everywhere']:.0%}", f"{mean['nats']:.3f}",
        "" if np.isnan(mean["labels"]) else f"{mean['labels']:.0%}", ", ".join(one["light"] for one in found),
        f"{mean['seconds']:.0f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument(
        "--settings", nargs="+", default=["plain:0.05", "plain:0.5", "bursty:0.2", "bursty:0.5"]
    )
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--until", action="store_true")
    options = parser.parse_args()
    print(machine.block(), flush=True)
    print(HEAD, flush=True)
    for given in options.corpora:
        name, _, source = given.partition("=")
        corpus = corpus_of(source)
        order = np.random.default_rng(1).permutation(corpus.n_documents)
        cut = corpus.n_documents // 10
        train, test = selected(corpus, np.sort(order[cut:])), selected(corpus, np.sort(order[:cut]))
        for setting in options.settings:
            kind, _, eta = setting.partition(":")
            found = [measured(train, test, kind, float(eta), seed, options) for seed in options.seeds]
            print(line(name, train.n_tokens, setting, found), flush=True)


if __name__ == "__main__":
    main()
