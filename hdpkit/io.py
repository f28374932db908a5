"""Readers and writers of files and texts that users call (`hdpkit.data.files`, `hdpkit.run.reading`)."""

from hdpkit.data.files.corpora import convert_corpus, convert_shards, read_corpus
from hdpkit.data.files.installed_docs import collect_docstrings, demo_corpus, prose
from hdpkit.data.files.labels import check_nested, read_labels
from hdpkit.data.files.sentences import ArpaModel, read_arpa, read_sentences, write_arpa
from hdpkit.data.files.tables import unescaped
from hdpkit.data.files.text_files import Layout
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.data.top_terms import top_terms
from hdpkit.run.reading import read_like

__all__ = [
    "ArpaModel",
    "Layout",
    "TextCounter",
    "TextOptions",
    "check_nested",
    "collect_docstrings",
    "convert_corpus",
    "convert_shards",
    "demo_corpus",
    "prose",
    "read_arpa",
    "read_corpus",
    "read_labels",
    "read_like",
    "read_sentences",
    "top_terms",
    "unescaped",
    "write_arpa",
]
