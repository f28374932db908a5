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
        tree: dict[str, Any] = {
            "kind": "corpus",
            **({"terms": data.values} if data.cells is None else {"cells": _packed(data.cells)}),
            "n_terms": data.n_terms,
            "vocabulary": None if data.vocabulary is None else list(data.vocabulary),
            "names": None if data.names is None else list(data.names),
            "lengths": data.document_lengths,
            # Codes of the documents are computed from their lengths.
            "labels": [[n, *_label_codes(data, n)] for n in data.label_names if n != "document"],
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
            **(_of_sequences(data) if isinstance(data, Sequences) else {}),
        }
    else:
        raise RunError(
            "data", type(data).__name__, "a Corpus, NGrams, Sequences or Groups", "Convert the data."
        )
    return tree


def _of_sequences(data: Sequences) -> dict[str, Any]:
    return {
        "kind": "sequences",
        "missing": data.missing.astype(np.int8),
        "lengths": data.lengths,
        "names": list(data.names),
        "n_terms": getattr(data, "n_terms", None),
        "vocabulary": None if data.vocabulary is None else list(data.vocabulary),
    }


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
    _check(columns is None or (isinstance(columns, list) and values.shape[1:] == (len(columns),)))
    _check(columns is None or all(type(name) is str for name in columns))
    common = {
        "values": _fixed(values),
        "labels": _labels(tree["labels"], len(values)),
        "columns": None if columns is None else tuple(columns),
    }
    return (
        Sequences(**common, **_sequences(tree, values)) if tree["kind"] == "sequences" else Groups(**common)
    )


def _sequences(tree: dict[str, Any], values: Any) -> dict[str, Any]:
    """What sequences have in addition to groups, checked."""
    missing, lengths, n_terms, words = (tree[key] for key in ("missing", "lengths", "n_terms", "vocabulary"))
    _check(missing.dtype == np.int8 and missing.shape == (len(values),))
    _check(bool(((missing == 0) | (missing == 1)).all()))
    _check(lengths.dtype == np.int64 and lengths.ndim == 1 and bool((lengths >= 0).all()))
    _check(int(lengths.sum()) == len(values) and len(set(tree["names"])) == len(lengths))
    if n_terms is not None:
        _check(type(n_terms) is int and 1 <= n_terms <= ID_LIMIT)
        _check(words is not None or n_terms <= _most_terms(len(values)))
        _check(values.dtype == np.int32 and bool(((values >= 0) & (values < n_terms)).all()))
    if words is not None:
        _check(isinstance(words, list) and len(words) == n_terms == len(set(words)))
        _check(all(type(word) is str for word in words))
    return {
        "missing": _fixed(missing.astype(bool)),
        "lengths": _fixed(lengths),
        "names": tuple(tree["names"]),
        "n_terms": n_terms,
        "vocabulary": None if words is None else tuple(words),
    }


def _most_terms(n_tokens: int) -> int:
    """Return the largest vocabulary accepted for this number of tokens if terms aren't listed."""
    return max(Limits().max_terms, _TERMS_PER_TOKEN * n_tokens)


def _packed(cells: Cells) -> list[Any]:
    return [cells.begin, cells.term, cells.count]


def _label_codes(data: Corpus, name: str) -> Any:
    """Codes of a label: one per token, or one per document for a corpus from counts."""
    return data.labels[name] if data.cells is None else data.document_labels[name]


def _corpus_of_cells(tree: dict[str, Any]) -> Corpus:
    begin, term, count = tree["cells"]
    lengths, n_terms = tree["lengths"], tree["n_terms"]
    _check(type(n_terms) is int and 1 <= n_terms <= ID_LIMIT)
    for array, kind in ((begin, np.int64), (term, np.int32), (count, np.int32), (lengths, np.int64)):
        _check(isinstance(array, np.ndarray) and array.dtype == kind and array.ndim == 1 and len(array) > 0)
    _check(len(term) == len(count) and begin[0] == 0 and begin[-1] == len(term))
    _check(bool((np.diff(begin) >= 0).all()) and bool((count > 0).all()))
    _check(bool(((term >= 0) & (term < n_terms)).all()))
    inside = np.ones(len(term), dtype=bool)
    inside[begin[:-1][np.diff(begin) > 0]] = False
    _check(bool((np.diff(term.astype(np.int64))[inside[1:]] > 0).all()))
    _check(int(count.sum(dtype=np.int64)) < TOKEN_LIMIT)
    cells = Cells.of(begin, term, count)
    _check(np.array_equal(cells.lengths, lengths))
    _check(tree["vocabulary"] is not None or n_terms <= _most_terms(cells.n_customers))
    return _of_documents(tree, Tokens(cells=cells), _labels(tree["labels"], len(lengths)), _offsets(lengths))


def _texts(tree: dict[str, Any], n_terms: int, n_documents: int) -> tuple[str, ...] | None:
    """Names of documents, and the vocabulary, both checked."""
    for texts, n in ((tree["vocabulary"], n_terms), (tree["names"], n_documents)):
        if texts is not None:
            _check(isinstance(texts, list) and len(texts) == n == len(set(texts)))
            _check(all(type(text) is str for text in texts))
    return None if tree["names"] is None else tuple(tree["names"])


