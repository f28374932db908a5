"""Names of documents that nobody asked for, and dates of documents."""

import csv
import json

import pytest
from fit_command import FIT, call, data_of, done

import hdpkit as hk
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
    run_of, report = tmp_path / "run", tmp_path / "run" / "report.html"
    done(
        *FIT, path, "--out", run_of, "--sweeps", 8, "--date-column", "when", "--group-column", "author",
        "--min-documents", 1, "--quiet",
    )  # fmt: skip
    run = hk.open_run(run_of)
    levels = [declaration.name for declaration in run.franchise().declarations]
    assert levels == ["root", "document"]
    codes, keys = run.data.document_labels["when"]
    assert [keys[code] for code in codes[:2]] == ["1998-05-31", "1999-05-31"]
    assert codes[8] == -1
    done("export", run_of, "--to", "csv", "--out", tmp_path / "tables")

    def rows_of(name):
        with open(tmp_path / "tables" / f"{name}.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    trends, documents, authors = map(rows_of, ("trends", "documents", "document_groups"))
    assert {row["period"] for row in trends} == {str(year) for year in range(1998, 2006)}
    assert [(row["when"], row["author"]) for row in documents[-2:]] == [("2005-05-31", "x"), ("", "x")]
    assert {(row["column"], row["value"], row["documents"]) for row in authors} == {
        ("author", "x", "5"), ("author", "y", "4"),
    }  # fmt: skip
    assert all(float(row["lower"]) <= float(row["share"]) <= float(row["upper"]) for row in authors)
    done("export", run_of, "--to", "csv", "--out", tmp_path / "decades", "--by", "decade")
    assert "1990–1999" in (tmp_path / "decades" / "trends.csv").read_text(encoding="utf-8")
    for period in {row["period"] for row in trends}:
        total = sum(float(row["share"]) for row in trends if row["period"] == period)
        assert 0.5 < total < 1.001  # topics that only older states have are left out
    pytest.importorskip("vl_convert")
    done("report", run_of)
    assert "trends-0" in data_of(report)["charts"]
    assert "from 1998 to 2005" in report.read_text(encoding="utf-8")
    done("report", run_of, "--by", "decade")
    page = report.read_text(encoding="utf-8")
    assert "from 1990–1999 to 2000–2009" in page
    assert "salt bread wine salt" not in page
    done("report", run_of, "--texts", path)
    assert data_of(report)["texts"]["0"] == TEXTS[0]
    fewer = table(tmp_path / "fewer.csv", ["when", "author", "text"], rows[:3])
    assert "3 texts" in call("report", run_of, "--texts", fewer, code=2)
    done("infer", run_of, path, "--quiet")  # new texts are read in the same way
