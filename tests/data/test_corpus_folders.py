"""Corpora as folders of arrays that are mapped into memory, and their conversion from files."""

import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.data.files import text_files
from hdpkit.errors import DataError, ParameterError, RunError
from hdpkit.files import sealed_text

DOCS = [[0, 1, 1, 2], [], [2, 2], [0, 3]]
WORDS = ("ship", "salt", "été", "x\ny")
GROUPS = {"author": ["A", None, "B", "A"], "year": [1991, 1992, 1991, 1990]}


def corpus(**options):
    full = {"vocabulary": WORDS, "names": ["a", "b", "c", "d"], "groups": GROUPS} | options
    return hk.Corpus.from_documents(DOCS, n_terms=4, **full)


def same(one, other):
    assert np.array_equal(one.values, other.values)
    assert one.values.dtype == other.values.dtype
    assert one.document_lengths.tolist() == other.document_lengths.tolist()
    for name in ("n_terms", "vocabulary", "names", "label_names"):
        assert getattr(one, name) == getattr(other, name), name
    for name in one.label_names:
        assert one.codes(name).tolist() == other.codes(name).tolist(), name
        assert one.keys(name) == other.keys(name), name


def two_levels(each="document"):
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(base=root, concentration=0.7, each=each)


def sampled(data, each="document", store="histogram"):
    franchise = hk.Franchise(two_levels(each), data, store=store)
    hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()]).run(franchise, sweeps=5, rng=1)
    franchise.audit()
    return franchise


@pytest.mark.parametrize("data", [corpus(), corpus(names=None, groups=None, vocabulary=None)])
def test_what_is_saved_is_opened(tmp_path, data):
    data.save(tmp_path / "folder")
    for verify in (True, False):
        opened = hk.Corpus.open(tmp_path / "folder", verify=verify)
        same(opened, data)
        assert data.origin is None
        assert opened.origin[0] == (tmp_path / "folder" / "shard-0000").resolve()
    opened.save(tmp_path / "again")
    same(hk.Corpus.open(tmp_path / "again"), data)


def test_tokens_are_mapped_and_nobody_copies_them(tmp_path):
    corpus().save(tmp_path / "folder")
    opened = hk.Corpus.open(str(tmp_path / "folder"))
    assert isinstance(opened.values.base, np.memmap)
    assert not opened.values.flags.writeable
    franchise = hk.Franchise(two_levels(), opened)
    assert np.shares_memory(franchise.bank.terms, opened.values)
    assert np.shares_memory(franchise.topology.home, opened.numbers("document"))
    assert franchise.topology.home.tolist() == (opened.document + 1).tolist()
    assert opened.numbers("author") is None
    assert corpus().numbers("document") is None
    assert np.shares_memory(hk.Franchise(two_levels("author"), opened).bank.terms, opened.values)


@pytest.mark.parametrize("store", ["histogram", "explicit"])
@pytest.mark.parametrize("each", ["document", "author"])
def test_a_chain_over_a_mapped_corpus_is_the_chain_over_the_corpus(tmp_path, store, each):
    corpus().save(tmp_path / "folder")
    one = sampled(corpus(), each, store)
    other = sampled(hk.Corpus.open(tmp_path / "folder"), each, store)
    assert np.array_equal(one.dishes, other.dishes)
    assert one.log_joint() == other.log_joint()
    assert np.array_equal(one.dish_counts, other.dish_counts)


def test_other_values_are_in_memory(tmp_path):
    corpus().save(tmp_path / "folder")
    other = hk.Corpus.open(tmp_path / "folder").with_values([3, 2, 1, 0, 3, 2, 1, 0])
    assert other.origin is None
    same(other, corpus().with_values([3, 2, 1, 0, 3, 2, 1, 0]))
    same(pickle.loads(pickle.dumps(other)), other)


def test_processes_map_the_folder_themselves(tmp_path):
    corpus().save(tmp_path / "folder")
    opened = hk.Corpus.open(tmp_path / "folder")
    packed = pickle.dumps(opened)
    same(pickle.loads(packed), opened)
    assert len(packed) < 1000, "it was copied"
    # Another corpus in its place is none that was handed over.
    shutil.rmtree(tmp_path / "folder")
    corpus(names=None).save(tmp_path / "folder")
    with pytest.raises(DataError, match="another corpus"):
        pickle.loads(packed)


