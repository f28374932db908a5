"""Options of commands that read a corpus of documents, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hdpkit.cli.options import given_limits, limit_options, path_type, positive
from hdpkit.cli.output import say, shown_path
from hdpkit.data import Corpus
from hdpkit.io.corpora import FORMATS, read_corpus
from hdpkit.io.text_options import TextOptions

__all__ = ["corpus_options", "given_corpus"]


def corpus_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument CORPUS and the options of how it is read; `given_corpus` reads them."""
    options: list[Any] = [
        click.argument("corpus", type=path_type),
        click.option(
            "--vocabulary",
            type=path_type,
            metavar="FILE",
            help="Terms, one a line: names of the columns; for text, the words to count.",
        ),
        click.option("--format", type=click.Choice(FORMATS), help="Of the corpus.  [default: detected]"),
        click.option("--min-documents", type=positive, help="Text: leave out words of fewer documents."),
        click.option(
            "--max-document-share",
            type=click.FloatRange(0, 1, min_open=True),
            help="Text: leave out words of more than this share of the documents.",
        ),
        limit_options,
        click.option(
            "--stop-words", type=click.Choice(["none", "english"]), help="Text: leave out function words."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def given_corpus(path: Path, options: dict[str, Any], quiet: bool) -> Corpus:
    """Read the corpus that the options describe, and say how large it is.

    Parameters
    ----------
    path : Path
    options : dict
        Those of `corpus_options`.
    quiet : bool
        Whether to say nothing.
    """
    if not quiet:
        say(f"reading {shown_path(path)}", err=True)
    names = ("min_documents", "max_document_share", "stop_words")
    given = {name: options[name] for name in names if options[name] is not None}
    text = TextOptions(**given) if given else None
    data = read_corpus(path, options["format"], options["vocabulary"], text, given_limits(options))
    if not quiet:
        sizes = f"{data.n_documents:,} documents, {data.n_tokens:,} tokens, {data.n_terms:,} terms"
        say(sizes, err=True)
    return data
