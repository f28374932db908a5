"""hdpkit convert: a corpus as a folder of arrays that are mapped into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.corpus import corpus_options, given_layout, given_text
from hdpkit.cli.options import given_limits, path_type, quiet_option
from hdpkit.cli.output import say, shown_path
from hdpkit.io.corpora import convert_corpus

__all__ = ["convert"]


@click.command()
@corpus_options
@click.argument("folder", type=path_type)
@quiet_option
def convert(corpus: Path, folder: Path, quiet: bool, **options: Any) -> None:
    """Write a corpus to a folder from which hdpkit fit maps it into memory instead of reading it.

    For corpora larger than memory: LDA-C and bag-of-words files go through it block by block. FOLDER is new
    or empty; it takes eight bytes a token. Columns of --group-column become labels of the corpus.

    \b
    Examples:
      hdpkit convert docword.pubmed.txt.gz pubmed --vocabulary vocab.pubmed.txt
      hdpkit convert corpus.ldac folder --format ldac
      hdpkit convert posts.csv posts --text-column body --id-column post
    """
    limits, layout, text = given_limits(options), given_layout(options), given_text(options)
    made = convert_corpus(corpus, folder, options["format"], options["vocabulary"], text, limits, layout)
    if not quiet:
        sizes = f"{made.n_documents:,} documents, {made.n_tokens:,} tokens, {made.n_terms:,} terms"
        say(f"{sizes} in {shown_path(folder)}")
