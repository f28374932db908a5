"""The index from modules to tests, docs/module_tests.md, from the imports and the names of the test files.

A test file tests a module if it uses its names: directly (``hk.Corpus``, or a module's name in a string), or
by way of files of ``tests/support``, ``tests/bugs`` and ``tests/trials``. Modules that no test file uses are
tested by way of the nearest modules that import them. Write the page with::

    python tests/support/module_tests.py
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
PACKAGE = ROOT / "hdpkit"
PAGE = ROOT / "docs" / "module_tests.md"
COMMAND = "python tests/support/module_tests.py"

MOST = 3  # test files listed for a module
HELPERS = ("support", "bugs", "trials")
#: Tests of every public name, of pages and of types: listed for a module after all others.
GENERAL = ("docs/", "typing/", "robustness/test_bad_input.py", "robustness/test_calls.py")
#: The test of a module that reaches it by a verb, a move or a command, without its name. It comes first.
BY_USE = {
    "_arguments": "robustness/test_verbs.py",
    "_franchise_lock": "franchise/test_transactions.py",
    "cli.convert": "cli/test_cli.py",
    "cli.corpus": "cli/test_texts_cli.py",
    "cli.demo": "cli/test_cli.py",
    "cli.export": "cli/test_texts_cli.py",
    "cli.infer": "cli/test_texts_cli.py",
    "cli.lm_train": "cli/test_lm_cli.py",
    "cli.report": "report/test_report.py",
    "cli.runs": "cli/test_cli.py",
    "cli.signatures": "signatures/test_signatures_cli.py",
    "data.files.arrays": "data/test_corpus_folders.py",
    "data.files.json_lines": "data/test_text_readers.py",
    "data.files.parquet": "data/test_text_readers.py",
    "data.files.text_folder": "data/test_text_readers.py",
    "data.files.uci": "data/test_readers.py",
    "franchise.extending": "franchise/test_growth.py",
    "franchise.freezing": "franchise/test_transactions.py",
    "franchise.held": "exact/test_held.py",
    "franchise.reading": "franchise/test_franchise.py",
    "franchise.seats": "stores/test_detail.py",
    "franchise.state": "franchise/test_franchise.py",
    "franchise.verbs": "robustness/test_verbs.py",
    "measures._slots": "franchise/test_dish_ids.py",
    "measures.atomic": "exact/test_observed_dishes.py",
    "measures.conjugate": "measures/test_base_measures.py",
    "measures.dirichlet_multinomial": "exact/test_exact_kernels.py",
    "measures.selection_nodes": "measures/test_selection_sums.py",
    "kinds.saved_estimator": "models/test_topic_model.py",
    "moves.dish_gibbs": "exact/test_exact_kernels.py",
    "moves.slice": "laws/test_hyperparameter_laws.py",
    "moves.split_merge": "exact/test_exact_kernels.py",
    "moves.table_gibbs": "exact/test_exact_kernels.py",
    "run.runs": "runs/test_run_folders.py",
    "run.shards.backend": "shards/test_shard_processes.py",
    "run.shards.mpi": "shards/test_shard_processes.py",
    "steps.counts_walk": "exact/test_table_indicators.py",
    "steps.fused.fused_cells": "exact/test_cells.py",
    "steps.fused.fused_slices": "exact/test_slices.py",
    "steps.fused.slice_ends": "exact/test_levels.py",
    "steps.fused.slice_workspace": "exact/test_slices.py",
    "steps.fused.state_sequences": "exact/test_sequence_probabilities.py",
    "steps.groups": "exact/test_exact_kernels.py",
    "steps.slices": "exact/test_slices.py",
    "steps.sweeps": "exact/test_exact_kernels.py",
    "steps.walk": "exact/test_exact_kernels.py",
    "stores._cells": "franchise/test_counts_by_cell.py",
    "stores._explicit": "stores/test_stores.py",
    "stores._labelled_seating": "stores/test_detail.py",
    "stores._seating": "stores/test_stores.py",
}
#: Modules without a test, with the reason.
EXCEPTIONS: dict[str, str] = {}

# The folder of tests for a package, where its name is another one. The longest beginning counts.
FOLDERS = {
    "_arguments": "robustness",
    "_count_changes": "shards",
    "_franchise_lock": "franchise",
    "_guarded": "robustness",
    "base_measures": "measures",
    "canvas": "report",
    "evaluation": "runs",
    "files": "runs",
    "html_tables": "report",
    "init": "franchise",
    "io": "data",
    "moves": "exact",
    "numerics": "randomness",
    "plots": "report",
    "prior_expectations": "franchise",
    "priors": "measures",
    "random": "randomness",
    "record": "runs",
    "schedule": "runs",
    "steps": "exact",
    "steps.fused": "fused",
    "testing": "exact",
    "writing": "runs",
}

HEAD = f"""\
# Tests of modules

