"""The package agrees with docs/architecture.md and its picture: rooms, imports, files that are there."""

import ast
import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

from hdpkit.cli.main import COMMANDS, FILES
from hdpkit.kinds.catalog import KINDS

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "hdpkit"
#: The ground is all other modules of the package's own folder, except for those of the face.
ROOMS = (
    "ground", "data", "stores", "measures", "steps", "franchise", "moves", "run", "posterior", "kinds",
    "pages", "face", "cli", "testing",
)  # fmt: skip
FACE = {
    "hdpkit", "base_measures", "evaluation", "init", "io", "plots", "report", "shards", "signatures",
    "summaries",
}  # fmt: skip
MODULES = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".pyx", ".pxd")]
CIMPORT = re.compile(r"^\s*(?:from (hdpkit[\w.]*) c?import|c?import (hdpkit[\w.]*))", re.MULTILINE)


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


@functools.cache
def imports(path):
    """Modules of the package that a file imports, deferred imports included."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return {a or b for a, b in CIMPORT.findall(text)}
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "hdpkit"}


def room_of(name):
    """The room of a module or of a name in it."""
    first = [*name.split("."), "hdpkit"][1]
    return "face" if first in FACE else first if first in ROOMS else "ground"


@pytest.mark.quick
def test_rooms_import_only_from_those_before():
    for path in MODULES:
        own = room_of(name_of(path))
        for name in imports(path):
            before = ROOMS.index(room_of(name)) <= ROOMS.index(own)
            assert before, f"{path.relative_to(PACKAGE)} ({own}) imports {name} ({room_of(name)})"


def modules_imported(path):
    """Modules of the package that a Python file imports, deferred and for annotations, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else str(node.module) for name in inside}
    return found & NAMES - {name_of(path)}


def test_no_modules_import_each_other_in_a_circle():
    graph = {name_of(path): modules_imported(path) for path in MODULES if path.suffix == ".py"}
    while ready := {name for name, needed in graph.items() if not needed & graph.keys()}:
        graph = {name: needed for name, needed in graph.items() if name not in ready}
    assert not graph, {name: sorted(needed & graph.keys()) for name, needed in graph.items()}


def test_no_move_reads_a_private_name_of_the_state():
    for path in sorted((PACKAGE / "moves").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
                assert ast.unparse(node.value) in ("self", "cls"), f"{path.name}: {ast.unparse(node)}"


def test_no_built_module_is_left_of_a_source_that_is_elsewhere():
    for path in PACKAGE.rglob("*"):
        if path.suffix in (".so", ".pyd"):
            stem = path.name.split(".")[0]
            if stem == "_shared_utilities":  # Cython makes its source
                continue
            source = path.with_name(stem + (".cpp" if stem.startswith("isa_") else ".pyx"))
            assert source.exists(), f"{path} has no source: delete it"


def test_moves_know_no_concrete_store_or_measure():
    for path in MODULES:
        if room_of(name_of(path)) == "moves":
            rooms = {room_of(name) for name in imports(path)}
            assert rooms <= {"ground", "steps", "franchise", "moves"}, path


def test_declared_measures_know_no_store():
    for path in MODULES:
        if room_of(name_of(path)) == "measures" and path.suffix == ".py":
            named = [name for name in imports(path) if room_of(name) == "stores"]
            assert all(name.startswith("hdpkit.stores._") for name in named if name != "hdpkit.stores"), path


COMPILED = {name_of(path) for path in MODULES if path.suffix != ".py"}


def test_compiled_code_knows_no_python_class_of_the_package():
    for path in MODULES:
        # Sources of random numbers check what users pass to them.
        if path.suffix != ".py" and path.name.startswith("_") and path.parent.name != "random":
            further = {name for name in imports(path) - COMPILED if not name.startswith("hdpkit.random")}
            assert further <= {"hdpkit.errors", "hdpkit.steps.fused.instruction_set"}, f"{path}: {further}"


def test_generic_steps_know_no_fused_ones():
    for path in MODULES:
        if path.suffix != ".py" and not name_of(path).startswith("hdpkit.steps.fused."):
            assert not any(name.startswith("hdpkit.steps.fused") for name in imports(path)), path


def test_importing_the_package_loads_no_part_of_scipy():
    # Every command and worker pays for what is imported at the start. `import scipy` loads its parts on use.
    for path in MODULES:
        if room_of(name_of(path)) == "testing" or path.suffix != ".py":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("scipy.") for name in named), f"{path}: write `import scipy`"
            assert "scipy" not in named or isinstance(node, ast.Import), f"{path}: write `import scipy`"


def test_no_file_is_dead():
    used = set().union(*(imports(path) for path in MODULES))
    used |= set().union(*(imports(path) for path in TESTS.rglob("*.py")))
    used |= {place.partition(":")[0] for place in KINDS.values()}  # imported by name
    used |= {f"hdpkit.cli.{FILES.get(name, name)}" for name in COMMANDS}
    for path in MODULES:
        name = name_of(path)
        if path.suffix == ".py" and path.name != "__init__.py" and room_of(name) != "face":
            begun = ("hdpkit.cli.main", "hdpkit.run.worker")  # as commands
            assert name in used or name in begun, f"{name} is imported by nobody"


def test_tables_of_text_are_written_in_one_place():
    """Where cells are escaped: a formula or a control character in a name can't reach a file elsewhere."""
    package = PACKAGE
    found = [path for path in package.rglob("*.py") if "csv.writer" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(package).as_posix() for path in found] == ["data/files/tables.py"]


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
