"""Corpora as files: every format, and all kinds of errors."""

import numpy as np
import pytest

from hdpkit.data.files.corpora import read_corpus
from hdpkit.data.files.text_files import Layout
from hdpkit.errors import (
    DataError,
    SkippedFilesWarning,
)


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
