"""Files of every format converted to shards: the same documents, never all in memory at once."""

import errno
import gzip
import io
import json
import os

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from data_files import write_parquet
from fit_command import ldac_of
from hypothesis import given, settings
from hypothesis import strategies as st
from little_memory import answer, on_linux
from test_corpus_folders import same
from test_shards import check_together, of_counts, of_tokens

import hdpkit as hk
from hdpkit.data.files import corpora as conversion
from hdpkit.data.files import counts, text_files
from hdpkit.data.files.corpora import convert_shards, detect_format, read_corpus
from hdpkit.data.files.counts import Limits
from hdpkit.data.files.shards import MANIFEST
from hdpkit.data.files.text_files import Layout
from hdpkit.data.files.text_options import TextOptions
from hdpkit.errors import DataError, HdpkitError, ParameterError, SkippedFilesWarning, StorageError

SOME = st.sampled_from([0, 0, 1, 2, 9])
COUNTS = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(SOME, min_size=n, max_size=n), min_size=2, max_size=9)
)


@pytest.fixture
def small_pieces(monkeypatch):
    """All that is read at once is a few numbers, so that every seam is met."""
    for module, name in ((counts, "LIMIT"), (counts, "CHUNK"), (conversion, "_WORDS")):
        monkeypatch.setattr(module, name, 3)
    monkeypatch.setattr(text_files, "BLOCK", 16)
    monkeypatch.setattr(conversion, "_TEXTS", 2)
    monkeypatch.setattr(os, "fsync", lambda number: None)  # it takes most of the time


def tried(function, *arguments, **options):
    """What a call returns, or its error."""
    try:
        return function(*arguments, **options)
    except HdpkitError as error:
        return error


def uci(counts):
    entries = [f"{d + 1} {v + 1} {counts[d, v]}\n" for d, v in np.argwhere(counts).tolist()]
    return "\n".join(map(str, [*counts.shape, len(entries), ""])) + "".join(entries)


def mtx(matrix, **options):
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, **options)
    return file.getvalue().decode()


def shuffled(counts):
    """Entries in any order, some in two parts."""
    document, term = np.nonzero(counts)
    count = counts[document, term]
    split = count > 1
    rows = np.concatenate([document, document[split]]), np.concatenate([term, term[split]])
    both = np.concatenate([count - split, np.ones(split.sum(), int)])
    order = np.random.default_rng(len(both)).permutation(len(both))
    lines = [f"{rows[0][i] + 1} {rows[1][i] + 1} {both[i]}\n" for i in order]
    sizes = " ".join(map(str, [*counts.shape, len(lines)]))
    return "".join(["%%MatrixMarket matrix coordinate integer general\n", sizes + "\n", *lines])


def symmetric(counts):
    n = min(counts.shape)
    square = counts[:n, :n]
    return square + square.T


FORMS = {
    "a.ldac": ldac_of,
    "a.uci": uci,
    "sorted.mtx": lambda counts: mtx(sp.csr_array(counts).tocoo()),
    "by column.mtx": lambda counts: mtx(sp.csc_array(counts).tocoo()),
    "shuffled.mtx": shuffled,
    "dense.mtx": mtx,
    "pattern.mtx": lambda counts: mtx(sp.coo_array((counts > 0).astype(int)), field="pattern"),
    "real.mtx": lambda counts: mtx(sp.coo_array(counts.astype(float))),
    "symmetric.mtx": lambda counts: mtx(sp.coo_array(symmetric(counts)), symmetry="symmetric"),
    "symmetric dense.mtx": lambda counts: mtx(symmetric(counts), symmetry="symmetric"),
}


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("name", FORMS)
def test_files_of_counts_are_the_same_in_shards(tmp_path_factory, name):
    @given(COUNTS, st.integers(1, 4))
    @settings(max_examples=15, deadline=None)
    def check(rows, shards):
        folder = tmp_path_factory.mktemp("shards")
        (folder / name).write_text(FORMS[name](np.array(rows)))
        corpus = tried(read_corpus, folder / name)
        if isinstance(corpus, HdpkitError):
            assert str(tried(convert_shards, folder / name, folder / "shards", shards)) == str(corpus)
            return
        filled = int((corpus.document_lengths > 0).sum())
        sharded = convert_shards(folder / name, folder / "shards", min(shards, filled))
        check_together(sharded, corpus)
        assert sorted(path.name for path in folder.iterdir()) == sorted([name, "shards"])
        same(read_corpus(folder / "shards"), corpus)

    check()


