"""Back-off models in ARPA format: written models are read back; errors about bad files name the problem."""

import bz2
import gzip
import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hdpkit.data.files.sentences import read_arpa, write_arpa
from hdpkit.errors import DataError

BY_HAND = r"""\data\
ngram 1=4
ngram 2=3

\1-grams:
-99	<s>	-0.25
-0.5	a	0.125
-0.75	b
-1	</s>

\2-grams:
-0.125	<s> a	-99
0	a b
-0.5	b </s>

\end\
"""
ROWS = [
    [(-math.inf, ("<s>",), -0.25), (-0.5, ("a",), 0.125), (-0.75, ("b",), None), (-1, ("</s>",), None)],
    [(-0.125, ("<s>", "a"), -99), (1e-12, ("a", "b"), None), (np.float64(-0.5), ("b", "</s>"), None)],
]


def test_the_format_is_the_format(tmp_path):
    path = tmp_path / "model.arpa"
    write_arpa(path, iter(iter(rows) for rows in ROWS))
    assert path.read_text() == BY_HAND
    assert os.listdir(tmp_path) == ["model.arpa"]
    model = read_arpa(str(path))
    assert model.order == 2
    assert model.vocabulary == ("<s>", "a", "b", "</s>")
    assert repr(model) == "<ArpaModel: 4 1-grams, 3 2-grams>"
    for word, context, expected in (
        ("a", ("<s>",), -0.125),
        ("a", ["b", "<s>"], -0.125),  # only the nearest word counts
        ("a", ("a",), 0.125 - 0.5),  # backs off
        ("b", ("<s>",), -0.25 - 0.75),
        ("b", ("b",), -0.75),  # no weight: 1
        ("b", ("z",), -0.75),
        ("b", (), -0.75),
        ("z", ("a",), -math.inf),
        ("<s>", ("a",), -math.inf),
    ):
        assert model.log10_probability(word, context) == expected


WORDS = st.text(st.characters(exclude_characters="\0\t\n\v\f\r ", exclude_categories=["Cs"]), min_size=1)
LOGS = st.floats(-98.9, 0) | st.just(-math.inf)


@given(
    st.lists(WORDS, min_size=1, max_size=6, unique=True),
    st.integers(1, 4),
    st.sampled_from(["", ".gz"]),
    st.data(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_come_back_to_the_last_bit(tmp_path, words, order, suffix, data):
    rows = []
    for n in range(1, order + 1):
        ngrams = [(word,) for word in words]
        if n > 1:
            ngrams = data.draw(st.lists(st.tuples(*[st.sampled_from(words)] * n), unique=True, max_size=5))
        rows.append(
            [(data.draw(LOGS), ngram, data.draw(st.none() | st.floats(-98.9, 98.9))) for ngram in ngrams]
        )
    path = tmp_path / f"model.arpa{suffix}"
    write_arpa(path, rows)
    model = read_arpa(path)
    assert model.rows() == rows
    first = path.read_bytes()
    write_arpa(path, model.rows())
    assert path.read_bytes() == first
    assert (first[:2] == b"\x1f\x8b") == bool(suffix)


GOOD = (-1.0, ("a",), None)


@pytest.mark.parametrize(
    ("orders", "place"),
    [
        ([], "orders"),
        ([[5]], "order 1, row 0"),
        ([[GOOD, ("a",)]], "order 1, row 1"),
        ([[(-1.0, "a", None)]], "order 1, row 0"),
        ([[(-1.0, ("a", "b"), None)]], "order 1, row 0, words"),
        *[([[(-1.0, (word,), None)]], "order 1, row 0, words") for word in ("", "a b", "\0", 5)],
        ([[(-1.0, ("\ud800",), None)]], "order 1, row 0, words"),
        ([[GOOD, GOOD]], "order 1, row 1, words"),
        ([[GOOD], [(-1.0, ("a", "b"), None)]], "order 2, row 0, words"),
        *[([[(p, ("a",), None)]], "order 1, row 0, probability") for p in (0.1, math.nan, "0")],
        *[([[(-1.0, ("a",), b)]], "order 1, row 0, back-off") for b in (math.inf, True)],
    ],
)
def test_rows_that_make_no_sense_are_refused(orders, place, tmp_path):
    with pytest.raises(DataError, match=place) as caught:
        write_arpa(tmp_path / "model.arpa", orders)
    assert caught.value.allowed
    assert caught.value.remedy
    assert os.listdir(tmp_path) == []


def changed(old, new):
    assert old in BY_HAND
    return BY_HAND.replace(old, new, 1)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "model.arpa = 'no line"),
        ("the cat sat\n", r"line 1 = .*no line"),
        (changed("ngram 1=4\n", ""), "line 2 "),
        (changed("ngram 1=4\n", "ngram 1=5\n"), "line 11 .*after 5"),
        (changed("ngram 1=4\n", "ngram 1=999999999999999999\n"), "line 11 .*4 1-grams"),
        (changed("ngram 2=3\n", "ngram 2=2\n"), "line 16 .*after 2"),
        (changed("\\1-grams:", "\\2-grams:"), "line 5 "),
        (changed("-0.5\ta\t0.125", "-0.5"), "line 7 "),
        (changed("-0.5\ta", "-0.5\ta b"), "line 7 "),
        (changed("-0.5\ta", "0.5\ta"), "line 7 = '0.5'"),
        (changed("0.125\n", "inf\n"), "line 7 = 'inf'"),
        (changed("-0.75\tb", "-0.75\ta"), "line 8 .*different from all n-grams"),
        (changed("0\ta b", "0\ta c"), "line 13 = 'c'"),
        (changed("\\end\\", ""), r"\\end\\"),
        (changed("\\end\\", "\\3-grams:"), "line 16 "),
    ],
)
def test_files_that_make_no_sense_are_refused(content, told, tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(content)
    with pytest.raises(DataError, match=told) as caught:
        read_arpa(path)
    assert str(path) in caught.value.parameter


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model.arpa"
    for content, told in (
        (BY_HAND.encode().replace(b"\ta\t", b"\t\xff\t"), "line 7, byte"),
        (gzip.compress(BY_HAND.encode(), mtime=0)[:-9], "gzip"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=told):
            read_arpa(path)
    for missing in (tmp_path / "missing", tmp_path):
        with pytest.raises(DataError, match="can be read"):
            read_arpa(missing)
    whole = BY_HAND.encode()
    for length in range(len(whole) - 1):  # without the last end of a line it is whole
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            read_arpa(path)


def test_what_other_tools_write(tmp_path):
    path = tmp_path / "model"
    text = "made by a tool\n\n" + BY_HAND.replace("\t", " ").replace("\n", " \r\n") + "and more\n"
    text = text.replace("ngram 1=4", "ngram  1 = 4")
    path.write_bytes(bz2.compress(b"\xef\xbb\xbf" + text.encode()))
    model = read_arpa(path)
    assert model.log10_probability("b", ("<s>",)) == -1
