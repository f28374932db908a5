"""Texts from tables, JSON lines, lines and folders: what is read, and errors with their line."""

import bz2
import gzip
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest
from data_files import write_parquet

from hdpkit.data.files import tables, text_files
from hdpkit.data.files.corpora import detect_format, read_corpus, read_documents_of
from hdpkit.data.files.text_files import Layout
from hdpkit.data.files.text_options import TextOptions, stop_words_of, with_stop_words
from hdpkit.errors import DataError, HdpkitError, MissingExtraError, ParameterError, SkippedFilesWarning

ROWS = [("d1", 'Sail the ship, "salt" and\nsea', "a", 1), ("d2", "été; mer", "b", None), ("d3", "", None, 3)]
CSV = 'id,text,author,year\nd1,"Sail the ship, ""salt"" and\nsea",a,1\nd2,été; mer,b,\nd3,,,3\n'
JSON = (
    '{"id": "d1", "text": "Sail the ship, \\"salt\\" and\\nsea", "author": "a", "year": 1}\n\n'
    '{"id": "d2", "text": "été; mer", "author": "b", "year": null}\n'
    '{"id": "d3", "text": null, "year": 3}\n'
)
TSV = 'id\ttext\tauthor\tyear\r\nd1\t"Sail the ship, ""salt"" and\nsea"\ta\t1\r\n'
TSV += "d2\tété; mer\tb\t\r\nd3\t\t\t3\r\n"
COLUMNS = Layout(text_column="text", id_column="id", group_columns=["author", "year"])


def parquet(path):
    columns = dict(zip(("id", "text", "author", "year"), map(list, zip(*ROWS, strict=True)), strict=True))
    write_parquet(path, columns | {"unread": [[1], [2], [3]]})


def documents(path, layout=COLUMNS, format=None):
    return list(read_documents_of(Path(path), format or detect_format(path), layout))


@pytest.mark.parametrize(
    ("name", "content", "places"),
    [
        ("a.csv", CSV.encode(), (2, 4, 5)),
        ("a.CSV", CSV.encode("utf-8-sig"), (2, 4, 5)),
        ("a.csv", CSV.encode("utf-16"), (2, 4, 5)),
        ("a.csv", CSV.encode("cp1252"), (2, 4, 5)),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0), (2, 4, 5)),
        ("a.csv.bz2", bz2.compress(CSV.encode()), (2, 4, 5)),
        ("a.tsv.xz", lzma.compress(TSV.encode()), (2, 4, 5)),
        ("a.jsonl", JSON.encode(), (1, 3, 4)),
        ("a.ndjson.gz", gzip.compress(JSON.encode("utf-16"), mtime=0), (1, 3, 4)),
        ("a.parquet", None, (1, 2, 3)),
    ],
)
def test_tables_give_texts_ids_and_labels(tmp_path, name, content, places):
    path = tmp_path / name
    parquet(path) if content is None else path.write_bytes(content)
    read = documents(path)
    assert [document.place for document in read] == list(places)
    typed = content is None or "json" in name.replace("ndjson", "jsonl")
    for (ident, text, author, year), document in zip(ROWS, read, strict=True):
        year = year if typed or year is None else str(year)
        assert (document.name, document.text, document.labels) == (ident, text, (author, year))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "empty file"),
        ("a.csv", b"id,text\n1,ship\n2,a,b\n", "line 3 = '3 fields': must be a row of 2 fields"),
        ("a.csv", b'id,text\n1,ship\n2,"cut off\nin the middle\n', "line 4 .in a row that begins in line 3"),
        ("a.csv", b'id,text\n1,"ship" at sea\n', "line 2 .*--no-quotes"),
        ("a.csv", b"id,text\n1,ship\n1,boat\n", "line 3, id = '1'.*line 2 has this id"),
        ("a.csv", b"id,text\n1,ship\n2,boat\n3,sh\xefp\n", "line 4, byte 26.*utf-8"),
        ("a.csv", b"id,text\n1,ship\n2,boat\n3,sh\0p\n", "line 4 .*NUL"),
        ("a.csv", b"id,body,text,text\n1,a,b,c\n", None),
        ("a.csv", b"id,one,two\n1,a,b\n", "text_column = .*--text-column"),
        ("a.csv", b"no,text\n1,a\n", "id_column = 'id'.*'no', 'text'"),
        ("a.csv", b"id,id,text\n1,2,a\n", "id_column = 'id'.*1 and 2 have this name"),
        ("a.csv.gz", gzip.compress(b"id,text\n1,ship\n2,boat\n", mtime=0)[:-9], "gzip"),
        ("a.csv.gz", b"id,text\n1,ship\n", "gzip"),
        ("a.jsonl", b'{"id": 1, "text": "ship"}\n{"id": 2, "text": "cut o', "line 2 = .*JSON object"),
        ("a.jsonl", b'[\n{"id": 1, "text": "ship"}]', "line 1 .*array: write one object per line"),
        ("a.jsonl", b'{"id": 1, "text": "ship"}\n{"id": 2}\n', "line 2, text"),
        ("a.jsonl", b'{"id": 1, "text": 5}\n', "line 1, text = 5"),
        ("a.jsonl", b'{"id": 1, "text": "ship", "author": []}\n', "line 1, author"),
        ("a.jsonl", b"[" * 100_000, "line 1 = .*RecursionError|line 1 = .*JSON"),
        ("a.parquet", b"PAR1", "Parquet"),
        ("a.txt", b"\x80\0\0", "text in a known encoding"),
    ],
)  # fmt: skip
def test_damaged_texts_are_typed_errors_with_their_lines(tmp_path, monkeypatch, name, content, message):
    monkeypatch.setattr(text_files, "_BEGINNING", 20)
    path = tmp_path / name
    path.write_bytes(content)
    groups = ["author"] if b"author" in content else []
    layout = Layout(id_column=None if name == "a.txt" else "id", group_columns=groups)
    if message is None:  # two columns of the name, and the first that is called so by itself
        assert documents(path, layout)[0].text == "b"
        return
    with pytest.raises(DataError, match=message):
        read_corpus(path, layout=layout)


