"""The command line of language models."""

import csv
import gzip
import io
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.lm import lm
from hdpkit.cli.lm_text import SentenceOptions, read_text
from hdpkit.cli.main import main
from hdpkit.data.files.arpa import read_arpa
from hdpkit.data.files.sentences import read_sentences

COMMAND = [sys.executable, "-c", "from hdpkit.cli.main import main; main(prog_name='hdpkit')"]
TRAIN = "the cat sat\nthe dog sat down\n\nthe cat ran\na dog ran down the hill\n" * 3
TEST = "the cat sat down\n\na bird sat\n"
QUICK = ["--sweeps", 6, "--burn-in", 2, "--samples", 2]


def command(*arguments, **more):
    return CliRunner().invoke(main, ["lm", *map(str, arguments)], **more)


def done(*arguments, **more):
    result = command(*arguments, **more)
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result


def refused(*arguments, code=2, **more):
    """Refused with one message and no traceback."""
    result = command(*arguments, **more)
    assert result.exit_code == code, (arguments, result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert "Error: " in result.stderr
    return result.stderr


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


# ------------------------------------------------------------------ train


@pytest.mark.quick
def test_the_command_trains_the_model_that_the_library_would_have_made(place):
    result = done("train", "train.txt", "--into", "model", *QUICK, "--seed", 4)
    same_model(opened(), library_model(seed=4))
    assert "reading train.txt" in result.stderr
    assert "12 sentences, 48 words" in result.stderr
    assert "sweep 6/6, log probability -" in result.stderr
    assert "order 3, 9 words, 12 sentences, 60 tokens, sweep 6, 2 samples, 0.0 MB on disk" in result.stdout
    assert result.stdout.count("\n") >= 6  # a row for each level


@pytest.mark.parametrize(
    ("options", "sweeps", "samples"),
    [
        ([], 30, 10),
        (["--sweeps", 1], 1, 1),
        (["--sweeps", 7], 7, 5),
        (["--sweeps", 12, "--burn-in", 9], 12, 3),
        (["--sweeps", 100, "--samples", 2], 100, 2),
    ],
)
def test_samples_are_as_many_as_fit_unless_told(options, sweeps, samples, place):
    result = done("train", "train.txt", "--into", "model", *options)
    assert f"sweep {sweeps}, {samples} samples" in result.stdout


def test_settings_reach_the_model(place):
    done(
        "train", "train.txt", "--out", "model", *QUICK, "--order", 2, "--store", "explicit",
        "--discount", "0.5,each(beta(1,2))", "--concentration", "-0.1,each(shifted(gamma(2,1)))",
        "--no-start", "--no-end", "--unknown", "", "--quiet",
    )  # fmt: skip
    wanted = library_model(
        2, store="explicit", discounts=[0.5, hk.Each(hk.Beta(1, 2))], start=None, end=None, unknown=None,
        concentrations=[-0.1, hk.Each(hk.Shifted(hk.Gamma(2, 1)))],
    )  # fmt: skip
    there = opened()
    same_model(there, wanted)
    assert (there.settings.start, there.settings.end, there.settings.unknown) == (None, None, None)


@pytest.mark.parametrize("order", range(1, 13))
def test_orders_from_1_to_12(order, place):
    done(
        "train",
        "train.txt",
        "--into",
        "model",
        "--order",
        order,
        "--sweeps",
        3,
        "--burn-in",
        1,
        "--samples",
        1,
    )
    figures = json.loads(done("score", "model", "test.txt", "--json").stdout)
    assert 1 < figures["perplexity"] < 100
    assert len(done("sample", "model", "-n", 3, "--max-length", 20).stdout.splitlines()) == 3
    done("export", "model", "model.arpa")
    assert read_arpa("model.arpa").order == min(order, 8)  # the longest line has six words


@pytest.mark.parametrize("order", ["0", "-1", "101", "two", "2.5", ""])
def test_orders_that_make_no_sense(order, place):
    assert "--order" in refused("train", "train.txt", "--into", "model", "--order", order)
    assert not Path("model").exists()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("source", ["[red].txt", "-"])
def test_on_a_terminal_a_bar_shows_the_bytes_read(source, place, monkeypatch):
    Path("[red].txt").write_text("the cat sat\n" * 200_000)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdin", io.StringIO(Path("[red].txt").read_text()))
    monkeypatch.setenv("COLUMNS", "120")
    reading = SentenceOptions(lowercase=False, encoding="utf-8", errors="strict", empty="skip")
    assert sum(1 for _ in read_text(source, reading, quiet=False)) == 200_000
    shown = terminal.getvalue()
    name, size = ("standard input", "2.4/? MB") if source == "-" else ("[red].txt", "2.4/2.4 MB")
    assert f"reading {name}" in shown
    assert size in shown
    assert "\x1b[?25h" in shown  # the cursor is there again
    assert shown.endswith("200,000 sentences, 600,000 words\n")
    assert next(read_text("[red].txt", reading, quiet=True)) == ["the", "cat", "sat"]
    assert terminal.getvalue() == shown


@pytest.mark.parametrize("kind", ["pipe", "gz"])
def test_text_from_a_pipe_or_packed(kind, place):
    if kind == "pipe":
        done("train", "-", "--into", "model", *QUICK, input=TRAIN.encode())
    else:
        Path("train.txt.gz").write_bytes(gzip.compress(TRAIN.encode(), mtime=0))
        done("train", "train.txt.gz", "--into", "model", *QUICK)
    same_model(opened(), library_model())


def test_words_are_made_as_asked(place):
    Path("latin.txt").write_bytes("Été chaud\n\nÉTÉ chaud\n".encode("latin-1"))
    options = ["--lowercase", "--encoding", "latin-1", "--empty", "keep"]
    done("train", "latin.txt", "--into", "model", *QUICK, *options)
    there = opened()
    assert set(there.vocabulary) == {"été", "chaud", "</s>"}
    assert there.data.n_sentences == 3
    figures = json.loads(done("score", "model", "latin.txt", *options, "--json").stdout)
    assert (figures["unknown"], figures["sentences"]) == (0, 3)
    done("train", "latin.txt", "--into", "other", *QUICK, "--errors", "replace")
    assert "\N{REPLACEMENT CHARACTER}t\N{REPLACEMENT CHARACTER}" in opened("other").vocabulary


def test_rare_words_become_the_unknown_word(place):
    Path("rare.txt").write_text("a b a\na c\nb a\n")
    result = done("train", "rare.txt", "--into", "model", *QUICK, "--min-count", 2)
    assert "1 of 3 words are rare" in result.stderr
    same_model(opened(), library_model(text="a b a\na <unk>\nb a\n"))
    figures = json.loads(done("score", "model", "test.txt", "--json").stdout)
    assert figures["unknown_are"] == "scored as <unk>"
    assert (figures["unknown"], figures["left_out"]) == (6, 0)
    done(
        "train",
        "-",
        "--into",
        "other",
        *QUICK,
        "--min-count",
        3,
        "--unknown",
        "UNK",
        input="a b a\na UNK b\n",
    )
    assert set(opened("other").vocabulary) == {"a", "UNK", "</s>"}


def test_a_vocabulary_says_which_words_there_are(place):
    Path("words.txt").write_text("the\ncat sat\nelephant\nthe\n")
    message = refused("train", "train.txt", "--into", "model", *QUICK, "--vocabulary", "words.txt")
    assert "'dog'" in message
    Path("words.txt").write_text("the\ncat sat\nelephant\n<unk>\n")
    done("train", "train.txt", "--into", "model", *QUICK, "--vocabulary", "words.txt")
    there = opened()
    assert there.vocabulary == ("the", "cat", "sat", "elephant", "<unk>", "</s>")
    assert there.probability("elephant") > 0
    assert (there.data.values == there.data.word_id("<unk>")).sum() == sum(
        word not in {"the", "cat", "sat"} for word in TRAIN.split()
    )


def test_an_open_vocabulary_leaves_no_word_out(place):
    done("train", "train.txt", "--into", "model", *QUICK, "--open-vocabulary")
    figures = json.loads(done("score", "model", "test.txt", "--json").stdout)
    assert (figures["unknown"], figures["left_out"]) == (1, 0)
    assert figures["unknown_are"] == "scored by the base measure"
    assert figures["perplexity"] > 1
    assert len(done("sample", "model", "-n", 20).stdout.splitlines()) == 20


def test_held_out_text_is_scored_at_the_end_and_read_at_the_beginning(place):
    result = done("train", "train.txt", "--into", "model", *QUICK, "--heldout", "test.txt")
    assert result.stdout.endswith(done("score", "model", "test.txt").stdout)
    Path("bad.txt").write_bytes(b"the cat\n\xff\n")
    message = refused("train", "train.txt", "--into", "other", *QUICK, "--heldout", "bad.txt")
    assert "bad.txt, line 2" in message
    assert not Path("other").exists()


def test_settings_from_a_file(place):
    Path("study.toml").write_text(
        'text = "train.txt"\ninto = "model"\norder = 2\nsweeps = 6\nburn-in = 2\nsamples = 2\nstart = false\n'
        'discount = [0.3, "beta(1,1)"]\nconcentration = 1\nlowercase = true\n'
    )
    done("train", "--config", "study.toml")
    same_model(opened(), library_model(2, discounts=[0.3, hk.Beta(1, 1)], concentrations=1.0, start=None))
    done(
        "train", "-", "--config", "study.toml", "--into", "other", "--order", 1, "--discount", 0, input=TRAIN
    )
    assert opened("other").order == 1
    Path("study.toml").write_text('text = "-"\ninto = "piped"\nsweeps = 6\nburn-in = 2\nsamples = 2\n')
    done("train", "--config", "study.toml", input=TRAIN)
    same_model(opened("piped"), library_model())


def test_text_is_added_to_a_model_in_another_folder(trained, place):
    before = {path: path.read_bytes() for path in (trained / "model").rglob("*") if path.is_file()}
    more = "a bird sat\nthe cat sat\n"
    result = done(
        "add", trained / "model", "-", "--into", "more", "--sweeps", 4, "--burn-in", 1, "--samples", 3,
        "--heldout", "test.txt", input=more,
    )  # fmt: skip
    assert "14 sentences, 68 tokens, sweep 10, 3 samples" in result.stdout
    assert "unknown words      0\n" in result.stdout  # it has a bird now
    wanted = hk.NGramModel.open(trained / "model")
    wanted.add([line.split() for line in more.splitlines()], sweeps=4, burn_in=1, samples=3)
    there = opened("more")
    np.testing.assert_array_equal(there.trace["log_joint"], wanted.trace["log_joint"][6:])
    assert there.score([TEST.split()]).perplexity == wanted.score([TEST.split()]).perplexity
    assert before == {path: path.read_bytes() for path in (trained / "model").rglob("*") if path.is_file()}
    for arguments, message in {
        (): "--into",
        ("--into", "train.txt"): "a file",
        ("--into", "other", "--sweeps", "2", "--burn-in", "2"): "burn_in",
        ("--into", "other", "--heldout", "-"): "another source",
    }.items():
        assert message in refused("add", trained / "model", "-", *arguments, input=more)
    assert "The text is empty" in refused("add", trained / "model", "-", "--into", "other", input="")
    assert "no language model" in refused("add", "train.txt", "test.txt", "--into", "other")
    assert not Path("other").exists()


# ------------------------------------------------------------------ bad input

BAD = {
    "missing": (["absent.txt"], b"", "absent.txt"),
    "folder": (["."], b"", "file ."),
    "empty": (["-"], b"", "The text is empty"),
    "empty file": (["empty.txt"], b"", "file empty.txt = 'no sentence'"),
    "empty lines": (["-"], b"\n \n\t\n", "The text is empty"),
    "no tokens": (["-", "--empty", "keep", "--no-end"], b"\n\n", "token"),
    "rare words of nothing": (["-", "--empty", "keep", "--min-count", "2"], b"\n\n", "token"),
    "utf-8": (["-"], b"good\nb\xffd\n", "standard input, line 2, byte 6"),
    "nul": (["-"], b"a\0b\n", "standard input, line 1, byte 1"),
    "start": (["-"], b"a b\n<s> a </s>\n", "standard input, line 2"),
    "cut off": (["cut.gz"], b"", "a complete gzip file"),
    "encoding": (["train.txt", "--encoding", "utf-16"], b"", "encoding"),
    "no encoding": (["train.txt", "--encoding", "klingon"], b"", "encoding"),
    "levels": (["train.txt", "--discount", "0.1,0.2"], b"", "one value, or 3 of them"),
    "discount": (["train.txt", "--discount", "1.5"], b"", "discount"),
    "discount text": (["train.txt", "--discount", "lots"], b"", "beta(a,b)"),
    "concentration": (["train.txt", "--concentration", "-1"], b"", "concentration"),
    "theta of one level": (["train.txt", "--concentration", "1,1,-1"], b"", "contexts of length 2"),
    "sweeps": (["train.txt", "--sweeps", "0"], b"", "--sweeps"),
    "burn-in": (["train.txt", "--sweeps", "5", "--burn-in", "5"], b"", "burn_in"),
    "samples of nothing": (["train.txt", "--sweeps", "5", "--burn-in", "9"], b"", "burn_in"),
    "samples": (["train.txt", "--sweeps", "5", "--burn-in", "2", "--samples", "4"], b"", "samples"),
    "store": (["train.txt", "--store", "pickle"], b"", "histogram"),
    "unknown": (["train.txt", "--unknown", "<s>"], b"", "unknown"),
    "two words": (["train.txt", "--unknown", "not known"], b"", "one word"),
    "nameless text": ([""], b"", "an empty string is not a path"),
    "nameless folder": (["train.txt", "--into", ""], b"", "an empty string is not a path"),
    "nameless folder in a file": (["train.txt", "--config", "nameless.toml"], b"", "empty string"),
    "min count": (["train.txt", "--min-count", "0"], b"", "--min-count"),
    "min count of nothing": (["train.txt", "--min-count", "2", "--unknown", ""], b"", "--min-count"),
    "min count, open": (["train.txt", "--min-count", "2", "--open-vocabulary"], b"", "--open-vocabulary"),
    "min count, closed": (
        ["train.txt", "--min-count", "2", "--vocabulary", "train.txt"], b"", "--vocabulary"
    ),
    "missing vocabulary": (["train.txt", "--vocabulary", "absent.txt"], b"", "absent.txt"),
    "empty vocabulary": (["train.txt", "--vocabulary", "empty.txt"], b"", "no word"),
    "missing heldout": (["train.txt", "--heldout", "absent.txt"], b"", "absent.txt"),
    "one pipe for two": (["-", "--heldout", "-"], b"a b\n", "another source"),
    "full folder": (["train.txt", "--into", "mine"], b"", "thesis.tex"),
    "a file": (["train.txt", "--into", "train.txt"], b"", "a file"),
    "no text": ([], b"", "TEXT"),
    "unknown key": (["train.txt", "--config", "bad.toml"], b"", "Did you mean 'order'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message_and_leaves_nothing(case, place):
    Path("empty.txt").write_text("")
    Path("bad.toml").write_text("ordr = 3\n")
    Path("nameless.toml").write_text('into = ""\n')
    Path("cut.gz").write_bytes(gzip.compress(TRAIN.encode(), mtime=0)[:-20])
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("years of work")
    before = sorted(place.rglob("*"))
    arguments, standard_input, message = BAD[case]
    into = [] if "--into" in arguments else ["--into", "model"]
    assert message in refused("train", *arguments, *into, input=standard_input)
    assert sorted(place.rglob("*")) == before


def test_a_folder_that_holds_a_model_is_not_trained_over(trained):
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    message = refused("train", trained / "train.txt", "--into", trained / "model", *QUICK)
    assert f"hdpkit resume {trained / 'model'}" in message
    assert before == {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}


def test_a_folder_that_cannot_be_made_is_a_failed_run(place):
    refused("train", "train.txt", "--into", "train.txt/model", *QUICK, code=1)


@pytest.mark.parametrize("words", [1, 100_000])
def test_a_line_of_10_megabytes(words, place):
    letters = 10_000_000 // words - 1
    line = " ".join(format(number % 50, f"0{letters}d") for number in range(words)) + "\n"
    assert abs(len(line) - 10_000_000) < 2
    Path("long.txt").write_text(line)
    done("train", "long.txt", "--into", "model", "--order", 2, "--sweeps", 2, "--burn-in", 1, "--samples", 1)
    figures = json.loads(done("score", "model", "long.txt", "--json").stdout)
    assert (figures["sentences"], figures["tokens"], figures["unknown"]) == (1, words + 1, 0)
    rows = done("score", "model", "long.txt", "--per-token").stdout
    assert rows.count("\n") == words + 2
    done("export", "model", "model.arpa")


def test_a_long_word_in_an_open_vocabulary(place):
    done("train", "train.txt", "--into", "model", *QUICK, "--open-vocabulary")
    text = "the " + "x" * 2000
    figures = json.loads(done("score", "model", "-", "--json", input=text).stdout)
    assert (figures["unknown"], figures["left_out"]) == (1, 0)
    assert figures["log10_probability"] < -1000
    assert figures["perplexity"] is None  # beyond the largest double
    assert "perplexity         inf\n" in done("score", "model", "-", input=text).stdout
    assert "\tinf\n" in done("score", "model", "-", "--per-sentence", input=text).stdout


@pytest.mark.parametrize("name", ["score", "sample", "export"])
def test_only_folders_of_language_models_are_taken(name, place, trained):
    more = {"score": ["test.txt"], "sample": [], "export": ["model.arpa"]}[name]
    corpus = hk.Corpus.from_documents([[0, 1], [1]], n_terms=2)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5))
    scheduler = hk.Scheduler([moves.TableGibbs()])
    scheduler.run(hk.Franchise(root, corpus), 2, 0, folder="topics")
    Path("empty").mkdir()
    for folder in ("absent", "empty", "topics", "train.txt"):
        message = refused(name, folder, *more)
        assert folder in message
        assert "hdpkit lm train" in message
    assert not Path("model.arpa").exists()


# ------------------------------------------------------------------ score


def test_figures_are_those_of_the_library(trained):
    model = opened(trained / "model")
    scores = model.score([line.split() for line in TEST.splitlines() if line.strip()])
    figures = json.loads(done("score", trained / "model", trained / "test.txt", "--json").stdout)
    assert figures == {
        "perplexity": scores.perplexity,
        "log10_probability": pytest.approx(np.nansum(scores.log_probability) / math.log(10)),
        "sentences": 2,
        "tokens": 9,
        "unknown": 1,
        "unknown_are": "left out",
        "left_out": 1,
    }
    text = done("score", trained / "model", trained / "test.txt").stdout
    assert f"perplexity         {scores.perplexity:.6g}\n" in text
    assert "unknown words      1 (left out)\n" in text


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


def test_a_row_for_each_sentence_into_a_file(trained, tmp_path):
    scores = opened(trained / "model").score(read_sentences(trained / "test.txt"))
    out = tmp_path / "rows.tsv"
    result = done("score", trained / "model", trained / "test.txt", "--per-sentence", "--output", out)
    rows = list(csv.DictReader(out.open(encoding="utf-8"), delimiter="\t"))
    assert list(rows[0]) == ["sentence", "tokens", "unknown", "left_out", "log10_probability", "perplexity"]
    wanted = scores.by_sentence()
    assert [int(row["tokens"]) for row in rows] == wanted["n_tokens"].tolist() == [5, 4]
    assert [int(row["left_out"]) for row in rows] == [0, 1]
    assert [float(row["perplexity"]) for row in rows] == wanted["perplexity"].tolist()
    assert f"perplexity         {scores.perplexity:.6g}\n" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["rows.tsv"]


def test_a_text_may_come_from_a_pipe_and_a_packed_file(trained, tmp_path):
    wanted = done("score", trained / "model", trained / "test.txt").stdout
    assert done("score", trained / "model", "-", input=TEST.encode()).stdout == wanted
    (tmp_path / "test.gz").write_bytes(gzip.compress(TEST.encode(), mtime=0))
    assert done("score", trained / "model", tmp_path / "test.gz", "--quiet").stdout == wanted


def test_a_text_of_unknown_words_alone_has_figures(trained):
    figures = json.loads(done("score", trained / "model", "-", "--json", input="x y z\n").stdout)
    assert (figures["unknown"], figures["left_out"]) == (3, 3)
    assert figures["perplexity"] > 1  # of the sentence's end
    done("train", "-", "--no-end", "--into", trained / "endless", *QUICK, input=TRAIN)
    figures = json.loads(done("score", trained / "endless", "-", "--json", input="x y z\n").stdout)
    assert (figures["perplexity"], figures["log10_probability"]) == (None, None)
    assert "nan" in done("score", trained / "endless", "-", input="x y z\n").stdout


@pytest.mark.parametrize("standard_input", [b"", b"\n\n", b"a\n\xff", b"a\0", b"<s> a"])
def test_texts_that_cannot_be_scored(standard_input, trained, tmp_path):
    out = tmp_path / "rows.tsv"
    message = refused("score", trained / "model", "-", "--output", out, input=standard_input)
    assert "standard input" in message
    assert list(tmp_path.iterdir()) == []
    assert "absent" in refused("score", trained / "model", "absent")
    assert "per-token" in refused("score", trained / "model", "-", "--per-token", "--per-sentence")


def test_output_that_cannot_be_written_is_refused_and_devices_stay(trained, tmp_path):
    for place in (tmp_path / "absent" / "rows.tsv", tmp_path):
        message = refused("score", trained / "model", trained / "test.txt", "--output", place, code=1)
        assert str(place) in message
        refused("export", trained / "model", place, code=1)
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


def test_words_that_are_known_in_lower_case_are_pointed_out(trained):
    result = done("score", trained / "model", "-", input="The CAT sat ODD\n")
    assert "2 of the unknown words are known in lower case: see --lowercase" in result.stderr
    assert "lower case" not in done("score", trained / "model", trained / "test.txt").stderr


# ------------------------------------------------------------------ sample, export


def test_sentences_are_drawn_as_the_library_draws_them(trained):
    model = opened(trained / "model")
    drawn = done("sample", trained / "model", "-n", 5, "--seed", 3).stdout
    assert drawn == "".join(" ".join(words) + "\n" for words in model.sample(5, rng=3))
    assert done("sample", trained / "model", "-n", 2, "--seed", 3).stdout == "".join(
        drawn.splitlines(keepends=True)[:2]
    )
    after = done("sample", trained / "model", "-n", 4, "--context", "the cat", "--max-length", 1).stdout
    assert after == "".join(
        " ".join(["the", "cat", *words]) + "\n"
        for words in model.sample(4, rng=0, context=("the", "cat"), max_length=1)
    )
    begun = done("sample", trained / "model", "-n", 3, "--context", "<s> the").stdout
    assert all(line.split()[0] == "the" for line in begun.splitlines())
    done("sample", trained / "model", "--context", "")
    done("sample", trained / "model", "--context", "<s> never heard of")
    assert "-n" in refused("sample", trained / "model", "-n", 0)
    assert "--max-length" in refused("sample", trained / "model", "--max-length", -1)


def test_drawn_words_break_no_line_and_command_no_terminal(place):
    done("train", "-", "--into", "model", *QUICK, input="\x1b[2J a\u2028b\n" * 5)
    drawn = done("sample", "model", "-n", 5).stdout
    assert "\x1b" not in drawn
    assert len(drawn.splitlines()) == 5  # of the whole of Unicode's ends of lines


def test_models_are_exported_in_arpa_format(trained, tmp_path):
    done("export", trained / "model", tmp_path / "model.arpa")
    done("export", trained / "model", tmp_path / "model.arpa.gz")
    assert (
        gzip.decompress((tmp_path / "model.arpa.gz").read_bytes()) == (tmp_path / "model.arpa").read_bytes()
    )
    # Backing off is exactly the model where it is one state.
    done("train", trained / "train.txt", "--into", tmp_path / "one", *QUICK, "--samples", 1)
    done("export", tmp_path / "one", tmp_path / "one.arpa")
    arpa, model = read_arpa(tmp_path / "one.arpa"), opened(tmp_path / "one")
    for context in ((), ("<s>",), ("the",), ("<s>", "the"), ("the", "cat")):
        for word in model.vocabulary:
            assert arpa.log10_probability(word, context) == pytest.approx(
                math.log10(model.probability(word, context)), abs=1e-9
            )


# ------------------------------------------------------------------ folders


def test_a_model_is_swept_further_and_verified(place):
    done("train", "train.txt", "--into", "model", *QUICK)
    result = CliRunner().invoke(main, ["resume", "model"])
    assert result.exit_code == 0
    assert "was already complete" in result.stderr
    result = CliRunner().invoke(main, ["resume", "model", "--sweeps", "5"])
    assert result.exit_code == 0, result.output
    assert "sweep 11, 2 samples" in result.stdout
    same_model(opened(), library_model().sweep(5))
    result = CliRunner().invoke(main, ["verify", "model"])
    assert result.exit_code == 0, result.output
    assert "a language model with 2 samples" in result.stdout
    result = CliRunner().invoke(main, ["topics", "model"])
    assert result.exit_code == 2
    assert "hdpkit lm sample" in result.stderr
    result = CliRunner().invoke(main, ["resume", "model", "--sweeps", "0"])
    assert result.exit_code == 2


def damage(path, how):
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if how == "empty" else content[:-9] if how == "cut" else b"\0" + content[1:])


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "changed"])
@pytest.mark.parametrize("name", ["run.json", "data.npz", "chain-000/trace-000000.npz", "sample"])
def test_damaged_folders_are_refused_or_as_good_as_before(name, how, trained, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(trained / "model", folder)
    path = min((folder / "chain-000").glob("sample-*")) if name == "sample" else folder / name
    damage(path, how)
    for arguments in (
        ["score", folder, trained / "test.txt"],
        ["sample", folder],
        ["export", folder, tmp_path / "x.arpa"],
    ):
        result = command(*arguments)
        if name == "sample" and how == "gone":  # the others are there
            assert result.exit_code == 0, result.output
            assert "Warning: there are no samples" in result.stderr
        else:
            assert result.exit_code in (1, 2), result.output
            assert isinstance(result.exception, SystemExit)
            assert "Error: " in result.stderr
    result = CliRunner().invoke(main, ["verify", str(folder)])
    assert isinstance(result.exception, SystemExit) or result.exit_code == 0
    assert result.exit_code == (2 if how == "gone" and name == "run.json" else 1)  # fmt: skip


# ------------------------------------------------------------------ processes


def run(*arguments, **more):
    return subprocess.run([*COMMAND, "lm", *map(str, arguments)], capture_output=True, check=False, **more)


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
    message = refused("score", trained / "model", trained / "test.txt", "--output", "/dev/full", code=1)
    assert "No space left" in message
    assert Path("/dev/full").is_char_device()


def test_commands_work_as_processes_in_a_pipe(trained, tmp_path):
    with open(trained / "train.txt", "rb") as text:
        ended = run("train", "-", "--into", tmp_path / "model", *QUICK, stdin=text)
    assert ended.returncode == 0, ended.stderr
    same_model(opened(tmp_path / "model"), library_model())
    ended = run("train", "-", "--into", tmp_path / "model", stdin=subprocess.DEVNULL)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"Error: into ")
    ended = run(
        "score",
        tmp_path / "model",
        "-",
        input="été\n".encode(),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert ended.returncode == 0, ended.stderr


SIGNALLED = """
import os, signal, sys
import hdpkit as hk
from hdpkit.cli.main import main
original, calls, number = hk.Franchise.snapshot, [0], int(sys.argv.pop(1))
def snapshot(franchise):
    calls[0] += 1
    if calls[0] == 4:
        os.kill(os.getpid(), number)
    return original(franchise)
hk.Franchise.snapshot = snapshot
main(prog_name="hdpkit")
"""


@pytest.fixture(scope="module")
def unbroken(trained):
    """What `SETTINGS` train if nothing comes in between."""
    done("train", trained / "train.txt", "--into", trained / "unbroken", *SETTINGS)
    return opened(trained / "unbroken")


SETTINGS = ["--sweeps", 200, "--burn-in", 20, "--samples", 9, "--order", 3, "--seed", 5]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent another way there")
@pytest.mark.parametrize("how", ["Ctrl-C", "kill"])
def test_a_model_that_was_interrupted_goes_on_bit_for_bit(how, trained, unbroken, tmp_path):
    """The signal comes while the fourth sample is taken; the next test sends one at any time."""
    folder = tmp_path / "a model"
    number = signal.SIGINT if how == "Ctrl-C" else signal.SIGKILL
    words = ["lm", "train", trained / "train.txt", "--into", folder, *SETTINGS, "--checkpoint-sweeps", 40]
    process = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(int(number)), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if how == "Ctrl-C":
        assert process.returncode == 130, process.stderr
        assert f"Interrupted. Go on with it: hdpkit resume '{folder}'" in process.stderr
        assert "Traceback" not in process.stderr
    else:
        assert process.returncode == -signal.SIGKILL, process.stderr
    assert 20 < opened(folder).trace.n_draws < 200
    result = CliRunner().invoke(main, ["resume", str(folder)])
    assert result.exit_code == 0, result.output
    assert "sweep 200" in result.stdout
    same_model(opened(folder), unbroken)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent another way there")
def test_a_model_without_a_sample_says_how_to_go_on(trained, tmp_path):
    folder = tmp_path / "model"
    process = subprocess.Popen(
        [*COMMAND, "lm", "train", trained / "train.txt", "--into", folder, "--sweeps", "1000000",
         "--burn-in", "999990"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    while "sweep" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "0 samples" in stdout
    message = refused("score", folder, trained / "test.txt")
    assert f"hdpkit resume {folder}" in message
    result = CliRunner().invoke(main, ["resume", str(folder), "--sweeps", "4"])
    assert result.exit_code == 0, result.output
    assert "4 samples" in result.stdout
    done("score", folder, trained / "test.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent another way there")
def test_ctrl_c_while_reading_leaves_nothing(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "lm", "train", "-", "--into", tmp_path / "model"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"the cat\n" * 1000)
    process.stdin.flush()
    assert process.stderr.readline() == b"reading standard input\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert b"Interrupted." in stderr
    assert b"Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ help


def test_every_command_says_what_it_does():
    assert set(lm.commands) >= {"train", "score", "sample", "export"}
    for name in lm.commands:
        assert "Examples:" in done(name, "--help").stdout
