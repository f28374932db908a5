"""Corpora as files: every format, and all kinds of errors."""

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import hdpkit as hk
from hdpkit.data.files.corpora import convert_corpus, detect_format, read_corpus
from hdpkit.data.files.text_files import Layout
from hdpkit.errors import (
    DataError,
    ParameterError,
    SkippedFilesWarning,
    StorageError,
)

COUNTS = np.array([[2, 0, 1], [0, 3, 0], [0, 0, 0], [1, 1, 1]])
WORDS = ("ship", "salt", "été")


def same(one, other):
    return np.array_equal(one.to_counts().toarray(), other.to_counts().toarray())


def matrix_market(matrix, **options):
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, **options)
    return file.getvalue()


def write_texts(folder, texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["ldac", "uci", "matrix-market", "text", "shards"])
def test_every_format_is_converted_to_a_shard(tmp_path, vocabulary, kind):
    path = tmp_path / "corpus"
    options = {"vocabulary": vocabulary}
    if kind == "text":
        pytest.importorskip("sklearn")
        write_texts(path, {"a.txt": "ship salt ship", "b.txt": "salt", "c.txt": ""})
    elif kind == "shards":
        hk.Corpus.from_counts(COUNTS, vocabulary=WORDS).save(path)
        options = {}
    else:
        texts = {
            "ldac": b"2 0:2 2:1\n1 1:3\n0\n3 0:1 1:1 2:1\n",
            "uci": b"4\n3\n6\n1 1 2\n1 3 1\n2 2 3\n4 1 1\n4 2 1\n4 3 1\n",
            "matrix-market": matrix_market(sp.coo_array(COUNTS)),
        }
        path.write_bytes(texts[kind])
    made = convert_corpus(path, tmp_path / "folder", **options)
    assert detect_format(tmp_path / "folder") == "shards"
    for corpus in (made, read_corpus(tmp_path / "folder")):
        assert same(corpus, read_corpus(path, **options))
        assert corpus.vocabulary == WORDS
        assert corpus.origin is not None
    with pytest.raises(ParameterError, match="folder"):
        convert_corpus(path, tmp_path / "folder", **options)
    with pytest.raises(ParameterError, match="vocabulary"):
        read_corpus(tmp_path / "folder", vocabulary=vocabulary)
    with pytest.raises(DataError, match="a folder"):
        read_corpus(tmp_path / "folder", "ldac")
    (tmp_path / "file").touch()
    with pytest.raises((StorageError, ParameterError), match="folder"):
        convert_corpus(path, tmp_path / "file" / "folder", **options)


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
