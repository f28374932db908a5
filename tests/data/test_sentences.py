"""Files with a sentence per line: what is read, and errors for hostile files."""

import bz2
import gzip
import io
import lzma
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hdpkit.data.files.sentences import read_sentences
from hdpkit.errors import DataError, ParameterError

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def written(folder, content, name="text.txt"):
    path = folder / name
    path.write_bytes(content)
    return path


def read(folder, content, **options):
    return list(read_sentences(written(folder, content), **options))


@pytest.mark.parametrize(("suffix", "named"), [("", True), (".gz", False), (".bz2", True), (".xz", False)])
def test_packed_and_plain_files(suffix, named, tmp_path):
    content = "the cat\n\nsät\tdown  \n".encode() * 1000
    path = written(tmp_path, PACKERS[suffix](content), "text" + suffix * named)
    for source in (path, str(path)):
        assert list(read_sentences(source)) == [["the", "cat"], ["sät", "down"]] * 1000
    if suffix:
        damaged = written(tmp_path, path.read_bytes()[:-20], "cut" + suffix * named)
        with pytest.raises(DataError, match=r"cut.*complete"):
            list(read_sentences(damaged))
        written(tmp_path, b"", "empty" + suffix)
        with pytest.raises(DataError, match="complete"):
            list(read_sentences(tmp_path / f"empty{suffix}"))
        written(tmp_path, b"the cat\n", "plain" + suffix)
        with pytest.raises(DataError, match="complete"):
            list(read_sentences(tmp_path / f"plain{suffix}"))


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_characters="\0\t\n\v\f\r ", exclude_categories=["Cs"]), min_size=1)
        )
    ),
    st.sampled_from(["\n", "\r\n", " \t \n"]),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_are_what_ascii_blanks_separate(tmp_path, sentences, newline, last):
    sentences = [[word for word in sentence if word not in ("<s>", "</s>")] for sentence in sentences]
    text = "".join(" ".join(sentence) + newline for sentence in sentences)
    if text.startswith("\ufeff"):
        text = "x " + text
        sentences[0].insert(0, "x")
    content = text.encode() if last else text.removesuffix(newline).encode()
    kept = list(read_sentences(written(tmp_path, content), empty="keep"))
    assert kept == (sentences if last else sentences[: len(kept)])
    assert not any(sentences[len(kept) :])
    expected = [sentence for sentence in sentences if sentence]
    assert read(tmp_path, content) == expected
    assert read(tmp_path, b"\xef\xbb\xbf" + content) == expected
    assert list(read_sentences(io.BytesIO(content))) == expected
    assert list(read_sentences(io.StringIO(content.decode(), newline="\n"))) == expected


@pytest.mark.parametrize("marker", ["<s>", "</s>"])
def test_markers_within_a_line_are_refused(marker, tmp_path):
    with pytest.raises(DataError, match=r"text\.txt, line 3 = '.*start or end"):
        read(tmp_path, f"a\n\nb {marker} c\n".encode())
    with pytest.raises(DataError, match="line 1"):
        read(tmp_path, f"a {marker.upper()}\n".encode(), lowercase=True)


def test_invalid_utf_8_and_nul_name_line_and_byte(tmp_path):
    with pytest.raises(DataError, match=r"text\.txt, line 2, byte 5"):
        read(tmp_path, b"a b\nc\0d\n")
    content = b"a b\nc \xff d\ne\n"
    with pytest.raises(DataError, match=r"text\.txt, line 2, byte 6 = b'\\xff'.*errors=\"replace\""):
        read(tmp_path, content)
    assert read(tmp_path, content, errors="replace") == [["a", "b"], ["c", "\ufffd", "d"], ["e"]]
    assert read(tmp_path, content, encoding="latin-1") == [["a", "b"], ["c", "ÿ", "d"], ["e"]]
    for name, value in (("encoding", "rot13"), ("errors", "ignore"), ("max_line_bytes", 0), ("empty", "no")):
        with pytest.raises(ParameterError, match=name):
            read_sentences("nowhere", **{name: value})
    with pytest.raises(DataError, match="line 1, byte 0"):
        read(tmp_path, "a b\n".encode("utf-16"))
    with pytest.raises(DataError, match="line 1, byte 2"):
        read(tmp_path, b"a \xc3")
    path = written(tmp_path, content)
    with open(path, encoding="utf-8") as file, pytest.raises(DataError, match="valid utf-8"):
        list(read_sentences(file))


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_the_limit_of_a_line(ending, tmp_path):
    n = 4 + len(ending)
    assert read(tmp_path, b"abcd" + ending + b"x\n", max_line_bytes=n + 2 * (not ending))
    for source in (
        lambda: written(tmp_path, b"abcd" + ending),
        lambda: io.BytesIO(b"abcd" + ending),
        lambda: io.StringIO("abcd" + ending.decode(), newline="\n"),
    ):
        assert list(read_sentences(source(), max_line_bytes=n)) == [["abcd"]]
        assert list(read_sentences(source(), max_line_bytes=None)) == [["abcd"]]
        with pytest.raises(DataError, match="line 1"):
            list(read_sentences(source(), max_line_bytes=n - 1))


def test_what_is_no_file(tmp_path, monkeypatch):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(DataError, match="a file that can be read"):
            list(read_sentences(path))
    for source in (None, 5, "", b"x", ["a b"], "a\0b"):
        with pytest.raises(ParameterError, match="source"):
            read_sentences(source)
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input"):
        list(read_sentences("-"))
    file = open(written(tmp_path, b"a\n"), "rb")  # noqa: SIM115
    file.close()
    with pytest.raises(DataError, match="open for reading"):
        list(read_sentences(file))
    with open(tmp_path / "new", "wb") as file, pytest.raises(DataError, match="open for reading"):
        list(read_sentences(file))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are of Unix")
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_pipe(suffix, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(PACKERS[suffix](b"a b\n" * 1000),))
    writer.start()
    seen = []
    assert list(read_sentences(path, progress=lambda *told: seen.append(told))) == [["a", "b"]] * 1000
    writer.join()
    assert seen[-1] == (4000, None)