def test_a_run_folder_names_the_corpus_folder(tmp_path):
    corpus().save(tmp_path / "folder")
    opened = hk.Corpus.open(tmp_path / "folder")
    scheduler = hk.Scheduler([moves.TableGibbs()])
    scheduler.run(hk.Franchise(two_levels(), opened), sweeps=3, rng=2, folder=tmp_path / "run")
    hk.open_run(tmp_path / "run").resume(sweeps=3)
    run = hk.open_run(tmp_path / "run")
    franchise = hk.Franchise(two_levels(), corpus())
    scheduler.run(franchise, sweeps=6, rng=2)
    assert run.franchise().data.origin == opened.origin
    assert np.array_equal(run.franchise().dishes, franchise.dishes)
    assert (tmp_path / "run" / "data.npz").stat().st_size < 1000
    (tmp_path / "folder").rename(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="folder"):
        hk.open_run(tmp_path / "run").franchise()
    (tmp_path / "elsewhere").rename(tmp_path / "folder")
    assert run.franchise().data.origin == opened.origin


# --- damage


def damaged(folder, name, change):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(change(content))
    try:
        with pytest.raises(DataError) as caught:
            hk.Corpus.open(folder)
        assert name in caught.value.parameter
    finally:
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("name", ["terms.npy", "document.npy", "lengths.npy", "label-0.npy", "label-1.npy"])
def test_damaged_arrays_are_refused(tmp_path, name):
    corpus().save(tmp_path / "folder")
    folder = tmp_path / "folder" / "shard-0000"
    length = (folder / name).stat().st_size
    for cut in (0, 5, 64, 128, length - 1):
        damaged(folder, name, lambda content, cut=cut: content[:cut])
    for place in range(128, length, 3):
        damaged(
            folder,
            name,
            lambda content, place=place: (
                content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :]
            ),
        )
    damaged(folder, name, lambda content: content.replace(b"<i", b">i"))
    damaged(folder, name, lambda content: content.replace(b"<i4", b"|O8").replace(b"<i8", b"|O8"))
    (folder / name).unlink()
    with pytest.raises(DataError, match=name):
        hk.Corpus.open(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "another"), ("format", None), ("version", 2), ("version", "1"),
        ("n_tokens", 9), ("n_tokens", 0), ("n_tokens", 8.0), ("n_tokens", True), ("n_tokens", 2**40),
        ("n_documents", 3), ("n_documents", "4"), ("n_terms", 3), ("n_terms", None),
        ("vocabulary", ["a"]), ("vocabulary", [1, 2, 3, 4]), ("vocabulary", ["a", "a", "b", "c"]),
        ("vocabulary", "abcd"), ("names", False), ("names", ["a"]), ("labels", None), ("labels", 5),
        ("labels", [["author", ["A"]]]), ("labels", [["author"]]),
        ("labels", [["author", "AB"], ["year", [1]]]), ("labels", [["author", [["A"], "B"]], ["y", [1]]]),
        ("labels", [["document", ["A", "B"]], ["year", [1, 2, 3]]]),
        ("shards", None), ("shards", []), ("shards", [{}]), ("kind", "cells"),
    ],
)  # fmt: skip
def test_headers_that_contradict_the_arrays_are_refused(tmp_path, key, value):
    folder = tmp_path / "folder"
    corpus().save(folder)
    header = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del header["checksum"]
    (folder / "manifest.json").write_bytes(sealed_text(header | {key: value}))
    with pytest.raises(DataError) as caught:
        hk.Corpus.open(folder)
    assert str(folder) in caught.value.parameter


def test_no_header_is_no_corpus(tmp_path):
    corpus().save(tmp_path / "folder")
    for content in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000):
        (tmp_path / "folder" / "manifest.json").write_bytes(content)
        with pytest.raises(DataError, match=r"manifest\.json"):
            hk.Corpus.open(tmp_path / "folder")
    (tmp_path / "folder" / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"Corpus\.save"):
        hk.Corpus.open(tmp_path / "folder")


