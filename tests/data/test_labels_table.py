"""Labels of documents from a separate table."""

import json

import pytest

from hdpkit.data.files.labels import check_nested, read_labels
from hdpkit.errors import DataError

NAMES = ["a", "b", "c"]
TABLE = "sample,type,site\nc,skin,s1\na,lung,l1\nb,lung,l2\nz,skin,s2\n"


def test_labels_are_put_in_the_order_of_the_documents(tmp_path):
    path = tmp_path / "types.csv"
    path.write_text(TABLE)
    assert read_labels(path, NAMES) == {"type": ["lung", "lung", "skin"], "site": ["l1", "l2", "s1"]}
    assert read_labels(path, NAMES, columns=["site"]) == {"site": ["l1", "l2", "s1"]}
    assert list(read_labels(path, ["s1", "l1"], id_column="site")) == ["sample", "type"]
    path.with_suffix(".tsv").write_text(TABLE.replace(",", "\t").replace("sample", ""))
    assert list(read_labels(path.with_suffix(".tsv"), NAMES)) == ["type", "site"]
    lines = path.with_suffix(".jsonl")
    lines.write_text("\n".join(json.dumps({"id": name, "type": "lung"}) for name in NAMES))
    assert read_labels(lines, NAMES, columns=["type"], id_column="id") == {"type": ["lung"] * 3}


@pytest.mark.parametrize(
    ("table", "place", "told"),
    [
        (TABLE.replace("a,lung,l1\n", ""), "types.csv", "no row for 'a'"),
        (TABLE + "a,skin,s1\n", "line 6", "line 3"),
        (TABLE.replace("a,lung,l1", "a,,l1"), "line 3, column 'type'", "'a'"),
        (TABLE.replace("a,lung,l1", "a,lung"), "line 3", "3 fields"),
        ("sample\na\nb\nc\n", "line 1", "two columns"),
        ("", "types.csv", "empty file"),
        ("sample,type\n", "types.csv", "no row"),
    ],
)
def test_labels_that_do_not_fit(table, place, told, tmp_path):
    path = tmp_path / "types.csv"
    path.write_text(table)
    with pytest.raises(DataError) as caught:
        read_labels(path, NAMES)
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
