"""Corpora and groups: documents, counts, labels, values, and large documents made smaller."""

import gzip
import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hdpkit as hk
from hdpkit.data import Corpus, GroupedData, Groups
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, HdpkitError
from hdpkit.posterior.evaluation.completion import completion_perplexity

NAT = np.datetime64("NaT")


class NAType:
    """What pandas.NA looks like from outside: comparing yields something without a truth."""

    def __ne__(self, other):
        return self

    __eq__ = __ne__
    __hash__ = object.__hash__

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


documents = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=6).filter(any)
counts = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.integers(0, 4)
).filter(np.any)


def check_invariants(corpus, docs):
    """Check every attribute against documents given as lists of ids."""
    flat = [v for doc in docs for v in doc]
    place = [d for d, doc in enumerate(docs) for _ in doc]
    assert isinstance(corpus, GroupedData)
    assert corpus.terms.dtype == np.int32
    assert corpus.terms is corpus.values
    assert corpus.terms.tolist() == flat
    assert corpus.document.dtype == np.int64
    assert corpus.document.tolist() == place
    assert corpus.document_lengths.dtype == np.int64
    assert corpus.document_lengths.tolist() == [len(doc) for doc in docs]
    assert corpus.n_tokens == corpus.n_customers == len(corpus) == len(flat)
    assert corpus.n_documents == len(docs)
    assert len(corpus.keys("document")) == len(docs)
    assert corpus.codes("document").tolist() == place
    assert corpus.document_labels["document"][0].tolist() == list(range(len(docs)))
    for first, last in ((0, len(flat) // 2), (len(flat) // 3, len(flat)), (len(flat), len(flat))):
        assert corpus.codes_between("document", first, last).tolist() == place[first:last]
    for d, doc in enumerate(docs):
        assert corpus.terms[corpus.document_customers(d)].tolist() == doc
    names = corpus.keys("document")
    assert [corpus.document_of(i) for i in range(len(flat))] == [names[d] for d in place]
    arrays = [corpus.terms, corpus.document, corpus.document_lengths]
    assert not any(array.flags.writeable for array in arrays + [codes for codes, _ in corpus.labels.values()])


@given(documents)
def test_documents_are_kept_as_they_are(docs):
    corpus = Corpus.from_documents(docs)
    check_invariants(corpus, docs)
    assert corpus.n_terms == max(map(max, filter(None, docs))) + 1
    assert corpus.keys("document") == list(range(len(docs)))
    for same in ([np.array(doc, np.uint16) for doc in docs], [tuple(doc) for doc in docs], map(iter, docs)):
        check_invariants(Corpus.from_documents(same, n_terms=9), docs)


@given(documents)
def test_words_and_ids_agree(docs):
    vocabulary = list("gfedcba")
    words = [[vocabulary[v] for v in doc] for doc in docs]
    corpus = Corpus.from_documents(words, vocabulary=vocabulary)
    check_invariants(corpus, docs)
    assert [corpus.term(v) for v in corpus.terms] == [word for doc in words for word in doc]
    built = Corpus.from_documents(words)
    seen = list(dict.fromkeys(word for doc in words for word in doc))
    assert list(built.vocabulary) == seen, "a vocabulary is built in order of first appearance"
    assert [
        [built.vocabulary[v] for v in built.terms[built.document_customers(d)]] for d in range(len(docs))
    ] == words


def test_smallest_corpora():
    check_invariants(Corpus.from_documents([[0]]), [[0]])
    check_invariants(Corpus.from_documents([[], [0], []], n_terms=1), [[], [0], []])
    check_invariants(Corpus.from_documents(np.zeros((2, 3), int)), [[0, 0, 0], [0, 0, 0]])
    check_invariants(Corpus.from_documents([[0.0, 1.0], np.array([])]), [[0, 1], []])


def test_duplicate_entries_add_up_without_overflow():
    data, row, col = np.full(5, 100, np.int8), np.array([1, 1, 0, 1, 1]), np.array([2, 2, 0, 2, 0])
    X = sp.coo_array((data, (row, col)), shape=(2, 3))
    assert Corpus.from_counts(X).to_counts().toarray().tolist() == [[100, 0, 0], [100, 0, 300]]
    raw = sp.csr_array((np.array([1, 2, 3]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert Corpus.from_counts(raw).terms.tolist() == [0, 0, 1, 1, 1, 1]
    assert raw.indices.tolist() == [1, 0, 1], "the caller's matrix is left alone"


def test_counts_of_other_types():
    assert Corpus.from_counts([[True, False], [False, True]]).terms.tolist() == [0, 1]
    assert Corpus.from_counts(np.array([[2, 1.0]], object)).terms.tolist() == [0, 0, 1]
    assert Corpus.from_counts(np.array([[2, 1]], np.float16)).terms.tolist() == [0, 0, 1]


def test_too_many_tokens_are_refused_before_they_are_written_out():
    almost = 2**30
    for X in ([[almost, almost]], sp.coo_array(([almost] * 2, ([0, 0], [0, 0])), shape=(1, 1))):
        with pytest.raises(DataError, match="number of tokens = 2147483648"):
            Corpus.from_counts(X)


def write(path, text):
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@given(counts)
def test_ldac_round_trip(tmp_path_factory, X):
    pairs = [[(v, c) for v, c in enumerate(row) if c] for row in X.tolist()]
    lines = [" ".join([str(len(p)), *(f"{v}:{c}" for v, c in reversed(p))]) for p in pairs]
    folder = tmp_path_factory.mktemp("ldac")
    expected = Corpus.from_counts(X)
    for name in ("corpus.ldac", "corpus.ldac.gz"):
        for text in ("\n".join(lines), "\n".join(lines) + "\n", "\r\n".join(lines) + "\r\n"):
            corpus = Corpus.from_ldac(write(folder / name, text), n_terms=X.shape[1])
            assert corpus.n_terms == expected.n_terms
            assert np.array_equal(corpus.terms, expected.terms)
            assert np.array_equal(corpus.document_lengths, expected.document_lengths)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "empty"),
        ("2 0:1", "number of id:count pairs"),
        ("0:1", "number of pairs, as the first field"),
        ("1 0", "id:count"),
        ("1 0:1:1", "id:count"),
        ("1 0 :1", "id:count"),
        ("1 \u0663:1", "id:count"),
        ("1 0:" + "9" * 30, "id:count"),
        ("1 0:2147483648", "at most"),
        ("1 5:1", "at most 4"),
        ("1\f0:1", "separated"),
        (b"1 \xff:1", "UTF-8"),
    ],
)
def test_malformed_ldac_lines(tmp_path, line, reason):
    content = b"1 0:1\n0\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n1 1:1\n"
    with pytest.raises(DataError, match=reason) as caught:
        Corpus.from_ldac(write(tmp_path / "c", content), n_terms=5)
    assert f"{tmp_path / 'c'}, line 3" in caught.value.parameter


def test_groups_of_vectors_names_and_labels():
    groups = Groups.from_arrays(
        [np.ones((2, 3)), [], np.zeros((1, 3), int)],
        names=["a", "b", "c"],
        groups={"year": [2001, 2000, None]},
        label="subject",
    )
    assert groups.values.shape == (3, 3)
    assert groups.label_names == ("subject", "year")
    assert (groups.codes("subject").tolist(), groups.keys("subject")) == ([0, 0, 2], ["a", "b", "c"])
    assert (groups.codes("year").tolist(), groups.keys("year")) == ([0, 0, -1], [2001, 2000])
    assert repr(groups) == "<Groups: 3 customers, values float64 3x3, labels: subject (3), year (2)>"
    assert Groups.from_arrays(np.zeros((2, 4))).codes("group").tolist() == [0] * 4 + [1] * 4
    assert Groups.from_arrays([[1], [2]], names=[1999, 2001]).keys("group") == [1999, 2001]


def test_values_keep_their_types():
    assert Groups.from_arrays([[], [1, 2]]).values.dtype.kind == "i", "an empty array decides no type"
    assert Groups.from_labels(["a", "b"], {}).values.dtype.kind == "U"
    assert Groups.from_labels(["a", 1], {}).values.tolist() == ["a", 1]
    assert Groups.from_labels([[1, 2], [3]], {}).values.tolist() == [[1, 2], [3]]
    assert Groups.from_labels([("a", 1), ("b", 2)], {}).values.tolist() == [("a", 1), ("b", 2)]
    assert Groups.from_labels([("a", "b"), ("b", "c")], {}).values.shape == (2, 2)
    vectors = np.arange(6.0).reshape(3, 2)
    for array in (vectors, vectors.tolist(), [tuple(row) for row in vectors], vectors.astype(np.float32)):
        kept = Groups.from_labels(array, {"author": [1, 1, 2]}).values
        assert kept.shape == (3, 2)
        assert kept.dtype.kind == "f"
        assert kept.tolist() == vectors.tolist()
    assert Groups.from_labels(np.eye(3, dtype=bool), {}).values.dtype == bool
    assert Groups.from_arrays([["a", 1], ["b"]]).values.tolist() == ["a", 1, "b"]
    thing = object()
    assert Groups.from_labels([thing], {}).values[0] is thing


def test_the_callers_arrays_are_left_alone():
    values, labels = np.arange(3.0), np.array([3, 1, 3])
    groups = Groups.from_labels(values, {"author": labels})
    values[0] = labels[0] = 7
    assert groups.values[0] == 0.0
    assert groups.keys("author") == [3, 1]
    ids = np.array([0, 1], np.int32)
    corpus = Corpus.from_documents([ids])
    simulated = corpus.with_values(ids)
    ids[0] = 1
    assert corpus.terms.tolist() == simulated.terms.tolist() == [0, 1]
    del groups.labels["author"]
    groups.keys("author").clear()
    assert groups.keys("author") == [3, 1], "labels and keys are handed out as copies"


def test_every_kind_of_missing_label():
    values = ["x", None, math.nan, float("nan"), np.float32("nan"), NAT, NAType(), "", "nan", -1, ("t", 1)]
    groups = Groups.from_labels(np.zeros(len(values)), {"a": values})
    assert groups.codes("a").tolist() == [0, -1, -1, -1, -1, -1, -1, 1, 2, 3, 4]
    assert groups.keys("a") == ["x", "", "nan", -1, ("t", 1)]


DENSE = np.array([[2, 0, 1, 0], [0, 3, 0, 0], [1, 1, 0, 2]])
PARTS = {
    "csr": ("indptr", "indices", "data"), "csc": ("indptr", "indices", "data"), "dia": ("data",),
    "bsr": ("indptr", "indices", "data"), "coo": ("row", "col", "data"),
}  # fmt: skip


def with_first(value):
    def change(part):
        part = part.astype(float) if value == 0.5 else part.copy()
        part.flat[0] = value
        return part

    return change


OF_ANY = {
    "cut off": lambda part: part[:-1],
    "masked": lambda part: np.ma.masked_array(part, np.arange(part.size).reshape(part.shape) == 0),
    "nothing": lambda part: None,
    "negative": with_first(-5),
    "strings": lambda part: part.astype("S8"),
}
OF_PLACES = {
    **OF_ANY,
    "floats": lambda part: part.astype(float),
    "far away": with_first(10**6),
    "another axis": lambda part: part[None],
}
LISTS = {
    "row beyond": lambda matrix: matrix.rows.__setitem__(0, [0, 9]),
    "row of no list": lambda matrix: matrix.rows.__setitem__(0, (0, 2)),
    "values of no list": lambda matrix: matrix.data.__setitem__(1, None),
    "a row less": lambda matrix: setattr(matrix, "rows", matrix.rows[:-1]),
}
KEYS = [(-1, 0), (0, 2**40), (0,), "ab", (0.5, 1), None]


def damages():
    """Formats, and changes in place that SciPy doesn't notice."""
    for form, parts in PARTS.items():
        for part in parts:
            for name, change in (OF_ANY if part == "data" else OF_PLACES).items():
                yield pytest.param(form, (part, change), id=f"{form} {part}, {name}")
        for shape in ((3,), (-3, 4), (2**62, 4), None):
            yield pytest.param(form, ("_shape", lambda _, shape=shape: shape), id=f"{form} {shape}")
    for name, change in LISTS.items():
        yield pytest.param("lil", (None, change), id=name)
    for key in KEYS:
        yield pytest.param("dok", (None, lambda matrix, key=key: matrix._dict.update({key: 1})), id=f"{key}")


def damaged(form, part, change):
    matrix = sp.csr_array(DENSE).asformat(form)
    if part is None:
        change(matrix)
    elif form == "coo" and part in ("row", "col"):
        axis = part == "col"
        matrix.coords = tuple(
            change(one) if place == axis else one for place, one in enumerate(matrix.coords)
        )
    else:
        setattr(matrix, part, change(getattr(matrix, part)))
    return matrix


@pytest.fixture(scope="module")
def doors():
    """Whatever takes counts."""
    options = {"purpose": "prediction", "sweeps": 4, "samples": 2, "transform_sweeps": 2, "random_state": 0}
    models = {
        "plain": hk.TopicModel(**options),
        "gibbs": hk.TopicModel(**options, transform_method="gibbs"),
        "joint": hk.TopicModel(**options, score_method="joint"),
    }
    plain, gibbs, joint = (model.fit(DENSE) for model in models.values())
    topics = np.vstack([plain.components_, np.full(4, 1 / 4)])
    prior = np.ones(len(topics))
    agreed = plain.aligned_.selected(plain.aligned_.agreed(occurrence=0.0, chains=0.0))
    return {
        "corpus": Corpus.from_counts,
        "fit": hk.TopicModel(**options).fit,
        "sparse fit": hk.TopicModel(sparse=True, **options).fit,
        "more": hk.TopicModel(**options).fit(DENSE).partial_fit,
        "shares": plain.transform,
        "shares by Gibbs": gibbs.transform,
        "score": plain.score,
        "joint score": joint.score,
        "held out": lambda matrix: plain.perplexity(DENSE, matrix),
        "completion": lambda matrix: completion_perplexity(topics, prior, matrix, DENSE),
        "completed": lambda matrix: completion_perplexity(topics, prior, DENSE, matrix),
        "consensus": lambda matrix: agreed.perplexity(matrix, DENSE),
    }


@pytest.mark.parametrize(("form", "damage"), list(damages()))
def test_sparse_matrices_are_checked_before_scipy_uses_them(form, damage, doors, tmp_path):
    for door in doors.values():
        with pytest.raises(HdpkitError):
            door(damaged(form, *damage))
    with pytest.raises(HdpkitError):
        hk.ShardedCorpus.from_counts([DENSE, damaged(form, *damage)], tmp_path / "shards", 2)


@pytest.mark.parametrize("form", [*PARTS, "lil", "dok"])
def test_sparse_matrices_of_every_format_have_their_counts(form, doors):
    for make in (sp.csr_array, sp.csr_matrix):
        matrix = make(DENSE).asformat(form)
        assert np.array_equal(Corpus.from_counts(matrix).to_counts().toarray(), DENSE)
        assert np.array_equal(doors["fit"](matrix).franchise_.data.to_counts().toarray(), DENSE)


def test_an_error_says_what_is_wrong_with_a_sparse_matrix():
    matrix = sp.csr_array([[1, 0, 2], [0, 3, 0]])
    matrix.indptr[1] = 7
    with pytest.raises(DataError, match="indptr has 7, which is not from 0 to 3"):
        Corpus.from_counts(matrix)
    matrix.indptr[1] = 2
    matrix.indices[0] = -1
    with pytest.raises(DataError, match="indices has -1"):
        Corpus.from_counts(matrix)


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 25))
def test_the_largest_entries_are_those_of_a_stable_sort(row, n):
    assert largest(np.array(row), n).tolist() == np.argsort(-np.array(row), kind="stable")[:n].tolist()


