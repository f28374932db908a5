"""The command line."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest
from fit_command import FIT, done, hdpkit, write_ldac

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["bread", "butter", "oven", "salt", "harbour", "sail", "ship", "storm"]
COMMAND = [sys.executable, "-c", "from hdpkit.cli.main import main; main(prog_name='hdpkit')"]


def counts():
    rng = np.random.default_rng(5)
    kinds = np.array([[6, 5, 4, 3, 0, 0, 0, 0], [0, 0, 0, 1, 4, 5, 4, 4]]) / np.array([[18], [18]])
    return np.array([rng.multinomial(25, kinds[d % 2]) for d in range(16)])


def texts(folder, suffix=".txt"):
    folder.mkdir(exist_ok=True)
    for d, row in enumerate(counts()):
        (folder / f"{d:02d}{suffix}").write_text(" ".join(np.repeat(WORDS, row)) + " the", encoding="utf-8")
    return folder


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def ldac(tmp_path):
    return write_ldac(tmp_path / "corpus.dat", counts())


def test_demo_fits_the_installed_documentation_and_prints_topics(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hdpkit-demo").mkdir()
    result = done("demo", "--sweeps", 3, "--seed", 5, "--terms", 4)
    assert "seed = 5" in result.output
    assert result.stdout.count("log likelihood = ") == 2
    page = tmp_path / "hdpkit-demo-2" / "report.html"
    assert page.as_uri() in result.output.splitlines()[-1]
    assert "hdpkit demo --sweeps 3 --seed 5" in page.read_text(encoding="utf-8")
    done("topics", "hdpkit-demo-2")


def test_fit_and_resume_run_until_a_verdict_is_green(tmp_path, ldac):
    run = tmp_path / "run"
    given = ("--eta", 0.5, "--until", "readable", "--at-most", "5min", "--sweeps", 400, "--out", run)
    result = done(*FIT, ldac, *given)
    sweeps = hk.open_run(run).sweeps
    assert f"after {sweeps[0]} sweeps: [green] Yes: " in result.stderr
    assert "[green] Can it be read? Yes: " in done("resume", run, "--until", "readable").stdout
    assert hk.open_run(run).sweeps == sweeps
    facts = json.loads(done("topics", run, "--format", "json").stdout)["verdicts"]
    assert facts["readable"]["light"] == "green"
    done("resume", run, "--until", "quotable", "--at-most", "1s", "--quiet")
    assert hk.open_run(run).planned == 40


@pytest.mark.quick
def test_fit_is_the_run_that_the_library_would_have_made(tmp_path, ldac, vocabulary):
    done(
        *FIT, ldac, "--vocabulary", vocabulary, "--out", tmp_path / "run", "--sweeps", 12, "--seed", 9,
        "--moves", "table-gibbs,split-merge:until=5:repeat=2,concentration,base-measure-parameters",
        "--store", "explicit", "--kernel", "generic", "--init", "random:3", "--thin", 2,
        "--eta", "gamma(1,2)", "--document-concentration", "gamma(2,3)", "--root-concentration", 1.5,
        "--quiet",
    )  # fmt: skip
    G0 = hk.Restaurant(base=hk.DirichletMultinomial(eta=hk.Gamma(1, 2)), concentration=1.5)
    Gj = hk.Restaurant(base=G0, concentration=hk.Gamma(2, 3), each="document")
    franchise = hk.Franchise(Gj, hk.Corpus.from_ldac(ldac, vocabulary), store="explicit", kernel="generic")
    scheduler = hk.Scheduler(
        [moves.TableGibbs(), moves.SplitMerge().until(5).repeat(2), moves.Concentration(),
         moves.BaseMeasureParameters()]
    )  # fmt: skip
    trace = scheduler.run(franchise, 12, 9, hk.init.Random(3), thin=2)
    there = hk.open_run(tmp_path / "run")
    for key in trace:
        np.testing.assert_array_equal(there.trace[key], trace[key])
    np.testing.assert_array_equal(there.franchise().dishes, franchise.dishes)


@pytest.mark.quick
def test_topics_in_all_formats_say_the_same(tmp_path, ldac, vocabulary):
    run = tmp_path / "run"
    done(*FIT, ldac, "--vocabulary", vocabulary, "--out", run, "--sweeps", 20, "--chains", 2, "--seed", 2)
    for chain in (0, 1):
        franchise = hk.open_run(run).franchise(chain)
        found = json.loads(done("topics", run, "--format", "json", "--chain", chain).stdout)
        expected = hk.summaries.components(run, chain=chain)
        assert found["n_topics"] == len(expected) == len(found["topics"])
        assert found["log_likelihood"] == franchise.log_likelihood()
        assert found["concentration/document"] == franchise.concentration("document")
        assert (found["sweep"], found["seed"]) == (20, 2)
        tokens = np.rint(expected.shares * franchise.data.n_tokens).astype(int).tolist()
        assert [topic["tokens"] for topic in found["topics"]] == tokens == sorted(tokens, reverse=True)
        text = done("topics", run, "--format", "csv", "--chain", chain).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["terms"].split() for row in rows] == [topic["terms"] for topic in found["topics"]]
        table = done("topics", run, "--chain", chain, "--terms", 2, "--topics", 1).stdout
        assert re.search(rf"1\s+{' '.join(found['topics'][0]['terms'][:2])}\s+\d", table)


def test_commands_on_documents_need_a_level_of_documents(tmp_path):
    """They are an error over chains of other groups, where the shares have other rows than the corpus."""
    corpus = hk.Corpus.from_documents([[0, 1], [1, 2], [2, 2]], n_terms=3, groups={"author": [0, 0, 1]})
    declared = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(eta=0.5)), each="author")
    for chains in (None, 2):
        run = tmp_path / f"run-{chains}"
        state = hk.Franchise(declared, corpus)
        hk.Scheduler([moves.TableGibbs()]).run(state, 2, 0, folder=run, chains=chains)
        for command in (["topics"], ["export", "--to", "csv", "--out", tmp_path / "tables"]):
            result = hdpkit(command[0], run, *command[1:])
            if command[0] == "topics":
                assert result.exit_code == 0, result.stderr
            else:
                assert result.exit_code == 2, result.stderr
                assert "with the documents as the groups" in result.stderr
        assert hdpkit("topics", run, "--chain", 0).exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent another way there")
def test_ctrl_c_says_how_to_go_on_and_the_run_goes_on_bit_for_bit(tmp_path, ldac):
    folder, chains = tmp_path / "a run", 2
    settings = [str(ldac), "--chains", str(chains)]
    process = subprocess.Popen(
        [*COMMAND, *FIT, *settings, "--out", str(folder), "--sweeps", "1000000"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "sweep" not in process.stderr.readline():
        assert process.poll() is None
    # Chains begin one after the other: each has a state once it has begun.
    while not all((folder / f"chain-{chain:03}" / "state.npz").exists() for chain in range(chains)):
        assert process.poll() is None
        time.sleep(0.02)
    assert "K = " in done("topics", folder).stdout  # reading is fine meanwhile; a second writer is not
    done("verify", folder)
    second = hdpkit("resume", folder)
    assert second.exit_code == 1
    assert "no other process" in second.stderr
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert f"Interrupted. Go on with it: hdpkit resume '{folder}'" in stderr
    assert "Traceback" not in stderr
    done("verify", folder)
    done("resume", folder, "--sweeps", 3)
    trace = hk.open_run(folder).trace
    lengths = [one.n_draws for one in getattr(trace, "chains", [trace])]
    done(*FIT, *settings, "--out", tmp_path / "unbroken", "--sweeps", max(lengths))
    other = hk.open_run(tmp_path / "unbroken").trace
    np.testing.assert_array_equal(trace["log_joint"], other["log_joint"][..., : trace.n_draws])
    assert "was already complete" in done("resume", tmp_path / "unbroken").stderr
    assert "K = " in stdout


class Fragile(moves.Move):
    """Breaks in one chain, at the third sweep."""

    def __init__(self, chain):
        self.chain = chain

    def apply(self, state, rng, steps=None):
        if state.streams.chain == self.chain and state.sweep == 2:
            raise OSError("worn out")
        return moves.MoveInfo()


def test_a_run_that_fails_says_how_to_go_on_and_does_not_take_other_chains_with_it(tmp_path, ldac):
    run, two = tmp_path / "run", tmp_path / "two"
    moves.registry.moves.register("fragile", Fragile)
    try:
        fit = (*FIT, ldac, "--sweeps", 6, "--moves")
        alone = hdpkit(*fit, "table-gibbs,fragile:chain=0", "--out", run)
        beside = hdpkit(*fit, "table-gibbs,fragile:chain=1", "--chains", 2, "--out", two)
    finally:
        moves.registry.moves.remove("fragile")
    for result, folder in ((alone, run), (beside, two)):
        assert result.exit_code == 1
        assert f"hdpkit resume {folder}" in result.stderr
    assert isinstance(alone.exception, OSError)  # its own traceback, since it is a defect
    assert "worn out" in beside.stderr
    assert "6 sweeps" in beside.stdout
    assert hdpkit("resume", run).exit_code == 2  # the move is in no package that is allowed
    assert isinstance(hdpkit("resume", run, "--allow", __name__).exception, OSError)


def examples_of(command):
    return re.findall(r"^\s*hdpkit (\S+ .*?)(?: {4}.*| && .*| [<>] .*)?$", command.help or "", re.MULTILINE)


def every_command(group=main, names=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*names, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*names, name))


@pytest.mark.parametrize("name", main.commands)
def test_the_list_of_commands_says_what_their_own_help_says(name):
    command = main.get_command(click.Context(main), name)
    assert main.commands[name].get_short_help_str(1000) == command.get_short_help_str(1000)


def test_help_imports_no_command_and_no_numpy():
    program = "import sys, hdpkit.cli.main as cli\ntry: cli.main(['--help'])\nexcept SystemExit: pass\n"
    program += "print(*sorted(name for name in sys.modules if name.startswith(('hdpkit', 'numpy'))))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert shown.splitlines()[-1] == "hdpkit hdpkit.cli hdpkit.cli.main hdpkit.errors"


def test_every_command_has_help_with_examples_that_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for names, command in every_command():
        if command.params:
            Path("study.toml").write_text(f'{command.params[0].name} = "corpus.dat"\n')
        result = done(*names, "--help")
        assert "--" in result.stdout
        examples = examples_of(command)
        assert examples or names == ("demo",)
        for example in examples:
            words = shlex.split(example)
            assert tuple(words[: len(names)]) == names
            with click.Context(command) as context:
                command.parse_args(context, words[len(names) :])


def sentences(file, n, seed):
    rng = np.random.default_rng(seed)
    lines = [" ".join(rng.choice([*WORDS, "the", "of", "cat"], size=rng.integers(2, 9))) for _ in range(n)]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_by_a_shell(line):
    """Run a line with pipes, `hdpkit` and `python` being those of this test."""
    Path("bin").mkdir(exist_ok=True)
    for name, words in {"hdpkit": COMMAND, "python": [sys.executable]}.items():
        script = Path("bin") / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        script.chmod(0o755)
    path = f"{Path('bin').resolve()}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        env={**os.environ, "PATH": path},
        capture_output=True,
        check=False,
    )
    return run.returncode, run.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/command_line.md", "docs/sentences.md"])
def test_commands_in_the_pages_run_as_printed(page, tmp_path, monkeypatch):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- command line -->\n```(?:sh)?\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    texts(Path("reports"))
    for file, content in re.findall(r"<!-- file (\S+) -->\n```(?:toml|text)\n(.*?)```", text, re.DOTALL):
        Path(file).write_text(content)
    for number, name in enumerate(["text.txt", "valid.txt", "test.txt", "more.txt"]):
        sentences(name, 60, number)
    for line in "".join(blocks).splitlines():
        if re.search(r"[|<>]", line):
            code, told = run_by_a_shell(line)
            assert code == 0, (line, told)
            continue
        words = shlex.split(line, comments=True)
        assert words[0] == "hdpkit"
        done(*words[1:])
