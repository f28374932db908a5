"""Tables of every format, as every command and every function in Python reads them."""

import gzip
import json

import numpy as np
import pytest
from data_files import write_parquet

from hdpkit.cli.corpus import given_table
from hdpkit.data.files.corpora import read_corpus
from hdpkit.data.files.labels import check_nested, read_labels
from hdpkit.data.files.tables import Table, missing
from hdpkit.data.files.text_files import Layout
from hdpkit.errors import DataError, MissingExtraError, ParameterError
from hdpkit.kinds.hidden_markov import HiddenMarkov
from hdpkit.kinds.points import Mixture
from hdpkit.signatures import CHANNELS, read_signatures, read_spectra

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".parquet", ".jsonl", ".xlsx")


def read_points(path, columns, group, options=None):
    """The points of a table, as the command reads them."""
    return Mixture(columns=tuple(columns), groups=group).read(given_table(path, options))


def read_sequences(path, columns, sequence, emission):
    """The sequences of a table, as the command reads them."""
    kind = HiddenMarkov(columns=tuple(columns), sequence=sequence, emission=emission)
    return kind.read(given_table(path, None))


def write(path, columns):
    """A table in the format of the suffix of a path."""
    names, rows = list(columns), list(zip(*columns.values(), strict=True))
    if path.suffix == ".parquet":
        write_parquet(path, columns)
    elif path.suffix == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [names, *rows]:
            book.active.append(row)
        book.save(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        lines = [["" if cell is None else str(cell) for cell in row] for row in [names, *rows]]
        text = "\n".join(("\t" if ".tsv" in path.name else ",").join(line) for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_reader_reads_every_format(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    write(path, {"x": [1.5, -2.0], "y": [3, 4], "id": ["u", None]})
    found = read_points(path, [], "id")
    assert found.columns == ("x", "y")
    assert found.values.tolist() == [[1.5, 3.0], [-2.0, 4.0]]
    assert found.codes("id").tolist() == [0, -1]
    write(path, {"x": [1.5, None, -2.0], "id": ["u", "v", "u"], "word": ["a", "b", "a"]})
    found = read_sequences(path, ["x"], "id", "normal")
    assert (found.names, found.values[~found.missing].tolist()) == (("u", "v"), [1.5, -2.0])
    assert read_sequences(path, ["word"], None, "words").vocabulary == ("a", "b")
    names = [str(name) for name in CHANNELS["DBS78"].names]
    write(path, {"Type": names, "one": list(range(78)), "two": [1] * 78})
    corpus = read_spectra(path)
    assert (corpus.names, corpus.n_tokens) == (("one", "two"), 78 * 77 // 2 + 78)
    write(path, {"Type": names, "known": [1 / 78] * 78})
    assert read_signatures(path).names == ("known",)
    write(path, {"sample": ["b", "a"], "type": ["lung", "skin"], "age": [3, 5]})
    assert read_labels(path, ["a", "b"]) == {"type": ["skin", "lung"], "age": ["5", "3"]}
    write(path, {"id": [1, 2, 3], "text": ["ship sea", "", "salt"], "author": ["a", None, "NA"]})
    corpus = read_corpus(path, layout=Layout(group_columns=["author"], id_column="id"))
    assert (corpus.names, corpus.vocabulary) == (("1", "2", "3"), ("salt", "sea", "ship"))
    assert corpus.codes("author").tolist() == [0, 0, -1]  # of its tokens


def test_arrays_of_numpy_are_tables_without_a_header(tmp_path):
    values = np.array([[1.5, 2.0], [3.0, -4.25]])
    np.save(tmp_path / "t.npy", values)
    found = read_points(tmp_path / "t.npy", [], None)
    assert found.columns == ("1", "2")
    assert found.values.tolist() == values.tolist()
    assert read_points(tmp_path / "t.npy", ["2"], None).values.tolist() == [[2.0], [-4.25]]
    np.save(tmp_path / "t.npy", np.array([1.0, np.nan, 3.0]))
    assert read_sequences(tmp_path / "t.npy", [], None, "normal").missing.tolist() == [False, True, False]
    np.save(tmp_path / "t.npy", np.array([(1, "a"), (2, "b")], dtype=[("n", "<i4"), ("key", "<U1")]))
    assert read_sequences(tmp_path / "t.npy", ["n"], "key", "poisson").names == ("a", "b")
    with pytest.raises(DataError, match=r"row 1, column 'key'.*a finite number"):
        read_points(tmp_path / "t.npy", ["key"], None)
    for bad in (np.zeros((2, 2, 2)), np.array([True]), np.array([1j]), np.empty((0, 2))):
        np.save(tmp_path / "t.npy", bad)
        with pytest.raises(DataError, match=r"t\.npy.*(one or two dimensions|a column with a name)"):
            read_points(tmp_path / "t.npy", [], None)
    np.save(tmp_path / "t.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(DataError, match=r"t\.npy"):
        read_points(tmp_path / "t.npy", [], None)
    (tmp_path / "t.npy").write_bytes((tmp_path / "t.npy").read_bytes()[:40])
    with pytest.raises(DataError, match=r"t\.npy"):
        read_points(tmp_path / "t.npy", [], None)


def test_decimal_commas_wherever_commas_separate_nothing(tmp_path):
    path = tmp_path / "t.txt"
    for delimiter in ("\t", ";", "|", " "):
        path.write_text("x y\n1,5 2\n-3 ,25e1\n".replace(" ", delimiter))
        assert read_points(path, [], None).values.tolist() == [[1.5, 2.0], [-3.0, 2.5]]
    write(tmp_path / "t.jsonl", {"x": ["1,5", "2"]})
    assert read_points(tmp_path / "t.jsonl", [], None).values.tolist() == [[1.5], [2.0]]
    path.write_text("x\ty\n1,5\t2\n3\t1.25\n")  # one of the two may be for thousands
    with pytest.raises(DataError, match=r"line 3, column 'y' = '1.25'.*with a point"):
        read_points(path, [], None)


def test_headers_row_names_and_missing_cells(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("x\ty\n1\t1,5\t2\n2\t3\t4\n")  # as R's write.table
    assert Table(path).names == ["", "x", "y"]
    assert read_points(path, [], None).columns == ("x", "y")
    path.write_text("1\t2\n3\t4\n")
    assert len(read_points(path, [], None, {"header": False, "quiet": True})) == 2
    path.write_text("1,5;2\n3;4\n")
    with pytest.raises(DataError, match=r"line 1.*--no-header"):
        read_points(path, [], None)
    path.write_text("\tbody\n0\tship\n1\tsea\n")  # an index is no text
    assert read_corpus(path).vocabulary == ("sea", "ship")
    for cell in ("", " ", "NA", "nan", "NULL", "None", "#N/A", None, float("nan")):
        assert missing(cell)
    assert not any(map(missing, ("0", 0, "none of them", False)))


def test_encodings(tmp_path):
    path = tmp_path / "t.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes("größe\n1\n".encode(encoding))
        assert read_points(path, [], None).columns == ("größe",)
    path.write_bytes("größe\n1\n".encode("cp437"))
    assert read_points(path, [], None, {"encoding": "cp437", "quiet": True}).columns == ("größe",)
    names = CHANNELS["DBS78"].names
    path.write_bytes(("Typ;größe\n" + "".join(f"{name};1\n" for name in names)).encode("utf-16-le"))
    assert read_spectra(path, encoding="utf-16-le").names == ("größe",)
    path.write_text("".join(f"{name};2;3\n" for name in names))
    assert read_spectra(path, header=False).n_documents == 2


def test_workbooks_that_are_none(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    for content in (b"", b"PK\x03\x04", b"x,y\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"t\.xlsx.*workbook"):
            read_points(path, [], None)
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1, "b"]):
        book.active.append(row)
    book.save(path)
    with pytest.raises(DataError, match=r"t\.xlsx, row 2, column 'y' = 'b'"):
        read_points(path, [], None)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut] + b"\xff" * 40 + whole[cut + 40 :])
        with pytest.raises(DataError, match=r"t\.xlsx"):
            read_points(path, [], None)
    openpyxl.Workbook().save(path)
    with pytest.raises(DataError, match=r"t\.xlsx.*no rows"):
        read_points(path, [], None)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"hdpkit\[pandas\]"):
        read_points(path, [], None)


@pytest.mark.parametrize(
    ("rows", "settings", "told"),
    [
        (["x,y", "1,2", "1,b"], {}, "line 3, column 'y'.*a finite number"),
        (["x,y", "1,2", "1,"], {}, "line 3, column 'y'.*missing values.*SimpleImputer"),
        (["x", "inf"], {}, "a finite number"),
        (["x", "1_0"], {}, "a finite number"),
        (["x,y", "1"], {}, "1 fields"),
        (["x", "1,5", "2,5"], {}, "line 2 = '2 fields'.*--delimiter"),
        (["x"], {}, "a row for each point"),
        (["x\ty", "1\t1,005.5"], {}, "column 'y'.*with a point"),
        ([",", "1,2"], {}, "a column with a name"),
        (["x", "1"], {"columns": ("z",)}, "columns = 'z'"),
        (["x", "1"], {"groups": "z"}, "group = 'z'"),
        (["x,y", "1,2"], {"columns": ("x", "x")}, "each column once"),
        (["x", "1.5"], {"emission": "poisson"}, "a count"),
        (["x"], {"emission": "normal"}, "a row for each observation"),
        (["x", "1"], {"emission": "normal", "sequence": "z"}, "sequence = 'z'"),
        (["x,x", "1,2"], {"emission": "normal", "columns": ("x",)}, "one column"),
        (["x,y", "a,b"], {"emission": "words"}, "one column of words"),
    ],
)
def test_rows_that_are_no_points_or_sequences(tmp_path, rows, settings, told):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    kind = HiddenMarkov if "emission" in settings else Mixture
    with pytest.raises((DataError, ParameterError), match=told):
        kind(**settings).read(given_table(path, None))


DOCUMENTS = ["a", "b", "c"]
TYPES = "sample,type,site\nc,skin,s1\na,lung,l1\nb,lung,l2\nz,skin,s2\n"


def test_labels_are_put_in_the_order_of_the_documents(tmp_path):
    path = tmp_path / "types.csv"
    path.write_text(TYPES)
    assert read_labels(path, DOCUMENTS) == {"type": ["lung", "lung", "skin"], "site": ["l1", "l2", "s1"]}
    assert read_labels(path, DOCUMENTS, columns=["site"]) == {"site": ["l1", "l2", "s1"]}
    assert list(read_labels(path, ["s1", "l1"], id_column="site")) == ["sample", "type"]
    path.with_suffix(".tsv").write_text(TYPES.replace(",", "\t").replace("sample", ""))
    assert list(read_labels(path.with_suffix(".tsv"), DOCUMENTS)) == ["type", "site"]
    lines = path.with_suffix(".jsonl")
    lines.write_text("\n".join(json.dumps({"id": name, "type": "lung"}) for name in DOCUMENTS))
    assert read_labels(lines, DOCUMENTS, columns=["type"], id_column="id") == {"type": ["lung"] * 3}


@pytest.mark.parametrize(
    ("table", "place", "told"),
    [
        (TYPES.replace("a,lung,l1\n", ""), "types.csv", "no row for 'a'"),
        (TYPES + "a,skin,s1\n", "line 6", "line 3"),
        (TYPES.replace("a,lung,l1", "a,,l1"), "line 3, column 'type'", "'a'"),
        (TYPES.replace("a,lung,l1", "a,lung"), "line 3", "3 fields"),
        ("sample\na\nb\nc\n", "line 1", "two columns"),
        ("", "types.csv", "empty file"),
        ("sample,type\n", "types.csv", "no row"),
    ],
)
def test_labels_that_do_not_fit(table, place, told, tmp_path):
    path = tmp_path / "types.csv"
    path.write_text(table)
    with pytest.raises(DataError) as caught:
        read_labels(path, DOCUMENTS)
    assert place in caught.value.parameter
    assert told in str(caught.value) or told in str(caught.value.value)


def test_crossed_labels_are_refused_with_the_way_out():
    check_nested({"type": ["lung", "lung", "skin"], "site": ["l1", "l2", "s1"]})
    check_nested({})
    with pytest.raises(DataError, match="tree") as caught:
        check_nested({"type": ["lung", "lung", "skin"], "batch": ["b1", "b2", "b1"]})
    assert "'lung' and in 'skin'" in str(caught.value)
    with pytest.raises(DataError, match="name 'type' first"):
        check_nested({"site": ["l1", "l2", "s1"], "type": ["lung", "lung", "skin"]})


def test_a_table_without_a_header(tmp_path):
    for name, ends in (("t.csv", ";"), ("t.txt", "\t")):
        path = tmp_path / name
        path.write_text(f"sep={ends}\nname{ends}kind\na{ends}x\nb{ends}y\n")
        assert read_labels(path, ["a", "b"]) == {"kind": ["x", "y"]}
        path.write_text(f"a{ends}x\nb{ends}y\n")
        with pytest.raises(DataError, match=r"line 1.*a header"):
            read_labels(path, ["a", "b"])
