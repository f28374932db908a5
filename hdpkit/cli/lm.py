"""``hdpkit lm``: language models of texts, in folders."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from hdpkit.cli.folders import (
    allow_option,
    check_new_folder,
    end_interrupted,
    is_language_model,
    open_language_model,
    ran,
    worked_on,
)
from hdpkit.cli.options import (
    Command,
    Parsed,
    checkpoint_seconds_option,
    checkpoint_sweeps_option,
    config_option,
    group,
    not_negative,
    option_of,
    options_of,
    parse_levels,
    path_type,
    positive,
    quiet_option,
    seed_option,
    text_type,
)
from hdpkit.cli.output import json_text, say, table_console, table_of, tell
from hdpkit.data import NGrams
from hdpkit.data.files.sentences import read_sentences
from hdpkit.data.files.tables import escaped
from hdpkit.data.files.text_files import place_of
from hdpkit.errors import DataError, ParameterError, StateError, printable
from hdpkit.files import check_place, save
from hdpkit.kinds.language import ORDER_LIMIT
from hdpkit.kinds.listing import Column
from hdpkit.kinds.ngram import NGramModel
from hdpkit.kinds.predict import Scores
from hdpkit.kinds.spelling import Spelling
from hdpkit.run.collect import Checkpoint
from hdpkit.run.progress import ProgressBar
from hdpkit.stores import Detail, at_least

reading_options = group(
    "Reading the text",
    *options_of(
        read_sentences, lowercase=None, encoding="NAME", errors=click.Choice(["strict", "replace"]),
        empty=click.Choice(["skip", "keep"]),
    ),
)  # fmt: skip
"""Adds the options for reading a text; `read_text` takes their values."""


def read_text(source: str, reading: Mapping[str, Any], quiet: bool) -> Iterator[list[str]]:
    """Yield the sentences of a text, with a progress bar on standard error."""
    n_sentences = n_words = 0
    with _reading_bar(source, quiet) as progress:
        for words in read_sentences(source, **reading, progress=progress):
            n_sentences += 1
            n_words += len(words)
            yield words
    if n_sentences == 0:
        raise DataError(
            place_of(source), "no sentence", "a text with words", "The text is empty: is it the right file?"
        )
    tell(quiet, f"{n_sentences:,} sentences, {n_words:,} words")


@contextlib.contextmanager
def _reading_bar(source: str, quiet: bool) -> Iterator[Any]:
    """What shows how much is read: a bar on a terminal, elsewhere only one line at the beginning."""
    console = Console(file=sys.stderr)
    name = printable(place_of(source).removeprefix("file "))
    tell(quiet or console.is_terminal, f"reading {name}")
    with Progress(
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False,
        disable=quiet or not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task(f"reading {name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total, refresh=True)


def read_words(path: Path, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """Read a vocabulary: the words of a file, each once, in the order of their first appearance."""
    words = tuple(dict.fromkeys(word for line in read_sentences(str(path), **reading) for word in line))
    if not words:
        raise DataError(
            f"vocabulary {path}", "no word", "a file with a word per line", "Is it the right file?"
        )
    return words


def without_rare_words(
    sentences: Iterator[list[str]], min_count: int, unknown: str, quiet: bool
) -> Iterator[list[str]]:
    """Yield sentences in which rarer words are replaced by the word for unknown words."""
    # All sentences are kept in memory, with 4 bytes per word, since they may come from a pipe.
    data = NGrams.from_sentences(sentences, order=1, start=None, end=None)
    counts = np.bincount(data.values, minlength=data.n_terms).tolist()
    spoken = [word if n >= min_count else unknown for word, n in zip(data.vocabulary, counts, strict=True)]
    if not quiet:
        n_rare = sum(word != new for word, new in zip(data.vocabulary, spoken, strict=True))
        say(f"{n_rare:,} of {data.n_terms:,} words are rare: {unknown} from here on", err=True)
    ends = data.offsets.tolist()
    for first, last in itertools.pairwise(ends):
        yield [spoken[number] for number in data.values[first:last].tolist()]


# ------------------------------------------------------------------ the model


def model_facts(model: NGramModel) -> str:
    """A line: order, words, training text, sweeps, samples, and the size of the folder."""
    data = model.data
    size = ""
    if model.folder is not None:
        total = sum(file.lstat().st_size for file in model.folder.rglob("*") if file.is_file())
        size = f", {total / 1e6:,.1f} MB on disk"
    return (
        f"order {model.order}, {data.n_terms:,} words, {data.n_sentences:,} sentences, {len(data):,} tokens, "
        f"sweep {model.franchise.sweep}, {len(model.samples)} samples{size}"
    )


def echo_levels(model: NGramModel) -> None:
    """Print a table with a row for each level: posterior means of its hyperparameters and tables."""
    try:
        discounts, concentrations, tables = model.discounts, model.concentrations, model.expected_tables
    except StateError:  # it ended before the first sample
        return
    topology: Any = model.franchise.topology
    levels = range(len(discounts))
    columns = [
        Column("n-grams", [str(level + 1) for level in levels]),
        Column("restaurants", [f"{len(topology.nodes(level)):,}" for level in levels]),
        Column("tables", [f"{number:,.0f}" for number in tables]),
        Column("discount", [f"{number:.4f}" for number in discounts]),
        Column("concentration", [f"{number:.4g}" for number in concentrations]),
    ]
    table_console().print(table_of(columns))


# ------------------------------------------------------------------ scores


Row = dict[str, Any]


def log10(nats: float) -> float:
    """Convert a natural logarithm to base 10."""
    return nats / math.log(10.0)


def _number(value: float) -> float | None:
    """A number for JSON: NaN and infinity become null."""
    return value if math.isfinite(value) else None


def treatment(model: NGramModel) -> str:
    """How words outside a model's vocabulary are treated, in words."""
    unknown = model.settings.unknown
    if unknown is not None and model.data.word_id(unknown) >= 0:
        return f"scored as {unknown}"
    if model.remainder() > 0.0:
        return "scored by the base measure"
    return "left out"


