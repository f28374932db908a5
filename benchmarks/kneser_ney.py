"""Interpolated modified Kneser-Ney n-gram models, the baseline of language models: a class and a script.

    python benchmarks/kneser_ney.py TRAIN TEST [--order 5]

TRAIN and TEST are text files (plain or .gz): one sentence per line, words separated by white space. Prints
the perplexity of TEST for every order from 2 (for order 1 that of the unigrams).

Chen & Goodman (1999), "An empirical study of smoothing techniques for language modeling", section 3, with the
conventions of SRILM (`-kndiscount -interpolate -unk`, no cut-offs) and KenLM's `lmplz`, which give the
well-known perplexities of the Penn Treebank, 185.70, 148.28, 142.72 and 141.19 for orders 2 to 5:

- A sentence is `<s> w1 ... wn </s>`, with one `<s>` for any order; `</s>` is predicted, `<s>` never; the
  perplexity is over words and sentence ends. `<unk>` in the text is a word like any other.
- The counts of the highest order are those of the text. For lower orders the count of an n-gram is its
  number of distinct left neighbours (including `<s>`), except for n-grams that begin with `<s>`: they have no
  left neighbour, and keep the count of the text.
- Each order has three discounts, for counts 1, 2 and 3 or more, from its own counts of counts.
- The unigrams are interpolated with the uniform distribution over the vocabulary: the words of the training
  text, additional words given by the caller, and `</s>`; not `<s>`.

For tiny or unusual texts a count of counts may be zero, or a discount outside (0, count]: that order then
uses the discounts 1/2, 1 and 3/2, like lmplz with its fallback option. `fallbacks` lists such orders and the
script marks them. Probabilities are never zero.
"""

import argparse
import gzip
import time

import attrs
import numpy as np

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
FALLBACK = (0.5, 1.0, 1.5)


