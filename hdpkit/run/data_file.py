"""The data of a run in one file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.checks import Codes
from hdpkit.data import Corpus, GroupedData, Groups, NGrams, Sequences, ShardedCorpus
from hdpkit.data.corpus import Cells, Tokens, reopen
from hdpkit.data.encode import NO_SYMBOL
from hdpkit.data.files.counts import ID_LIMIT, TOKEN_LIMIT, Limits
from hdpkit.data.sharded import CutCorpus, cut_at, reopen_shards
from hdpkit.errors import DataError, RunError

_ORDERS = 10_000  # more than any model has
_TERMS_PER_TOKEN = 64  # limit for a vocabulary without a list of terms, if it is above the limit of files


RunData = GroupedData | ShardedCorpus | CutCorpus
"""What a run can be over."""


def tree_of_data(data: RunData) -> dict[str, Any]:
    """Data as a tree of values; a RunError for observations or labels that can't be stored."""
    if isinstance(data, ShardedCorpus):
        return {"kind": "corpus in shards", "folder": str(data.folder), "digest": data.digest}
    if isinstance(data, CutCorpus):
        firsts = np.array([piece.first_document for piece in data.shards], dtype=np.int64)
        return {"kind": "cut corpus", "corpus": tree_of_data(data.corpus), "firsts": firsts}
    if type(data) is Corpus and data.origin is not None:
        # It may exceed memory, and the disk may have no space for a copy.
        folder, digest = data.origin
        return {"kind": "corpus folder", "folder": str(folder), "digest": digest}
    if type(data) is Corpus:
        most = _most_terms(len(data))
        if data.vocabulary is None and data.n_terms > most:
            raise RunError(
                "n_terms", data.n_terms, f"at most {most} for {len(data)} tokens",
                "Number the terms that occur, or give the corpus its vocabulary.",
            )  # fmt: skip
        cells = data.cells
        where = {"terms": data.values} if cells is None else {"cells": [cells.begin, cells.term, cells.count]}
        codes = data.labels if cells is None else data.document_labels  # one per token, or per document
        tree: dict[str, Any] = {
            "kind": "corpus",
            **where,
            "n_terms": data.n_terms,
            "vocabulary": None if data.vocabulary is None else list(data.vocabulary),
            "names": None if data.names is None else list(data.names),
            "lengths": data.document_lengths,
            # Codes of the documents are computed from their lengths.
            "labels": [[n, *codes[n]] for n in data.label_names if n != "document"],
        }
    elif type(data) is NGrams:
        tree = {
            "kind": "ngrams",
            "values": data.values,
            "order": data.order,
            "vocabulary": list(data.vocabulary),
            "fixed_vocabulary": data.fixed_vocabulary,
            "context_symbols": list(data.context_symbols),
            **data.text_arrays(),
            "start": data.start,
            "end": data.end,
        }
    elif isinstance(data, Groups | Sequences) and type(data) in (Groups, Sequences):
        values: Any = list(data.values) if data.values.dtype == object else data.values
        tree = {
            "kind": "groups",
            "values": values,
            "objects": data.values.dtype == object,
            "labels": [[n, *data.labels[n]] for n in data.label_names],
            **({} if data.columns is None else {"columns": list(data.columns)}),
        }
        if isinstance(data, Sequences):
            tree |= {
                "kind": "sequences",
                "missing": data.missing.astype(np.int8),
                "lengths": data.lengths,
                "names": list(data.names),
                "n_terms": getattr(data, "n_terms", None),
                "vocabulary": None if data.vocabulary is None else list(data.vocabulary),
            }
    else:
        raise RunError(
            "data", type(data).__name__, "a Corpus, NGrams, Sequences or Groups", "Convert the data."
        )
    return tree


