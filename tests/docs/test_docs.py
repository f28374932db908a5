"""README, docs, examples and notebooks run as printed; links, names and tests that pages name are there."""

import contextlib
import functools
import io
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from nbclient import NotebookClient

import hdpkit
import hdpkit as hk
from hdpkit import moves
from hdpkit.testing import measure_contract

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


# The blocks of a page are one program.
PROGRAMS = [
    pytest.param(
        "\n".join(blocks_of(page)), id=page.name, marks=pytest.mark.quick if page.name == "README.md" else ()
    )
    for page in PAGES
    if blocks_of(page)
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_code_in_the_pages_runs(program, capsys, tmp_path, monkeypatch):
    # The steps of every move over a measure are enumerated by tests of their own, and by the next test.
    monkeypatch.setattr(measure_contract, "_check_moves", lambda *given: [])
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "<page>", "exec"), {"__name__": "page"})


@pytest.mark.long
@pytest.mark.parametrize("program", [each for each in PROGRAMS if "check_base_measure" in each.values[0]])
def test_measures_of_the_pages_pass_all_checks(program, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "<page>", "exec"), {"__name__": "page"})


def test_the_first_model_is_one_program():
    """README and the first page of the site begin with the same one, of fifteen lines at most."""
    (program,) = blocks_of(ROOT / "README.md")
    assert blocks_of(ROOT / "docs" / "index.md") == [program]
    lines = [line for line in program.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 15


# That they find what they should is tested at length by tests of their own: here fewer sweeps are enough.
SHORT = {
    "counts": "--images 200 --sweeps 5",
    "expected_tables": "--sweeps 1",
    "fuentes": "--repeats 3 --sweeps 100 --ap-sweeps 100",
    "gaussian_mixtures": "--seeds 1 --sweeps 20",
    "regression_states": "--sweeps 4",
    "recovery": "--seeds 1 --sweeps 10",
    "signature_cohorts": "--samples 20 --most 500 --sweeps 4",
    "sparse_topics": "--sweeps 20",
    "three_levels": "--sweeps 5",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, capsys, monkeypatch):
    from hdpkit.base_measures import base_measures
    from hdpkit.moves.registry import moves as registered

    before = [(registry, dict(registry)) for registry in (base_measures, registered)]
    for registry, entries in before:
        for name in entries:
            if "(example)" in name:
                registry.remove(name)
    monkeypatch.setattr(sys, "argv", [str(example), *SHORT.get(example.stem, "").split()])
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        for registry, entries in before:
            for name in list(registry):
                if "(example)" in name:
                    registry.remove(name)
            for name, entry in entries.items():
                if "(example)" in name:
                    registry.register(name, entry.thing, entry.examples)
    assert capsys.readouterr().out


LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "benchmarks").rglob("*.md"))]


