"""hdpkit convert: a corpus as a folder of arrays that are mapped into memory."""

from __future__ import annotations

from pathlib import Path

import click

from hdpkit.cli.options import given_limits, limit_options
from hdpkit.cli.output import say, shown_path
from hdpkit.io.corpora import FORMATS, convert_corpus

__all__ = ["convert"]


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--format", type=click.Choice(FORMATS), help="Of the corpus.  [default: detected]")
@click.option("--vocabulary", type=click.Path(path_type=Path), help="File with a term a line.")
@limit_options
def convert(
    corpus: Path, folder: Path, format: str | None, vocabulary: Path | None, **limits: int | None
) -> None:
    """Write a corpus to a folder from which hdpkit fit maps it into memory instead of reading it.

    For corpora larger than memory: LDA-C and bag-of-words files go through it block by block. FOLDER is new
    or empty; it takes eight bytes a token.

    \b
    Examples:
      hdpkit convert docword.pubmed.txt.gz pubmed --vocabulary vocab.pubmed.txt
      hdpkit convert corpus.ldac folder --format ldac
    """
    made = convert_corpus(corpus, folder, format, vocabulary, limits=given_limits(limits))
    sizes = f"{made.n_documents:,} documents, {made.n_tokens:,} tokens, {made.n_terms:,} terms"
    say(f"{sizes} in {shown_path(folder)}")
