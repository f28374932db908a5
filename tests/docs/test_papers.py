"""The functions and tests that docs/papers.md names for the equations of five papers are there."""

import importlib
import re
from pathlib import Path

import pytest

import hdpkit as hk
from hdpkit import moves

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`((?:hk|moves|hdpkit)\.[\w.]+)`", TEXT)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", TEXT)))
SCRIPTS = sorted(set(re.findall(r"`((?:examples|benchmarks)/\w+\.py)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_there(name):
    first, *rest = name.split(".")
    thing = {"hk": hk, "moves": moves, "hdpkit": hk}[first]
    for number, part in enumerate(rest):
        try:
            thing = importlib.import_module(".".join(["hdpkit", *rest[: number + 1]]))
        except ModuleNotFoundError:
            thing = getattr(thing, part)


@pytest.mark.parametrize(("file", "test"), TESTS)
def test_every_test_is_there(file, test):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert not test or re.search(rf"^def {test}\(", text, re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_is_there(script):
    assert (ROOT / script).exists()


def test_every_row_of_an_equation_has_a_test():
    equations = TEXT.partition("## Figures and tables")[0]
    rows = [row for row in re.findall(r"^\| .*$", equations, re.MULTILINE) if row.count("|") == 5]
    for row in rows:
        assert "tests/" in row or row.startswith(("| in the", "| ---")), row
