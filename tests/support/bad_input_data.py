"""The rows of the data classes in the table of bad input (see `bad_input_rows`)."""

import os
import tempfile

import numpy as np
import scipy.sparse as sp
from bad_values import HUGE, INF, NAN, Row, Told, corpus, optional, whole

import hdpkit as hk


def plain(function, **good):
    return lambda franchise: (function, good)


FOLDER = tempfile.TemporaryDirectory()


def file(content):
    """Path of a file with this content."""
    handle, path = tempfile.mkstemp(dir=FOLDER.name)
    with os.fdopen(handle, "wb") as opened:
        opened.write(content)
    return path


NO_NAMES = [5, "ab", {"a": 1}, {"a", "b"}, Told(["a"], "1 names"), ["a", "a", "b"], ["a", None, "b"],
            ["a", 1, "b"],
            ["a", NAN, "b"], Told(np.array([["a", "b", "c"]]), "array of shape (1, 3)")]  # fmt: skip
NO_VOCABULARY = [5, "ab", {"a": 1, "b": 2, "c": 3}, {"a", "b", "c"}, Told(["a", "b"], "2 terms"),
                 ["a", "a", "b"], ["a", None, "b"], [1, 2, 3],
                 ["a", NAN, "b"], Told([], "0 terms")]  # fmt: skip
NO_GROUPS = [
    5, "author", ["author"], {5: ["x", "y", "z"]}, {"": ["x", "y", "z"]}, {None: ["x", "y", "z"]},
    Told({"author": ["x"]}, "1 values"), {"author": 5}, {"author": "xyz"}, {"author": {"x", "y", "z"}},
    {"author": [["x"], "y", "z"]}, Told({"author": np.zeros((3, 2))}, "array of shape (3, 2)"),
    {"document": ["x", "y", "z"]},
]  # fmt: skip
DOCS = [
    None, 5, "text", b"text", {}, {0, 1}, Told([], "no documents"), Told([[]], "without a token"),
    Told(np.array(5), "array of shape ()"), [[0, 1], "text"], [[0, 1], None], [[0, 1], 5], [[0, 1], {0: 1}],
    [[NAN]], [[INF]], [[0, -1]], [[0, 3]], [[0, 2**31]], Told([[0, 2**63]], "position 1 = 9.22"), [[0, HUGE]],
    [[0.5]], [[True, 2]], [[0, None]], [[0, "a"]], [["a", 0]], [["a"], [0]], [[[0, 1], [1]]], [[1j]],
    [[b"a"]], Told(np.zeros((2, 2, 2)), "array of shape (2, 2)"), [np.array([0, None], object)],
    [np.ma.MaskedArray([0, 1], [True, False])],
]  # fmt: skip
COUNTS = [
    *[Told(value, "an array of shape ()") for value in (5, "text", {}, NAN)],
    Told(None, "an array of shape ()"), Told([], "an array of shape (0,)"),
    Told([1, 2], "an array of shape (2,)"), Told([[[1]]], "an array of shape (1, 1, 1)"),
    Told([[]], "without a token"), Told([[0, 0, 0]], "without a token"),
    Told([[1, 2], [1]], "rows of different lengths"), [[1, -1, 0]], [[1, 0.5, 0]], [[1, NAN, 0]],
    [[1, INF, 0]], [[1, 2**31, 0]], Told([[1, 2**63, 0]], "term 1] = 9.22"),
    Told([[1, None, 0]], "term 1] = nan"), Told([["1", "2", "3"]], "type <U1"),
    Told(np.array([[1, "2", 0]], object), "array of objects"),
    Told(np.array([[1j, 0, 0]]), "type complex128"),
    Told([[2**31 - 1, 2**31 - 1, 2**31 - 1]], str(3 * (2**31 - 1))),
    Told(sp.csr_array(np.array([[1.0, -1.0, 0.0]])), "-1.0"),
    Told(sp.csr_array(np.array([[1.0, NAN, 0.0]])), "nan"),
    Told(np.ma.MaskedArray([[1, 2, 3]], [[True, False, False]]), "masked"),
]  # fmt: skip
TERMS = [
    *[
        Told(value, "array of shape")
        for value in (None, 5, "text", [], {}, [0, 1], [[0, 1]], ["a"] * 7, [[0], [1, 2]])
    ],
    [0, 1, 2, 0, 1, 2, 3],
    [0, 1, 2, 0, 1, 2, -1],
    [0, 1, 2, 0, 1, 2, 0.5],
    [0, 1, 2, 0, 1, 2, NAN],
    [0, 1, 2, 0, 1, 2, INF],
    Told([0, 1, 2, 0, 1, 2, 2**63], "position 1 = 9.22"),
    Told([0, 1, 2, 0, 1, 2, HUGE], "object array"),
    Told([0, 1, 2, 0, 1, 2, None], "object array"),
    Told([True] * 7, "bool array"),
]
LDAC = [
    (b"", "an empty file"), (b"0\n0\n", "without a token"), (b"\n", "line 1"),
    (b"1 0:1\n\n1 0:1\n", "line 2"), (b"2 0:1\n", "N = 2"), (b"1 0:-1\n", "line 1"), (b"1 -1:1\n", "line 1"),
    (b"1 0:0.5\n", "line 1"), (b"1 0:nan\n", "line 1"), (b"1 3:1\n", "line 1, id"),
    (b"1 0:4294967296\n", "line 1, count"), (b"1 0:99999999999999999999\n", "line 1"),
    (b"1 0:2147483647\n1 0:2147483647\n", "number of tokens"), (b"one 0:1\n", "line 1"),
    (b"1 \xff:1\n", "line 1"), (b"\x1f\x8bno gzip", "gzip"),
]  # fmt: skip


