"""README, docs and examples run as printed."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("block", BLOCKS)
def test_code_in_the_pages_runs(block, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<page>", "exec"), {"__name__": "page"})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, capsys, monkeypatch):
    from hdpkit.base_measures import base_measures
    from hdpkit.moves.registry import moves

    monkeypatch.setattr(sys, "argv", [str(example)])
    before = [(registry, dict(registry)) for registry in (base_measures, moves)]
    for registry, entries in before:
        for name in entries:
            if "(example)" in name:
                registry.remove(name)
    monkeypatch.setattr(sys, "argv", [str(example)])
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


def test_links_in_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_benchmarks_run(tmp_path):
    corpus, text = tmp_path / "corpus.ldac", tmp_path / "text.txt"
    corpus.write_text("2 0:3 1:1\n2 1:2 2:2\n1 2:4\n" * 10, encoding="utf-8")
    text.write_text("the cat sat\nthe dog sat down\n" * 10, encoding="utf-8")
    on_counts = [corpus, "--dishes", 4, "--sweeps", 2], "tokens/s"
    few = ["--orders", 2, "--sweeps", 2]
    halves, few_topics = ["--observed", corpus, "--held", corpus], ["--dishes", 3, "--blocks", 1]
    others = {
        "heldout": ([corpus, *halves, "--sweeps", 2], "held-out perplexity"),
        "kneser_ney": ([text, text, "--order", 3], "perplexity"),
        "machine": ([], "| processor |"),
        "ngram": ([text, text, *few, "--burn-in", 1, "--samples", 1, "--timed-sweeps", 1], "average"),
        "reference_second": ([corpus, "--blocks", 1], "reference second"),
        "seating_memory": ([text, *few], "| histogram |"),
        "topic_model": (
            [corpus, *halves, *few_topics, "--seconds", 0.05, "--out", tmp_path / "curves.png"],
            "reference s",
        ),
    }
    for script in sorted((ROOT / "benchmarks").glob("*.py")):
        arguments, shown = others.get(script.stem, on_counts)
        command = [sys.executable, str(script), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert shown in done.stdout


def test_the_readme_names_its_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("demo", "test"):
        assert re.search(rf"<!-- {name} command -->\n```\n[^\n]+\n```", text)