COUNTS = np.array([[400, 300, 200, 100], [3, 0, 2, 1], [0, 60, 0, 60]])


def corpus():
    return hk.Corpus.from_counts(
        COUNTS, vocabulary=list("abcd"), names=["x", "y", "z"], groups={"type": ["p", None, "q"]}
    )


def test_large_documents_have_as_many_tokens_as_are_asked_for():
    full = corpus()
    fewer = hk.downsample(full, 100, rng=1)
    assert fewer.document_lengths.tolist() == [100, 6, 100]
    counts = fewer.to_counts().toarray()
    assert (counts <= COUNTS).all()
    assert np.array_equal(counts[1], COUNTS[1])
    assert (fewer.names, fewer.vocabulary) == (full.names, full.vocabulary)
    codes, keys = fewer.document_labels["type"]
    assert (codes.tolist(), list(keys)) == ([0, -1, 1], ["p", "q"])
    assert fewer.cells is not None
    assert np.array_equal(hk.downsample(full, 100, rng=1).to_counts().toarray(), counts)
    assert not np.array_equal(hk.downsample(full, 100, rng=2).to_counts().toarray(), counts)
    assert hk.downsample(full, 1000) is full


def test_it_is_hypergeometric():
    full = hk.Corpus.from_counts([[7, 3, 5]])
    drawn = np.array([hk.downsample(full, 6, rng=seed).to_counts().toarray()[0, 0] for seed in range(600)])
    law = scipy.stats.hypergeom(15, 7, 6).pmf(np.arange(7))
    seen = np.bincount(drawn, minlength=7)
    there = law * len(drawn) > 5
    expected = law[there] * seen[there].sum() / law[there].sum()
    assert scipy.stats.chisquare(seen[there], expected).pvalue > 1e-4


def test_more_than_can_be_drawn_from():
    with pytest.raises(DataError, match="document 0"):
        hk.downsample(hk.Corpus.from_counts([[10**9, 5]]), 100)
