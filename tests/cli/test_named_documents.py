"""Names of documents that nobody asked for, and dates of documents."""

import csv
import json
import re

import pytest
from click.testing import CliRunner
from fit_command import FIT

import hdpkit as hk
from hdpkit.cli.main import main
from hdpkit.data.files.corpora import read_corpus

TEXTS = ["salt bread wine salt", "ship sail salt ship", "bread wine salt bread", "sail ship sail salt"]


def table(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (["likes", "Title", "text"], ["Salt", "Ships", "(line 4)", "Wine"]),
        (["id", "text"], ["a", "b", "c", "d"]),
        (["key of a row", "text"], ["a", "b", "c", "d"]),
        (["text", "other"], None),
        (["text"], None),
        (["year", "text"], None),
    ],
)
def test_documents_of_tables_have_names(tmp_path, header, names):
    cells = {
        "Title": ["Salt", "Ships", "", "Wine"], "id": "abcd", "key of a row": "abcd", "text": TEXTS,
        "likes": "1234", "other": "abcd", "year": ["1998", "1998", "1999", "1999"],
    }  # fmt: skip
    rows = list(zip(*(cells[name] for name in header), strict=True))
    corpus = read_corpus(table(tmp_path / "t.csv", header, rows))
    assert corpus.names == (None if names is None else tuple(names))
    lines = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert read_corpus(tmp_path / "t.jsonl").names == (
        None if names is None else tuple(name.replace("line 4", "line 3") for name in names)
    )


def test_dates_become_a_label_and_no_level(tmp_path):
    rows = [[f"{1998 + d}-05-31", "x" if d % 2 else "y", TEXTS[d % 4]] for d in range(8)]
    path = table(tmp_path / "t.csv", ["when", "author", "text"], [*rows, ["", "x", "salt"]])
    options = ["--date-column", "when", "--group-column", "author", "--min-documents", "1", "--quiet"]
    arguments = [*FIT, str(path), "--out", str(tmp_path / "run"), "--sweeps", "8", *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    run = hk.open_run(tmp_path / "run")
    levels = [declaration.name for declaration in run.franchise().declarations]
    assert levels == ["root", "document"]
    codes, keys = run.data.document_labels["when"]
    assert [keys[code] for code in codes[:2]] == ["1998-05-31", "1999-05-31"]
    assert codes[8] == -1
    exported = ["export", str(tmp_path / "run"), "--to", "csv", "--out", str(tmp_path / "tables")]
    assert CliRunner().invoke(main, exported).exit_code == 0
    with open(tmp_path / "tables" / "trends.csv", encoding="utf-8") as file:
        trends = list(csv.DictReader(file))
    assert {row["period"] for row in trends} == {str(year) for year in range(1998, 2006)}
    with open(tmp_path / "tables" / "documents.csv", encoding="utf-8") as file:
        documents = list(csv.DictReader(file))
    assert [(row["when"], row["author"]) for row in documents[-2:]] == [("2005-05-31", "x"), ("", "x")]
    with open(tmp_path / "tables" / "document_groups.csv", encoding="utf-8") as file:
        authors = list(csv.DictReader(file))
    assert {(row["column"], row["value"], row["documents"]) for row in authors} == {
        ("author", "x", "5"), ("author", "y", "4"),
    }  # fmt: skip
    assert all(float(row["lower"]) <= float(row["share"]) <= float(row["upper"]) for row in authors)
    decades = [*exported[:-1], str(tmp_path / "decades"), "--by", "decade"]
    assert CliRunner().invoke(main, decades).exit_code == 0
    assert "1990–1999" in (tmp_path / "decades" / "trends.csv").read_text(encoding="utf-8")
    for period in {row["period"] for row in trends}:
        total = sum(float(row["share"]) for row in trends if row["period"] == period)
        assert 0.5 < total < 1.001  # topics that only older states have are left out
    pytest.importorskip("vl_convert")
    assert CliRunner().invoke(main, ["report", str(tmp_path / "run")]).exit_code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])
    assert "trends-0" in data["charts"]
    assert "from 1998 to 2005" in page
    assert CliRunner().invoke(main, ["report", str(tmp_path / "run"), "--by", "decade"]).exit_code == 0
    assert "from 1990–1999 to 2000–2009" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "salt bread wine salt" not in page
    with_texts = ["report", str(tmp_path / "run"), "--texts", str(path)]
    assert CliRunner().invoke(main, with_texts).exit_code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])
    assert data["texts"]["0"] == TEXTS[0]
    table(tmp_path / "fewer.csv", ["when", "author", "text"], rows[:3])
    refused = CliRunner().invoke(main, [*with_texts[:-1], str(tmp_path / "fewer.csv")])
    assert refused.exit_code == 2
    assert "3 texts" in refused.stderr
    # New texts are read in the same way.
    inferred = CliRunner().invoke(main, ["infer", str(tmp_path / "run"), str(path), "--quiet"])
    assert inferred.exit_code == 0, inferred.output