def data_of_tree(tree: Any) -> RunData:
    """The inverse of `tree_of_data`; any error if the tree isn't a result of it."""
    if tree["kind"] in ("corpus folder", "corpus in shards"):
        again = reopen_shards if tree["kind"] == "corpus in shards" else partial(reopen, verify=True)
        try:
            return again(Path(tree["folder"]), tree["digest"])
        except DataError as error:  # it names a file of the corpus
            raise RunError(error.parameter, error.value, error.allowed, error.remedy) from error
    if tree["kind"] == "cut corpus":
        corpus, firsts = data_of_tree(tree["corpus"]), tree["firsts"]
        assert isinstance(corpus, Corpus)
        _check(firsts.dtype == np.int64 and firsts.ndim == 1 and firsts[0] == 0)
        _check(bool((np.diff([*firsts, corpus.n_documents]) > 0).all()))
        cut = cut_at(corpus, firsts.tolist())
        _check(all(piece.n_tokens > 0 for piece in cut.shards))
        return cut
    if tree["kind"] == "corpus":
        return _corpus(tree)
    if tree["kind"] == "ngrams":
        return _ngrams(tree)
    values = tree["values"]
    if tree["objects"]:
        objects = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            objects[i] = value
        values = objects
    _check(isinstance(values, np.ndarray) and values.ndim >= 1)
    columns = tree.get("columns")
    if columns is not None:
        _check(isinstance(columns, list) and values.shape[1:] == (len(columns),))
        _check(all(type(name) is str for name in columns))
        columns = tuple(columns)
    common = {"values": _fixed(values), "labels": _labels(tree["labels"], len(values)), "columns": columns}
    if tree["kind"] != "sequences":
        return Groups(**common)
    n, n_terms = len(values), tree["n_terms"]
    if n_terms is not None:
        _check_terms(tree, n)
        _ints(values, np.int32, 0, n_terms - 1)
    missing, lengths = _ints(tree["missing"], np.int8, 0, 1, n), _ints(tree["lengths"], np.int64, 0, n)
    _check(int(lengths.sum()) == n and len(set(tree["names"])) == len(lengths))
    return Sequences(
        **common,
        missing=_fixed(missing.astype(bool)),
        lengths=lengths,
        names=tuple(tree["names"]),
        n_terms=n_terms,
        vocabulary=_texts(tree["vocabulary"], n_terms),
    )


def _most_terms(n_tokens: int) -> int:
    """Return the largest vocabulary accepted for this number of tokens if terms aren't listed."""
    return max(Limits().max_terms, _TERMS_PER_TOKEN * n_tokens)


def _cells(columns: Any, n_terms: int) -> Cells:
    begin, term, count = columns
    term = _ints(term, np.int32, 0, n_terms - 1)
    count, begin = _ints(count, np.int32, 1, TOKEN_LIMIT, len(term)), _ints(begin, np.int64, 0, len(term))
    _check(len(term) > 0 and len(begin) > 0 and begin[0] == 0 and begin[-1] == len(term))
    _check(bool((np.diff(begin) >= 0).all()))
    inside = np.ones(len(term), dtype=bool)
    inside[begin[:-1][np.diff(begin) > 0]] = False
    _check(bool((np.diff(term.astype(np.int64))[inside[1:]] > 0).all()))
    _check(int(count.sum(dtype=np.int64)) < TOKEN_LIMIT)
    return Cells.of(begin, term, count)


def _corpus(tree: dict[str, Any]) -> Corpus:
    n_terms, vocabulary = tree["n_terms"], tree["vocabulary"]
    cells = _cells(tree["cells"], n_terms) if "cells" in tree else None
    n = len(tree["terms"]) if cells is None else cells.n_customers
    _check_terms(tree, n)
    lengths = _ints(tree["lengths"], np.int64, 0, n)
    _check(n > 0 and len(lengths) > 0 and int(lengths.sum()) == n)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if cells is None:
        tokens, filled = Tokens(_ints(tree["terms"], np.int32, 0, n_terms - 1)), lengths > 0
        labels: dict[str, Codes] = {}
        for name, (codes, keys) in _labels(tree["labels"], n).items():  # the file has a code per token
            own = np.full(len(lengths), -1, dtype=np.int64)
            own[filled] = codes[offsets[:-1][filled]]
            labels[name] = (_fixed(own), keys)
    else:
        _check(np.array_equal(cells.lengths, lengths))
        tokens, labels = Tokens(cells=cells), _labels(tree["labels"], len(lengths))
    names = _texts(tree["names"], len(lengths))
    _check("document" not in labels)
    documents = _fixed(np.arange(len(lengths), dtype=np.int64))
    return Corpus(
        tokens=tokens,
        labels={"document": (documents, range(len(lengths)) if names is None else names), **labels},
        n_terms=n_terms,
        vocabulary=_texts(vocabulary, n_terms),
        names=names,
        document_lengths=lengths,
        offsets=_fixed(offsets),
    )