def case_hint(model: NGramModel, scores: Scores) -> str | None:
    """A hint if unknown words would be known in lower case to a model of lower-case words."""
    words, n = set(model.vocabulary) - {model.settings.unknown}, 0
    if any(str(word) != str(word).lower() for word in words):
        return None
    for word in scores.word[scores.is_unknown]:
        n += str(word).lower() in words
    return f"{n:,} of the unknown words are known in lower case: see --lowercase" if n else None


def score_facts(scores: Scores, unknown: str) -> Row:
    """The scores of a text as data; ``unknown`` says how words outside the vocabulary were treated."""
    predicted = scores.log_probability[scores.is_predicted]
    return {
        "perplexity": _number(scores.perplexity),
        "log10_probability": _number(log10(float(predicted.sum()))) if len(predicted) else None,
        "sentences": scores.n_sentences,
        "tokens": scores.n_tokens,
        "unknown": scores.n_unknown,
        "unknown_are": unknown,
        "left_out": scores.n_unpredicted,
    }


def score_text(scores: Scores, unknown: str) -> str:
    """The scores of a text as text."""
    facts = score_facts(scores, unknown)
    what = f" ({unknown})" if scores.n_unknown else ""
    total = facts["log10_probability"]
    return "\n".join(
        [
            f"perplexity         {scores.perplexity:.6g}",
            f"log10 probability  {'-inf' if total is None and len(scores) else f'{total:.6f}'}",
            f"tokens             {scores.n_tokens:,}, of {scores.n_sentences:,} sentences",
            f"unknown words      {scores.n_unknown:,}{what}",
        ]
    )


def score_rows(scores: Scores) -> Iterator[Row]:
    """A row for each token; sentences and positions count from 1."""
    before, position = -1, 0
    for number, word, value, unknown in zip(
        scores.sentence.tolist(), scores.word, scores.log_probability.tolist(), scores.is_unknown.tolist(),
        strict=True,
    ):  # fmt: skip
        position = position + 1 if number == before else 1
        before = number
        yield {
            "sentence": number + 1,
            "position": position,
            "token": word,
            "log10_probability": log10(value),
            "unknown": int(unknown),
        }


def sentence_rows(scores: Scores) -> Iterator[Row]:
    """A row for each sentence; sentences count from 1."""
    for number, row in enumerate(scores.by_sentence(), start=1):
        yield {
            "sentence": number,
            "tokens": int(row["n_tokens"]),
            "unknown": int(row["n_unknown"]),
            "left_out": int(row["n_unpredicted"]),
            "log10_probability": log10(float(row["log_probability"])),
            "perplexity": float(row["perplexity"]),
        }