def read_sentences(path):
    """Sentences (lists of words) of a UTF-8 file, plain or .gz; an empty line is an empty sentence."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [line.split() for line in lines]


@attrs.frozen(eq=False)
class Grams:
    """The k-grams of the training text for one k, sorted by key.

    The key of a k-gram is (its first word) * (number of (k-1)-grams) + (the (k-1)-gram of its other words);
    its number is its index in the arrays. There is one 0-gram.
    """

    keys: np.ndarray
    counts: np.ndarray  # of the text
    suffixes: np.ndarray  # numbers of the (k-1)-grams without the first word
    contexts: np.ndarray  # numbers of the (k-1)-grams without the last word
    starts: np.ndarray  # bool: begins with <s>


@attrs.frozen(eq=False)
class Level:
    """Order k of a fitted model.

    p(w | h) is probabilities[h w] if the k-gram h w was seen, and otherwise weights[h] times p(w | h without
    its first word), a term which probabilities[h w] include in addition to the share of the discounted
    counts.
    """

    keys: np.ndarray  # of the k-grams, as in Grams
    counts: np.ndarray  # of the text, or of left neighbours
    probabilities: np.ndarray
    weights: np.ndarray  # one for each (k-1)-gram; 1 if no word was seen after it
    counts_of_counts: np.ndarray  # n1 to n4
    discounts: tuple  # D1, D2, D3+
    estimated: bool  # whether the discounts are estimates; otherwise they are FALLBACK


class ModifiedKneserNey:
    """An interpolated n-gram model with modified Kneser-Ney discounts; see the module's docstring.

    Parameters
    ----------
    order : int
        n >= 1: words are predicted from the n - 1 preceding words.
    vocabulary : iterable of str
        Words that can be predicted, in addition to those of the training text. Any other word counts as
        `<unk>` if that is in the vocabulary, and is an error otherwise.

    Attributes
    ----------
    vocabulary : list of str
        After `fit`, all words that can be predicted: `</s>`, the given words, those of the training text.
    levels : list of Level
        Orders 1 to n, with their counts of counts and discounts.
    fallbacks : list of int
        Orders whose discounts are not estimates but 1/2, 1, 3/2.
    """

    def __init__(self, order, vocabulary=()):
        if order < 1:
            raise ValueError(f"order = {order}: must be 1 or more")
        self.order = int(order)
        self._named = list(vocabulary)
        self._numbers = None

    def fit(self, sentences):
        """Estimate from an iterable of sentences (each an iterable of words); returns the model."""
        numbers = {START: 0, END: 1}
        for word in self._named:
            numbers.setdefault(word, len(numbers))
        words, places = encode(sentences, lambda word: numbers.setdefault(word, len(numbers)))
        if not len(words):
            raise ValueError("sentences: there are none; at least one must be given")
        self._numbers = numbers
        self.vocabulary = [word for word in numbers if word != START]
        tables = count_grams(words, places, self.order)
        self.levels = []
        lower = np.array([1.0 / len(self.vocabulary)])
        for table, longer in zip(tables, [*tables[1:], None], strict=True):
            counts = table.counts
            if longer is not None:
                neighbours = np.bincount(longer.suffixes, minlength=len(counts))
                counts = np.where(table.starts, counts, neighbours)
            if not self.levels:
                counts = np.where(table.starts, 0, counts)  # <s> itself is a context, never an event
            self.levels.append(estimate(table, counts, lower))
            lower = self.levels[-1].probabilities
        self.fallbacks = [k for k, level in enumerate(self.levels, start=1) if not level.estimated]
        return self

    def probability(self, word, context=()):
        """p(word | context).

        Parameters
        ----------
        word : str
            A word, or "</s>" for the sentence's end.
        context : sequence of str
            The preceding words in reading order; only the last order - 1 are used. It begins with "<s>" if
            they begin the sentence: ("<s>",) is the context of a first word, () that of a word without known
            context.
        """
        self._check_fitted()
        context = list(context)
        asked = [*context[max(len(context) - self.order + 1, 0) :], word]
        if START in asked[1:] or word == START or END in asked[:-1]:
            raise ValueError(f"p({word!r} | {context}): {START} only begins a context, {END} never is in one")
        words = np.array([self._number(one) for one in asked], dtype=np.int64)
        return float(self._score(words, np.arange(len(words)))[-1])

    def log_probabilities(self, sentences):
        """Log probability (nats) of each word and sentence end of all sentences, in one array."""
        self._check_fitted()
        words, places = encode(sentences, self._number)
        return np.log(self._score(words, places)[places > 0])

    def log_probability(self, sentence):
        """Log probability (nats) of one sentence, including its end."""
        return float(self.log_probabilities([sentence]).sum())

    def perplexity(self, sentences):
        """exp(- mean log probability) over the words and ends of the sentences."""
        scores = self.log_probabilities(sentences)
        if not len(scores):
            raise ValueError("sentences: there are none; perplexity is a mean over at least one")
        return float(np.exp(-scores.mean()))

    def count(self, gram):
        """The count of an n-gram (of 1 to n words) in its order; 0 if it was never seen."""
        if not 1 <= len(gram) <= self.order:
            raise ValueError(f"{gram}: an n-gram of this model has 1 to {self.order} words")
        found = self._find(gram)
        return 0 if found is None else int(self.levels[len(gram) - 1].counts[found])

    def weight(self, context):
        """Weight of the next shorter context's distribution in that of this context (of 0 to n - 1 words)."""
        if len(context) >= self.order:
            raise ValueError(f"{context}: a context of this model has 0 to {self.order - 1} words")
        found = self._find(context)
        return 1.0 if found is None else float(self.levels[len(context)].weights[found])

    def _find(self, gram):
        """The number of an n-gram, or None."""
        self._check_fitted()
        found = 0
        for level, word in zip(self.levels, reversed(gram), strict=False):
            key = self._number(word) * len(level.weights) + found
            found = int(np.searchsorted(level.keys, key))
            if found == len(level.keys) or level.keys[found] != key:
                return None
        return found

    def _score(self, words, places):
        """Probability of each word given those before it in its sentence (undefined at position 0)."""
        p = np.full(len(words), 1.0 / len(self.vocabulary))
        grams = np.zeros(len(words), dtype=np.int64)  # the (k-1)-gram that ends here; -1: never seen
        for k, level in enumerate(self.levels, start=1):
            if not len(level.keys):
                break  # no sentence of the training text is that long
            ends = np.flatnonzero(places >= k - 1)
            suffixes = grams[ends]
            contexts = grams[ends - 1] if k > 1 else suffixes
            keys = words[ends - k + 1] * len(level.weights) + suffixes
            found = np.minimum(np.searchsorted(level.keys, keys), len(level.keys) - 1)
            seen = (level.keys[found] == keys) & (suffixes >= 0)
            weights = np.where(contexts >= 0, level.weights[contexts], 1.0)
            p[ends] = np.where(seen, level.probabilities[found], weights * p[ends])
            grams = np.full(len(words), -1, dtype=np.int64)
            grams[ends] = np.where(seen, found, -1)
        return p

    def _number(self, word):
        number = self._numbers.get(word, self._numbers.get(UNKNOWN))
        if number is None:
            raise ValueError(f"{word!r} is outside the vocabulary, which has no {UNKNOWN} to stand for it")
        return number

    def _check_fitted(self):
        if self._numbers is None:
            raise RuntimeError("the model has no counts yet: call fit(sentences) first")


