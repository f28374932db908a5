"""The command line of language models."""

import csv
import io
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fit_command import call, hdpkit

import hdpkit as hk
from hdpkit.cli.lm import read_text
from hdpkit.data.files.sentences import read_sentences

COMMAND = [sys.executable, "-c", "from hdpkit.cli.main import main; main(prog_name='hdpkit')"]
TRAIN = "the cat sat\nthe dog sat down\n\nthe cat ran\na dog ran down the hill\n" * 3
TEST = "the cat sat down\n\na bird sat\n"
QUICK = ["--sweeps", 6, "--burn-in", 2, "--samples", 2]


def command(*arguments, **more):
    return hdpkit("lm", *arguments, **more)


def done(*arguments, **more):
    result = command(*arguments, **more)
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to work in, with a text to train on and one to score."""
    monkeypatch.chdir(tmp_path)
    Path("train.txt").write_text(TRAIN)
    Path("test.txt").write_text(TEST)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A trained model's folder, not to be changed."""
    folder = tmp_path_factory.mktemp("lm")
    (folder / "train.txt").write_text(TRAIN)
    (folder / "test.txt").write_text(TEST)
    done("train", folder / "train.txt", "--into", folder / "model", *QUICK)
    return folder


def library_model(order=3, text=TRAIN, seed=0, **options):
    sentences = [line.split() for line in text.splitlines() if line.strip()]
    model = hk.NGramModel(order, **options)
    return model.fit(sentences, sweeps=6, burn_in=2, samples=2, rng=seed)


def same_model(one, other):
    """Whether two models predict the same, bit for bit."""
    assert one.vocabulary == other.vocabulary
    np.testing.assert_array_equal(one.trace["log_joint"], other.trace["log_joint"])
    for context in ((), ("the",), ("<s>", "the"), ("the", "cat")):
        np.testing.assert_array_equal(one.distribution(context), other.distribution(context))


def opened(folder="model"):
    return hk.NGramModel.open(folder)


@pytest.mark.quick
def test_the_command_trains_the_model_that_the_library_would_have_made(place):
    result = done("train", "train.txt", "--into", "model", *QUICK, "--seed", 4)
    same_model(opened(), library_model(seed=4))
    assert "reading train.txt" in result.stderr
    assert "12 sentences, 48 words" in result.stderr
    assert "sweep 6/6, log probability -" in result.stderr
    assert "order 3, 9 words, 12 sentences, 60 tokens, sweep 6, 2 samples, 0.0 MB on disk" in result.stdout
    assert result.stdout.count("\n") >= 6  # a row for each level


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_a_bar_shows_the_bytes_read(place, monkeypatch):
    source = "[red].txt"
    Path("[red].txt").write_text("the cat sat\n" * 200_000)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    reading = {"lowercase": False, "encoding": "utf-8", "errors": "strict", "empty": "skip"}
    assert sum(1 for _ in read_text(source, reading, quiet=False)) == 200_000
    shown = terminal.getvalue()
    assert "reading [red].txt" in shown
    assert "2.4/2.4 MB" in shown
    assert "\x1b[?25h" in shown  # the cursor is there again
    assert shown.endswith("200,000 sentences, 600,000 words\n")
    assert next(read_text("[red].txt", reading, quiet=True)) == ["the", "cat", "sat"]
    assert terminal.getvalue() == shown


def figures(*arguments, **given):
    return json.loads(done("score", *arguments, "--json", **given).stdout)


def test_rare_words_become_the_unknown_word(place):
    Path("rare.txt").write_text("a b a\na c\nb a\n")
    result = done("train", "rare.txt", "--into", "model", *QUICK, "--min-count", 2)
    assert "1 of 3 words are rare" in result.stderr
    same_model(opened(), library_model(text="a b a\na <unk>\nb a\n"))
    found = figures("model", "test.txt")
    assert (found["unknown_are"], found["unknown"], found["left_out"]) == ("scored as <unk>", 6, 0)
    unknown = ["--min-count", 3, "--unknown", "UNK"]
    done("train", "-", "--into", "other", *QUICK, *unknown, input="a b a\na UNK b\n")
    assert set(opened("other").vocabulary) == {"a", "UNK", "</s>"}
    Path("words.txt").write_text("a\nb elephant\n<unk>\n")
    done("train", "rare.txt", "--into", "listed", *QUICK, "--vocabulary", "words.txt")
    assert opened("listed").vocabulary == ("a", "b", "elephant", "<unk>", "</s>")