def _corpus(tree: dict[str, Any]) -> Corpus:
    if "cells" in tree:
        return _corpus_of_cells(tree)
    terms, lengths, n_terms = tree["terms"], tree["lengths"], tree["n_terms"]
    _check(type(n_terms) is int and 1 <= n_terms <= ID_LIMIT)
    # Every term needs memory, and a forged file of a few bytes can declare any number of terms.
    _check(tree["vocabulary"] is not None or n_terms <= _most_terms(len(terms)))
    _check(terms.dtype == np.int32 and terms.ndim == 1 and len(terms) > 0)
    _check(bool(((terms >= 0) & (terms < n_terms)).all()))
    _check(lengths.dtype == np.int64 and lengths.ndim == 1 and len(lengths) > 0)
    _check(bool(((lengths >= 0) & (lengths <= len(terms))).all()) and int(lengths.sum()) == len(terms))
    offsets, filled = _offsets(lengths), lengths > 0  # the file has a code per token
    labels: dict[str, Codes] = {}
    for name, (codes, keys) in _labels(tree["labels"], len(terms)).items():
        own = np.full(len(lengths), -1, dtype=np.int64)
        own[filled] = codes[offsets[:-1][filled]]
        labels[name] = (_fixed(own), keys)
    return _of_documents(tree, Tokens(_fixed(terms)), labels, offsets)


def _offsets(lengths: Any) -> Any:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _of_documents(tree: dict[str, Any], tokens: Tokens, labels: dict[str, Codes], offsets: Any) -> Corpus:
    """Return the corpus with labels given by document."""
    lengths, n_terms = tree["lengths"], tree["n_terms"]
    names = _texts(tree, n_terms, len(lengths))
    _check("document" not in labels)
    documents = _fixed(np.arange(len(lengths), dtype=np.int64))
    return Corpus(
        tokens=tokens,
        labels={"document": (documents, range(len(lengths)) if names is None else names), **labels},
        n_terms=n_terms,
        vocabulary=None if tree["vocabulary"] is None else tuple(tree["vocabulary"]),
        names=names,
        document_lengths=_fixed(lengths),
        offsets=_fixed(offsets),
    )


def _ngrams(tree: dict[str, Any]) -> NGrams:
    values, offsets, contexts = tree["values"], tree["offsets"], tree["contexts"]
    _check(isinstance(tree["vocabulary"], list) and isinstance(tree["context_symbols"], list))
    history = values if tree["history"] is None else tree["history"]
    n, n_words, n_symbols = len(values), len(tree["vocabulary"]), len(tree["context_symbols"])
    symbols = tree["context_symbols"]
    _check(len(set(symbols)) == n_symbols and len(set(tree["vocabulary"])) == n_words)
    if contexts is None:
        _check(symbols == ([] if tree["start"] is None else [tree["start"]]))
        _check(offsets.dtype == np.int64 and offsets.ndim == 1 and offsets[0] == 0 and offsets[-1] == n)
        _check(bool((np.diff(offsets) >= 0).all()))
    else:
        history, offsets = None, np.arange(n + 1)
        _check(contexts.dtype == np.int32 and contexts.shape == (n, tree["order"] - 1))
        _check(bool(((contexts == NO_SYMBOL) | ((contexts >= -n_symbols) & (contexts < n_words))).all()))
    for ids in (values, history):
        _check(ids is None or (ids.dtype == np.int32 and ids.shape == (n,)))
        _check(ids is None or bool(((ids >= 0) & (ids < n_words)).all()))
    _check(type(tree["order"]) is int and 1 <= tree["order"] <= _ORDERS)
    _check(type(tree["fixed_vocabulary"]) is bool)
    hash((tree["start"], tree["end"]))  # raises a TypeError if not hashable
    return NGrams(
        values=values,
        labels={},
        order=tree["order"],
        vocabulary=tuple(tree["vocabulary"]),
        start=tree["start"],
        end=tree["end"],
        fixed_vocabulary=tree["fixed_vocabulary"],
        offsets=offsets,
        context_symbols=tuple(tree["context_symbols"]),
        history=history,
        explicit=contexts,
    )


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError("arrays that don't fit together")


def _labels(listed: Any, n: int) -> dict[str, Any]:
    """Labels of n customers."""
    _check(isinstance(listed, list))
    labels: dict[str, Any] = {}
    for name, codes, keys in listed:
        _check(isinstance(name, str) and name not in labels)
        _check(isinstance(keys, list | tuple | range) and len(set(keys)) == len(keys))
        _check(isinstance(codes, np.ndarray) and codes.dtype == np.int64 and codes.shape == (n,))
        _check(bool(((codes >= -1) & (codes < len(keys))).all()))
        labels[name] = (_fixed(codes), keys)
    return labels


def _fixed(array: Any) -> Any:
    array.setflags(write=False)
    return array