def headings(page):
    """Names of the headings of a page in links, as GitHub and MyST make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_in_the_pages_lead_somewhere(page):
    for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
        to = page.parent / target if target else page
        assert to.exists(), f"{page.name}: {target}"
        assert not heading or heading in headings(to), f"{page.name}: {target}#{heading}"


def test_files_and_tests_that_pages_name_are_there():
    named = (
        r"(?:`|python )((?:tests|benchmarks|examples|hdpkit|docs|\.ci|\.github)/[\w/.-]+\.\w+)(?:::(\w+))?"
    )
    for page in LINKED:
        for name, test in re.findall(named, page.read_text(encoding="utf-8")):
            places = (
                ROOT / name,
                ROOT / "hdpkit" / "include" / name,
            )  # headers are named as they are included
            assert "NAME" in name or any(place.exists() for place in places), f"{page.name}: {name}"
            if test:
                text = (ROOT / name).read_text(encoding="utf-8")
                assert re.search(rf"^def {test}\(", text, re.MULTILINE), f"{page.name}: {name}, {test}"


def test_names_in_the_pages_are_there():
    for page in LINKED:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for code in re.findall(r"`([^`]+)`", text):
            if "import" in code:  # gives another meaning to a name
                continue
            for name in re.findall(r"(?<![\w./-])(?:hk|moves|hdpkit)\.[A-Za-z_][\w.]*\w", code):
                first, *rest = name.split(".")
                if "NAME" in name or name == "hdpkit.measure":  # a pattern, and a capsule
                    continue
                try:
                    functools.reduce(getattr, rest, {"hk": hk, "moves": moves, "hdpkit": hk}[first])
                except AttributeError:  # a module that isn't imported with the package
                    pkgutil.resolve_name(name)


def test_every_figure_is_on_a_page():
    shown = {
        (page.parent / target).resolve()
        for page in LINKED
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    folders = (ROOT / "docs" / "figures", ROOT / "benchmarks" / "results" / "figures")
    figures = [figure for folder in folders for figure in folder.iterdir()]
    assert [figure.name for figure in figures if figure.resolve() not in shown] == []


def test_every_benchmark_and_every_result_is_in_the_index():
    index = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]*) \|", index, re.MULTILINE)
    named = {name for cell in cells for name in cell.split(", ")}
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} == named - {"script", "---"}
    for page in (ROOT / "benchmarks" / "results").glob("*.md"):
        assert f"(results/{page.name})" in index


# What a benchmark is given: texts and corpora of a few lines.
TOPICS = "{corpus} --dishes 4 --sweeps 2"
HALVES = "--observed {corpus} --held {corpus}"
FEW = "--orders 2 --sweeps 2"
ARGUMENTS = {
    "topics_and_peers": "--data --ldac small={corpus} --systems hdpkit --seeds 0",
    "signatures_and_peers": "--cohorts 1 --sweeps 20 --ranks 2",
    "cells_heldout": f"{{corpus}} {HALVES} --seconds 0.02 --seeds 1",
    "cells_of_counts": "{corpus} --dishes 4 --settle 2 --sweeps 2",
    "cells_with_levels": "--samples 10 --most 300 --dishes 3 --settle 2 --sweeps 2 --token-sweeps 1",
    "consensus": f"{{corpus}} {HALVES} --chains 2 --sweeps 4 --samples 2",
    "effects_cover": "--sets 1 --documents 20 --sweeps 10 --samples 4",
    "exposure_draws": "{corpus} --samples 3 --factors 2 --settle 2 --seconds 0.1 --largest 3",
    "bursty_sweeps": "{corpus} --rounds 1 --settle 2 --stores 'counts, weights'",
    "domain_language_model": "--general numpy.fft --domain scipy.fft --most 300 --words 200 --held-words 200 "
    "--orders 2 --seeds 0 --sweeps 4",
    "heldout": f"{TOPICS} {HALVES}",
    "hidden_markov_comparison": "--seconds 0.02 0.05 --states 2 --seeds 1 --most 400",
    "interval_cover": "--kinds topics --seeds 1 --sweeps 4 --samples 4 --few 2 --size 0.1",
    "in_parallel": "{wide} --observed {wide} --held {wide} --topics 2 --seconds 0.01 --sweeps 1",
    "kneser_ney": "{text} {text} --order 3",
    "machine": "",
    "mixing_checks": "{corpus} --fit-sweeps 2 --sweeps 40 --simulated 1",
    "memory": TOPICS,
    "mixture_comparison": "--data iris --part 0.4 --sweeps 10 --samples 3",
    "new_documents": f"{{corpus}} {HALVES} --sweeps 4 --samples 2 --calls 1 --infer 2",
    "groups_of_mixtures": "--data iris overlap --sweeps 4",
    "mixture_weights": "--sets 2 --groups 2 --components 2 --points 15 --sweeps 20 --samples 4",
    "ngram": f"{{text}} {{text}} {FEW} --burn-in 1 --samples 1 --timed-sweeps 1 --calibrate {{corpus}}",
    "embeddings": "--points 60 --dimensions 3 --dishes 2 --sweeps 2",
    "paired_sweeps": "{root} {root} {corpus} --sentences {text} --cases counts ngrams --rounds 1 --sweeps 1 "
    "--settle 1",
    "reading": "{corpus} --texts 30 --length 5 --sweeps 1",
    "default_topics": "tiny={corpus} --settings plain:0.5 bursty:0.5 --sweeps 4",
    "reference_second": "{corpus} --blocks 1",
    "scaling": f"{TOPICS} --tokens 50 200 --dishes 2 3 --at-tokens 90 --at-dishes 3 --settle 1 "
    "--figure {folder}/scaling.png",
    "seating_memory": f"{{text}} {FEW}",
    "specialised_sweeps": "{corpus} --counts {corpus} --sentences {text} --cases weights cells n-grams "
    "--rounds 1 --settle 1",
    "sequences_of_states": "--observations 60 --states 3 --sequences 2 --rounds 1 --starts 40",
    "states_of_series": "--series 2 --sweeps 4 --packages hdpkit",
    "state_numbers": "--series 1 --sweeps 4 --processes 1 --priors 0",
    "shards": "{shards} --topics 2 --sweeps 4 --rounds 1 --ways 'local 2 1' 'scheduler 1 1'",
    "shards_cost": "{shards} --topics 2 3 --threads 1 --sweeps 4",
    "signature_cohorts": "--seeds 1 --fits factors nmf --samples 20 --most 300 --sweeps 4 "
    "--keep {folder}/results.jsonl",
    "pairs_of_signatures": "--samples 10 --most 400 --factors 3 --sweeps 3 --updates 2",
    "sparse": "{corpus} --dishes 3 --settle 2 --rounds 2 --sweeps 1 --vocabulary 5",
    "split_merge_corpora": "tiny={corpus} --etas 0.5 --runs 2 --sweeps 10 --keep {folder}/chains "
    "--figures {folder}",
    "starts": "{corpus} --seconds 0.05 --mallet 5 0.1 0.01 --keep {folder}/chains",
    "startup": f"{{corpus}} {HALVES} --seconds 0.05 --figure {{folder}}/starts.png",
    "synthetic_shards": "{folder}/shards --tokens 900 --shards 3 --topics 4 --terms 50 --length 12",
    "bursts": "tiny={corpus} --seconds 0.3 --starts",
    "topics_over_time": "simulated --documents 3 --seeds 0 --sweeps 2 --samples 1 "
    "--figure {folder}/topics.png",
    "verdicts": "tiny={corpus} --seconds 0.3 --sweeps 400 --samples 2",
    "whole_fit": "{corpus} --seconds 0.3 --first 0.1 --report-sweeps 10",
    "transaction_cost": "{corpus} --rounds 1",
    "topic_model": f"{{corpus}} {HALVES} --dishes 3 --settle 2 --blocks 1 --seconds 0.05 "
    "--out {folder}/curves.png",
}


OWN_PROCESS = ("memory",)  # what it measures is the process
# They start one for each of their lines, which the others show to work: here lines are made in this process.
MANY_PROCESSES = ("scaling", "seating_memory", "topic_model")
START = subprocess.run


def run_here(command, **options):
    """A script of Python in this process, unless it is to have another environment there."""
    if command[0] != sys.executable or "HDPKIT_ISA" in options.get("env", {}):
        return START(command, **options)
    printed, before = io.StringIO(), sys.argv
    sys.argv = list(map(str, command[1:]))
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.argv = before
    return subprocess.CompletedProcess(command, 0, printed.getvalue(), "")


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_benchmarks_run(script, tmp_path, monkeypatch, capsys):
    corpus, text = tmp_path / "corpus.ldac", tmp_path / "text.txt"
    corpus.write_text("2 0:3 1:1\n2 1:2 2:2\n1 2:4\n" * 10, encoding="utf-8")
    text.write_text("the cat sat\nthe dog sat down\n" * 10, encoding="utf-8")
    arguments = ARGUMENTS.get(script.stem, TOPICS)
    wide, cut = tmp_path / "wide.ldac", tmp_path / "cut"
    wide.write_text("2 0:3 1:1\n2 1:2 9:2\n1 2:4\n" * 10, encoding="utf-8")
    if "{shards}" in arguments:
        hk.ShardedCorpus.write(hk.Corpus.from_documents([[0, 0, 1], [1, 9]] * 10, n_terms=10), cut, 2)
    given = [
        word.format(corpus=corpus, text=text, folder=tmp_path, shards=cut, wide=wide, root=ROOT)
        for word in shlex.split(arguments)
    ]
    if script.stem in OWN_PROCESS:
        done = subprocess.run(
            [sys.executable, str(script), *given], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
        return
    monkeypatch.setattr(sys, "argv", [str(script), *given])
    monkeypatch.syspath_prepend(script.parent)
    if script.stem in MANY_PROCESSES:
        monkeypatch.setattr(subprocess, "run", run_here)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_the_readme_names_its_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("demo", "test"):
        assert re.search(rf"<!-- {name} command -->\n```\n[^\n]+\n```", text)


NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.long if "dask" in path.stem else ()) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_notebooks_run(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    assert all(cell.execution_count for cell in code)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["shards_on_dask", "texts_to_report"]


PAPERS = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


def test_every_row_of_an_equation_has_a_test():
    equations = PAPERS.partition("## Figures and tables")[0]
    rows = [row for row in re.findall(r"^\| .*$", equations, re.MULTILINE) if row.count("|") == 5]
    for row in rows:
        assert "tests/" in row or row.startswith(("| in the", "| ---")), row


DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED = ("gallery/index", "reference/generated/commands")  # made by the build


def toctree_entries(page):
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for line in "\n".join(blocks).splitlines():
        if line and not line.startswith(":"):
            yield (page.parent / line).resolve().relative_to(DOCS).as_posix()


def test_every_page_is_in_the_navigation():
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix()
        for page in DOCS.rglob("*.md")
        if page.relative_to(DOCS).parts[0] not in ("_build", "gallery")
    }
    named = list(toctree_entries(DOCS / "index.md"))
    assert sorted({entry for entry in named if named.count(entry) > 1}) == []
    assert sorted(set(named) - pages - set(GENERATED)) == []
    assert sorted(pages - set(named) - {"index"}) == [], "add these to a toctree of docs/index.md"


def test_a_newcomer_walks_along_the_path():
    """README, then four pages, each of which leads to the next."""
    path = ["first_model.md", "your_data.md", "read_the_answer.md", "go_further.md"]
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert all(f"(docs/{page})" in readme for page in path)
    for page, following in zip(["index.md", "install.md", *path], ["install.md", *path], strict=False):
        assert f"({following})" in (DOCS / page).read_text(encoding="utf-8"), page


def test_every_public_name_is_in_the_reference():
    listed = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(r"currentmodule:: (\S+)\n(.*?)```", text, re.DOTALL):
            listed |= {f"{module}.{name}" for name in re.findall(r"^   (\w+)$", names, re.MULTILINE)}
    public = set()
    for name in hdpkit.__all__:
        thing = getattr(hdpkit, name)
        if isinstance(thing, ModuleType):
            public |= {f"{thing.__name__}.{inner}" for inner in thing.__all__}
        else:
            public.add(f"hdpkit.{name}")
    remedy = "add these to a page of docs/reference"
    assert sorted(name for name in public - listed if not name.endswith(".printable")) == [], remedy
    for name in listed:
        module, _, attribute = name.rpartition(".")
        assert hasattr(__import__(module, fromlist=["_"]), attribute), name