def _ngrams(tree: dict[str, Any]) -> NGrams:
    keys = "offsets", "contexts", "history", "order", "context_symbols"
    offsets, contexts, given, order, symbols = (tree[key] for key in keys)
    _check(isinstance(tree["vocabulary"], list) and isinstance(symbols, list))
    n_words, n_symbols = len(tree["vocabulary"]), len(symbols)
    _check(len(set(symbols)) == n_symbols and len(set(tree["vocabulary"])) == n_words)
    _check(type(order) is int and 1 <= order <= _ORDERS and type(tree["fixed_vocabulary"]) is bool)
    values = _ints(tree["values"], np.int32, 0, n_words - 1)
    n, history = len(values), values
    if contexts is not None:
        history, offsets = None, np.arange(n + 1)
        _check(contexts.dtype == np.int32 and contexts.shape == (n, order - 1))
        _check(bool(((contexts == NO_SYMBOL) | ((contexts >= -n_symbols) & (contexts < n_words))).all()))
    else:
        _check(symbols == ([] if tree["start"] is None else [tree["start"]]))
        _check(offsets[0] == 0 and offsets[-1] == n)
        _check(bool((np.diff(_ints(offsets, np.int64, 0, n)) >= 0).all()))
        if given is not None:
            history = _ints(given, np.int32, 0, n_words - 1, n)
    hash((tree["start"], tree["end"]))  # raises a TypeError if not hashable
    return NGrams(
        values=values,
        labels={},
        order=order,
        vocabulary=tuple(tree["vocabulary"]),
        start=tree["start"],
        end=tree["end"],
        fixed_vocabulary=tree["fixed_vocabulary"],
        offsets=offsets,
        context_symbols=tuple(symbols),
        history=history,
        explicit=contexts,
    )


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError("arrays that don't fit together")


def _check_terms(tree: dict[str, Any], n_tokens: int) -> None:
    n_terms = tree["n_terms"]
    _check(type(n_terms) is int and 1 <= n_terms <= ID_LIMIT)
    # Every term needs memory, and a forged file of a few bytes can declare any number of terms.
    _check(tree["vocabulary"] is not None or n_terms <= _most_terms(n_tokens))


def _texts(texts: Any, n: int) -> tuple[str, ...] | None:
    """n different texts, or None."""
    if texts is None:
        return None
    _check(isinstance(texts, list) and len(texts) == n == len(set(texts)))
    _check(all(type(text) is str for text in texts))
    return tuple(texts)


def _ints(array: Any, dtype: Any, low: int, high: int, n: int | None = None) -> Any:
    """A vector of whole numbers from low to high, n of them if given, read only."""
    _check(isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1)
    _check((n is None or len(array) == n) and bool(((array >= low) & (array <= high)).all()))
    return _fixed(array)


def _labels(listed: Any, n: int) -> dict[str, Any]:
    """Labels of n customers."""
    _check(isinstance(listed, list))
    labels: dict[str, Any] = {}
    for name, codes, keys in listed:
        _check(isinstance(name, str) and name not in labels)
        _check(isinstance(keys, list | tuple | range) and len(set(keys)) == len(keys))
        labels[name] = (_ints(codes, np.int64, -1, len(keys) - 1, n), keys)
    return labels


def _fixed(array: Any) -> Any:
    array.setflags(write=False)
    return array
