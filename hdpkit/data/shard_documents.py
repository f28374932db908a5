"""Documents of one shard, mapped into memory, or of all shards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from hdpkit.data.cells import Cells, Tokens
from hdpkit.data.documents import Documents
from hdpkit.formats.mapped import CHUNK
from hdpkit.formats.names import Codes
from hdpkit.formats.shard_files import Manifest
from hdpkit.formats.shard_reading import MappedShard, open_shard
from hdpkit.formats.shard_writing import Content, Piece

__all__ = ["content_of", "content_of_shards", "mapped_shard", "shards_joined"]

Kind = TypeVar("Kind", bound=Documents)


def mapped_shard(kind: type[Kind], manifest: Manifest, number: int, verify: bool = True) -> Kind:
    """Return the documents of a shard; errors as in `open_shard`."""
    shard = open_shard(manifest, number, verify)
    tokens = _tokens(shard, manifest.shards[number].n_tokens)
    return kind._checked(
        tokens, shard.arrays["lengths"], manifest.n_terms, manifest.vocabulary, shard.names, shard.labels,
        numbers=shard.arrays.get("document"), origin=(manifest.path(number), manifest.digest),
        files=shard.files,
    )  # fmt: skip


def _tokens(shard: MappedShard, n_tokens: int) -> Tokens:
    arrays = shard.arrays
    if "terms" in arrays:
        return Tokens(arrays["terms"])
    return Tokens(cells=Cells(arrays["begin"], arrays["term"], arrays["count"], n_tokens))


def shards_joined(kind: type[Kind], manifest: Manifest) -> Kind:
    """Return the documents of all shards, in memory; errors as in `open_shard`."""
    content = content_of_shards(manifest)
    pieces = list(content.read(0, manifest.n_tokens if manifest.n_cells is None else manifest.n_cells))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    if content.cells is None:
        columns[0].setflags(write=False)
        tokens = Tokens(columns[0])
    else:
        tokens = Tokens(cells=Cells.of(np.append(0, np.cumsum(content.cells)), *columns))
    names = None if content.names is None else tuple(content.names)
    return kind._checked(
        tokens, content.lengths, manifest.n_terms, manifest.vocabulary, names, dict(content.labels)
    )


def content_of_shards(manifest: Manifest) -> Content:
    """Return the content of all shards, for reading in pieces; errors as in `open_shard`."""
    shards = [open_shard(manifest, number) for number in range(len(manifest.shards))]
    tokens = [_tokens(one, info.n_tokens) for one, info in zip(shards, manifest.shards, strict=True)]
    if manifest.kind == "cells":
        cells = [one.cells for one in tokens if one.cells is not None]
        columns: list[tuple[Any, ...]] = [(one.term, one.count) for one in cells]
        own: Any = np.concatenate([np.diff(one.begin) for one in cells])
    else:
        columns = [(one.terms(),) for one in tokens]
        own = None
    ends = np.cumsum([0] + [len(column[0]) for column in columns])

    def read(first: int, last: int) -> Iterator[Piece]:
        for begin, end, arrays in zip(ends[:-1], ends[1:], columns, strict=True):
            yield from _pieces(arrays, max(first - int(begin), 0), min(last, int(end)) - int(begin))

    labels: dict[str, Codes] = {}
    for name, keys in manifest.labels.items():
        codes = np.concatenate([shard.labels[name][0] for shard in shards])
        codes.setflags(write=False)
        labels[name] = (codes, keys)
    return Content(
        lengths=np.concatenate([one.arrays["lengths"] for one in shards]), cells=own, read=read,
        n_terms=manifest.n_terms,
        vocabulary=manifest.vocabulary, labels=labels,
        names=[name for shard in shards for name in shard.names or ()] if manifest.named else None,
    )  # fmt: skip


def content_of(corpus: Documents) -> Content:
    """Return the content of a corpus, for reading in pieces."""
    cells = corpus.cells
    columns: tuple[Any, ...] = (corpus.values,) if cells is None else (cells.term, cells.count)

    return Content(
        lengths=corpus.document_lengths, cells=None if cells is None else np.diff(cells.begin),
        read=partial(_pieces, columns), n_terms=corpus.n_terms,
        vocabulary=corpus.vocabulary, names=corpus.names,
        labels={name: codes for name, codes in corpus.document_labels.items() if name != "document"},
    )  # fmt: skip


def _pieces(columns: tuple[Any, ...], first: int, last: int) -> Iterator[Piece]:
    for begin in range(first, last, CHUNK):
        yield tuple(column[begin : min(begin + CHUNK, last)] for column in columns)
