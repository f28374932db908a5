"""Content of files, names and arguments can't control the terminal to which a command prints."""

import ast
import csv
import io
import json
import unicodedata
from pathlib import Path

import pytest
from fit_command import FIT, hdpkit

import hdpkit as hk
from hdpkit.errors import DataError

EVIL = "\x1b[31m\x07\x7f\x85\x9b2J\u202e\u2066\u2028\u2029\u200f\ufeff\U000e0041[red][link=x]"
WORD = EVIL + "ship"
CLI = Path(hk.__file__).parent / "cli"


def raw(text):
    """The characters of a text that no command may print."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return sorted({letter for letter in text if unicodedata.category(letter) in kinds} - {"\n", "\t"})


def run(*arguments, code=0, **options):
    result = hdpkit(*arguments, **options)
    assert result.exit_code == code, (arguments, result.output, result.exception)
    assert raw(result.stdout) == [], arguments
    assert raw(result.stderr) == [], arguments
    return result


def test_errors_are_safe_whatever_they_name(tmp_path):
    class Evil:
        def __repr__(self):
            return EVIL

    for error in (
        DataError(f"file {EVIL}\nall is well", EVIL, EVIL, EVIL),
        DataError("x", Evil(), "y", "z"),
        DataError("x", [EVIL], "y", "z"),
        DataError("x", EVIL.encode("utf-8", "surrogatepass"), "y", "z"),
    ):
        assert raw(str(error)) == []
    assert len(str(DataError("file a\nb", "c\nd", "e", "f")).splitlines()) == 1
    banner = f"%%MatrixMarket {EVIL} {EVIL} general\n1 1 1\n".encode()
    (tmp_path / "a.mtx").write_bytes(banner)
    with pytest.raises(DataError) as caught:
        hk.Corpus.from_ldac(tmp_path / "a.mtx")
    assert raw(str(caught.value)) == []
    run(*FIT, tmp_path / "a.mtx", "--out", tmp_path / "run", code=2)


def test_commands_of_topics(tmp_path):
    here = tmp_path / f"folder{EVIL}"
    here.mkdir()
    corpus = hk.Corpus.from_documents([[WORD, "\nall is well"], [WORD, "b"]], names=["a", WORD])
    corpus.save(here / "corpus")
    run(*FIT, here / "corpus", "--out", here / "run", "--sweeps", 2)
    run("convert", here / "corpus", here / "again")
    run("convert", here / "corpus", here / "again", code=2)
    run(*FIT, here / "corpus", "--out", here / "run", code=2)
    for options in ([], ["--format", "csv"], ["--format", "json"]):
        shown = run("topics", here / "run", *options).stdout
        assert "ship" in shown
    listed = json.loads(shown)["topics"]
    assert {term for topic in listed for term in topic["terms"]} == {WORD, "b", "\nall is well"}
    rows = list(csv.reader(io.StringIO(run("topics", here / "run", "--format", "csv").stdout)))
    assert any("\\x1b[31m" in row[-1] for row in rows)
    run("resume", here / "run", "--sweeps", 1)
    run("verify", here / "run")
    run("topics", here / f"absent{EVIL}", code=2)
    run(f"topics{EVIL}", code=2)
    run("topics", f"--{EVIL}", code=2)
    run(f"--{EVIL}", code=2)
    run("topics", here / "run", "--chain", EVIL, code=2)
    run(*FIT, here / "corpus", "--out", here / "other", "--moves", EVIL, code=2)
    (here / "a.toml").write_text(f'"{EVIL[9:]}" = 1\n', encoding="utf-8")
    run(*FIT, here / "corpus", "--out", here / "other", "--config", here / "a.toml", code=2)


def test_commands_of_language_models(tmp_path):
    here = tmp_path / f"folder{EVIL}"
    here.mkdir()
    word = EVIL.replace("\ufeff", "")
    (here / "text").write_text(f"{word} b\nb {word}x\n" * 3, encoding="utf-8")
    quick = ["--order", 2, "--sweeps", 2, "--burn-in", 0, "--samples", 2]
    run("lm", "train", here / "text", "--into", here / "model", *quick)
    run("lm", "train", here / "text", "--into", here / "model", *quick, code=2)
    for options in ([], ["--per-token"], ["--per-sentence"], ["--json"], ["--per-token", "--json"]):
        out = run("lm", "score", here / "model", here / "text", *options).stdout
    words = {json.loads(line)["token"] for line in out.splitlines()}
    assert word in words
    run("lm", "score", here / "model", here / "text", "--per-token", "--output", here / "rows")
    assert raw((here / "rows").read_text(encoding="utf-8")) == []
    run("lm", "sample", here / "model")
    run("lm", "sample", here / "model", "--context", word)
    run("lm", "score", here / "model", here / f"absent{EVIL}", code=2)
    run("lm", "export", here / "model", here / "absent" / f"{EVIL}", code=1)
    run("verify", here / "model")
    run("topics", here / "model", code=2)


def test_commands_print_through_one_door():
    for path in CLI.glob("*.py"):
        if path.name == "output.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "click.echo", "click.secho", "json.dumps"), (path, node.lineno)
