"""The page on the architecture and its picture agree with the package."""

import re
from pathlib import Path

import pytest
from test_layers import MODULES, ROW, TESTS, imports, layer_of, name_of

ROOT = TESTS.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "figures" / "house.svg").read_text(encoding="utf-8")
TABLE = TEXT.partition("| floor | packages |\n| --- | --- |\n")[2].partition("\n\n")[0]
FLOORS = dict(re.findall(r"^\| (\w+) \| (.*) \|$", TABLE, re.MULTILINE))
NAMES = {
    floor: [name for name in re.findall(r"`(\w+)`", cell) if name in ROW] for floor, cell in FLOORS.items()
}
NUMBER = {name: number for number, names in enumerate(reversed(NAMES.values())) for name in names}


def test_every_package_is_on_one_floor():
    assert sorted(name for names in NAMES.values() for name in names) == sorted(ROW)


def test_imports_lead_to_the_same_floor_or_down():
    for path in MODULES:
        own = layer_of(name_of(path))
        for name in imports(path) if own else ():
            there = layer_of(name)
            assert there not in ROW or NUMBER[there] <= NUMBER[own], f"{path}: {name} is on a higher floor"


def test_the_picture_has_the_floors_of_the_table():
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", PICTURE)
    # Of a package with the name of its floor, the floor comes first.
    assert sorted(FLOORS, key=drawn.index) == list(FLOORS)
    assert set(ROW) - {"arrays"} <= set(drawn)  # types for annotations, which every package may import


PLACES = sorted(set(re.findall(r"`([\w/]+/[\w.]*|\w+\.(?:pyx?|h))`", TEXT)))


@pytest.mark.parametrize("name", [name for name in PLACES if "NAME" not in name])
def test_every_file_of_the_page_is_there(name):
    around = (ROOT, ROOT / "hdpkit", ROOT / "hdpkit" / "franchise")
    assert any((folder / name).exists() for folder in around), f"docs/architecture.md names {name}"


def test_every_name_of_the_page_is_in_the_code():
    words = {Path(name).stem for name in PLACES} | {"py", "pyx"}
    for path in MODULES:
        words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for code in re.findall(r"`([^`]*)`", TEXT):
        if "/" not in code:
            assert set(re.findall(r"[A-Za-z_]\w+", code)) <= words, f"docs/architecture.md: {code}"
