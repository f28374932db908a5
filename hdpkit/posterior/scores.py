"""Scores of topics: diversity, exclusivity, coherence, and what groups their shares reconstruct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, flag, items, number_array, real_number, whole_number
from hdpkit.data import Corpus
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.readings import topic_weights


def _first_terms(topics: Any, n_terms: Any) -> tuple[Floats, Int64s]:
    """Weights of topics, and the numbers of the first terms of each."""
    n_terms = whole_number("n_terms", n_terms, 1, remedy="10 or 25 are usual.")
    weights = topic_weights(topics)
    return weights, np.array([largest(row, n_terms) for row in weights])


def diversity(topics: Any, *, n_terms: int = 25) -> float:
    """Share of distinct terms among the first terms of all topics.

    1 if no two topics have a first term in common, 1/K if all have the same (Dieng, Ruiz & Blei 2020).
    Returns a float from 0 to 1.

    Parameters
    ----------
    topics : array of shape (K, V), Franchise or Sample
        Weights of terms in topics.
    n_terms : int
        Of each topic; all where there are fewer.
    """
    _, first = _first_terms(topics, n_terms)
    return len(np.unique(first)) / first.size


def exclusivity(topics: Any, *, n_terms: int = 10, measure: str = "frex", weight: float = 0.7) -> Floats:
    r"""Exclusivity of each topic: how little its first terms belong to other topics.

    The share of term v in topic k is beta_kv / sum_j beta_jv.

    - ``"frex"``: the mean over the first terms of 1 / (w / F_k(share) + (1 - w) / F_k(beta)), where F_k are
      the ranks of a term within topic k divided by V (Bischof & Airoldi 2012). The R package stm uses the sum
      over terms (Roberts et al. 2014).
    - ``"share"``: the mean share of the first terms.

    Returns a float64 array, shape (K,), from 0 to 1.

    Parameters
    ----------
    topics : array of shape (K, V), Franchise or Sample
        Weights of terms in topics.
    n_terms : int
        Of each topic; all where there are fewer.
    measure : "frex" or "share"
    weight : float
        w of FREX, from 0 (frequency alone) to 1 (exclusivity alone).
    """
    choice("measure", measure, ("frex", "share"), remedy="Leave it out.")
    weight = real_number("weight", weight, remedy="0.7 is usual.")
    if not 0.0 <= weight <= 1.0:
        raise ParameterError("weight", weight, "from 0 to 1", "0.7 is usual.")
    weights, first = _first_terms(topics, n_terms)
    totals = weights.sum(axis=0)
    share = weights / np.where(totals > 0.0, totals, 1.0)
    if measure == "share":
        return np.asarray(np.take_along_axis(share, first, axis=1).mean(axis=1))
    n = weights.shape[1]
    own = scipy.stats.rankdata(share, axis=1) / n
    frequent = scipy.stats.rankdata(weights, axis=1) / n
    frex = 1.0 / (weight / own + (1.0 - weight) / frequent)
    return np.asarray(np.take_along_axis(frex, first, axis=1).mean(axis=1))


def reconstruction(counts: Any, shares: Any, components: Any) -> Floats:
    """Cosine similarity between the counts of each group and their reconstruction from its components.

    Returns a float64 array, shape (n_groups,): 0 if a group has no counts or no exposure. Raises a DataError
    if the shapes don't fit.

    Parameters
    ----------
    counts : Corpus or array, shape (n_groups, n_terms)
    shares : array, shape (n_groups, T)
        Exposures, or shares, of the components.
    components : array, shape (T, n_terms)
    """
    laws = _matrix("components", components, None, None)
    given = _matrix("shares", shares, None, len(laws))
    counted = counts.to_counts() if isinstance(counts, Corpus) else counts
    counted = counted.toarray() if hasattr(counted, "toarray") else counted
    there = _matrix("counts", counted, len(given), laws.shape[1])
    expected = given @ laws
    norms = np.linalg.norm(there, axis=1) * np.linalg.norm(expected, axis=1)
    products = np.einsum("ij,ij->i", there, expected)
    cosine: Floats = np.where(norms > 0, products / np.where(norms > 0, norms, 1.0), 0.0)
    return cosine


def _matrix(name: str, value: Any, rows: int | None, columns: int | None) -> Floats:
    """Check an array of numbers; its shape must match ``rows`` and ``columns`` unless they are None."""
    found = number_array(value)
    fits = found is not None and found.ndim == 2
    if not fits or rows not in (None, len(found)) or columns not in (None, found.shape[1]):  # type: ignore[arg-type,union-attr]
        shape = f"({'n' if rows is None else rows}, {'m' if columns is None else columns})"
        raise DataError(
            name, value, f"a matrix of numbers of shape {shape}",
            "Counts are (n, V), shares (n, T), components (T, V): leave the rest out of all, or of none.",
        )  # fmt: skip
    assert found is not None
    return found


_ENTRIES = 4_000_000  # of the matrix of windows by words that is in memory at once

Together = tuple[list[Floats], int]
"""For each topic the numbers of windows that contain both of two words, shape (n, n), with those of single
words on the diagonal; and the total number of windows."""


def count_documents(
    text: Int64s, word: Int64s, n_texts: int, topics: Sequence[Int64s], n_words: int
) -> Together:
    """Count the texts that contain the words of each topic."""
    there = np.unique(text * n_words + word)
    counts = [np.zeros((len(topic), len(topic))) for topic in topics]
    _add(counts, there // n_words, there % n_words, n_texts, topics, n_words)
    return counts, n_texts


def count_windows(
    text: Int64s,
    position: Int64s,
    word: Int64s,
    lengths: Int64s,
    window: int,
    topics: Sequence[Int64s],
    n_words: int,
    as_gensim: bool,
) -> Together:
    """Count the windows that contain the words of each topic."""
    n_windows = np.maximum(lengths - window + 1, 1)
    first_window = np.concatenate([[0], np.cumsum(n_windows)])
    counts = [np.zeros((len(topic), len(topic))) for topic in topics]
    # Texts are taken until they have enough windows; a text is never divided.
    most = np.cumsum(np.bincount(text, minlength=len(lengths)) * min(window, int(lengths.max(initial=1))))
    piece = most // _ENTRIES
    cuts = np.flatnonzero(np.diff(piece)) + 1
    begins = np.searchsorted(text, np.concatenate([[0], cuts, [len(lengths)]]))
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        if begin == end:
            continue
        own = slice(begin, end)
        at, words = _entries(text[own], position[own], word[own], lengths, n_windows, window, as_gensim)
        size = int(first_window[text[end - 1] + 1] - first_window[text[begin]])
        _add(counts, at, words, size, topics, n_words)
    return counts, int(first_window[-1])


def _entries(
    text: Int64s,
    position: Int64s,
    word: Int64s,
    lengths: Int64s,
    n_windows: Int64s,
    window: int,
    as_gensim: bool,
) -> tuple[Int64s, Int64s]:
    """All pairs of a window and a word in it, each once; windows are numbered across the texts from 0."""
    order = np.lexsort((position, word, text))
    text, position, word = text[order], position[order], word[order]
    new = np.append(True, (np.diff(text) != 0) | (np.diff(word) != 0))
    group = np.cumsum(new) - 1  # number of the group: occurrences of one word in one text
    begin = np.maximum(position - window + 1, 0)
    end = position
    if as_gensim:
        stride = int(lengths.max()) + 1
        place = group * stride + position
        end = position[np.searchsorted(place, group * stride + begin)]
    # Windows that an earlier occurrence already covers are not counted again.
    before = np.where(new, -1, np.concatenate([[-1], end[:-1]]))
    begin = np.maximum(begin, before + 1)
    end = np.minimum(end, n_windows[text] - 1)
    n = np.maximum(end - begin + 1, 0)
    offsets = np.concatenate([[0], np.cumsum(n_windows[text[0] : text[-1] + 1])])
    starts = np.cumsum(n) - n
    at = np.arange(int(n.sum())) + np.repeat(begin + offsets[text - text[0]] - starts, n)
    return at, np.repeat(word, n)


def _add(
    counts: list[Floats], at: Int64s, word: Int64s, n_windows: int, topics: Sequence[Int64s], n_words: int
) -> None:
    """Add the numbers of windows that contain both of two words of a topic."""
    there = scipy.sparse.csc_array((np.ones(len(at)), (at, word)), shape=(n_windows, n_words))
    for own, topic in zip(counts, topics, strict=True):
        columns = there[:, topic]
        own += (columns.T @ columns).toarray()


_WINDOWS = {"u_mass": None, "c_uci": 10, "c_npmi": 10, "c_v": 110}
_EPSILON = 1e-12
_TEXTS = "a Corpus, or texts: a list of words (or of term ids) each"


def coherence(
    topics: Any,
    reference: Any,
    measure: str = "c_v",
    *,
    n_terms: int = 10,
    window: int | None = None,
    vocabulary: Any = None,
    as_gensim: bool = True,
) -> Floats:
    r"""Coherence of each topic: do its first terms occur together in reference texts?

    With P(w) the share of the windows (or documents) that contain w, P(w, v) of those that contain both, and
    PMI(w, v) = log((P(w, v) + 1e-12) / (P(w) P(v))):

    - ``"u_mass"``: the mean of log((P(w, v) + 1e-12) / P(v)) over all pairs in which v comes before w in the
      topic; documents (Mimno et al. 2011);
    - ``"c_uci"``: the mean of PMI over all pairs; windows of 10 tokens (Newman et al. 2010);
    - ``"c_npmi"``: the mean of NPMI = PMI / -log(P(w, v) + 1e-12); windows of 10 tokens (Bouma 2009;
      Aletras & Stevenson 2013);
    - ``"c_v"``: the vector of a term is its NPMI with all terms of the topic; the mean over terms of the
      cosine between this vector and the sum of all vectors; windows of 110 tokens (Röder, Both & Hinneburg
      2015).

    All agree with gensim's CoherenceModel up to rounding. Returns a float64 array, shape (K,): NaN for a
    topic with a term that the reference doesn't contain. Raises a DataError if the reference has no order of
    tokens, or the topics don't fit it.

    Parameters
    ----------
    topics : array of shape (K, V), Franchise, Sample, or sequence of sequences
        Weights of terms, from which the first terms are taken, or these terms: words or ids, most probable
        first. For a Franchise its vocabulary is used.
    reference : Corpus, or sequence of texts
        Texts in which terms are counted: lists of words or of term ids. Windows need the order of tokens,
        which a corpus of counts doesn't have: with it only "u_mass" is available.
    measure : "c_v", "c_npmi", "c_uci" or "u_mass"
    n_terms : int
        Number of terms per topic; topics given as terms may have fewer.
    window : int, optional
        Tokens per window, for all measures except "u_mass"; the defaults are given above.
    vocabulary : sequence of str, optional
        Word of each term of ``topics``, if they are weights or ids and the reference has words.
    as_gensim : bool
        Count windows as gensim (4.4) does: a word counts as absent once one of its occurrences leaves the
        window, even if a later one is still in it, until the word next enters. False counts all windows
        that contain the word, as the papers define it.
    """
    choice("measure", measure, _WINDOWS, remedy="Leave it out for c_v.")
    n_terms = whole_number("n_terms", n_terms, 2, remedy="10 are usual.")
    flag("as_gensim", as_gensim)
    if window is not None:
        window = whole_number("window", window, 1, remedy="Leave it out for the usual one.")
        if measure == "u_mass":
            raise ParameterError("window", window, 'None with measure="u_mass"', "It counts documents.")
    window = _WINDOWS[measure] if window is None else window
    named = _named(_terms_of(topics, n_terms), topics, vocabulary, reference)
    numbers = {term: i for i, term in enumerate(dict.fromkeys(term for topic in named for term in topic))}
    numbered = [np.array([numbers[term] for term in topic], dtype=np.int64) for topic in named]
    text, position, word, lengths = _occurrences(reference, numbers, window is not None)
    if window is None:
        together = count_documents(text, word, len(lengths), numbered, len(numbers))
    else:
        together = count_windows(text, position, word, lengths, window, numbered, len(numbers), as_gensim)
    return _scores(together, measure)


# ---------------------------------------------------------------------- formulas


def _scores(together: Together, measure: str) -> Floats:
    counts, n = together
    found = np.full(len(counts), np.nan)
    for k, own in enumerate(counts):
        alone = np.diag(own) / n
        if not (alone > 0.0).all():
            continue
        joint = own / n
        if measure == "u_mass":
            rows, columns = np.tril_indices(len(own), -1)
            found[k] = np.mean(np.log((joint + _EPSILON) / alone)[rows, columns])
            continue
        pmi = np.log((joint + _EPSILON) / np.outer(alone, alone))
        if measure == "c_uci":
            found[k] = np.mean(pmi[np.triu_indices(len(own), 1)])
            continue
        npmi = pmi / -np.log(joint + _EPSILON)
        if measure == "c_npmi":
            found[k] = np.mean(npmi[np.triu_indices(len(own), 1)])
        else:
            whole = npmi.sum(axis=0)
            lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(whole)
            found[k] = np.mean(npmi @ whole / lengths)
    return found


# ---------------------------------------------------------------------- topics


def _terms_of(topics: Any, n_terms: int) -> list[tuple[Any, ...]]:
    """First terms of each topic: words, or ids."""
    given = _listed(topics)
    if given is None:
        weights = topic_weights(topics)
        if n_terms > weights.shape[1]:
            allowed = f"at most {weights.shape[1]}, the number of terms"
            raise DataError("n_terms", n_terms, allowed, "Take fewer.")
        return [tuple(largest(row, n_terms).tolist()) for row in weights]
    for k, topic in enumerate(given):
        if len(topic) < 2 or len(set(topic)) < len(topic):
            raise DataError(
                f"topics[{k}]", list(topic), "two terms or more, each once", "Leave the others out."
            )
    return [topic[:n_terms] for topic in given]


def _listed(topics: Any) -> list[tuple[Any, ...]] | None:
    """Topics given as terms; None if they are weights."""
    if isinstance(topics, np.ndarray):
        if topics.ndim != 2 or topics.dtype.kind not in "iuUSO" or topics.shape[1] == 0:
            return None
        topics = topics.tolist()
    if not isinstance(topics, list | tuple) or not topics:
        return None
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in topics]
    if not all(isinstance(row, list | tuple) for row in rows):
        return None
    terms = [term for row in rows for term in row]
    whole = [isinstance(one, int | np.integer) and not isinstance(one, bool) and one >= 0 for one in terms]
    if not all(isinstance(one, str) or is_id for one, is_id in zip(terms, whole, strict=True)):
        return None
    return [tuple(row) for row in rows]


def _named(
    terms: list[tuple[Any, ...]], topics: Any, vocabulary: Any, reference: Any
) -> list[tuple[Any, ...]]:
    """The terms in the form of the reference: ids for a corpus, words or ids for texts."""
    words = vocabulary
    if words is None and isinstance(topics, Franchise):
        words = getattr(topics.data, "vocabulary", None)
    if words is not None:
        words = items("vocabulary", words, "a sequence of words", remedy="Pass the vocabulary of the corpus.")
        beyond = [
            term for topic in terms for term in topic if not isinstance(term, str) and term >= len(words)
        ]
        if beyond:
            raise DataError(
                "vocabulary", f"{len(words)} words", f"one for term {beyond[0]}", "Pass all words."
            )
        terms = [tuple(term if isinstance(term, str) else words[term] for term in topic) for topic in terms]
    if not isinstance(reference, Corpus):
        return terms
    number = {word: i for i, word in enumerate(reference.vocabulary or ())}
    if any(isinstance(term, str) for topic in terms for term in topic) and not number:
        raise DataError(
            "reference", "a corpus without a vocabulary", "one with words, as the topics have",
            "Build it with vocabulary=, or give the ids of the topics' terms.",
        )  # fmt: skip
    # A word that the corpus doesn't contain stays a word, which equals no id.
    return [
        tuple(number.get(term, term) if isinstance(term, str) else term for term in topic) for topic in terms
    ]


# ---------------------------------------------------------------------- reference texts


def _occurrences(
    reference: Any, numbers: dict[Any, int], ordered: bool
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Text, position and number of each occurrence of a term of any topic; and the lengths of the texts."""
    if isinstance(reference, Corpus):
        return _in_corpus(reference, numbers, ordered)
    texts = items("reference", reference, _TEXTS, remedy="For instance [text.split() for text in texts].")
    found, lengths = [], []
    for number, text in enumerate(texts):
        if not isinstance(text, Sequence | np.ndarray) or isinstance(text, str | bytes):
            raise ParameterError(
                f"reference[{number}]", text, "a list of words or of term ids",
                "Split texts into words as the topics' corpus was.",
            )  # fmt: skip
        listed = text.tolist() if isinstance(text, np.ndarray) else text
        try:
            own = np.fromiter((numbers.get(token, -1) for token in listed), dtype=np.int64, count=len(listed))
        except TypeError as error:  # if a token is not hashable
            raise ParameterError(
                f"reference[{number}]", text, "a list of words or of term ids", "Split texts into words."
            ) from error
        found.append(own)
        lengths.append(len(own))
    if not texts:
        raise DataError("reference", reference, "at least one text", "Give the texts that topics came from.")
    word, sizes = np.concatenate(found), np.array(lengths, dtype=np.int64)
    return _of_tokens(word, sizes)