def row_lines(rows: Iterable[Row], as_json: bool) -> Iterator[str]:
    """Rows as tab-separated columns under a header, or as one JSON object per line."""
    for number, row in enumerate(rows):
        if as_json:
            plain = {key: _number(value) if isinstance(value, float) else value for key, value in row.items()}
            yield json_text(plain, default=str)
            continue
        if number == 0:
            yield "\t".join(row)
        # Without quotes, which a tokenised text may contain: no cell has a tab or a line end after this.
        yield "\t".join(
            str(value) if isinstance(value, int | float) else escaped(str(value)) for value in row.values()
        )


# ------------------------------------------------------------------ sentences


def word_text(word: str) -> str:
    """A word for output in a line; a word drawn by its spelling may contain any character."""
    return printable(word).replace(" ", "\\x20")


def _levels(name: str) -> Parsed:
    return Parsed("number|prior,...", lambda text: parse_levels(name, text))


_run_options = group(
    "Options",
    click.option(
        "--into", "--out", required=True, type=path_type, metavar="FOLDER",
        help="Folder for the model; must be new or empty.",
    ),
    click.option(
        "--sweeps", type=positive, default=30, show_default=True, help="Sweeps, including burn-in."
    ),
    click.option(
        "--burn-in", type=not_negative,
        help="Sweeps before the first sample.  [default: 10, at most a third of the sweeps]",
    ),
    click.option(
        "--samples", type=positive,
        help="States to keep for predictions.  [default: 10, at most one per sweep after the burn-in]",
    ),
    click.option("--heldout", type=text_type, metavar="FILE", help="Text to score at the end."),
    checkpoint_sweeps_option,
    checkpoint_seconds_option,
    quiet_option,
    reading_options,
)  # fmt: skip
"""The options common to `train` and `add`: the new folder, sweeps, reading and scoring of texts."""


@click.command(cls=Command)
@click.argument("text", type=text_type)
@_run_options
@seed_option
@config_option
@group(
    "Model",
    option_of(NGramModel, "order", click.IntRange(1, ORDER_LIMIT), default=3, show_default=True),
    click.option(
        "--discount", type=_levels("discount"), default="beta(1,1)", show_default=True,
        help="Discounts: one for all levels, or one per level, starting with the unigrams.",
    ),
    click.option(
        "--concentration", type=_levels("concentration"), default="gamma(1,1)", show_default=True,
        help="Concentrations, in the same form.",
    ),
    option_of(
        NGramModel, "store", click.Choice(sorted(at_least(Detail.SIZES))), help="How seating is stored."
    ),
    click.option("--start/--no-start", default=True, show_default=True, help="<s> before a sentence."),
    click.option("--end/--no-end", default=True, show_default=True, help="</s>, a word, after a sentence."),
    click.option(
        "--unknown", default="<unk>", show_default=True, metavar="WORD",
        help='Word for unknown words, if the training text contains it; "": none.',
    ),
    click.option(
        "--min-count", type=positive, metavar="N", help="Rarer words become the unknown word."
    ),
    click.option(
        "--vocabulary", type=path_type, metavar="FILE",
        help="The possible words. Others become the unknown word if it is one of them.",
    ),
    click.option("--open-vocabulary", is_flag=True, help="Give every word a probability, by its spelling."),
)  # fmt: skip
def train(text: str, **options: Any) -> None:
    """Train a language model on a text: one sentence per line, words separated by blanks.

    TEXT is a file, plain or compressed with gzip, bzip2 or xz, or "-" for standard input. The model is a
    hierarchy of Pitman-Yor processes, one for each context; predictions are averages over states of its
    sampler.

    A number for a hyperparameter is fixed; beta(a,b) and gamma(shape,rate) are priors, and it is resampled,
    with one value for each length of context. each(PRIOR) gives each context its own value.

    Ctrl-C stops the run, and hdpkit resume FOLDER continues it. The same seed gives the same model.

    \b
    Examples:
      hdpkit lm train text.txt --into model
      hdpkit lm train text.txt.gz --order 5 --lowercase --min-count 2 --heldout valid.txt --into model
      hdpkit lm train text.txt --discount 0 --concentration 10,1 --order 2 --into model
      hdpkit lm train text.txt --discount "0.5,beta(1,1),each(beta(1,1))" --into model
      zcat news/*.gz | hdpkit lm train - --open-vocabulary --into model
      hdpkit lm train --config study.toml --seed 7 --into model-7
    """
    check_new_folder(options["into"], "into")
    model = _declared(options)
    _train(model, model.fit, text, options, rng=options["seed"])