WORDS = st.sampled_from(["ship", "ship", "salt", "sea", "été", "Sea", "I", "x", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=8)
OPTIONS = [
    {},
    {"stop_words": "english"},
    {"min_documents": 2},
    {"max_document_share": 0.5},
    {"max_terms": 2},
    {"max_terms": 1, "min_documents": 2},
    {"ngrams": (1, 2), "token_pattern": r"(?u)\b\w+\b", "lowercase": False},
]


def csv(path, texts):
    lines = [f'"{text}",d{number},{"ab"[number % 2]}' for number, text in enumerate(texts)]
    path.write_text("\n".join(["text,id,author", *lines]), encoding="utf-8")


def folder_of(path, texts):
    path.mkdir()
    for number, text in enumerate(texts):
        (path / f"{number}.txt").write_text(text, encoding="utf-8")


TEXT_FORMS = {
    "a.txt": lambda path, texts: path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8"),
    "a.csv": csv,
    "a.tsv": lambda path, texts: path.write_text("\n".join(["text", *texts]), encoding="utf-8"),
    "a.jsonl": lambda path, texts: path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts)),
    "a.parquet": lambda path, texts: write_parquet(path, {"text": texts}),
    "folder": folder_of,
}


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("name", TEXT_FORMS)
def test_texts_are_the_same_in_shards(tmp_path_factory, name):
    layout = Layout(id_column="id", group_columns=["author"]) if name == "a.csv" else None

    @given(TEXTS, st.sampled_from([*OPTIONS, "vocabulary"]), st.integers(1, 3))
    @settings(max_examples=12, deadline=None)
    def check(texts, options, shards):
        folder = tmp_path_factory.mktemp("shards")
        TEXT_FORMS[name](folder / name, texts)
        (folder / "terms").write_text("sea\nship\nbread\n", encoding="utf-8")
        given = {"layout": layout, "format": None if name != "a.txt" else "lines"}
        given |= (
            {"vocabulary": folder / "terms"} if options == "vocabulary" else {"text": TextOptions(**options)}
        )
        corpus = tried(read_corpus, folder / name, **given)
        if isinstance(corpus, HdpkitError):
            error = tried(convert_shards, folder / name, folder / "shards", 1, **given)
            for fact in ("parameter", "value", "remedy"):
                assert getattr(error, fact) == getattr(corpus, fact)
            return
        filled = int((corpus.document_lengths > 0).sum())
        check_together(convert_shards(folder / name, folder / "shards", min(shards, filled), **given), corpus)

    check()


def test_a_corpus_may_have_more_tokens_than_one_shard(tmp_path):
    """Each shard has fewer than 2^31; all together have no limit but one that is asked for."""
    big = 2**31 - 2
    (tmp_path / "a.ldac").write_text(f"1 0:{big}\n1 1:{big}\n1 0:3\n")
    sharded = convert_shards(tmp_path / "a.ldac", tmp_path / "shards", 3)
    assert sharded.n_tokens == 2 * big + 3
    assert [info.first_token for info in sharded.shards] == [0, big, 2 * big]
    assert sharded.shard(1).cells.count.tolist() == [big]
    with pytest.raises(ParameterError, match=r"shards = 1.*2\^31 tokens"):
        convert_shards(tmp_path / "a.ldac", tmp_path / "one", 1)
    with pytest.raises(DataError, match="number of tokens"):
        convert_shards(tmp_path / "a.ldac", tmp_path / "one", 3, limits=Limits(max_tokens=big))
    (tmp_path / "b.ldac").write_text(f"1 0:1\n2 0:{big} 1:2\n")
    with pytest.raises(DataError, match="number of tokens"):
        convert_shards(tmp_path / "b.ldac", tmp_path / "one", 2)
    assert not (tmp_path / "one").exists()


def test_what_is_wrong_with_a_file_is_told_as_by_its_reader(tmp_path):
    broken = {
        "a.ldac": "1 0:1\n1 0:x\n", "b.uci": "2\n2\n2\n1 1 1\n3 1 1\n",
        "c.mtx": shuffled(np.eye(2, dtype=int)) + "x",
        "d.jsonl": '{"text": "ship"}\n{\n', "e.ldac": "", "f.csv": "text,id\na,1\nb,1,2\n",
    }  # fmt: skip
    for name, content in broken.items():
        (tmp_path / name).write_text(content)
        errors = []
        for read in (read_corpus, lambda path: convert_shards(path, tmp_path / "shards", 1)):
            with pytest.raises(DataError) as caught:
                read(tmp_path / name)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]
    with pytest.raises(DataError, match="nothing"):
        convert_shards(tmp_path / "nowhere", tmp_path / "shards", 1)
    packed = gzip.compress(b"1 0:1\n" * 5000, mtime=0)
    (tmp_path / "cut.ldac.gz").write_bytes(packed[:-9])
    with pytest.raises(DataError, match="gzip"):
        convert_shards(tmp_path / "cut.ldac.gz", tmp_path / "shards", 1)
    (tmp_path / "terms").write_text("a\nb\n")
    for name in ("g.mtx", "h.mtx"):
        (tmp_path / name).write_text(mtx(sp.coo_array(np.ones((2 + (name == "h.mtx"), 3), int))))
        with pytest.raises(DataError, match="vocabulary"):
            convert_shards(tmp_path / name, tmp_path / "shards", 1, vocabulary=tmp_path / "terms")
    assert not any(path.name.startswith("shards") for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["shuffled.mtx"])