UCI = [
    (b"", "an empty file"), (b"3\n3\n", "lines 1 to 3"), (b"3\n3\n1\n1 1 0\n", "without a token"),
    (b"3\n3\n2\n1 1 1\n", "line 3"), (b"3\n3\n1\n4 1 1\n", "line 4, document"),
    (b"3\n3\n1\n1 4 1\n", "line 4, term"), (b"3\n3\n1\n1 1 -1\n", "line 4"),
    (b"3\n3\n1\n1 1 nan\n", "line 4"), (b"3\n3\n2\n2 1 1\n1 1 1\n", "line 5, document"),
    (b"\x1f\x8bno gzip", "gzip"),
]  # fmt: skip
NO_FILE = [None, 5, 0, True, {}, ["a"], b"a"]
NO_FOLDER = [None, 5, NAN, True, "", {}, ["a"], b"a", "a\0b"]
NO_VOCABULARY_OR_FILE = [
    *(value for value in NO_VOCABULARY if value != "ab"), Told(file(b"a\n\nc\n"), "line 2"),
    Told(file(b"a\na\nc\n"), "term 1"), Told(file(b"a\n\xff\nc\n"), "valid UTF-8"),
    Told(file(b"a\nb\n"), "2 terms"),
]  # fmt: skip


def new_folder():
    return os.path.join(tempfile.mkdtemp(dir=FOLDER.name), "folder")


def saved():
    folder = new_folder()
    corpus().save(folder)
    return folder


def sharded():
    return hk.ShardedCorpus.write(corpus(), new_folder(), 2)


def groups():
    return hk.Groups.from_arrays([[0.5, 1.0], [2.0]])


def sequences():
    """Two sequences, with a missing observation."""
    return hk.Sequences.from_arrays([[0.5, None], [2.0]])


LABELS = [None, 5, "nobody", "", ["document"], NAN, {}]

NO_LIMITS = [5, "16", {"max_terms": 5}, hk.Limits]