@click.command(cls=Command)
@click.argument("folder", type=path_type)
@click.argument("text", type=text_type)
@_run_options
@allow_option
def add(folder: Path, text: str, allow: tuple[str, ...], **options: Any) -> None:
    """Add a text to a trained model, and continue sampling from its current state.

    FOLDER doesn't change: the model of both texts is saved in another folder. New words are added to the
    vocabulary, unless a vocabulary was given.

    \b
    Examples:
      hdpkit lm add model more.txt --sweeps 15 --burn-in 5 --into model-2
      tail -n 1000 today.txt | hdpkit lm add model - --into model-2
    """
    check_new_folder(options["into"], "into")
    model = open_language_model(folder, allow)
    _train(model, model.add, text, options)


def resume_training(folder: Path, sweeps: int | None, quiet: bool, allow: tuple[str, ...]) -> None:
    """Continue the training of a model: its remaining sweeps, or additional ones."""
    model = open_language_model(folder, allow, ready=False)
    before = model.franchise.sweep
    _carry_out(
        model,
        lambda progress: (
            model.resume(progress=progress) if sweeps is None else model.sweep(sweeps, progress=progress)
        ),
        folder,
        quiet,
    )
    if sweeps is None and model.franchise.sweep == before:
        say("The run was already complete; --sweeps N runs N more.", err=True)


def _reading(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("lowercase", "encoding", "errors", "empty")}


