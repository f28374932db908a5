"""``hdpkit lm train`` and ``add``: a language model of a text, in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import (
    INTERRUPTED,
    WORKED_ON,
    allow_option,
    check_new_folder,
    is_language_model,
    open_language_model,
    resume_command,
)
from hdpkit.cli.lm_report import echo_levels, model_facts, score_text, treatment
from hdpkit.cli.lm_text import (
    SentenceOptions,
    read_text,
    read_words,
    reading_options,
    without_rare_words,
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
    parse_levels,
    path_type,
    positive,
    quiet_option,
    seed_option,
    text_type,
)
from hdpkit.cli.output import say
from hdpkit.data import NGrams
from hdpkit.errors import HdpkitError, ParameterError
from hdpkit.kinds.language import ORDER_LIMIT
from hdpkit.kinds.ngram import NGramModel
from hdpkit.kinds.spelling import Spelling
from hdpkit.run.collect import Checkpoint
from hdpkit.run.progress import ProgressBar
from hdpkit.stores import Detail, at_least


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
    reading = _reading(options)
    model = _declared(options, reading)
    held_out = _held_out(text, reading, model, options)
    sentences: Any = read_text(text, reading, options["quiet"])
    if options["min_count"] is not None:
        sentences = without_rare_words(sentences, options["min_count"], options["unknown"], options["quiet"])
    plan = _plan(options)
    _carry_out(
        model,
        lambda progress: model.fit(sentences, rng=options["seed"], progress=progress, **plan),
        options["into"],
        options["quiet"],
        held_out,
    )


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
    reading = _reading(options)
    model = open_language_model(folder, allow)
    held_out = _held_out(text, reading, model, options)
    sentences = read_text(text, reading, options["quiet"])
    plan = _plan(options)
    _carry_out(
        model,
        lambda progress: model.add(sentences, progress=progress, **plan),
        options["into"],
        options["quiet"],
        held_out,
    )


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


def _reading(options: dict[str, Any]) -> SentenceOptions:
    return SentenceOptions(**{name: options[name] for name in ("lowercase", "encoding", "errors", "empty")})


def _plan(options: dict[str, Any]) -> dict[str, Any]:
    """Arguments for `fit` and `add`."""
    sweeps, burn_in, samples = (options[name] for name in ("sweeps", "burn_in", "samples"))
    if burn_in is None:
        burn_in = min(10, sweeps // 3)
    if samples is None:
        samples = max(min(10, sweeps - burn_in), 1)
    return {
        "sweeps": sweeps,
        "burn_in": burn_in,
        "samples": samples,
        "folder": options["into"],
        "checkpoint": Checkpoint(options["checkpoint_sweeps"], options["checkpoint_seconds"]),
    }


def _held_out(
    text: str, reading: SentenceOptions, model: NGramModel, options: dict[str, Any]
) -> NGrams | None:
    """Read the held-out text now, although it is scored at the end, so that its errors appear early."""
    source = options["heldout"]
    if source is None:
        return None
    if source == text == "-":
        raise ParameterError("heldout", "-", "another source than the text", "Give a file for one.")
    settings = model.settings
    return NGrams.from_sentences(
        read_text(source, reading, options["quiet"]), order=1, start=settings.start, end=settings.end
    )


def _carry_out(
    model: NGramModel,
    run: Callable[[Any], Any],
    folder: Path,
    quiet: bool,
    held_out: NGrams | None = None,
) -> None:
    """Run with a progress bar, print the results, and say how to continue an interrupted run."""
    again = f"Go on with it: {resume_command(folder)}"
    interrupted = False
    click.get_current_context().meta[WORKED_ON] = (folder, True)
    try:
        with ProgressBar() as bar:
            run(None if quiet else bar)
        interrupted = bool(model.trace.interrupted)
    except KeyboardInterrupt:
        if not is_language_model(folder):
            raise
        interrupted = True
    except Exception as error:
        # A run had begun. An error in the text or the folder would only occur again.
        begun = not isinstance(error, HdpkitError) or getattr(error, "trace", None) is not None
        if begun and is_language_model(folder) and not isinstance(error, MemoryError):
            say(again, err=True)
        raise
    echo_levels(model)
    say(model_facts(model))
    if interrupted:
        say(f"Interrupted. {again}", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if held_out is not None:
        say(score_text(model.score(held_out), treatment(model)))


def _declared(options: dict[str, Any], reading: SentenceOptions) -> NGramModel:
    """The model declared by the options; incompatible options raise an error."""
    unknown = options["unknown"] or None
    if unknown is not None and len(unknown.split()) != 1:
        raise ParameterError("unknown", unknown, "one word, without blanks", "For instance <unk>.")
    if options["open_vocabulary"]:
        if options["min_count"] is not None:
            raise ParameterError(
                "min-count", options["min_count"], "left out with --open-vocabulary",
                "An open vocabulary gives every word its own probability, including rare and unknown words.",
            )  # fmt: skip
        unknown = None
    if options["min_count"] is not None and unknown is None:
        raise ParameterError("unknown", "", "a word, with --min-count", "Rare words become that word.")
    if options["min_count"] is not None and options["vocabulary"] is not None:
        raise ParameterError(
            "min-count",
            options["min_count"],
            "left out with --vocabulary",
            "The vocabulary defines the words.",
        )
    vocabulary = None if options["vocabulary"] is None else read_words(options["vocabulary"], reading)
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
