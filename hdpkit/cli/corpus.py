"""Options of commands that read a corpus of documents, and their values; ``hdpkit convert``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hdpkit.allowed import Allowed
from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import (
    Command,
    given_limits,
    group,
    limit_options,
    options_of,
    path_type,
    positive,
    quiet_option,
)
from hdpkit.cli.output import say, shown_path, tell
from hdpkit.data import Corpus, ShardedCorpus
from hdpkit.data.files.corpora import (
    FORMATS,
    ReadCorpus,
    Request,
    convert_corpus,
    convert_shards,
    detect_format,
    read_any,
    skipped_text,
)
from hdpkit.data.files.tables import Table
from hdpkit.data.files.text_files import Layout, ReadingNotes, shown_names
from hdpkit.data.files.text_options import TextOptions, named, stop_words_of, with_stop_words
from hdpkit.errors import ParameterError
from hdpkit.kinds.listing import plural

_LAYOUT = (
    *("text_column", "id_column", "group_column", "date_column", "encoding", "delimiter"),
    *("quotes", "header", "files", "strict"),
)
format_option = click.option(
    "--format", type=click.Choice(FORMATS), help="Format of the corpus.  [default: detected]"
)
_table_options = options_of(
    Layout, unset=True, encoding="NAME", delimiter="CHARACTER", quotes=None, header=None
)
table_options = group("Layout of the table", *_table_options)
"""Adds the options of a table; `given_table` and `given_layout` read them."""
layout_options = group(
    "Layout of texts",
    *options_of(Layout, unset=True, text_column="NAME|N", id_column="NAME|N"),
    click.option(
        "--group-column", multiple=True, metavar="NAME|N",
        help="Tables, JSON lines: a column of groups of documents, for shares by group; levels of the model "
        "with --group-concentration, the widest groups first. Shards: a label.",
    ),
    *options_of(Layout, unset=True, date_column="NAME|N"),
    *_table_options,
    *options_of(Layout, unset=True, files="PATTERN", strict=None),
)  # fmt: skip
"""Adds the options of the layout of texts; `given_layout` reads them."""

words_options = group(
    "Words of texts",
    *options_of(
        TextOptions, unset=True, min_documents=positive,
        max_document_share=click.FloatRange(0, 1, min_open=True),
    ),
    click.option(
        "--stop-words", metavar="LANGUAGE,...",
        help="Leave out function words of these languages (english, german, ...; none).  [default: of the "
        "language of the texts]",
    ),
    click.option(
        "--stop-words-file", type=path_type, metavar="FILE",
        help="Leave out these words, one per line; alone, or beside the languages of --stop-words.",
    ),
    click.option(
        "--tokenizer", metavar="MODULE:FUNCTION",
        help="Your function that splits a text into a list of words; needs --allow MODULE.",
    ),
    click.option(
        "--segmenter", metavar="MODULE:FUNCTION",
        help="For texts without spaces between words: a function that splits a text into pieces, in which "
        "words are found, such as jieba:lcut; needs --allow MODULE.",
    ),
    allow_option,
)  # fmt: skip
"""Adds the options for counting words; `given_text` reads them."""


corpus_argument = click.argument("corpus", type=path_type)
corpus_options = group(
    "Corpus",
    format_option,
    click.option(
        "--vocabulary", type=path_type, metavar="FILE",
        help="Terms, one per line: names of the columns; for text, the words to count.",
    ),
    layout_options,
    words_options,
    limit_options,
)  # fmt: skip
"""Adds the options for reading the argument CORPUS; `given_corpus` reads them."""


def given_layout(options: dict[str, Any]) -> Layout | None:
    """The layout given by the options of `layout_options`; None if none is given."""
    given = {name: options[name] for name in _LAYOUT if options.get(name) not in (None, ())}
    if "group_column" in given:
        given["group_columns"] = given.pop("group_column")
    return Layout(**given) if given else None


def given_table(path: Path, options: Mapping[str, Any] | None) -> Table:
    """The table in a file, read as the options of `table_options` say."""
    given = dict(options or {})
    return Table(path, given_layout(given), header=given.get("header"))


def given_text(options: dict[str, Any]) -> TextOptions | None:
    """The text options given by the options of `words_options`; None if none is given."""
    names = ("min_documents", "max_document_share", "tokenizer", "segmenter")
    given = {name: options[name] for name in names if options[name] is not None}
    languages, file = options["stop_words"], options["stop_words_file"]
    if not given and languages is None and file is None:
        return None
    if "tokenizer" in given:
        given["tokenizer"] = Allowed(options["allow"]).function(TextOptions(**given).tokenizer)
    if "segmenter" in given:
        given["segmenter"] = named(TextOptions(**given).segmenter, options["allow"])
    if languages is None and file is None:
        return TextOptions(**given)
    listed = [] if languages is None else [name.strip() for name in languages.split(",")]
    return with_stop_words(TextOptions(**given), stop_words_of(listed, file))


def given_corpus(path: Path, options: dict[str, Any], quiet: bool) -> ReadCorpus:
    """Read the corpus given by the options, and print its size."""
    tell(quiet, f"reading {shown_path(path)}")
    limits, text = given_limits(options), given_text(options)
    # Arrays and shards have labels, from which the option selects.
    converted = (options["format"] or detect_format(path)) == "shards"
    layout = given_layout({**options, "group_column": ()} if converted else options)
    try:
        read = read_any(Request.of(path, options["format"], options["vocabulary"], text, limits, layout))
    except ParameterError as error:
        if error.parameter not in ("text", "layout") or not isinstance(error.value, TextOptions | Layout):
            raise
        raise _naming_the_option(error, options) from error
    say_notes(read.notes, quiet)
    if not quiet:
        data = read.corpus
        sizes = f"{data.n_documents:,} documents, {data.n_tokens:,} tokens, {data.n_terms:,} terms"
        say(sizes, err=True)
    return read


def group_labels(read: ReadCorpus, options: dict[str, Any]) -> list[str]:
    """The labels named by --group-column, the largest groups first."""
    if read.settings.layout is not None:
        return list(read.notes.groups[: len(read.settings.layout.group_columns)])
    known = [label for label in read.corpus.label_names if label != "document"]
    for label in options["group_column"]:
        if label not in known:
            raise ParameterError(
                "group-column", label, f"a label of the corpus: {known}", "Only corpora of text have labels."
            )
    return list(options["group_column"])


def say_notes(notes: ReadingNotes, quiet: bool) -> None:
    """Print the column of the texts, what was left out (words, files), and which encodings were detected."""
    if notes.text is not None and not quiet:
        say_table([notes.text], notes.delimiter, notes.n_columns)
    if notes.function_words is not None and not quiet:
        language, n_words = notes.function_words
        say(f"{n_words:,} function words ({language}) left out; --stop-words none keeps them", err=True)
    if notes.encodings and not quiet:
        found = [
            encoding if n_files == 1 else f"{encoding} ({n_files:,} files)"
            for encoding, n_files in sorted(notes.encodings.items())
        ]
        say(f"not in UTF-8; detected: {', '.join(found)}. --encoding says otherwise", err=True)
    if notes.skipped:
        say(f"Warning: {skipped_text(notes)}", err=True)


def say_table(columns: Sequence[str], delimiter: str, n_columns: int) -> None:
    """Print columns of a table, how many it has, and what separates them."""
    told = f"{len(columns)} of {plural(n_columns, 'column')}: {shown_names(columns)}"
    if delimiter and n_columns > 1:
        named = {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "spaces"}.get(
            delimiter, repr(delimiter)
        )
        told += f"; separated by {named}"
    say(told, err=True)


def _naming_the_option(error: ParameterError, options: dict[str, Any]) -> ParameterError:
    names = ("min_documents", "max_document_share", "stop_words", "stop_words_file", "tokenizer", "segmenter")
    for name in names if error.parameter == "text" else _LAYOUT:
        if options.get(name) not in (None, ()):
            return ParameterError(name.replace("_", "-"), options[name], error.allowed, error.remedy)
    return error


@click.command(cls=Command)
@corpus_argument
@corpus_options
@click.argument("folder", type=path_type)
@click.option(
    "--shards",
    type=positive,
    metavar="N",
    help="Write N folders of consecutive documents and a manifest, for several machines.",
)
@quiet_option
def convert(corpus: Path, folder: Path, shards: int | None, quiet: bool, **options: Any) -> None:
    """Write a corpus to a folder from which hdpkit fit maps it into memory instead of reading it.

    For corpora larger than memory: files of any format are converted block by block. FOLDER must be new or
    empty; it needs eight bytes per token, or with --shards eight bytes for each term of each document.
    Columns of --group-column become labels of the corpus.

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