def _train(
    model: NGramModel, method: Callable[..., Any], text: str, options: dict[str, Any], **more: Any
) -> None:
    """Run `fit` or `add` of a model with a text."""
    reading, quiet, held_out = _reading(options), options["quiet"], None
    if options["heldout"] is not None:  # read now, although it is scored at the end: its errors appear early
        if options["heldout"] == text == "-":
            raise ParameterError("heldout", "-", "another source than the text", "Give a file for one.")
        held_out = NGrams.from_sentences(
            read_text(options["heldout"], reading, quiet), order=1, start=model.settings.start,
            end=model.settings.end,
        )  # fmt: skip
    sentences = read_text(text, reading, quiet)
    if options.get("min_count") is not None:
        sentences = without_rare_words(sentences, options["min_count"], options["unknown"], quiet)
    sweeps, burn_in, samples = (options[name] for name in ("sweeps", "burn_in", "samples"))
    if burn_in is None:
        burn_in = min(10, sweeps // 3)
    if samples is None:
        samples = max(min(10, sweeps - burn_in), 1)
    checkpoint = Checkpoint(options["checkpoint_sweeps"], options["checkpoint_seconds"])

    def run(progress: Any) -> Any:
        return method(
            sentences, sweeps=sweeps, burn_in=burn_in, samples=samples, folder=options["into"],
            checkpoint=checkpoint, progress=progress, **more,
        )  # fmt: skip

    _carry_out(model, run, options["into"], quiet, held_out)


def _carry_out(
    model: NGramModel,
    run: Callable[[Any], Any],
    folder: Path,
    quiet: bool,
    held_out: NGrams | None = None,
) -> None:
    """Run with a progress bar, print the results, and say how to continue an interrupted run."""
    _, interrupted = ran(
        lambda bar: run(bar).trace, folder, quiet, ProgressBar(), lambda: is_language_model(folder)
    )
    echo_levels(model)
    say(model_facts(model))
    if interrupted:
        end_interrupted(folder)
    if held_out is not None:
        say(score_text(model.score(held_out), treatment(model)))


def _declared(options: dict[str, Any]) -> NGramModel:
    """The model declared by the options; incompatible options raise an error."""
    unknown = options["unknown"] or None
    if unknown is not None and len(unknown.split()) != 1:
        raise ParameterError("unknown", unknown, "one word, without blanks", "For instance <unk>.")
    rare, why = options["min_count"], None
    if options["open_vocabulary"]:
        unknown = None
        told = "An open vocabulary gives every word its own probability, including rare and unknown words."
        why = ("left out with --open-vocabulary", told)
    elif options["vocabulary"] is not None:
        why = ("left out with --vocabulary", "The vocabulary defines the words.")
    if rare is not None and why is not None:
        raise ParameterError("min-count", rare, *why)
    if rare is not None and unknown is None:
        raise ParameterError("unknown", "", "a word, with --min-count", "Rare words become that word.")
    vocabulary = options["vocabulary"]
    if vocabulary is not None:
        vocabulary = read_words(vocabulary, _reading(options))
    return NGramModel(
        options["order"],
        discounts=options["discount"],
        concentrations=options["concentration"],
        base=Spelling() if options["open_vocabulary"] else None,
        store=options["store"],
        start="<s>" if options["start"] else None,
        end="</s>" if options["end"] else None,
        unknown=unknown,
        vocabulary=vocabulary,
    )


folder_argument = click.argument("folder", type=path_type, callback=worked_on)


@click.group()
def lm() -> None:
    """Language models: train them on a text, score texts, draw sentences, export to other tools.

    \b
    Examples:
      hdpkit lm train text.txt --into model
      hdpkit lm score model other.txt
      hdpkit lm sample model -n 5
      hdpkit lm export model model.arpa
    """


@lm.command(cls=Command)
@folder_argument
@click.argument("text", type=text_type)
@click.option("--per-token", is_flag=True, help="Print a row for each token.")
@click.option("--per-sentence", is_flag=True, help="Print a row for each sentence.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object for the text, or one per row.")
@click.option(
    "--output",
    type=path_type,
    metavar="FILE",
    help="File for the output.  [default: standard output]",
)
@reading_options
@quiet_option
@allow_option
def score(folder: Path, text: str, quiet: bool, allow: tuple[str, ...], **options: Any) -> None:
    """Score a text: perplexity, and the probability of every token or sentence.

    TEXT and the options for reading it are as for hdpkit lm train; use the same options as there. Rows have
    a header and columns separated by tabs. Logarithms are to base 10.

    \b
    Examples:
      hdpkit lm score model test.txt
      hdpkit lm score model test.txt --json
      hdpkit lm score model test.txt --per-token > tokens.tsv
      hdpkit lm score model - --per-sentence --output sentences.tsv < test.txt
    """
    per_token, per_sentence, as_json, output = (
        options.pop(name) for name in ("per_token", "per_sentence", "as_json", "output")
    )
    if per_token and per_sentence:
        raise ParameterError(
            "per-sentence", True, "left out with --per-token", "Score the text once with each option."
        )
    model = open_language_model(folder, allow)
    if output is not None:  # errors about the file come before the work
        check_place(output)
    scores = model.score(read_text(text, options, quiet))
    hint = case_hint(model, scores)
    if hint is not None:
        say(hint, err=True)
    how_unknown = treatment(model)
    figures = json_text(score_facts(scores, how_unknown)) if as_json else score_text(scores, how_unknown)
    told = figures
    if per_token or per_sentence:
        told = "\n".join(row_lines(score_rows(scores) if per_token else sentence_rows(scores), as_json))
    if output is None:
        say(told)
    else:
        save(output, printable(f"{told}\n", keep="\n\t").encode("utf-8", "backslashreplace"))
    if per_token or per_sentence:
        say(figures, err=output is None)  # standard output is only for rows


@lm.command()
@folder_argument
@click.option("-n", "--sentences", "n", type=positive, default=10, show_default=True, help="Number.")
@seed_option
@click.option("--context", metavar="WORDS", help="Preceding words.  [default: the start of a sentence]")
@click.option("--max-length", type=positive, default=1000, show_default=True, help="Cut longer sentences.")
@allow_option
def sample(
    folder: Path, n: int, seed: int, context: str | None, max_length: int, allow: tuple[str, ...]
) -> None:
    """Draw sentences, or some words with their continuations, one per line.

    \b
    Examples:
      hdpkit lm sample model
      hdpkit lm sample model -n 3 --seed 7 --context "of the"
      hdpkit lm sample model --context "<s> in"
    """
    model = open_language_model(folder, allow)
    before = None if context is None else [word for word in re.split(r"[ \t\n\v\f\r]+", context) if word]
    shown = [word for word in before or () if word != model.settings.start]
    for sentence in model.sample(n, rng=seed, context=before, max_length=max_length):
        say(" ".join(word_text(str(word)) for word in [*shown, *sentence]))


@lm.command()
@folder_argument
@click.argument("file", type=path_type)
@allow_option
def export(folder: Path, file: Path, allow: tuple[str, ...]) -> None:
    """Write a model in ARPA format, which other tools for n-grams read.

    FILE is compressed with gzip if its name ends in .gz.

    \b
    Examples:
      hdpkit lm export model model.arpa
      hdpkit lm export model model.arpa.gz
    """
    open_language_model(folder, allow).export_arpa(file)


for command in (train, add):
    lm.add_command(command)