def test_a_cut_off_parquet_file_and_wrong_types_are_named(tmp_path):
    parquet(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    for cut in (len(content) // 2, len(content) - 5):
        (tmp_path / "b.parquet").write_bytes(content[:cut])
        with pytest.raises(DataError, match="Parquet"):
            documents(tmp_path / "b.parquet")
    damaged = bytearray(content)
    damaged[4:200] = b"\xff" * 196
    (tmp_path / "b.parquet").write_bytes(damaged)
    with pytest.raises(DataError, match=r"b\.parquet"):
        documents(tmp_path / "b.parquet")
    with pytest.raises(DataError, match="row 1, text = 1"):
        documents(tmp_path / "a.parquet", Layout(text_column="year"))
    with pytest.raises(DataError, match="row 1, unread"):
        documents(tmp_path / "a.parquet", Layout(group_columns=["unread"]))


@pytest.mark.parametrize("content", [b"text\n" + b"x" * 3000, b'text\n"' + b"x\n" * 1500])
def test_a_huge_line_or_row_is_refused_before_memory_is_taken(tmp_path, monkeypatch, content):
    monkeypatch.setattr(tables, "MAX_LINE_BYTES", 2000)
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 2000)
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"line \d+ = .*more than|line 1001 = .*row"):
        documents(tmp_path / "a.csv", Layout())


def test_packages_that_are_missing_are_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"hdpkit\[parquet\]"):
        read_corpus(tmp_path / "a.parquet")
    (tmp_path / "a.txt").write_bytes("été à la mer".encode("latin-1"))
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    with pytest.raises(MissingExtraError, match=r"hdpkit\[text\]"):
        read_corpus(tmp_path / "a.txt")
    monkeypatch.setitem(sys.modules, "stop_words", None)
    with pytest.raises(MissingExtraError, match=r"hdpkit\[text\]"):
        stop_words_of(["german"])


def test_stop_words_of_languages_and_files(tmp_path):
    assert stop_words_of() == stop_words_of(["none"]) == "none"
    assert stop_words_of(["English"]) == "english"
    german = stop_words_of(["german"])
    assert {"der", "und", "nicht"} <= set(german)
    (tmp_path / "own.txt").write_text("ship\nAujourd'hui\n", encoding="utf-8")
    both = stop_words_of(["german", "english"], tmp_path / "own.txt")
    assert {"der", "the", "ship"} <= set(both)
    options = with_stop_words(TextOptions(), both)
    assert {"aujourd", "hui", "ship"} <= set(options.stop_words)
    with pytest.raises(ParameterError, match=r"german, .*--stop-words-file"):
        stop_words_of(["klingon"])


CHECKED = {
    Layout: {
        "text_column": ("", 1.5, True, b"x", []), "id_column": ("", 1.5, {}),
        "delimiter": ("", ",,", "\n", '"', 5), "header": (1, None),
        "group_columns": ("author", 5, [""], ["a", "a"], [None]), "quotes": (1, None, "no"),
        "encoding": ("", "no such", "rot13", "base64", 8, b"utf-8"),
        "files": ("", None, 5), "strict": (1, None), "optional_groups": (1, None),
    },
    TextOptions: {
        "max_terms": (0, True), "min_documents": (0, 1.5), "max_document_share": (0, 1.1),
        "stop_words": ("", ["the", 1]), "lowercase": ("yes",), "strip_accents": ("latin",),
        "token_pattern": ("(", "(a)(b)"), "ngrams": (1, (2, 1)), "tokenizer": ("split", "module:"),
    },
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CHECKED for name in CHECKED[kind]])
def test_options_of_reading_are_checked(kind, name):
    for value in CHECKED[kind][name]:
        with pytest.raises(HdpkitError) as caught:
            kind(**{name: value})
        assert caught.value.parameter == name, value


