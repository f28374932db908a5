"""A language model of a small domain that borrows from a general text, by restaurants with several parents.

    python benchmarks/domain_language_model.py [--general numpy] [--domain scipy.signal] [--words 2000 20000]
        [--orders 2 3] [--seeds 0 1] [--sweeps 100] [--held-words 10000] [--most N]

Texts are the documentation of installed packages: sentences of docstrings, in lower case, letters only; a
sentence that occurs more than once is kept once, so none of the held-out sentences was read in training. The
docstrings of the domain are shuffled by the seed and give held-out text, validation text (a quarter of it)
and training text of the given numbers of words. The vocabulary has the words that occur twice in the training
text of both; all others are `<unk>`, which is predicted. Ends of sentences are predicted. All models have
this vocabulary, and one concentration (Gamma(1, 1)) and one discount (Beta(1, 1)) a level, resampled; their
predictions are averages over ten samples of the second half of the sweeps. Perplexity of the held-out text:

- domain, general: the hierarchical Pitman-Yor n-gram model of one text (`hk.NGramModel`);
- union: the same of both texts together;
- interpolated: a P_domain + (1 - a) P_general; a maximises the probability of the validation text;
- several parents: a context of the domain draws from the shorter context of the domain and the same context
  of the general text (docs/small_domain.md); the weights are resampled, one pair a level.
"""

import argparse
import re
import time

import machine
import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import collect_docstrings, prose

MODELS = ("domain", "general", "union", "interpolated", "several parents")
SCHEDULE = (moves.TableGibbs(), moves.Concentration(), moves.Discount(), moves.ParentWeights())


def docstrings(packages, seen):
    """Docstrings as lists of sentences, each a list of words; sentences in the set ``seen`` are left out."""
    found = []
    for text in collect_docstrings(packages).texts:
        split = [tuple(re.findall("[a-z]+", s.lower())) for s in re.split(r"[.;:]\s", prose(text))]
        own = [s for s in dict.fromkeys(split) if s and s not in seen]
        seen.update(own)
        found.append([list(s) for s in own])
    return [own for own in found if own]


def taken(documents, n_words):
    """Sentences of the first documents that have this many words, which are removed from the list."""
    text = []
    while documents and sum(map(len, text)) < n_words:
        text += documents.pop(0)
    return text


def in_vocabulary(text, known):
    """The same sentences with <unk> in place of other words."""
    return [[word if word in known else "<unk>" for word in sentence] for sentence in text]


def in_contexts(text, order):
    """Every word and end with the words before it in its sentence, at most order - 1."""
    for sentence in text:
        tokens = ["<s>", *sentence, "</s>"]
        for i in range(1, len(tokens)):
            yield tokens[i], tuple(tokens[max(i - order + 1, 0) : i])


class SeveralParents:
    """A context of the domain draws from the shorter one and from the same context of the general text."""

    def __init__(self, general, domain, order, vocabulary):
        self.number = {word: i for i, word in enumerate(vocabulary)}
        own = {"concentration": hk.Gamma(1, 1), "discount": hk.Beta(1, 1)}
        read = [
            (w, u, side)
            for side, text in (("general", general), ("domain", domain))
            for w, u in in_contexts(text, order)
        ]
        labels = {"domain 0": [side if side == "domain" else None for _, _, side in read]}
        large = hk.Restaurant(hk.Uniform(len(vocabulary)), name="general 0", **own)
        small = hk.Restaurant(large, each="domain 0", **own)
        for k in range(1, order):
            last = [u[-k:] if len(u) >= k else None for _, u, _ in read]
            labels[f"general {k}"] = last
            labels[f"domain {k}"] = [
                u if side == "domain" else None for u, (_, _, side) in zip(last, read, strict=True)
            ]
            large = hk.Restaurant(large, each=f"general {k}", **own)
            small = hk.Restaurant(hk.MixtureOf(small, large), each=f"domain {k}", **own)
        values = np.array([self.number[w] for w, _, _ in read])
        self.franchise = hk.Franchise(small, hk.Groups.from_labels(values, labels))
        self.keys = {name: set(self.franchise.keys(name)) for name in labels if name != "domain 0"}

    def row(self, draw, side, u):
        """P(. | u) in this state; a context that never occurred draws from its parents' mixture."""
        name = f"{side} {len(u)}"
        if not u:
            return draw.franchise.restaurant(name).probabilities()
        if u in self.keys[name]:
            return draw.franchise.restaurant(name, u).probabilities()
        if side == "general":
            return self.row(draw, side, u[1:])
        parents = {f"domain {len(u) - 1}": ("domain", u[1:]), f"general {len(u)}": ("general", u)}
        weights = {one: draw.values[f"parent weights/{name}/{one}"] for one in parents}
        return sum(weights[one] * self.row(draw, *parents[one]) for one in parents)

    def probabilities(self, draw, text, order):
        """P(word | context) of every word and end of the text in this state."""
        tokens = list(in_contexts(text, order))
        rows = {u: self.row(draw, "domain", u) for u in sorted({u for _, u in tokens})}
        return np.array([rows[u][self.number[w]] for w, u in tokens])