def _in_corpus(
    corpus: Corpus, numbers: dict[Any, int], ordered: bool
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    if ordered and not _has_order(corpus):
        raise DataError(
            "reference", "a corpus of counts", "texts whose tokens have an order, for sliding windows",
            'Give the texts as lists of words, or use measure="u_mass".',
        )  # fmt: skip
    of_term = np.full(corpus.n_terms + 1, -1, dtype=np.int64)
    for term, number in numbers.items():
        if not isinstance(term, str) and term < corpus.n_terms:
            of_term[term] = number
    if not ordered and corpus.cells is not None:
        cells = corpus.cells
        word = of_term[cells.term]
        return _of_tokens(word, np.diff(cells.begin))
    return _of_tokens(of_term[np.asarray(corpus.values)], np.asarray(corpus.document_lengths))


def _has_order(corpus: Corpus) -> bool:
    """Whether tokens are in the order of texts, not grouped by term as in counts."""
    if corpus.cells is not None:
        return False
    if corpus.origin is None:
        return True
    ends = np.cumsum(corpus.document_lengths)
    falls = np.flatnonzero(np.diff(np.asarray(corpus.values)) < 0) + 1
    return len(np.setdiff1d(falls, ends)) > 0  # a folder doesn't record what it was made from


def _of_tokens(word: Int64s, lengths: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    lengths = lengths.astype(np.int64)
    at = np.flatnonzero(word >= 0)
    ends = np.cumsum(lengths)
    text = np.searchsorted(ends, at, side="right")
    return text, at - (ends - lengths)[text], word[at], lengths