SAME = [("a", "Sun; sea, sand"), ("b", "one, two; three"), ("c", "more")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'id;text\r\na;"Sun; sea, sand"\r\nb;"one, two; three"\r\nc;more\r\n'),
        ("t.csv", "id\ttext\na\tSun; sea, sand\nb\tone, two; three\nc\tmore\n"),
        ("t.csv", "id|text\na|Sun; sea, sand\nb|one, two; three\nc|more\n"),
        ("t.csv", 'sep=;\nid;text\na;"Sun; sea, sand"\nb;"one, two; three"\nc;more\n'),
        ("t.csv", "sep=\t\nid\ttext\na\tSun; sea, sand\nb\tone, two; three\nc\tmore\n"),
        ("t.tsv", 'id,text\na,"Sun; sea, sand"\nb,"one, two; three"\nc,more\n'),
        ("t.csv", 'id,text\na,"Sun; sea, sand"\nb,"one, two; three"\nc,more\n'),
    ],
)
def test_the_delimiter_is_detected(tmp_path, name, content, encoding):
    path = tmp_path / name
    path.write_bytes(content.encode(encoding))
    found = documents(path, Layout(id_column="id"))
    assert [(one.name, one.text) for one in found] == SAME
    first = 3 if content.startswith("sep") else 2
    assert [one.place for one in found] == [first, first + 1, first + 2]


@pytest.mark.parametrize(
    ("content", "layout", "told"),
    [
        ("The sun shines today over the sea\nAnd more\n", {}, "--no-header"),
        ("1,The sun shines today over the sea\n2,And more\n", {"text_column": 2}, "--no-header"),
        ("1,The sun shines\n2,And more\n", {}, "--no-header"),
    ],
)
def test_a_first_row_that_is_a_document(tmp_path, content, layout, told):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=told):
        documents(path, Layout(**layout))
    layout = {"text_column": len(content.split("\n")[0].split(","))} | {"header": False}
    assert len(documents(path, Layout(**layout))) == 2
    name = content.split("\n")[0].split(",")[-1]
    assert len(documents(path, Layout(text_column=name))) == 1


def same(one, other):
    return np.array_equal(one.to_counts().toarray(), other.to_counts().toarray())


def write_texts(folder, texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_text_is_read_in_the_order_of_paths_and_keeps_them_as_names(tmp_path):
    folder = write_texts(
        tmp_path / "texts",
        {"b.txt": "Salt, the SALT. 42 x2", "a/z.txt": "ship\u00a0ship", "a.txt": "e\u0301te\u0301",
         "empty.txt": "", "a/notes.md": "unread"},
    )  # fmt: skip
    corpus = read_corpus(folder)
    assert corpus.names == ("a/z.txt", "a.txt", "b.txt", "empty.txt")
    assert corpus.vocabulary == ("salt", "ship", "the", "été")  # composed, in lower case, letters only
    assert corpus.document_lengths.tolist() == [2, 1, 3, 0]
    assert same(corpus, read_corpus(folder, format="text"))


def test_a_file_that_cannot_be_decoded_is_left_out_or_an_error(tmp_path):
    write_texts(tmp_path, {"good.txt": "ship", "bad [red].txt": "sh\xefp".encode("latin-1")})
    write_texts(tmp_path, {"picture.txt": b"\x89PNG\r\n\0\0"})
    with pytest.warns(SkippedFilesWarning, match=r"1 file left out.*picture\.txt \(a NUL byte at 6\)"):
        assert read_corpus(tmp_path).names == ("bad [red].txt", "good.txt")
    with pytest.raises(DataError, match=r"picture\.txt = .*NUL"):
        read_corpus(tmp_path, layout=Layout(strict=True))
    with pytest.raises(DataError, match=r"bad \[red\]\.txt, byte 2.*UTF-8"):
        read_corpus(tmp_path, layout=Layout(strict=True, encoding="utf-8"))
    with pytest.warns(SkippedFilesWarning, match=r"byte 2 isn't utf-8"):
        assert read_corpus(tmp_path, layout=Layout(encoding="UTF8")).names == ("good.txt",)
    (tmp_path / "good.txt").unlink()
    (tmp_path / "bad [red].txt").unlink()
    with pytest.raises(DataError, match=r"picture\.txt"):  # nothing is left
        read_corpus(tmp_path)
