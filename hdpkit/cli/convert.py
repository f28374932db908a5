"""hdpkit convert: a corpus as a folder of shards, which are mapped into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.corpus import corpus_argument, corpus_options, given_layout, given_text, say_notes
from hdpkit.cli.options import Command, given_limits, path_type, positive, quiet_option
from hdpkit.cli.output import say, shown_path
from hdpkit.data import Corpus, ShardedCorpus
from hdpkit.data.files.corpora import convert_corpus, convert_shards
from hdpkit.data.files.text_files import ReadingNotes


@click.command(cls=Command)
@corpus_argument
@corpus_options
@click.argument("folder", type=path_type)
@click.option(
    "--shards",
    type=positive,
    metavar="N",
    help="Write N folders of consecutive documents and a manifest, for several machines. Any format is "
    "converted piece by piece.",
)
@quiet_option
def convert(corpus: Path, folder: Path, shards: int | None, quiet: bool, **options: Any) -> None:
    """Write a corpus to a folder from which hdpkit fit maps it into memory instead of reading it.

    For corpora larger than memory: LDA-C and bag-of-words files are converted block by block, and files of
    any format with --shards. FOLDER must be new or empty; it needs eight bytes per token, or with --shards
    eight bytes for each term of each document. Columns of --group-column become labels of the corpus.

    \b
    Examples:
      hdpkit convert docword.pubmed.txt.gz pubmed --vocabulary vocab.pubmed.txt
      hdpkit convert corpus.ldac folder --format ldac
      hdpkit convert corpus.ldac shards --shards 8
      hdpkit convert posts.csv posts --text-column body --id-column post
    """
    limits, layout, text = given_limits(options), given_layout(options), given_text(options)
    notes = ReadingNotes()
    given = (options["format"], options["vocabulary"], text, limits, layout, notes)
    made: Corpus | ShardedCorpus
    if shards is None:
        made, where = convert_corpus(corpus, folder, *given), ""
    else:
        made, where = convert_shards(corpus, folder, shards, *given), f", {shards:,} shards"
    say_notes(notes, quiet)
    if not quiet:
        sizes = f"{made.n_documents:,} documents, {made.n_tokens:,} tokens, {made.n_terms:,} terms"
        say(f"{sizes}{where} in {shown_path(folder)}")
