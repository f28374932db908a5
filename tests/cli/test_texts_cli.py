"""Texts on the command line: from a table to shares of new texts, and exports for other programs."""

import contextlib
import csv
import io
import json
import random
import re
import shutil
import sys

import numpy as np
import pytest
from fit_command import FIT, call, done
from forged_runs import forge_about

import hdpkit as hk
from hdpkit.data.files.corpora import ReadingSettings
from hdpkit.data.files.tables import Table, escaped, unescaped, write_table, write_workbook
from hdpkit.data.files.text_files import Layout
from hdpkit.errors import CorruptRunError, DataError, RunError, printable
from hdpkit.files import text_of
from hdpkit.run.reading import load_reading, read_like

WORDS = [["ship", "sail", "storm", "harbour"], ["bread", "butter", "oven", "salt"]]


def refused(*arguments):
    return call(*arguments, code=2)


def write(path, n, seed, more=""):
    rng = random.Random(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["post", "body", "author"])
        for i in range(n):
            text = " ".join(rng.choices(WORDS[i % 2], k=12))
            rows.writerow([f"p{i}", f"The {text}{more}", "ann" if i % 4 < 2 else "bob"])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, new texts and a run of two chains over the table, with authors as a level."""
    place = tmp_path_factory.mktemp("texts")
    write(place / "posts.csv", 24, 0)
    write(place / "new.csv", 5, 1, more=" zebra, zebra")
    done(
        *FIT, place / "posts.csv", "--id-column", "post", "--group-column", "author", "--stop-words",
        "english,german", "--sweeps", 40, "--chains", 2, "--samples", 5, "--quiet", "--out", place / "run",
        "--group-concentration", "gamma(1,1)",
    )  # fmt: skip
    return place


def test_new_texts_are_counted_as_the_run_counted_its_own(folder):
    new = read_like(folder / "run", folder / "new.csv")
    assert new.n_unknown == 10
    assert new.n_words.tolist() == [14] * 5  # the stop words are none of them
    data = hk.open_run(folder / "run").data
    assert new.corpus.vocabulary == data.vocabulary
    again = read_like(folder / "run", folder / "posts.csv")
    assert (again.corpus.to_counts() != data.to_counts()).nnz == 0
    assert again.corpus.names == data.names
    assert again.n_unknown == 0


def test_function_words_are_left_out_and_the_output_says_how_to_keep_them(tmp_path):
    with open(tmp_path / "raw.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["date", "party", "text"])
        for i in range(20):
            said = "We don't and they've been to the " + " of the ".join(WORDS[i % 2][:4])
            rows.writerow([f"{1990 + i}-01-02", "ab"[i % 2], said])
    plain = (*FIT, tmp_path / "raw.csv", "--text-column", "text", "--sweeps", 2, "--out")
    shown = done(*plain, tmp_path / "run").stderr
    (line,) = [line for line in shown.splitlines() if "function words" in line]
    assert re.fullmatch(r"3\d\d function words \(english\) left out; --stop-words none keeps them", line)
    assert set(hk.open_run(tmp_path / "run").data.vocabulary) == {word for words in WORDS for word in words}
    kept = done(*plain, tmp_path / "kept", "--stop-words", "none")
    assert "function words" not in kept.stderr
    assert {"the", "don't", "of"} < set(hk.open_run(tmp_path / "kept").data.vocabulary)
    assert line in done("convert", tmp_path / "raw.csv", tmp_path / "made", "--text-column", "text").stderr


def test_labels_that_the_run_does_not_know_are_missing(folder, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"post": 1, "body": "ship", "author": "cid"}\n')
    assert read_like(folder / "run", tmp_path / "new.jsonl").corpus.codes("author").tolist() == [-1]
    (tmp_path / "new.csv").write_text("post,body\n1,bread\n")
    assert "1,1,0," in done("infer", folder / "run", tmp_path / "new.csv").stdout
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("oven and salt")
    assert "a.txt,2,0," in done("infer", folder / "run", tmp_path / "texts").stdout


def read_table(path):
    if path.suffix == ".parquet":
        pandas = pytest.importorskip("pandas")
        return pandas.read_parquet(path).to_dict("records")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text), delimiter="\t" if path.suffix == ".tsv" else ","))


def test_a_run_for_other_programs(folder, tmp_path):
    shares = {}
    for to in ("csv", "parquet"):
        if to == "parquet":
            pytest.importorskip("pyarrow")
        done("export", folder / "run", "--to", to, "--out", tmp_path / to, "--terms", 3)
        topics, terms, documents = (
            read_table(tmp_path / to / f"{name}.{to}") for name in ("topics", "terms", "documents")
        )
        assert [int(row["topic"]) for row in topics] == list(range(1, len(topics) + 1))
        assert sum(row["topic"] in (1, "1") for row in terms) == 3
        assert [row["document"] for row in documents] == [f"p{i}" for i in range(24)]
        shares[to] = [[float(row[f"topic_{k + 1}"]) for k in range(len(topics))] for row in documents]
    np.testing.assert_allclose(shares["csv"], shares["parquet"], rtol=1e-6)
    done("export", folder / "run", "--to", "json", "--out", tmp_path / "run.json")
    held = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    np.testing.assert_allclose([d["shares"] for d in held["documents"]], shares["csv"], rtol=1e-6)
    assert {t["term"] for t in held["topics"][0]["terms"][:4]} in [set(words) for words in WORDS]
    assert "new or an empty folder" in refused(
        "export", folder / "run", "--to", "csv", "--out", tmp_path / "csv"
    )


def test_the_trace_for_arviz(folder, tmp_path):
    arviz = pytest.importorskip("arviz")
    out = tmp_path / "trace.nc"
    done("export", folder / "run", "--to", "arviz", "--out", out)
    trace = hk.open_run(folder / "run").trace
    held = arviz.from_netcdf(out)
    np.testing.assert_array_equal(held["posterior"]["n_dishes"].values, trace["n_dishes"])
    for name in ("trace.txt", "trace.zarr"):
        assert ".nc" in refused("export", folder / "run", "--to", "arviz", "--out", tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.nc"]


def test_new_texts_are_segmented_like_those_of_the_run(tmp_path, monkeypatch):
    (tmp_path / "my_pieces.py").write_text(
        "def twos(text):\n    return [text[i : i + 2] for i in range(0, len(text), 2)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a.txt").write_text("天气公园天气散步\n公园公园，。\n", encoding="utf-8")
    arguments = [*FIT, tmp_path / "a.txt", "--segmenter", "my_pieces:twos", "--sweeps", 2, "--quiet"]
    assert "--allow my_pieces" in refused(*arguments, "--out", tmp_path / "run")
    done(*arguments, "--out", tmp_path / "run", "--allow", "my_pieces")
    assert list(hk.open_run(tmp_path / "run").data.vocabulary) == ["公园", "天气", "散步"]
    assert "--allow my_pieces" in refused("infer", tmp_path / "run", tmp_path / "a.txt")
    told = done("infer", tmp_path / "run", tmp_path / "a.txt", "--allow", "my_pieces").stdout
    assert "0,4,0," in told
    assert "1,2,0," in told
    sys.modules.pop("my_pieces", None)


def test_damaged_readings_are_typed_errors(folder, tmp_path):
    shutil.copytree(folder / "run", tmp_path / "run")
    reading, path = load_reading(folder / "run"), tmp_path / "run" / "run.json"
    good = path.read_bytes()
    for bad in (b"", b"[" * 100_000, text_of("other", {}), good.replace(b"csv", b"tsv"), good[:-1]):
        path.write_bytes(bad)
        with pytest.raises(CorruptRunError, match=r"run\.json"):
            load_reading(tmp_path / "run")
    path.write_bytes(good.replace(b'"version": 3', b'"version": 4'))
    with pytest.raises(RunError, match="version 3"):
        load_reading(tmp_path / "run")
    for forged in (5, [], "csv", {}, {"format": "csv"}, {**reading.as_data(), "counter": 5}):
        path.write_bytes(good)
        forge_about(tmp_path / "run", lambda about, forged=forged: about.update(reading=forged))
        with pytest.raises(CorruptRunError, match=r"run\.json"):
            load_reading(tmp_path / "run")
    for key, value in (("format", "xml"), ("layout", None), ("layout", {}), ("counter", {})):
        with pytest.raises((DataError, ValueError)):
            ReadingSettings.from_data({**reading.as_data(), key: value})
    path.write_bytes(good)
    forge_about(tmp_path / "run", lambda about: about.pop("reading"))
    with pytest.raises(RunError, match="how the corpus was read"):
        load_reading(tmp_path / "run")


def test_a_run_of_counts_reads_counts(tmp_path):
    (tmp_path / "a.dat").write_text("2 0:3 1:1\n2 1:2 2:2\n1 2:4\n")
    done(*FIT, tmp_path / "a.dat", "--sweeps", 2, "--quiet", "--out", tmp_path / "run")
    (tmp_path / "new.dat").write_text("1 0:2\n0\n")
    rows = done("infer", tmp_path / "run", tmp_path / "new.dat").stdout.splitlines()
    assert [row.split(",")[:3] for row in rows[1:]] == [["0", "2", "0"], ["1", "0", "0"]]
    (tmp_path / "new.dat").write_text("1 3:2\n")
    assert "at most 2" in refused("infer", tmp_path / "run", tmp_path / "new.dat")
    (tmp_path / "uci").write_text("1\n2\n1\n1 1 1\n")
    assert "0,1,0," in done("infer", tmp_path / "run", tmp_path / "uci").stdout
    (tmp_path / "uci").write_text("1\n5\n1\n1 5 1\n")
    assert "at most 3" in refused("infer", tmp_path / "run", tmp_path / "uci")
    banner = "%%MatrixMarket matrix coordinate integer general\n"
    (tmp_path / "a.mtx").write_text(f"{banner}1 3 1\n1 3 2\n")
    assert "0,2,0," in done("infer", tmp_path / "run", tmp_path / "a.mtx").stdout
    (tmp_path / "a.mtx").write_text(f"{banner}1 4 1\n1 3 2\n")
    assert "3 columns" in refused("infer", tmp_path / "run", tmp_path / "a.mtx")
    (tmp_path / "a.csv").write_text("text\nship\n")
    assert "counts, as the run's corpus" in refused("infer", tmp_path / "run", tmp_path / "a.csv")


UNSAFE = [
    '=HYPERLINK("http://a","b")', "+cmd|' /C calc'!A0", "@SUM(1)", "\t=1+1", "\r=1+1", "-2+3", " =1",
    "\uff1d1", "\x1b]0;title\x07", "nul\x00", "'=1", "'\\\\x1b", "half\ud800", "\u202eback", "line\nend",
    'quo"te', "a;b,c",
]  # fmt: skip
SAFE = ["-2", "+1.5e-3", "-", "--", "plain", "back\\slash", "שלום"]


@pytest.fixture(scope="module")
def unsafe(tmp_path_factory):
    """A run whose terms and documents have names that a spreadsheet or a terminal would obey."""
    words = UNSAFE + SAFE
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    corpus = hk.Corpus.from_documents([[word, word, words[0]] for word in words], names=words)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), corpus)
    place = tmp_path_factory.mktemp("unsafe") / "run"
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 4, rng=0, folder=place, samples=2)
    return place


def evaluated(cell):
    """Whether a spreadsheet would evaluate a cell, or a terminal obey it."""
    formula = cell.lstrip()[:1] in tuple("=+-@\uff1d") and any(one.isalnum() for one in cell)
    with contextlib.suppress(ValueError):
        float(cell)
        formula = False
    return formula or not cell.isprintable()


def cells_of(path, **layout):
    layout = Layout(delimiter="\t" if path.suffix == ".tsv" else ",", **layout)
    table = Table(path, layout, header=False)
    return [row for _, row in table.rows(range(len(table.names)))]


def test_every_table_is_safe_and_read_as_it_was(unsafe, tmp_path):
    words = UNSAFE + SAFE
    done("export", unsafe, "--to", "csv", "--out", tmp_path / "csv", "--terms", 99)
    files = sorted((tmp_path / "csv").iterdir())
    corpus = hk.open_run(unsafe).data
    shares = {"document": list(corpus.names), "low": np.full(len(words), -0.5)}
    for suffix in ("csv", "tsv"):
        files.append(tmp_path / f"a.{suffix}")
        write_table(files[-1], shares)
    for file in files:
        assert not any(evaluated(cell) for row in cells_of(file) for cell in row)
    for file in files:
        name = {"terms": 3, "topics": -1, "groups": -1}.get(file.stem, 0)
        found = [unescaped(row[name]) for row in cells_of(file)[1:]]
        if file.stem in ("topics", "groups"):
            assert set(" ".join(found)) <= set(" ".join(words))
        else:
            assert set(found) == set(words)
    assert {row[1] for row in cells_of(files[-1])[1:]} == {"-0.5"}  # numbers stay numbers
    printed = done("topics", unsafe, "--format", "csv", "--terms", 99).stdout
    assert not any(evaluated(cell) for row in csv.reader(io.StringIO(printed)) for cell in row)
    assert "\x1b" not in done("topics", unsafe).stdout
    done("export", unsafe, "--to", "csv", "--out", tmp_path / "raw", "--raw")
    raw = (tmp_path / "raw" / "documents.csv").read_text(encoding="utf-8")
    assert all(word in raw for word in ("\n@SUM(1),", "\n\t=1+1", "\x1b]0;title\x07"))


def test_texts_that_parquet_cant_hold(unsafe, tmp_path):
    pytest.importorskip("pyarrow")
    told = refused("export", unsafe, "--to", "parquet", "--out", tmp_path / "tables")
    assert "half\\ud800" in told
    assert "CSV" in told
    with pytest.raises(DataError, match="one type"):
        write_table(tmp_path / "a.parquet", {"document": [1, "b"]})
    write_table(tmp_path / "a.jsonl", {"document": ["half\ud800", (1, 2)]})
    lines = (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["document"] == "half\ud800"


def test_any_text_is_read_from_its_cell():
    rng = random.Random(0)
    letters = "=+-@'\\\\x1b0u\x1b\0\t\n\rU \ud800\u202e\U000e0001,;\"a\uff1d\x85"
    for _ in range(20_000):
        text = "".join(rng.choices(letters, k=rng.randrange(10)))
        assert unescaped(escaped(text)) == text
        assert not evaluated(escaped(text))


def test_a_workbook_has_the_tables_as_sheets(folder, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    done("export", folder / "run", "--to", "csv", "--out", tmp_path / "csv")
    done("export", folder / "run", "--to", "excel", "--out", tmp_path / "run.xlsx")
    book = openpyxl.load_workbook(tmp_path / "run.xlsx")
    assert book.sheetnames == ["topics", "terms", "documents", "document_groups"]
    for sheet in book:
        head, *rows = sheet.iter_rows(values_only=True)
        table = read_table(tmp_path / "csv" / f"{sheet.title}.csv")
        assert list(head) == list(table[0])
        assert len(rows) == len(table)
        for row, expected in zip(rows, table, strict=True):
            for value, text in zip(row, expected.values(), strict=True):
                assert (
                    value == pytest.approx(float(text))
                    if isinstance(value, float | int) and not isinstance(value, bool)
                    else str(value) == text
                )
    assert ".xlsx" in refused("export", folder / "run", "--to", "excel", "--out", tmp_path / "run.xls")


def test_cells_of_a_workbook_are_never_evaluated(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    words = ["=1+1", "@SUM(A1)", "\x1b[31m", "plain", "half\ud800pair", "'quoted"]
    write_workbook(
        tmp_path / "a.xlsx", {"words": [{"word": words, "share": [0.5, float("nan"), 1, 2, 3, 4]}]}
    )
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["words"]
    cells = [row[0] for row in sheet.iter_rows(min_row=2)]
    assert [cell.data_type for cell in cells] == ["s"] * 6
    assert [cell.value for cell in cells] == [printable(word) for word in words]
    assert [row[1].value for row in sheet.iter_rows(min_row=2)][:2] == [0.5, None]
    with pytest.raises(DataError, match="sheet words"):
        write_workbook(tmp_path / "b.xlsx", {"words": [{str(i): [0] for i in range(16_385)}]})
    assert not (tmp_path / "b.xlsx").exists()
    for word in ("x" * 32_768, "\x1b" * 10_000):  # a control character is written as four
        with pytest.raises(DataError, match="sheet words"):
            write_workbook(tmp_path / "b.xlsx", {"words": [{"word": ["plain", word]}]})
        assert not (tmp_path / "b.xlsx").exists()
    write_workbook(tmp_path / "b.xlsx", {"words": [{"word": ["x" * 32_767]}]})
    assert openpyxl.load_workbook(tmp_path / "b.xlsx")["words"]["A2"].value == "x" * 32_767