def test_texts_without_figures(place):
    """A long word in an open vocabulary, and words that are all unknown."""
    done("train", "train.txt", "--into", "open", *QUICK, "--open-vocabulary")
    long = "the " + "x" * 2000
    found = figures("open", "-", input=long)
    assert (found["unknown"], found["left_out"], found["perplexity"]) == (1, 0, None)  # beyond a double
    assert "perplexity         inf\n" in done("score", "open", "-", input=long).stdout
    done("train", "-", "--no-end", "--into", "endless", *QUICK, input=TRAIN)
    found = figures("endless", "-", input="x y z\n")
    assert (found["unknown"], found["left_out"], found["perplexity"]) == (3, 3, None)
    told = done("score", "endless", "-", input="The CAT sat\n").stderr
    assert "2 of the unknown words are known in lower case" in told


def test_a_row_for_each_token(trained):
    model = opened(trained / "model")
    scores = model.score(read_sentences(trained / "test.txt"))
    result = done("score", trained / "model", trained / "test.txt", "--per-token")
    rows = list(csv.DictReader(io.StringIO(result.stdout), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [row["token"] for row in rows] == ["the", "cat", "sat", "down", "</s>", "a", "bird", "sat", "</s>"]
    assert [row["sentence"] for row in rows] == list("111112222")
    assert [row["position"] for row in rows] == list("123451234")
    assert [row["unknown"] for row in rows] == list("000000100")
    found = np.array([float(row["log10_probability"]) for row in rows])
    np.testing.assert_allclose(found, scores.log_probability / math.log(10), rtol=1e-15)
    assert np.isnan(found[6])
    assert f"perplexity         {scores.perplexity:.6g}\n" in result.stderr
    lines = done(
        "score", trained / "model", trained / "test.txt", "--per-token", "--json"
    ).stdout.splitlines()
    read = [json.loads(line) for line in lines]
    assert [row["token"] for row in read] == [row["token"] for row in rows]
    assert read[6] == {"sentence": 2, "position": 2, "token": "bird", "log10_probability": None, "unknown": 1}
    assert [row["log10_probability"] for row in read[:6]] == found[:6].tolist()


def test_links_and_pipes_are_written_through(trained, tmp_path):
    link = tmp_path / "link.tsv"
    link.symlink_to(tmp_path / "rows.tsv")
    done("score", trained / "model", trained / "test.txt", "--per-token", "--output", link)
    assert link.is_symlink()
    assert (tmp_path / "rows.tsv").read_text().startswith("sentence\t")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    done("score", trained / "model", trained / "test.txt", "--per-token", "--output", pipe)
    assert reader.communicate(timeout=60)[0] == (tmp_path / "rows.tsv").read_bytes()
    assert pipe.is_fifo()


def test_a_model_is_swept_further_and_verified(place):
    done("train", "train.txt", "--into", "model", *QUICK)
    assert "was already complete" in call("resume", "model")
    assert "sweep 11, 2 samples" in call("resume", "model", "--sweeps", 5)
    same_model(opened(), library_model().sweep(5))
    assert "a language model with 2 samples" in call("verify", "model")


def test_a_closed_pipe_ends_the_command_quietly(trained):
    text = trained / "much.txt"
    text.write_text(TEST * 5000)
    for arguments in (
        ["score", trained / "model", text, "--per-token"],
        ["sample", trained / "model", "-n", 20000],
    ):
        words = shlex.join([*COMMAND, "lm", *map(str, arguments)])
        ended = subprocess.run(
            ["bash", "-c", f"{words} | head -n 2; exit ${{PIPESTATUS[0]}}"],
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert len(ended.stdout.splitlines()) == 2
        assert b"Traceback" not in ended.stderr
        assert b"Exception" not in ended.stderr
        assert ended.returncode in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full at once")
def test_a_full_disk_behind_standard_output_is_one_message(trained):
    for arguments in (["score", trained / "model", trained / "test.txt"], ["sample", trained / "model"]):
        with open("/dev/full", "wb") as full:
            words = [*COMMAND, "lm", *map(str, arguments)]
            ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert ended.returncode == 1
        assert ended.stderr.endswith("Error: standard output: No space left on device\n")
        assert "Traceback" not in ended.stderr
    failed = command("score", trained / "model", trained / "test.txt", "--output", "/dev/full")
    assert failed.exit_code == 1
    assert "No space left" in failed.stderr
    assert Path("/dev/full").is_char_device()
