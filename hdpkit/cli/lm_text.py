"""Texts for language models: options for reading them, and reading with a progress bar."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from hdpkit.cli.options import group, options_of
from hdpkit.cli.output import say
from hdpkit.data import NGrams
from hdpkit.data.files.sentences import read_sentences
from hdpkit.data.files.text_files import place_of
from hdpkit.errors import DataError, printable


@attrs.frozen
class SentenceOptions:
    """How a file is split into words; attributes as the parameters of `read_sentences`."""

    lowercase: bool
    encoding: str
    errors: str
    empty: str

    def sentences(self, source: str, progress: Any = None) -> Iterator[list[str]]:
        """Sentences of a file, or of standard input ("-")."""
        return read_sentences(source, **attrs.asdict(self), progress=progress)


reading_options = group(
    "Reading the text",
    *options_of(
        read_sentences, lowercase=None, encoding="NAME", errors=click.Choice(["strict", "replace"]),
        empty=click.Choice(["skip", "keep"]),
    ),
)  # fmt: skip
"""Adds the options for reading a text."""


def read_text(source: str, reading: SentenceOptions, quiet: bool) -> Iterator[list[str]]:
    """Yield the sentences of a text, with a progress bar on standard error."""
    n_sentences = n_words = 0
    with contextlib.ExitStack() as stack:
        progress = None if quiet else stack.enter_context(_reading_bar(source))
        for words in reading.sentences(source, progress):
            n_sentences += 1
            n_words += len(words)
            yield words
    if n_sentences == 0:
        raise DataError(
            place_of(source), "no sentence", "a text with words", "The text is empty: is it the right file?"
        )
    if not quiet:
        say(f"{n_sentences:,} sentences, {n_words:,} words", err=True)


@contextlib.contextmanager
def _reading_bar(source: str) -> Iterator[Any]:
    console = Console(file=sys.stderr)
    name = printable(place_of(source).removeprefix("file "))
    if not console.is_terminal:
        say(f"reading {name}", err=True)
        yield None
        return
    columns = (
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(
        *columns, console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(f"reading {name}", total=None)

        def show(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total, refresh=True)

        yield show


def read_words(path: Path, reading: SentenceOptions) -> tuple[str, ...]:
    """Read a vocabulary: the words of a file, each once, in the order of their first appearance."""
    words = tuple(dict.fromkeys(word for line in reading.sentences(str(path)) for word in line))
    if not words:
        raise DataError(
            f"vocabulary {path}", "no word", "a file with a word per line", "Is it the right file?"
        )
    return words


def without_rare_words(
    sentences: Iterator[list[str]], min_count: int, unknown: str, quiet: bool
) -> Iterator[list[str]]:
    """Yield sentences in which rarer words are replaced by the word for unknown words.

    All sentences are kept in memory, with 4 bytes per word, since they may come from a pipe.
    """
    data = NGrams.from_sentences(sentences, order=1, start=None, end=None)
    counts = np.bincount(data.values, minlength=data.n_terms).tolist()
    spoken = [word if n >= min_count else unknown for word, n in zip(data.vocabulary, counts, strict=True)]
    if not quiet:
        n_rare = sum(word != new for word, new in zip(data.vocabulary, spoken, strict=True))
        say(f"{n_rare:,} of {data.n_terms:,} words are rare: {unknown} from here on", err=True)
    ends = data.offsets.tolist()
    for first, last in itertools.pairwise(ends):
        yield [spoken[number] for number in data.values[first:last].tolist()]
