"""Corpora in shards: written and read again, one shard or all; errors about damage name the shard."""

import json
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_corpus_folders import same

import hdpkit as hk
from hdpkit.errors import DataError, ParameterError, ShardError
from hdpkit.files import sealed_text

COUNTS = np.array([[1, 2, 0, 0], [0, 0, 0, 0], [0, 3, 0, 1], [5, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
WORDS = ("ship", "salt", "été", "x\ny")
NAMES = ["a", "b", "c", "été", "e", "f"]
GROUPS = {"author": ["A", None, "B", "A", "C", "B"], "year": [1991, 1992, 1991, 1990, 1992, 1990]}


def of_counts(**options):
    return hk.Corpus.from_counts(
        COUNTS, **({"vocabulary": WORDS, "names": NAMES, "groups": GROUPS} | options)
    )


def of_tokens(**options):
    docs = [np.repeat(range(4), row)[::-1].tolist() for row in COUNTS]
    full = {"vocabulary": WORDS, "names": NAMES, "groups": GROUPS} | options
    return hk.Corpus.from_documents(docs, n_terms=4, **full)


MADE = {
    "cells": of_counts,
    "tokens": of_tokens,
    "bare cells": lambda: of_counts(vocabulary=None, names=None, groups=None),
    "bare tokens": lambda: of_tokens(vocabulary=None, names=None, groups=None),
}


def check_together(sharded, corpus):
    """Shards one after another are the corpus."""
    parts = [sharded.shard(number) for number in range(sharded.n_shards)]
    assert np.array_equal(np.concatenate([part.values for part in parts]), corpus.values)
    lengths = np.concatenate([part.document_lengths for part in parts])
    assert lengths.tolist() == corpus.document_lengths.tolist()
    for name in ("n_documents", "n_tokens", "n_terms", "vocabulary", "label_names"):
        assert getattr(sharded, name) == getattr(corpus, name), name
    assert sharded.kind == ("tokens" if corpus.cells is None else "cells")
    assert sharded.n_cells == (None if corpus.cells is None else len(corpus.cells.term))
    documents = tokens = 0
    for info, part in zip(sharded.shards, parts, strict=True):
        assert (info.first_document, info.first_token) == (documents, tokens)
        assert (info.n_documents, info.n_tokens) == (part.n_documents, part.n_tokens)
        own = slice(documents, documents + part.n_documents)
        assert part.n_tokens > 0
        assert part.names == (None if corpus.names is None else corpus.names[own])
        assert (part.n_terms, part.vocabulary) == (corpus.n_terms, corpus.vocabulary)
        for name in corpus.label_names[1:]:
            assert part.document_labels[name][0].tolist() == corpus.document_labels[name][0][own].tolist()
            assert part.keys(name) == corpus.keys(name)
        if corpus.cells is None:
            assert part.cells is None
            assert info.n_cells is None
            assert part.numbers("document").tolist() == (part.document + 1).tolist()
        else:
            first, last = corpus.cells.begin[documents], corpus.cells.begin[own.stop]
            assert info.n_cells == last - first
            assert part.cells.n_customers == part.n_tokens
            for name in ("term", "count"):
                assert np.array_equal(getattr(part.cells, name), getattr(corpus.cells, name)[first:last])
            assert np.array_equal(part.cells.begin, corpus.cells.begin[documents : own.stop + 1] - first)
        documents, tokens = documents + part.n_documents, tokens + part.n_tokens
    same(sharded.corpus(), corpus)
    for name in () if corpus.cells is None else ("begin", "term", "count"):
        assert np.array_equal(getattr(sharded.corpus().cells, name), getattr(corpus.cells, name))


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("made", MADE)
def test_shards_together_are_the_corpus(tmp_path, made, shards):
    sharded = hk.ShardedCorpus.write(MADE[made](), tmp_path / "shards", shards)
    assert sharded.n_shards == shards
    check_together(sharded, MADE[made]())
    check_together(hk.ShardedCorpus.open(str(tmp_path / "shards")), MADE[made]())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shards"]


@given(
    rows=st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12),
    cut=st.lists(st.integers(0, 12), max_size=3),
    shards=st.integers(1, 6),
)
@settings(max_examples=40, deadline=None)
def test_blocks_of_any_size_make_the_shards_of_the_corpus(tmp_path_factory, rows, cut, shards):
    """However counts are cut into blocks, the shards are byte for byte those of the corpus."""
    counts, folder = np.array(rows), tmp_path_factory.mktemp("shards")
    filled = int((counts.sum(axis=1) > 0).sum())
    blocks = np.split(counts, sorted(min(place, len(rows)) for place in cut))
    if shards > filled:
        with pytest.raises((ParameterError, DataError), match=r"shards|without a token"):
            hk.ShardedCorpus.from_counts(blocks, folder / "a", shards)
        assert not any(folder.iterdir())
        return
    sharded = hk.ShardedCorpus.from_counts(iter(blocks), folder / "a", shards)
    corpus = hk.Corpus.from_counts(counts)
    check_together(sharded, corpus)
    assert sharded.digest == hk.ShardedCorpus.write(corpus, folder / "b", shards).digest


@pytest.mark.parametrize("made", ["cells", "tokens"])
def test_shards_are_mapped_and_go_to_other_processes_by_name(tmp_path, made):
    sharded = hk.ShardedCorpus.write(MADE[made](), tmp_path / "shards", 2)
    shard = sharded.shard(1)
    arrays = [shard.values] if made == "tokens" else [shard.cells.term, shard.cells.count, shard.cells.begin]
    for array in arrays:
        assert isinstance(array.base, np.memmap)
        assert not array.flags.writeable
    assert shard.origin == (sharded.folder / "shard-0001", sharded.digest)
    packed = pickle.dumps(shard)
    assert len(packed) < 1000
    same(pickle.loads(packed), shard)
    same(hk.Corpus.open(sharded.folder / "shard-0001"), shard)
    other = pickle.loads(pickle.dumps(sharded))
    assert (other.folder, other.digest, other.shards) == (sharded.folder, sharded.digest, sharded.shards)
    shutil.rmtree(tmp_path / "shards")
    hk.ShardedCorpus.write(MADE["bare " + made](), tmp_path / "shards", 2)
    with pytest.raises(DataError, match="another corpus"):
        pickle.loads(packed)
    with pytest.raises(DataError, match="another corpus"):
        pickle.loads(pickle.dumps(sharded))
    with pytest.raises(DataError, match="one of the 2 shards"):
        hk.Corpus.open(tmp_path / "shards" / "shard-0002")


def refused(folder, name, change, told):
    """A change of a file of shard 1 is told, verified or not, where `told` (None: only if verified)."""
    path = folder / "shard-0001" / name
    content = path.read_bytes()
    path.write_bytes(change(content))
    sharded = hk.ShardedCorpus.open(folder)
    try:
        for verify in (True, False) if told else (True,):
            with pytest.raises(ShardError, match=name) as caught:
                sharded.shard(1, verify)
            assert caught.value.shard == 1
            assert "shard 1, file " in caught.value.parameter
            if told and not verify:
                assert told in str(caught.value)
        with pytest.raises(ShardError, match=name):
            sharded.verify(1)
        sharded.shard(0)
    finally:
        path.write_bytes(content)


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :]


FILES = {
    "cells": ["begin.npy", "term.npy", "count.npy"],
    "tokens": ["terms.npy", "document.npy", "lengths.npy"],
}


@pytest.mark.parametrize("made", FILES)
def test_damaged_files_are_refused(tmp_path, made):
    folder = hk.ShardedCorpus.write(MADE[made](), tmp_path / "shards", 2).folder
    for name in [*FILES[made], "label-0.npy", "label-1.npy"]:
        length = (folder / "shard-0001" / name).stat().st_size
        for cut in (0, 5, 64, 128, length - 1):
            refused(folder, name, lambda content, cut=cut: content[:cut], "must be")
        refused(folder, name, lambda content: content + b"x", "bytes")
        for place in range(0, length, 11):
            refused(folder, name, lambda content, place=place: flipped(content, place), None)
        wrong = b"\xff\xff\xff\x7f" if made == "tokens" or name != "begin.npy" else b"\xff" * 8
        refused(folder, name, lambda content, wrong=wrong: content[: -len(wrong)] + wrong, "numbers")
    for change in (b"", b"[]", b'["a"]', b'["f", "f", "f"]', b"\xff"):
        refused(folder, "names.json", lambda content, change=change: change, "must be")
    (folder / "shard-0001" / FILES[made][1]).unlink()
    with pytest.raises(ShardError, match=r"shard 1, file .*No such file"):
        hk.ShardedCorpus.open(folder).shard(1)


def rewritten(folder, change):
    """The manifest with another value somewhere, and a checksum that fits."""
    path = folder / "manifest.json"
    head = json.loads(path.read_text(encoding="utf-8"))
    del head["checksum"]
    change(head)
    path.write_bytes(sealed_text(head))


CHANGES = [
    ({"format": "another"}, "manifest of a corpus in shards"), ({"version": 2}, "version"),
    ({"version": "1"}, "version"), ({"version": True}, "version"),
    ({"kind": "both"}, "kind"), ({"n_terms": 0}, "n_terms"), ({"n_terms": 3}, "vocabulary"),
    ({"n_terms": 2.0}, "n_terms"), ({"n_documents": 7}, "n_documents"), ({"n_tokens": 1}, "n_tokens"),
    ({"n_cells": None}, "n_cells"), ({"vocabulary": ["a"] * 4}, "twice"), ({"vocabulary": "abcd"}, "strings"),
    ({"names": "yes"}, "keys"), ({"names": False}, "files"), ({"labels": 5}, "labels"),
    ({"labels": [["document", [1]]]}, "labels"), ({"labels": [["a", [[1]]], ["b", [1]]]}, "labels"),
    ({"labels": [["a", [1]], ["a", [1]]]}, "labels"), ({"labels": []}, "files"),
    ({"shards": []}, "shards"), ({"shards": [5]}, "shards"), ({"shards": [{}]}, "keys"),
    ({"more": 1}, "keys"),
]  # fmt: skip
SHARD_CHANGES = [
    ({"first_document": 1}, "first_document"), ({"n_documents": 0}, "n_documents"),
    ({"n_tokens": 2**31}, "n_tokens"), ({"n_tokens": True}, "n_tokens"), ({"n_cells": None}, "n_cells"),
    ({"n_cells": 99}, "n_cells"), ({"sha256": None}, "keys"), ({"sha256": {"term.npy": 5}}, "checksums"),
    ({"sha256": {"../term.npy": "0"}}, "files"), ({"more": 1}, "keys"),
]  # fmt: skip


def test_manifests_that_contradict_themselves_are_refused(tmp_path):
    folder = hk.ShardedCorpus.write(of_counts(), tmp_path / "shards", 2).folder
    path = folder / "manifest.json"
    content = path.read_bytes()
    for changes, place in ((CHANGES, lambda head: head), (SHARD_CHANGES, lambda head: head["shards"][0])):
        for change, told in changes:
            rewritten(folder, lambda head, place=place, change=change: place(head).update(change))
            with pytest.raises(DataError, match=told) as caught:
                hk.ShardedCorpus.open(folder)
            assert str(path) in caught.value.parameter
            path.write_bytes(content)
    rewritten(folder, lambda head: None)
    hk.ShardedCorpus.open(folder)


def test_damaged_manifests_are_refused(tmp_path):
    folder = hk.ShardedCorpus.write(of_counts(), tmp_path / "shards", 2).folder
    path = folder / "manifest.json"
    content = path.read_bytes()
    for wrong in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, content.replace(b'"ship"', b'"shop"')):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match=r"manifest\.json"):
            hk.ShardedCorpus.open(folder)
    path.unlink()
    with pytest.raises(DataError, match="hdpkit convert"):
        hk.ShardedCorpus.open(folder)
    path.mkdir()
    with pytest.raises(DataError, match="no regular file"):
        hk.ShardedCorpus.open(folder)


def test_folders_that_hold_something_are_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("precious")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("nowhere")
    for place in ("mine", "file", "link"):
        with pytest.raises(ParameterError, match="new or empty"):
            hk.ShardedCorpus.write(of_counts(), tmp_path / place, 2)
    (tmp_path / "empty").mkdir()
    hk.ShardedCorpus.write(of_counts(), tmp_path / "empty", 2).shard(1)
    with pytest.raises(DataError, match="author"):
        hk.ShardedCorpus.write(of_counts(groups={"author": [("A", 1)] * 6}), tmp_path / "new", 2)
    with pytest.raises(ParameterError, match="at most 4"):
        hk.ShardedCorpus.write(of_counts(), tmp_path / "new", 5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "link", "mine"]