def encode(sentences, number_of):
    """Numbers of the words of all sentences with <s> and </s>, and each word's position in its sentence."""
    words, lengths = [], []
    for position, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise TypeError(f"sentence {position} is a str: give sequences of words, as line.split()")
        numbers = [number_of(word) for word in sentence]
        if numbers and min(numbers) < 2:
            raise ValueError(f"sentence {position} has {START} or {END} among its words; they are added here")
        words += [0, *numbers, 1]
        lengths.append(len(numbers) + 2)
    first = np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
    return np.array(words, dtype=np.int64), np.arange(len(words)) - first


def count_grams(words, places, order):
    """Tables of the k-grams within sentences, k = 1 to order; words and places are those of `encode`."""
    tables = []
    lower = np.zeros(len(words), dtype=np.int64)  # number of the (k-1)-gram that ends here
    n_lower = 1
    for k in range(1, order + 1):
        ends = np.flatnonzero(places >= k - 1)
        keys, first, numbers, counts = np.unique(
            words[ends - k + 1] * n_lower + lower[ends],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        suffixes = lower[ends[first]]
        contexts = lower[ends[first] - 1] if k > 1 else suffixes
        tables.append(Grams(keys, counts, suffixes, contexts, words[ends[first] - k + 1] == 0))
        lower = np.full(len(words), -1, dtype=np.int64)
        lower[ends] = numbers
        n_lower = len(keys)
    return tables


def estimate(table, counts, lower):
    """One order, from its n-grams, the counts to use and the probabilities of the order below (Level)."""
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5]
    discounts, estimated = modified_discounts(n)
    taken = np.array([0.0, *discounts])[np.minimum(counts, 3)]
    total = np.bincount(table.contexts, counts, minlength=len(lower))
    weights = np.ones(len(lower))
    np.divide(np.bincount(table.contexts, taken, len(lower)), total, out=weights, where=total > 0)
    probabilities = (counts - taken) / total[table.contexts]
    probabilities += weights[table.contexts] * lower[table.suffixes]
    return Level(table.keys, counts, probabilities, weights, n, discounts, estimated)


def modified_discounts(n):
    """(D1, D2, D3+) from counts of counts n1 to n4, and whether they are estimates (Chen & Goodman, eq. 26).

    Y = n1 / (n1 + 2 n2) and D_j = j - (j + 1) Y n_(j+1) / n_j. An estimate needs n1, n2, n3 > 0 and must be
    in (0, j]: a discount of 0 could leave unseen words no probability, a negative one is no discount.
    """
    if n[:3].all():
        j = np.arange(1, 4)
        discounts = j - (j + 1) * n[0] / (n[0] + 2 * n[1]) * n[1:] / n[:3]
        if (discounts > 0).all():
            return tuple(discounts.tolist()), True
    return FALLBACK, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", help="text file, one sentence per line, plain or .gz")
    parser.add_argument("test", help="the same")
    parser.add_argument("--order", type=int, default=5, help="the highest order")
    options = parser.parse_args()
    if options.order < 1:
        parser.error("--order must be 1 or more")
    train, test = read_sentences(options.train), read_sentences(options.test)
    from machine import block  # imported here, since tests load this module alone

    print(block())
    for name, sentences in (("train", train), ("test", test)):
        if not sentences:
            parser.error(f"{name}: the file has no line")
        n = sum(map(len, sentences))
        print(f"{name}: {len(sentences):,} sentences, {n:,} words ({n + len(sentences):,} with ends)")
    print(f"{'order':<7}{'words':>9}{'perplexity':>12}{'fit, s':>8}{'score, s':>10}   D1, D2, D3+ by order")
    for order in range(min(2, options.order), options.order + 1):
        began = time.perf_counter()
        model = ModifiedKneserNey(order).fit(train)
        fitted = time.perf_counter()
        try:
            perplexity = model.perplexity(test)
        except ValueError as error:
            parser.error(f"test: {error}")
        seconds = f"{fitted - began:>8.2f}{time.perf_counter() - fitted:>10.2f}"
        discounts = "; ".join(
            " ".join(f"{d:.3f}" for d in level.discounts) + ("" if level.estimated else " (fallback)")
            for level in model.levels
        )
        print(f"{order:<7}{len(model.vocabulary):>9,}{perplexity:>12.2f}{seconds}   {discounts}")


if __name__ == "__main__":
    main()
