"""Corpora as folders of arrays that are mapped into memory, and their conversion from files."""

import gzip

import numpy as np
import pytest
from little_memory import answer, on_linux

import hdpkit as hk
from hdpkit import moves
from hdpkit.data.files import text_files
from hdpkit.errors import DataError, RunError

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


def test_several_shards_are_no_corpus(tmp_path):
    hk.ShardedCorpus.write(corpus(), tmp_path / "folder", 2)
    with pytest.raises(DataError, match=r"ShardedCorpus\.open"):
        hk.Corpus.open(tmp_path / "folder")


def write(path, content):
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (b"", "file", "an empty file"),
        (b"4\n4\n", "lines 1 to 3", "three numbers"),
        (b"999999999999\n4\n1\n1 1 1\n", "line 1", "from 1"),
        (b"4\n0\n1\n1 1 1\n", "line 2", "from 1"),
        (b"4\n4\n2\n1 1 1\n", "line 3", "2 entries"),
        (b"4\n4\n1\n1 1 1\n2 1 1\n", "line 3", "1 entries"),
        (b"4\n4\n2\n1 1 1\n5 1 1\n", "line 5, document", "from 1 to 4"),
        (b"4\n4\n2\n1 1 1\n2 5 1\n", "line 5, term", "from 1 to 4"),
        (b"4\n4\n2\n1 1 1\n2 1 2147483648\n", "line 5, count", "from 0"),
        (b"4\n4\n2\n1 1 1\n2 1 1 1\n", "line 5", "three whole numbers"),
        (b"4\n4\n2\n2 1 1\n1 1 1\n", "line 5, document", "at least that of the line before"),
        (b"4\n4\n2\n2 1 2147483647\n2 2 2147483647\n", "number of tokens", "below 2^31"),
        (b"4\n4\n1\n2 1 0\n", "corpus", "without a token"),
    ],
)
@pytest.mark.parametrize("block", [4])
def test_bags_of_words_that_are_wrong(tmp_path, monkeypatch, text, place, told, block):
    monkeypatch.setattr(text_files, "BLOCK", block)
    path = write(tmp_path / "docword.txt", text)
    for read in (hk.Corpus.from_uci, lambda path: hk.Corpus.convert(path, tmp_path / "folder", "uci")):
        with pytest.raises(DataError) as caught:
            read(path)
        assert place in caught.value.parameter
        assert told in str(caught.value)
        assert not (tmp_path / "folder").exists(), "half a corpus stays"


LARGER = """
    folder, text, how, n, room = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
    leave(room)
    try:
        data = hk.Corpus.convert(text, folder) if how == "mapped" else hk.Corpus.from_ldac(text)
        assert len(data) == n
        root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
        franchise = hk.Franchise(hk.Restaurant(base=root, each="document"), data, store="histogram")
        trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, init="sequential")
        assert trace["n_dishes"][-1] == franchise.n_dishes >= 1
        print("done")
    except MemoryError:
        print("no room")
"""


@on_linux
def test_a_corpus_of_more_tokens_than_there_is_memory_for(tmp_path):
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
    for how, told in (("mapped", "done"), ("read", "no room")):
        assert answer(LARGER, tmp_path / how, tmp_path / "text", how, n, room) == told
