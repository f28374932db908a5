"""Layers: a layer imports only from rows above its own; no file is unused; nothing imports the harness."""

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "hdpkit"
ROWS = [
    {"arrays", "errors", "numerics", "vectors"},
    {"checks", "html_tables", "stirling"},
    {"registry"},
    {"writing"},
    {"canvas", "files"},
    {"random"},
    {"parts"},
    {"priors", "data"},
    {"prior_expectations"},
    {"_compiled"},
    {"base_measures", "stores"},
    {"franchise"},
    {"init"},
    {"moves"},
    {"record"},
    {"shards"},
    {"schedule"},
    {"run"},
    {"plots"},
    {"evaluation", "comparison"},
    {"summaries"},
    {"models"},
    {"signatures"},
    {"report"},
    {"io"},
    {"cli"},
    {"testing"},
]
ROW = {layer: number for number, row in enumerate(ROWS) for layer in row}
MODULES = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".pyx", ".pxd")]
CIMPORT = re.compile(r"^\s*(?:from (hdpkit[\w.]*) c?import|c?import (hdpkit[\w.]*))", re.MULTILINE)


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def layer_of(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else None


@pytest.mark.quick
def test_every_module_has_a_row():
    assert {layer_of(name_of(path)) for path in MODULES} - {None} <= set(ROW)


@pytest.mark.quick
def test_layers_import_only_from_rows_above():
    for path in MODULES:
        own = layer_of(name_of(path))
        if own is None:
            continue
        for name in imports(path):
            layer = layer_of(name)
            if layer in (None, "py") or layer not in ROW:
                # The package itself: only the people's side and the harness may use the public face.
                assert own in ("cli", "testing"), f"{path.relative_to(PACKAGE)} imports {name}"
            else:
                allowed = layer == own or ROW[layer] < ROW[own]
                assert allowed, f"{path.relative_to(PACKAGE)} ({own}) imports {name}"


def modules_imported(path):
    """Modules of the package that a Python file imports, deferred and for annotations, too."""
    names = {name_of(module) for module in MODULES}
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in names else str(node.module) for name in inside}
    return found & names - {name_of(path)}


def test_no_modules_import_each_other_in_a_circle():
    graph = {name_of(path): modules_imported(path) for path in MODULES if path.suffix == ".py"}
    while ready := {name for name, needed in graph.items() if not needed & graph.keys()}:
        graph = {name: needed for name, needed in graph.items() if name not in ready}
    assert not graph, {name: sorted(needed & graph.keys()) for name, needed in graph.items()}


@pytest.mark.parametrize("package", ["base_measures", "stores", "franchise"])
def test_what_a_folder_of_readable_twins_imports_does_not_import_it(package):
    """Else the package and its folder `reference` would import each other."""
    graph = {name_of(path): modules_imported(path) for path in MODULES if path.suffix == ".py"}
    twins = {name for name in graph if name.startswith(f"hdpkit.{package}.reference.")}
    others = {name for name in graph if name.startswith(f"hdpkit.{package}.")} - twins
    reached, more = set(), twins
    while more := {needed for name in more for needed in graph[name]} & others - reached:
        reached |= more
    assert not {name: graph[name] & twins for name in reached if graph[name] & twins}


def test_no_move_reads_a_private_name_of_the_state():
    for path in sorted((PACKAGE / "moves").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
                assert ast.unparse(node.value) in ("self", "cls"), f"{path.name}: {ast.unparse(node)}"


def test_siblings_never_import_each_other():
    for one, other in (("base_measures", "stores"), ("stores", "base_measures")):
        for path in MODULES:
            if layer_of(name_of(path)) == one:
                assert not any(layer_of(name) == other for name in imports(path)), path


def test_compiled_code_knows_no_python_class_of_the_package():
    for path in MODULES:
        if layer_of(name_of(path)) == "_compiled":
            assert {layer_of(name) for name in imports(path)} <= {
                "_compiled",
                "random",
                "errors",
                "numerics",
                "vectors",
            }, path


# Packages of `_compiled`: each imports only from those before it.
COMPILED = [
    "support", "stores", "walk", "measures", "generic_sweeps", "fused_sweeps", "fixed_dishes", "starts",
]  # fmt: skip


def test_compiled_packages_import_only_from_those_before():
    for path in MODULES:
        parts = name_of(path).split(".")
        if parts[1:2] != ["_compiled"] or len(parts) == 2:
            continue
        for name in imports(path):
            if layer_of(name) == "_compiled":
                package = name.split(".")[2]
                allowed = COMPILED[: COMPILED.index(parts[2]) + 1] if parts[2] in COMPILED else []
                assert package in allowed, f"{path} imports {name}"


def test_no_built_module_is_left_of_a_source_that_is_elsewhere():
    for path in PACKAGE.rglob("*"):
        if path.suffix in (".so", ".pyd"):
            stem = path.name.split(".")[0]
            if stem == "shared_utilities":  # Cython makes its source
                continue
            source = path.with_name(stem + (".cpp" if stem.startswith("isa_") else ".pyx"))
            assert source.exists(), f"{path} has no source: delete it"


def test_moves_know_no_concrete_store_or_measure():
    for path in MODULES:
        if layer_of(name_of(path)) == "moves":
            assert {layer_of(name) for name in imports(path)} <= {
                "arrays", "checks", "errors", "franchise", "moves",
                "numerics", "priors", "random", "registry",
            }, path  # fmt: skip


def test_importing_the_package_loads_no_part_of_scipy():
    # Every command and worker pays for what is imported at the start. `import scipy` loads its parts on use.
    for path in MODULES:
        if layer_of(name_of(path)) == "testing" or path.suffix != ".py":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("scipy.") for name in named), f"{path}: write `import scipy`"
            assert "scipy" not in named or isinstance(node, ast.Import), f"{path}: write `import scipy`"


def test_no_file_is_dead():
    used = set().union(*(imports(path) for path in MODULES))
    used |= set().union(*(imports(path) for path in TESTS.rglob("*.py")))
    for path in MODULES:
        name = name_of(path)
        if path.suffix == ".py" and path.name != "__init__.py":
            begun = ("hdpkit.cli.main", "hdpkit.run.worker")  # as commands
            assert name in used or name in begun, f"{name} is imported by nobody"


def test_tables_of_text_are_written_in_one_place():
    """Where cells are escaped: a formula or a control character in a name can't reach a file elsewhere."""
    package = PACKAGE
    found = [path for path in package.rglob("*.py") if "csv.writer" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(package).as_posix() for path in found] == ["data/files/delimited.py"]