def test_unverified_files_can_mislead_nobody_into_other_memory(tmp_path):
    """What compiled code follows is compared also without checksums."""
    corpus().save(tmp_path / "folder")
    for name in ("terms.npy", "document.npy"):
        path = tmp_path / "folder" / "shard-0000" / name
        content = path.read_bytes()
        path.write_bytes(content[:-4] + b"\xff\xff\xff\x7f")
        with pytest.raises(DataError, match=name):
            hk.Corpus.open(tmp_path / "folder", verify=False)
        path.write_bytes(content)


def test_several_shards_are_no_corpus(tmp_path):
    hk.ShardedCorpus.write(corpus(), tmp_path / "folder", 2)
    with pytest.raises(DataError, match=r"ShardedCorpus\.open"):
        hk.Corpus.open(tmp_path / "folder")


def test_folders_that_hold_something_are_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for place in ("mine", "file"):
        with pytest.raises(ParameterError, match="folder"):
            corpus().save(tmp_path / place)
    assert (tmp_path / "mine" / "file").read_text() == "precious"
    with pytest.raises(DataError, match="author"):
        corpus(groups={"author": [("A", 1), None, "B", "A"]}).save(tmp_path / "new")
    assert not (tmp_path / "new").exists(), "half a corpus stays"


# --- converting


LDAC = b"3 0:1 1:2 2:1\n0\n1 2:2\n2 0:1 3:1\n"
UCI = b"4\n4\n6\n1 1 1\n1 2 2\n1 3 1\n3 3 2\n4 1 1\n4 4 1\n"


def write(path, content):
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("block", [1, 7, 10**6])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("format", "content"), [("ldac", LDAC), ("uci", UCI)])
def test_files_are_converted_block_by_block(tmp_path, monkeypatch, block, suffix, format, content):
    monkeypatch.setattr(text_files, "BLOCK", block)
    for number, text in enumerate((content, content.rstrip(b"\n"), content.replace(b"\n", b"\r\n"))):
        path = write(tmp_path / f"{number}{suffix}", text)
        options = {"vocabulary": list(WORDS), "names": ["a", "b", "c", "d"], "groups": GROUPS}
        made = hk.Corpus.convert(path, tmp_path / f"folder {number}", format, **options)
        same(made, corpus())
        same(hk.Corpus.open(tmp_path / f"folder {number}"), corpus())
        read = hk.Corpus.from_ldac if format == "ldac" else hk.Corpus.from_uci
        same(read(path, **options), corpus())


def test_a_vocabulary_file(tmp_path):
    words = write(tmp_path / "vocabulary.txt", b"a\nb\nc\nd\n")
    for format, content in (("ldac", LDAC), ("uci", UCI)):
        path = write(tmp_path / format, content)
        made = hk.Corpus.convert(path, tmp_path / f"{format} folder", format, vocabulary=words)
        assert made.vocabulary == ("a", "b", "c", "d")
        assert made.n_terms == 4