def of_text(train, text, order, vocabulary, sweeps, seed):
    """P(word | context) of one text's model, for every word and end of each text."""
    model = hk.NGramModel(order=order, vocabulary=vocabulary, unknown="<unk>")
    model.fit(train, sweeps=sweeps, burn_in=sweeps // 2, samples=min(10, sweeps - sweeps // 2), rng=seed)
    return [np.exp(model.score(one).log_probability) for one in text]


def best_weight(p, q):
    """The a that maximises sum log (a p + (1 - a) q), by EM."""
    a = 0.5
    for _ in range(200):
        a = np.mean(a * p / (a * p + (1 - a) * q))
    return a


def compare(general, domain, validation, held, order, sweeps, seed):
    """Perplexity of the held-out text by model, and what else the table shows."""
    counts = {}
    for sentence in [*general, *domain]:
        for word in sentence:
            counts[word] = counts.get(word, 0) + 1
    known = {word for word, n in counts.items() if n >= 2}
    general, domain, validation, held = (
        in_vocabulary(text, known) for text in (general, domain, validation, held)
    )
    vocabulary = [*sorted(known), "<unk>", "</s>"]
    small, small_validation = of_text(domain, (held, validation), order, vocabulary, sweeps, seed)
    large, large_validation = of_text(general, (held, validation), order, vocabulary, sweeps, seed)
    (union,) = of_text([*general, *domain], (held,), order, vocabulary, sweeps, seed)
    a = best_weight(small_validation, large_validation)

    began = time.perf_counter()
    both = SeveralParents(general, domain, order, vocabulary)
    every, drawn, weights = max(1, (sweeps - sweeps // 2) // 10), [], []
    for draw in hk.Scheduler(SCHEDULE).sample(both.franchise, sweeps, rng=seed):
        if draw.sweep > sweeps // 2 and (sweeps - draw.sweep) % every == 0:
            drawn.append(both.probabilities(draw, held, order))
            weights.append([draw.values[f"parent weights/domain {k}/general {k}"] for k in range(1, order)])
    found = (small, large, union, a * small + (1 - a) * large, np.mean(drawn, axis=0))
    scores = {name: float(np.exp(-np.log(p).mean())) for name, p in zip(MODELS, found, strict=True)}
    return scores, a, np.mean(weights, axis=0), len(vocabulary), time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--general", nargs="+", default=["numpy"], help="packages of the general text")
    parser.add_argument("--domain", nargs="+", default=["scipy.signal"], help="packages of the domain")
    parser.add_argument(
        "--words", type=int, nargs="+", default=[2000, 20000], help="of the domain's training text"
    )
    parser.add_argument("--held-words", type=int, default=10000)
    parser.add_argument("--most", type=int, help="at most this many words of the general text")
    parser.add_argument("--orders", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--sweeps", type=int, default=100)
    options = parser.parse_args()
    print(machine.block())
    seen = set()
    documents = docstrings(options.general, seen)
    if options.most:
        documents = [taken(documents, options.most)]
    general = [sentence for document in documents for sentence in document]
    documents = docstrings(options.domain, seen)
    print(f"general text: {sum(map(len, general)):,} words in {len(general):,} sentences")
    print(f"domain: {sum(len(s) for d in documents for s in d):,} words in {len(documents):,} docstrings\n")
    head = ("order", "words of the domain", "seed", *MODELS, "a", "weight of the general context", "seconds")
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for order in options.orders:
        for n_words in options.words:
            for seed in options.seeds:
                left = [documents[i] for i in np.random.default_rng(seed).permutation(len(documents))]
                held, validation = taken(left, options.held_words), taken(left, options.held_words // 4)
                domain = taken(left, n_words)
                scores, a, weights, _, seconds = compare(
                    general, domain, validation, held, order, options.sweeps, seed
                )
                cells = [f"{order}", f"{sum(map(len, domain)):,}", f"{seed}"]
                cells += [f"{scores[name]:.1f}" for name in MODELS]
                cells += [f"{a:.2f}", ", ".join(f"{w:.2f}" for w in weights), f"{seconds:.0f}"]
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