DATA = {
    "Limits": Row(
        plain(hk.Limits),
        {
            "max_terms": whole(1, 2**31 - 1),
            "max_documents": whole(1, 2**31 - 1),
            "max_tokens": optional(whole(1, 2**31 - 1)),
        },
    ),
    "Corpus.from_documents": Row(
        plain(hk.Corpus.from_documents, docs=[[0, 0, 1], [1, 2], []], n_terms=3),
        {
            "docs": DOCS,
            "n_terms": [*optional(whole(1, 2**31 - 1)), Told(2, "2")],
        },
    ),
    "Corpus.from_counts": Row(
        plain(hk.Corpus.from_counts, X=[[2, 1, 0], [0, 1, 1], [0, 0, 0]]),
        {"X": COUNTS, },
    ),
    "Corpus.plus": Row(
        plain(corpus().plus, more=corpus()),
        {"more": [None, 5, "ab", [[0, 1]], {}, hk.Corpus, hk.Corpus.from_documents([[0]], n_terms=7)]},
    ),
    "downsample": Row(
        plain(hk.downsample, corpus=corpus(), max_per_group=1, rng=0),
        {"corpus": [None, 5, "ab", [[0, 1]], {}, hk.Corpus], "max_per_group": whole(1, 2**31 - 1)},
    ),
    "Corpus.from_ldac": Row(
        plain(hk.Corpus.from_ldac, path=file(b"2 0:2 1:1\n2 1:1 2:1\n0\n"), n_terms=3),
        {
            "path": [*NO_FILE, *(Told(file(content), told) for content, told in LDAC)],
            "vocabulary": NO_VOCABULARY_OR_FILE,
            "n_terms": [*optional(whole(1, 2**31 - 1)), Told(2, "line 2")],
        },
    ),
    "Corpus.from_uci": Row(
        plain(hk.Corpus.from_uci, path=file(b"3\n3\n4\n1 1 2\n1 2 1\n2 2 1\n2 3 1\n")),
        {
            "path": [*NO_FILE, *(Told(file(content), told) for content, told in UCI)],
            "vocabulary": NO_VOCABULARY_OR_FILE,
        },
    ),
    "Corpus.convert": Row(
        lambda franchise: (
            hk.Corpus.convert,
            {"path": file(b"2 0:2 1:1\n2 1:1 2:1\n0\n"), "folder": new_folder(), "format": "ldac"},
        ),
        {
            "path": [
                *NO_FILE,
                *(Told(file(content), told) for content, told in LDAC if told != "line 1, id"),
            ],
            "folder": [*NO_FOLDER, Told(FOLDER.name, FOLDER.name[:10])],
            "format": [None, 5, "", "text", ["ldac"], b"ldac"],
            "vocabulary": [
                value
                for value in NO_VOCABULARY_OR_FILE
                if not (
                    isinstance(value, Told) and value.told == "2 terms"
                )  # fewer words than the largest id
            ],
        },
    ),
    "Corpus.save": Row(
        lambda franchise: (corpus().save, {"folder": new_folder()}),
        {"folder": [*NO_FOLDER, Told(FOLDER.name, FOLDER.name[:10])]},
    ),
    "Corpus.open": Row(
        lambda franchise: (hk.Corpus.open, {"folder": saved(), "verify": True}),
        {"folder": [*NO_FOLDER, Told(FOLDER.name, "No such file")]},
    ),
    "ShardedCorpus.open": Row(
        lambda franchise: (hk.ShardedCorpus.open, {"folder": sharded().folder}),
        {"folder": [*NO_FOLDER, Told(FOLDER.name, "No such file")]},
    ),
    "ShardedCorpus.is_present": Row(
        lambda franchise: (sharded().is_present, {"number": 1}), {"number": whole(0, 1)}
    ),
    "ShardedCorpus.shard": Row(
        lambda franchise: (sharded().shard, {"number": 1, "verify": True}), {"number": whole(0, 1)}
    ),
    "ShardedCorpus.verify": Row(lambda franchise: (sharded().verify, {"number": 1}), {"number": whole(0, 1)}),
    "ShardedCorpus.write": Row(
        lambda franchise: (hk.ShardedCorpus.write, {"corpus": corpus(), "folder": new_folder(), "shards": 2}),
        {
            "corpus": [None, 5, "ab", [[0, 1]], {}, hk.Corpus],
            "folder": [*NO_FOLDER, Told(FOLDER.name, FOLDER.name[:10])],
            "shards": [*whole(1), 4],
        },
    ),
    "ShardedCorpus.from_counts": Row(
        lambda franchise: (
            hk.ShardedCorpus.from_counts,
            {"blocks": [[[2, 1, 0], [0, 1, 1]], [[0, 0, 0]]], "folder": new_folder(), "shards": 2},
        ),
        {
            "blocks": [
                *(None, 5, "text", b"text", {}), Told(sp.csr_array((2, 3)), "an iterable of matrices"),
                Told([], "without a token"), Told([[[0, 0, 0]]], "without a token"),
                Told([[[1, 0, 0]], [[1, 0]]], "2 terms"), Told([[[1, 0, 0]], 5], "block 1"),
                Told([[[1, -1, 0]]], "-1"), Told([[[1, 0.5, 0]]], "0.5"),
            ],
            "folder": [*NO_FOLDER, Told(FOLDER.name, FOLDER.name[:10])],
            "shards": [*whole(1), 3],
        },
    ),
    "Corpus.term": Row(plain(corpus().term, v=0), {"v": whole(0, 2)}),
    "Corpus.document_of": Row(plain(corpus().document_of, customer=0), {"customer": whole(0, 6)}),
    "Corpus.document_customers": Row(
        plain(corpus().document_customers, d=0), {"d": whole(0, 2)}
    ),
    "Corpus.with_values": Row(
        plain(corpus().with_values, values=[0, 1, 2, 0, 1, 2, 0]),
        {"values": TERMS},
    ),
    "Corpus.codes": Row(plain(corpus().codes, name="document"), {"name": LABELS}),
    "Corpus.codes_between": Row(
        plain(corpus().codes_between, name="document", first=2, last=7),
        {"name": LABELS, "first": whole(0, 7), "last": whole(2, 7)},
    ),
    "Groups.codes_between": Row(
        plain(groups().codes_between, name="group", first=1, last=3),
        {"name": LABELS, "first": whole(0, 3), "last": whole(1, 3)},
    ),
    "Corpus.keys": Row(plain(corpus().keys, name="document"), {"name": LABELS}),
    "Corpus.key_view": Row(
        plain(corpus().key_view, name="document"), {"name": LABELS}
    ),
    "Groups.numbers": Row(plain(groups().numbers, name="group"), {"name": LABELS}),
    "Corpus.numbers": Row(
        plain(corpus().numbers, name="document"), {"name": LABELS}
    ),
    "Groups.from_arrays": Row(
        plain(hk.Groups.from_arrays, arrays=[[0.5], [1.0, 2.0], []], names=["a", "b", "c"], label="group"),
        {
            "arrays": [
                None, 5, "ab", b"ab", {}, {0, 1}, [], Told([[]], "1 empty arrays"), [[1.0], 5], [[1.0], None],
                [[1.0], "ab"], Told([[1.0], [[1.0, 2.0]]], "shape (2,)"), Told([[1.0], ["a"]], "type <U1"),
                Told(np.array(5.0), "array of shape ()"),
            ],
            "names": [value for value in NO_NAMES if value != ["a", 1, "b"]],
            "groups": [*NO_GROUPS[:-1], {"group": ["x", "y", "z"]}],
            "label": [None, 5, "", b"group", ["group"]],
        },
    ),
    "Sequences.from_arrays": Row(
        plain(
            hk.Sequences.from_arrays,
            arrays=[[0], [1, None, 2], []],
            n_terms=3,
            names=["a", "b", "c"],
            vocabulary=["x", "y", "z"],
            label="sequence",
        ),
        {
            "arrays": [
                None, 5, "ab", b"ab", {}, {0, 1}, [], Told([[]], "missing observations"),
                Told([[None]], "missing observations"), [[1], 5], [[1], "ab"],
                Told([[1], [[1, 2]]], "shape (2,)"), Told([[0, 3]], "3"), Told([[0.5]], "0.5"),
            ],
            "n_terms": optional(whole(1)),
            "names": [value for value in NO_NAMES if value not in (["a", 1, "b"], None)],
            "groups": [*NO_GROUPS[:-1], {"sequence": ["x", "y", "z"]}],
            "label": [None, 5, "", b"sequence", ["sequence"]],
        },
    ),
    "Sequences.with_values": Row(
        plain(sequences().with_values, values=[1.0, 2.0, 3.0]),
        {"values": [None, 5, "abc", {}, Told([], "0 values"), Told([1.0, 2.0], "2 values"), {1, 2, 3}]},
    ),
    "Groups.from_labels": Row(
        plain(hk.Groups.from_labels, values=[0.5, 1.0, 2.0], labels={"g": ["x", "y", "y"]}),
        {"values": [None, 5, "abc", {}, [], {1, 2}], "labels": NO_GROUPS[:-1]},
    ),
    "Groups.plus": Row(
        plain(groups().plus, more=groups()),
        {
            "more": [
                None, 5, "ab", [[0, 1]], {}, hk.Groups,
                Told(hk.Groups.from_labels(np.zeros((2, 3))), "values of shape (3,)"),
            ]
        },
    ),
    "Groups.with_values": Row(
        plain(groups().with_values, values=[1.0, 2.0, 3.0]),
        {"values": [None, 5, "abc", {}, Told([], "0 values"), Told([1.0, 2.0], "2 values"), {1, 2, 3}]},
    ),
}  # fmt: skip