For every module, the test files to run first after it was changed, the best first: those chosen in the
script or named after the module, then those that use it most in proportion to other modules. "Through" names
a module that imports it, where no test file uses it directly. Everything that is registered (moves, measures,
stores) is also tested by the files that go through the registries, above all
`tests/exact/test_exact_kernels.py` and `tests/measures/test_measure_contract.py`. Names are relative to the
folders `hdpkit` and `tests`. `__init__.py` files, which collect the names of their packages, are left out.

`{COMMAND}` writes this page; `tests/docs/test_module_tests.py` fails if it is out of date.
"""

#: What is in each folder of tests.
CONTENTS = {
    "exact": "laws by enumeration: transition matrices of moves, planted bugs",
    "laws": "sampled laws, and the p-values by which they are tested",
    "fused": "fused sweeps: compared with generic ones, draws of production, planted bugs, recorded chains",
    "stores": "seating stores",
    "measures": "base measures, priors",
    "randomness": "choice sources, draws, streams, elementary functions",
    "franchise": "the franchise, its frozen states, starts and transactions",
    "data": "corpora, labels, formats of files",
    "runs": "schedules, chains, run folders, interruptions, damage",
    "shards": "chains over parts of a corpus: threads, MPI, Dask",
    "models": "topic models and language models",
    "signatures": "mutational signatures",
    "summaries": "summaries of posterior samples",
    "comparison": "comparison of schedules",
    "report": "plots, tables in notebooks, and the report, in a browser if one is installed",
    "cli": "the command line",
    "robustness": "bad input, misuse, failing user code, threads, signals, failed allocations",
    "docs": "pages, examples, benchmarks, the layers",
    "typing": "a user program, checked by mypy",
    "extension": "a compiled extension",
    "bugs": "planted bugs; those of fused sweeps are patches of their sources",
    "trials": "randomised trials of any length, run as scripts; the tests run a few of each",
    "support": "code that several tests use",
}

# Of Python and of Cython, those in programs that tests start included.
IMPORT = re.compile(
    r"^[ \t]*(?:from ([\w.]+) c?import (\([^)]*\)|[^\n#]*)|c?import ([\w.]+)(?: as (\w+))?)", re.MULTILINE
)
CHAIN = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def imports(text):
    """Every import of a text: (module, name in it or None, its name here)."""
    for module, names, whole, short in IMPORT.findall(text):
        if whole:
            yield whole, None, short
        for name in re.sub(r"#.*|[()]", "", names).split(",") if module else ():
            own, _, here = name.strip().partition(" as ")
            if own:
                yield module, own, here or own


def dotted(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PACKAGES = {dotted(path): path for path in sorted(PACKAGE.rglob("__init__.py"))}
MODULES = {
    dotted(path): path
    for path in sorted(PACKAGE.rglob("*"))
    if path.suffix in (".py", ".pyx") and path.name != "__init__.py"
}


@cache
def names_in(package):
    """What the names of a package's ``__init__`` stand for: (module or package, name in it)."""
    text = PACKAGES[package].read_text(encoding="utf-8")
    return {here: (module, name) for module, name, here in imports(text) if name}


def resolved(place, names):
    """The module in which ``place.name.name...`` is defined, None if it isn't in a module of the package."""
    for number, name in enumerate(names):
        if place in MODULES:
            return place
        if place not in PACKAGES:
            return None
        if f"{place}.{name}" in MODULES or f"{place}.{name}" in PACKAGES:
            place = f"{place}.{name}"
        elif name in names_in(place):
            inner, own = names_in(place)[name]
            return resolved(inner, (own, *names[number + 1 :]))
        else:
            return None
    return place if place in MODULES else None


def used_names(path):
    """Count how often a Python file names something of each module, and list the helpers that it imports."""
    text = path.read_text(encoding="utf-8")
    aliases, uses, helpers = {"hdpkit": ("hdpkit", ())}, Counter(), set()
    for module, name, here in imports(text):
        if module.split(".")[0] == "hdpkit":
            aliases[here or "hdpkit"] = (module, (name,) if name else ()) if here else ("hdpkit", ())
        else:
            helpers |= helper_files(module, name)
    for chain, n in Counter(CHAIN.findall(text)).items():
        first, *names = chain.split(".")
        if first in aliases:
            place, before = aliases[first]
            if module := resolved(place, (*before, *names)):
                uses[module] += n
    return uses, helpers - {path}


@cache
def helper_files(module, name):
    """The files of helpers in which a name of this module is, empty if the module is none of theirs."""
    places = [TESTS.joinpath(*module.split(".")), *(TESTS.joinpath(f, *module.split(".")) for f in HELPERS)]
    for place in places:
        if place.relative_to(TESTS).parts[0] not in HELPERS:
            continue
        if place.with_suffix(".py").exists():
            return {place.with_suffix(".py")}
        if name and (place / f"{name}.py").exists():
            return {place / f"{name}.py"}
        if (place / "__init__.py").exists():
            for inner, own, here in imports((place / "__init__.py").read_text(encoding="utf-8")):
                if here == name:
                    return helper_files(inner, own)
            return {place / "__init__.py"}
    return set()


