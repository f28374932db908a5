"""Words with their contexts: construction, ids, labels, extension; errors."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hdpkit as hk
from hdpkit.data.encode import NO_SYMBOL
from hdpkit.data.files import counts
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


@given(SENTENCES, ORDERS, STARTS, ENDS)
def test_labels_are_the_contexts_of_each_length(sentences, order, start, end):
    data = built(sentences, order, start, end)
    if data is None:
        return
    assert data.label_names == tuple(f"context {k}" for k in range(1, order))
    contexts = [context for _, context in pairs_of(sentences, order, start, end)]
    for k, name in enumerate(data.label_names, start=1):
        near = [context[-k:] if len(context) >= k else None for context in contexts]
        keys = list(dict.fromkeys(key for key in near if key is not None))
        assert data.keys(name) == keys
        codes = data.codes(name)
        assert codes.dtype == np.int64
        assert not codes.flags.writeable
        assert [keys[code] if code >= 0 else None for code in codes] == near
        assert np.array_equal(data.codes(name), codes)  # made anew, the same
    assert set(data.labels) == set(data.label_names)


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


@given(SENTENCES, ORDERS, STARTS, ENDS, st.data())
def test_other_values_have_the_same_contexts(sentences, order, start, end, draw):
    data = built(sentences, order, start, end)
    if data is None:
        return
    values = draw.draw(st.lists(st.integers(0, data.n_terms - 1), min_size=len(data), max_size=len(data)))
    other = data.with_values(values)
    check_arrays(other)
    assert other.values.tolist() == values
    assert np.array_equal(other.contexts(), data.contexts())
    assert other.labels.keys() == data.labels.keys()
    more = [["a", "new"], ["b"]]
    longer = other.plus(more)
    assert longer.values[: len(data)].tolist() == values
    assert np.array_equal(longer.contexts(), data.plus(more).contexts())
    if data.n_sentences > 1 and 0 < data.offsets[1] < len(data):
        assert np.array_equal(other.without(0, 1).contexts(), data.without(0, 1).contexts())
        assert other.without(0, 1).values.tolist() == values[data.offsets[1] :]


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


def test_symbols_that_are_no_words():
    data = NGrams.from_pairs([0, 0, 1, 1], ["a", "a", "b", 1])
    assert data.order == 2
    assert data.contexts().tolist() == [[-1], [-1], [-2], [1]]
    assert data.context_symbols == ("a", "b")
    assert data.keys("context 1") == [("a",), ("b",), (1,)]
    assert data.symbol_ids("b").tolist() == [-2]
    longer = data.plus_pairs(["a"], ["a"])  # a symbol becomes a word, and stays the symbol that it was
    assert longer.word_id("a") == 2
    assert longer.contexts().tolist() == [[-1], [-1], [-2], [1], [-1]]
    assert longer.symbol_ids("a").tolist() == [-1]
    assert longer.keys("context 1") == data.keys("context 1")
    assert repr(data) == "<NGrams: order 2, 4 tokens, 2 words>"


def test_a_vocabulary_that_is_given():
    words = ["z", "a", "</s>"]
    data = NGrams.from_sentences([["a"]], order=2, vocabulary=words)
    assert data.vocabulary == tuple(words)
    assert data.values.tolist() == [1, 2]
    with pytest.raises(DataError, match=r"sentence 1, position 1 = 'b'.*vocabulary"):
        data.plus([["a"], ["z", "b"]])
    pairs = NGrams.from_pairs(["a", "a"], ["b", "a"], vocabulary=["a"])
    assert pairs.contexts().tolist() == [[-1], [0]]
    with pytest.raises(DataError, match=r"words, pair 0 = 'b'"):
        pairs.plus_pairs(["b"], ["b"])


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


def test_sentences_are_encoded_as_they_come():
    words = [f"w{i}" for i in range(1000)]
    rng = np.random.default_rng(0)

    def sentences(n):
        for _ in range(n):
            yield [words[i] for i in rng.integers(0, 1000, size=20)]

    tracemalloc.start()
    data = NGrams.from_sentences(sentences(20_000), order=5)
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data) == 420_000
    assert size < 4.5 * len(data) + 300_000  # 4 bytes a token, 8 a sentence, the vocabulary
    assert peak < 10 * len(data) + 500_000  # the buffer and its copy; lists of all tokens would take 8 more


def test_too_many_tokens_are_refused(monkeypatch):
    monkeypatch.setattr(counts, "TOKEN_LIMIT", 6)
    data = NGrams.from_sentences([["a", "a"], ["b"]], order=2)
    for make in (
        lambda: NGrams.from_sentences([["a", "a"], ["b", "a"]], order=2),
        lambda: data.plus([[]]),
        lambda: NGrams.from_pairs(["a"] * 6, ["a"] * 6),
        lambda: NGrams.from_pairs(["a"] * 5, ["a"] * 5).plus_pairs(["a"], ["a"]),
    ):
        with pytest.raises(DataError, match="number of tokens"):
            make()


@pytest.mark.parametrize("listed", [False, True], ids=["tree", "listed"])
@pytest.mark.parametrize("order", [1, 4])
def test_a_franchise_has_a_restaurant_for_each_context(order, listed):
    data = hk.NGrams.from_sentences([["a", "b", "a"], ["b", "b"], []], order=order)
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    for name in data.label_names:
        restaurant = hk.Restaurant(restaurant, each=name)
    if listed:  # the same labels, of data that know nothing of contexts
        labels = {
            name: [data.keys(name)[code] if code >= 0 else None for code in data.codes(name)]
            for name in data.label_names
        }
        franchise = hk.Franchise(restaurant, hk.Groups.from_labels(data.values, labels))
    else:
        franchise = hk.Franchise(restaurant, data)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, sweeps=3, rng=0, audit_every=1)
    for name in data.label_names:
        assert franchise.keys(name) == data.keys(name)
    for i, (_, context) in enumerate(read_back(data)):
        path = franchise.topology.path(int(franchise.topology.home[i]))
        assert len(path) == 1 + len(context)
        for k in range(1, len(path)):
            name = f"context {k}"
            assert franchise.topology.node(k, context[-k:], name) == path[-1 - k]
