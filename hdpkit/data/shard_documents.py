"""Documents of shards: of one, mapped into memory, or of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from hdpkit.data.cells import Cells, Tokens
from hdpkit.data.documents import Documents
from hdpkit.formats.mapped import CHUNK
from hdpkit.formats.names import Codes
from hdpkit.formats.shard_files import Manifest
from hdpkit.formats.shard_reading import MappedShard, open_shard
from hdpkit.formats.shard_writing import Content, Piece

__all__ = ["content_of", "mapped_shard", "shards_joined"]

Kind = TypeVar("Kind", bound=Documents)


def mapped_shard(kind: type[Kind], manifest: Manifest, number: int, verify: bool = True) -> Kind:
    """Return the documents of a shard; errors as `open_shard`."""
    shard = open_shard(manifest, number, verify)
    tokens = _tokens(shard, manifest.shards[number].n_tokens)
    lengths = tokens.cells.lengths if tokens.cells is not None else shard.arrays["lengths"]
    return kind._checked(
        tokens, lengths, manifest.n_terms, manifest.vocabulary, shard.names, shard.labels,
        numbers=shard.arrays.get("document"), origin=(manifest.path(number), manifest.digest),
        files=shard.files,
    )  # fmt: skip


def _tokens(shard: MappedShard, n_tokens: int) -> Tokens:
    arrays = shard.arrays
    if "terms" in arrays:
        return Tokens(arrays["terms"])
    return Tokens(cells=Cells(arrays["begin"], arrays["term"], arrays["count"], n_tokens))


def shards_joined(kind: type[Kind], manifest: Manifest) -> Kind:
    """Return the documents of all shards, in memory; errors as `open_shard`."""
    shards = [open_shard(manifest, number) for number in range(len(manifest.shards))]
    columns = {name: np.concatenate([shard.arrays[name] for shard in shards]) for name in shards[0].arrays}
    if manifest.kind == "cells":
        cells = np.concatenate([np.diff(shard.arrays["begin"]) for shard in shards])
        tokens = Tokens(cells=Cells.of(np.append(0, np.cumsum(cells)), columns["term"], columns["count"]))
    else:
        columns["terms"].setflags(write=False)
        tokens = Tokens(columns["terms"])
    lengths = columns["lengths"] if tokens.cells is None else tokens.cells.lengths
    labels: dict[str, Codes] = {}
    for name, keys in manifest.labels.items():
        codes = np.concatenate([shard.labels[name][0] for shard in shards])
        codes.setflags(write=False)
        labels[name] = (codes, keys)
    names = tuple(name for shard in shards for name in shard.names or ()) if manifest.named else None
    return kind._checked(tokens, lengths, manifest.n_terms, manifest.vocabulary, names, labels)


def content_of(corpus: Documents) -> Content:
    """Return what is written of a corpus, to be read in pieces."""
    cells = corpus.cells
    columns: tuple[Any, ...] = (corpus.values,) if cells is None else (cells.term, cells.count)

    def read(first: int, last: int) -> Iterator[Piece]:
        for begin in range(first, last, CHUNK):
            yield tuple(column[begin : min(begin + CHUNK, last)] for column in columns)

    return Content(
        lengths=corpus.document_lengths, cells=None if cells is None else np.diff(cells.begin), read=read,
        n_terms=corpus.n_terms, vocabulary=corpus.vocabulary, names=corpus.names,
        labels={name: codes for name, codes in corpus.document_labels.items() if name != "document"},
    )  # fmt: skip