def test_files():
    """The test files: of each its own uses of modules, and those of the helpers that it imports."""
    read = {}

    def reading(path):
        if path not in read:
            read[path] = used_names(path)
        return read[path]

    for path in sorted(TESTS.rglob("test_*.py")):
        if path.parent.name in HELPERS:
            continue
        uses, waiting = reading(path)
        below, seen = Counter(), set()
        while waiting := waiting - seen:
            seen |= waiting
            for helper in waiting:
                below += reading(helper)[0]
            waiting = set().union(*(reading(helper)[1] for helper in waiting))
        yield path.relative_to(TESTS).as_posix(), uses, below


def words(name):
    return {word.removesuffix("s") for word in name.split("_")} - {"test", "cli", ""}


def folder_of(module):
    """The folder of the tests of a module."""
    parts = module.split(".")[1:]
    for n in range(len(parts), 0, -1):
        if ".".join(parts[:n]) in FOLDERS:
            return FOLDERS[".".join(parts[:n])]
    return parts[0]


def general(test):
    """Whether a test file is about no module in particular."""
    return test.startswith(GENERAL)


def is_named(test, module):
    """Whether a test file has the name of a module, in the folder of its package."""
    folder, _, file = test.rpartition("/")
    own = words(module.rpartition(".")[2])
    return bool(own) and folder == folder_of(module) and own <= words(file.removesuffix(".py"))


def index():
    """The test files of every module, best first, and the module through which they test it, if any."""
    found = {module: {} for module in MODULES}
    for test, uses, below in test_files():
        for kind, counted in enumerate((below, uses)):
            total = sum(counted.values())
            for module, n in counted.items():
                near = test.startswith(folder_of(module) + "/")
                # By halves, so that few changes of a test change the order.
                rank = (is_named(test, module), not general(test), kind, near - (total // n).bit_length())
                found[module][test] = max(rank, found[module].get(test, rank))
        for module in MODULES:
            if is_named(test, module):
                found[module].setdefault(test, (True, True, 0, -99))
    for short, test in BY_USE.items():
        assert (TESTS / test).exists(), f"{test} of BY_USE does not exist"
        found[f"hdpkit.{short}"][test] = (True, True, 2, 0)
    best = {
        module: sorted(tests, key=lambda test, tests=tests: (*(-x for x in tests[test]), test))[:MOST]
        for module, tests in found.items()
    }
    importers = {module: [] for module in MODULES}
    for name, path in MODULES.items():
        for module in imported(path) - {name}:
            importers[module].append(name)
    listed = {module: (tests, None) for module, tests in best.items() if tests}
    while ready := {
        module: min(above, key=lambda name, module=module: nearness(name, module))
        for module in MODULES
        if module not in listed and (above := [name for name in importers[module] if name in listed])
    }:
        listed |= {module: (listed[above][0], above) for module, above in ready.items()}
    return {module: listed.get(module, ([], None)) for module in MODULES}


def nearness(importer, module):
    """Least for the importer that is most like a module: one of its name, then one of its package."""
    same = importer.rpartition(".")[2] == module.rpartition(".")[2]
    inside = importer.rpartition(".")[0] == module.rpartition(".")[0]
    return (not same, not inside, importer)


def imported(path):
    """Modules of the package that a module imports."""
    found, texts = set(), [path.read_text(encoding="utf-8")]
    if path.with_suffix(".pxd").exists():
        texts.append(path.with_suffix(".pxd").read_text(encoding="utf-8"))
    for module, name, _ in imports("\n".join(texts)):
        there = resolved(module, (name,) if name else ())
        if there:
            found.add(there)
        elif (
            module in PACKAGES and module != "hdpkit"
        ):  # what a package itself defines is made of its modules
            found |= {there for inner, own in names_in(module).values() if (there := resolved(inner, (own,)))}
    return found


def rows(modules):
    yield "| module | tests |"
    yield "| --- | --- |"
    for module, (tests, above) in modules.items():
        path = MODULES[module].relative_to(PACKAGE).as_posix()
        listed = ", ".join(f"`{test}`" for test in tests) or EXCEPTIONS[module]
        through = f" (through `{MODULES[above].relative_to(PACKAGE).as_posix()}`)" if above else ""
        yield f"| `{path}` | {listed}{through} |"


def page():
    """The text of the page."""
    tests, lines = index(), [HEAD, "## Folders", "", "| folder | tests |", "| --- | --- |"]
    lines += [*(f"| `{folder}` | {what} |" for folder, what in CONTENTS.items()), ""]
    packages = sorted({module.rpartition(".")[0] for module in tests})
    for package in packages:
        inside = {module: found for module, found in tests.items() if module.rpartition(".")[0] == package}
        lines += [f"## {package}", "", *rows(inside), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
