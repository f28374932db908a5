"""``hdpkit lm``: language models of texts, in folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import allow_option, open_language_model, worked_on
from hdpkit.cli.lm_report import (
    case_hint,
    open_output,
    score_facts,
    score_rows,
    score_text,
    sentence_rows,
    treatment,
    word_text,
    write_rows,
)
from hdpkit.cli.lm_text import SentenceOptions, read_text, reading_options
from hdpkit.cli.lm_train import add, train
from hdpkit.cli.options import Command, path_type, positive, quiet_option, seed_option, text_type
from hdpkit.cli.output import json_text, say
from hdpkit.errors import ParameterError

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
def score(
    folder: Path,
    text: str,
    per_token: bool,
    per_sentence: bool,
    as_json: bool,
    output: Path | None,
    quiet: bool,
    allow: tuple[str, ...],
    **how: Any,
) -> None:
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
    if per_token and per_sentence:
        raise ParameterError(
            "per-sentence", True, "left out with --per-token", "Score the text once with each option."
        )
    model = open_language_model(folder, allow)
    with open_output(output) as out:  # errors about the file come before the work
        scores = model.score(read_text(text, SentenceOptions(**how), quiet))
        hint = case_hint(model, scores)
        if hint is not None:
            say(hint, err=True)
        how_unknown = treatment(model)
        figures = json_text(score_facts(scores, how_unknown)) if as_json else score_text(scores, how_unknown)
        if not (per_token or per_sentence):
            say(figures, file=out)
            return
        write_rows(score_rows(scores) if per_token else sentence_rows(scores), out, as_json)
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
