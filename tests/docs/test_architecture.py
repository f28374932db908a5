"""The page on the architecture and its picture agree with the package."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from test_layers import FACE, MODULES, ROOMS, TESTS

ROOT = TESTS.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "figures" / "house.svg").read_text(encoding="utf-8")
TABLE = TEXT.partition("| room | what is in it |\n| --- | --- |\n")[2].partition("\n\n")[0]


def test_the_table_has_the_rooms_in_order():
    assert tuple(re.findall(r"^\| (\w+) \|", TABLE, re.MULTILINE)) == ROOMS
    face = next(line for line in TABLE.splitlines() if line.startswith("| face |"))
    assert set(re.findall(r"`(\w+)`", face)) == FACE


def test_the_picture_has_the_rooms_from_top_to_bottom():
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", PICTURE)
    assert [name for name in drawn if name in ROOMS] == list(reversed(ROOMS))


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


WAYS = [
    re.findall(r"(?:[a-z_]+/)+\w+\.(?:pyx?|h|md)\b", drawn)
    for drawn in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
]


def test_the_ways_lead_through_files_that_are_there():
    assert len(WAYS) == 5
    for name in {name for way in WAYS for name in way if "NAME" not in name}:
        assert any((folder / name).exists() for folder in (ROOT, ROOT / "hdpkit")), name


def test_a_token_of_a_topic_model_passes_four_files():
    assert len({*WAYS[1], "steps/fused/topics.h"}) <= 4


def test_a_customer_is_followed_in_six_files_and_nine_hundred_lines():
    files = [name for name in WAYS[0] if name not in ("run/sweeps.py", "franchise/arguments.py")]
    lines = [len((ROOT / "hdpkit" / name).read_text(encoding="utf-8").splitlines()) for name in files]
    assert len(files) == 6
    assert sum(lines) <= 900


def test_every_public_method_is_explained_where_it_is_declared():
    """Where ruff does not ask for docstrings of methods that override others."""
    for path in MODULES:
        rooms = ("franchise", "kinds", "measures", "stores")
        if path.suffix != ".py" or path.parent.name not in rooms:
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for kind in vars(module).values():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__ or kind.__name__[0] == "_":
                continue
            for name, member in vars(kind).items():
                if callable(member) and not name.startswith("_"):
                    explained = [vars(base)[name].__doc__ for base in kind.__mro__ if name in vars(base)]
                    assert any(explained), f"{kind.__qualname__}.{name} in {path.name}"