def test_nothing_is_left_when_the_disk_is_full(tmp_path, monkeypatch, name):
    """While entries wait on disk, and while shards are written."""
    counts = np.arange(12).reshape(4, 3)
    text = FORMS[name](counts) if name in FORMS else "sea ship\nsalt sea\n"
    (tmp_path / name).write_text(text)
    options = {} if name in FORMS else {"format": "lines"}
    write = open

    class Full(io.FileIO):
        def write(self, content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(path, mode="r", *arguments, **more):
        nonlocal left
        if "w" in mode or "a" in mode or "x" in mode:
            left -= 1
            if left < 0:
                return Full(path, mode.replace("b", ""))
        return write(path, mode, *arguments, **more)

    monkeypatch.setattr("builtins.open", opened)
    told = []
    for room in range(100):
        left = room
        try:
            convert_shards(tmp_path / name, tmp_path / "shards", 2, **options)
            break
        except StorageError as failure:
            error = failure
        assert "No space left" in str(error)
        told.append(str(error))
        assert [path.name for path in tmp_path.iterdir()] == [name]
    assert room > 8
    assert any("shard 0 of a corpus" in one for one in told)
    assert any("shard 1 of a corpus" in one for one in told)
    assert (tmp_path / "shards" / MANIFEST).is_file()


LARGER = """
    from hdpkit.data.files import corpora as conversion
    from hdpkit.data.files import counts, shards, text_files

    path, folder, how, room = *sys.argv[1:4], int(sys.argv[4])
    # Pieces as much smaller than usual as is the corpus.
    text_files.BLOCK, counts.LIMIT, conversion._WORDS = 1 << 14, 1 << 12, 1 << 12
    for module in (counts, shards):
        module.CHUNK = 1 << 12
    leave(room)
    try:
        if how == "shards":
            shard = conversion.convert_shards(path, folder, 1).shard(0)  # larger than the room, too
            print(shard.cells.begin[-1])
        else:
            conversion.read_corpus(path)
            print("read")
    except hk.errors.DataError as error:
        assert isinstance(error.__cause__, MemoryError), error
        print("no room")
"""


@on_linux
def test_a_corpus_of_more_cells_than_there_is_memory_for(tmp_path):
    """In less memory than the cells take, a file is converted and shards are checked; read it is not."""
    documents, terms = 6_000, 50
    generator = np.random.default_rng(0)
    own = generator.integers(0, 40, documents)[:, None] + np.arange(terms)
    entries = np.stack([np.repeat(np.arange(documents), terms), own.ravel(), np.full(own.size, 3)], axis=1)
    generator.shuffle(entries)
    head = f"%%MatrixMarket matrix coordinate integer general\n{documents} 100 {len(entries)}\n"
    (tmp_path / "a.mtx").write_text(head + "".join(f"{d + 1} {v + 1} {n}\n" for d, v, n in entries.tolist()))
    room = 2 << 20
    assert room < 8 * own.size, "the cells would fit"
    for how, told in (("shards", str(own.size)), ("read", "no room")):
        assert answer(LARGER, tmp_path / "a.mtx", tmp_path / "shards", how, room) == told


def test_files_that_are_left_out_are_told(tmp_path):
    folder_of(tmp_path / "texts", ["sea ship", "salt"])
    (tmp_path / "texts" / "2.txt").write_bytes(b"\0\xff\0\xfe\x81")
    with pytest.warns(SkippedFilesWarning, match=r"2\.txt"):
        sharded = convert_shards(tmp_path / "texts", tmp_path / "shards", 2)
    assert sharded.n_documents == 2


def test_shards_are_written_in_other_numbers_of_shards(tmp_path):
    of_tokens().save(tmp_path / "one")
    for made, source in ((of_tokens, "one"), (of_counts, "shards")):
        if source == "shards":
            hk.ShardedCorpus.write(of_counts(), tmp_path / "shards", 3)
        assert detect_format(tmp_path / source) == "shards"
        check_together(convert_shards(tmp_path / source, tmp_path / f"{source} 2", 2), made())
        check_together(convert_shards(tmp_path / f"{source} 2", tmp_path / f"{source} 4", 4), made())
        same(read_corpus(tmp_path / source), made())
        with pytest.raises(ParameterError, match="vocabulary"):
            convert_shards(tmp_path / source, tmp_path / "new", 2, vocabulary="x")
    assert detect_format(tmp_path / "shards" / "shard-0001") == "shards"
    same(read_corpus(tmp_path / "shards" / "shard-0001"), hk.ShardedCorpus.open(tmp_path / "shards").shard(1))
