"""Words with their contexts: construction, ids, labels, extension; errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdpkit.data.encode import NO_SYMBOL
from hdpkit.data.ngrams import NGrams
from hdpkit.errors import DataError

TOKENS = st.sampled_from(["a", "b", "c", 7, ("x", 1), ""])
SENTENCES = st.lists(st.lists(TOKENS, max_size=14), max_size=6)
ORDERS = st.integers(1, 12)
STARTS = st.sampled_from([None, "<s>"])
ENDS = st.sampled_from([None, "</s>"])


def pairs_of(sentences, order, start, end):
    """Words and contexts as anyone would write them down."""
    for sentence in sentences:
        words = list(sentence) + ([] if end is None else [end])
        before = [] if start is None else [start]
        for word in words:
            context = before[max(len(before) - order + 1, 0) :]
            yield word, tuple(context)
            before.append(word)


def read_back(data, first=0, last=None):
    """The same from the arrays."""
    ids = data.values[first:last].tolist()
    contexts = data.contexts(first, last)
    return [(data.vocabulary[v], data.context_of(row)) for v, row in zip(ids, contexts, strict=True)]


def built(sentences, order, start, end):
    """The data, or None where there is nothing to predict (and that is said)."""
    if (end is None and not any(sentences)) or not sentences:
        with pytest.raises(DataError, match="the text is empty"):
            NGrams.from_sentences(sentences, order=order, start=start, end=end)
        return None
    return NGrams.from_sentences(sentences, order=order, start=start, end=end)


def check_arrays(data):
    assert data.values.dtype == np.int32
    assert data.offsets.dtype == np.int64
    assert len(data.offsets) == data.n_sentences + 1
    contexts = data.contexts()
    assert contexts.dtype == np.int32
    assert contexts.shape == (len(data), data.order - 1)
    for array in (data.values, data.offsets):
        assert not array.flags.writeable
    assert data.n_terms == len(data.vocabulary) == len(set(data.vocabulary))
    assert [data.word_id(word) for word in data.vocabulary] == list(range(data.n_terms))


@given(SENTENCES, ORDERS, STARTS, ENDS, st.data())
def test_words_and_contexts_are_those_of_the_sentences(sentences, order, start, end, draw):
    data = built(sentences, order, start, end)
    if data is None:
        return
    expected = list(pairs_of(sentences, order, start, end))
    check_arrays(data)
    assert read_back(data) == expected
    first = draw.draw(st.integers(0, len(data)))
    last = draw.draw(st.integers(first, len(data)))
    assert read_back(data, first, last) == expected[first:last]
    for (_, context), row in zip(expected, data.contexts(), strict=True):
        ids = data.symbol_ids(context)
        assert ids.dtype == np.int32
        assert ids.tolist() == [s for s in row.tolist() if s != NO_SYMBOL]
    for s, sentence in enumerate(sentences):
        words = [data.vocabulary[v] for v in data.values[data.offsets[s] : data.offsets[s + 1]]]
        assert words == sentence + ([] if end is None else [end])
    order_of_appearance = list(dict.fromkeys(word for word, _ in expected))
    assert list(data.vocabulary) == order_of_appearance


@given(SENTENCES, SENTENCES, ORDERS, STARTS, ENDS)
def test_more_sentences_are_as_if_they_had_been_there(sentences, more, order, start, end):
    data, whole = built(sentences, order, start, end), built(sentences + more, order, start, end)
    if data is None:
        return
    longer = data.plus(iter(more))
    check_arrays(longer)
    assert longer.vocabulary == whole.vocabulary
    assert longer.vocabulary[: data.n_terms] == data.vocabulary
    assert np.array_equal(longer.values, whole.values)
    assert np.array_equal(longer.values[: len(data)], data.values)
    assert np.array_equal(longer.offsets, whole.offsets)
    assert np.array_equal(longer.contexts(), whole.contexts())
    for name in data.label_names:
        assert longer.keys(name) == whole.keys(name)


@given(SENTENCES, ORDERS, STARTS, ENDS, st.data())
def test_sentences_can_be_left_out(sentences, order, start, end, draw):
    data = built(sentences, order, start, end)
    if data is None:
        return
    first = draw.draw(st.integers(0, len(sentences)))
    last = draw.draw(st.integers(first, len(sentences)))
    rest = sentences[:first] + sentences[last:]
    fresh = built(rest, order, start, end)
    if fresh is None:
        with pytest.raises(DataError, match="the text is empty"):
            data.without(first, last)
        return
    less = data.without(first, last)
    check_arrays(less)
    assert less.vocabulary == data.vocabulary
    assert read_back(less) == read_back(fresh)
    assert np.array_equal(less.offsets, fresh.offsets)
    for name in less.label_names:
        assert less.keys(name) == fresh.keys(name)
    assert read_back(less.plus(sentences[first:last])) == read_back(fresh.plus(sentences[first:last]))


PAIRS = st.lists(
    st.tuples(TOKENS, st.lists(st.sampled_from(["a", "b", "?", 0]), max_size=6).map(tuple)), min_size=1
)


@given(PAIRS, PAIRS, st.none() | ORDERS)
def test_pairs_of_any_length(pairs, more, order):
    data = NGrams.from_pairs(*zip(*pairs, strict=True), order=order)
    check_arrays(data)
    assert data.order == order or 1 + max(len(context) for _, context in pairs)
    cut = [(word, context[max(len(context) - data.order + 1, 0) :]) for word, context in pairs]
    assert read_back(data) == cut
    assert data.n_sentences == len(data)
    assert not set(data.context_symbols) & set(data.vocabulary)
    longer = data.plus_pairs(*zip(*more, strict=True))
    check_arrays(longer)
    assert longer.order == data.order
    assert np.array_equal(longer.contexts(0, len(data)), data.contexts())
    both = NGrams.from_pairs(*zip(*pairs, *more, strict=True), order=data.order)
    assert read_back(longer) == read_back(both)
    for name in both.label_names:
        assert longer.keys(name) == both.keys(name)
    assert read_back(longer.without(0, len(data))) == read_back(longer)[len(data) :]


def test_sentences_of_arrays_and_iterators():
    expected = NGrams.from_sentences([["a", "b"], ["b"]], order=2)
    for sentences in (
        (np.array(["a", "b"]), np.array(["b"])),
        (iter(sentence) for sentence in ("ab", "b")),
        iter([("a", "b"), ("b",)]),
    ):
        data = NGrams.from_sentences(sentences, order=2)
        assert data.vocabulary == expected.vocabulary
        assert all(type(word) is str for word in data.vocabulary)
        assert np.array_equal(data.values, expected.values)
    numbers = NGrams.from_sentences(np.array([[1, 2], [2, 1]]), order=2, end=None)
    assert numbers.vocabulary == (1, 2)
    assert [type(word) for word in numbers.vocabulary] == [int, int]
    assert NGrams.from_pairs(np.array(["a"]), np.array([["b", "c"]])).keys("context 2") == [("b", "c")]