def test_empty_documents_of_bags_of_words(tmp_path):
    text = b"7\n3\n2\n2 1 2\n5 3 1\n"
    made = hk.Corpus.from_uci(write(tmp_path / "a", text))
    assert made.document_lengths.tolist() == [0, 2, 0, 0, 1, 0, 0]
    assert made.terms.tolist() == [0, 0, 2]
    assert made.n_terms == 3


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (b"", "file", "an empty file"),
        (b"4\n4\n", "lines 1 to 3", "three numbers"),
        (b"4\n4\nx\n1 1 1\n", "lines 1 to 3", "three numbers"),
        (b"4 4 6\n1 1 1\n", "lines 1 to 3", "three numbers"),
        (b"0\n4\n1\n1 1 1\n", "line 1", "from 1"),
        (b"999999999999\n4\n1\n1 1 1\n", "line 1", "from 1"),
        (b"4\n0\n1\n1 1 1\n", "line 2", "from 1"),
        (b"4\n4\n2\n1 1 1\n", "line 3", "2 entries"),
        (b"4\n4\n1\n1 1 1\n2 1 1\n", "line 3", "1 entries"),
        (b"4\n4\n2\n1 1 1\n5 1 1\n", "line 5, document", "from 1 to 4"),
        (b"4\n4\n2\n1 1 1\n0 1 1\n", "line 5, document", "from 1 to 4"),
        (b"4\n4\n2\n1 1 1\n2 5 1\n", "line 5, term", "from 1 to 4"),
        (b"4\n4\n2\n1 1 1\n2 0 1\n", "line 5, term", "from 1 to 4"),
        (b"4\n4\n2\n1 1 1\n2 1 -1\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n1 1 1\n2 1 2147483648\n", "line 5, count", "from 0"),
        (b"4\n4\n2\n1 1 1\n\n2 1 1\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n1 1 1\n2 1\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n1 1 1\n2 1 1 1\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n1 1 1\n2 1 0.5\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n1 1 1\n2 1 \xff\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n2 1 1\n1 1 1\n", "line 5, document", "at least that of the line before"),
        (b"4\n4\n2\n2 1 2147483647\n2 2 2147483647\n", "number of tokens", "below 2^31"),
        (b"4\n4\n1\n2 1 0\n", "corpus", "without a token"),
    ],
)
@pytest.mark.parametrize("block", [4, 10**6])
def test_bags_of_words_that_are_wrong(tmp_path, monkeypatch, text, place, told, block):
    monkeypatch.setattr(text_files, "BLOCK", block)
    path = write(tmp_path / "docword.txt", text)
    for read in (hk.Corpus.from_uci, lambda path: hk.Corpus.convert(path, tmp_path / "folder", "uci")):
        with pytest.raises(DataError) as caught:
            read(path)
        assert place in caught.value.parameter
        assert told in str(caught.value)
        assert not (tmp_path / "folder").exists(), "half a corpus stays"


def test_lines_are_counted_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 16)
    path = write(tmp_path / "corpus", b"1 0:1\n" * 20 + b"1 0:x\n")
    with pytest.raises(DataError, match="line 21"):
        hk.Corpus.from_ldac(path)
    path = write(tmp_path / "corpus", b"1 0:1\n" * 20 + b"1 7:1\n")
    with pytest.raises(DataError, match="line 21, id"):
        hk.Corpus.from_ldac(path, n_terms=3)
    path = write(tmp_path / "corpus.gz", b"1 0:1\n" * 4000)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="gzip"):
        hk.Corpus.convert(path, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


# --- more tokens than memory


LARGER = """
    import resource, sys
    from pathlib import Path

    import scipy.sparse, scipy.special  # loaded when they are first used; data are what this is about

    import hdpkit as hk
    from hdpkit import moves

    folder, text, how, store, n, room = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6])

    def held():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))

    # Names are imported on first use; what that takes doesn't count, nor do files that are mapped to be read.
    assert all(getattr(hk, name) is not None for name in hk.__all__)
    limit = held() + room
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        data = hk.Corpus.convert(text, folder) if how == "mapped" else hk.Corpus.from_ldac(text)
        assert len(data) == n
        root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
        document = hk.Restaurant(base=root, concentration=1.0, each="document")
        franchise = hk.Franchise(document, data, store=store)
        trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, init="sequential")
        assert trace["n_dishes"][-1] == franchise.n_dishes >= 1
        print("done")
    except MemoryError:
        print("no room")
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="limits of memory that leave mapped files out are Linux's"
)
@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_a_corpus_of_more_tokens_than_there_is_memory_for(tmp_path, store):
    """In less memory than its arrays take, a corpus is converted and swept; read into memory it is not."""
    documents, terms, each = 120, 40, 500
    n = documents * terms * each
    generator = np.random.default_rng(0)
    with open(tmp_path / "text", "w") as file:
        for _ in range(documents):
            first = int(generator.integers(0, 3)) * terms
            file.write(f"{terms} " + " ".join(f"{v}:{each}" for v in range(first, first + terms)) + "\n")
    room = 4 * n + (8 << 20)  # what a seating takes, four bytes a customer, and some
    assert room < 8 * n, "the arrays of the corpus would fit"
    # One thread: each would have a stack and an arena of its own.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    answers = []
    for how in ("mapped", "read"):
        arguments = [tmp_path / how, tmp_path / "text", how, store, n, room]
        command = [sys.executable, "-c", textwrap.dedent(LARGER), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout.strip())
    assert answers == ["done", "no room"]
