"""The data of a run in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.data import Corpus, GroupedData, Groups
from hdpkit.errors import CorruptRunError, RunError
from hdpkit.record.encode import pack, unpack
from hdpkit.record.files import read_sealed, seal, write_whole

__all__ = ["pack_data", "read_data", "write_data"]

_MAGIC = b"hdp-DATA"


def pack_data(data: GroupedData) -> bytes:
    """Data as bytes.

    Raises a RunError for observations or labels that have no form on disk.
    """
    if type(data) is Corpus:
        tree: dict[str, Any] = {
            "kind": "corpus",
            "terms": data.values,
            "n_terms": data.n_terms,
            "vocabulary": None if data.vocabulary is None else list(data.vocabulary),
            "names": None if data.names is None else list(data.names),
            "lengths": data.document_lengths,
            # Codes of the documents follow from their lengths.
            "labels": [[n, *data.labels[n]] for n in data.label_names if n != "document"],
        }
    elif type(data) is Groups:
        values: Any = list(data.values) if data.values.dtype == object else data.values
        tree = {
            "kind": "groups",
            "values": values,
            "objects": data.values.dtype == object,
            "labels": [[n, *data.labels[n]] for n in data.label_names],
        }
    else:
        raise RunError("data", type(data).__name__, "a Corpus or Groups", "Convert the data.")
    return pack(tree, "data")


def write_data(path: Path, packed: bytes) -> str:
    """Write packed data; returns the digest."""
    sealed = seal(_MAGIC, packed)
    write_whole(path, sealed)
    return sealed[-32:].hex()


def read_data(path: Path, digest: str) -> GroupedData:
    """Read data and compare their digest with that of the run.

    Raises
    ------
    CorruptRunError
        If the file is damaged or holds other data.
    """
    payload, found = read_sealed(path, _MAGIC)
    if found != digest:
        raise CorruptRunError(
            str(path), f"digest {found[:12]}...", f"the data of this run, digest {digest[:12]}...",
            "Put the run's own data file back.",
        )  # fmt: skip
    tree = unpack(payload, str(path))
    try:
        if tree["kind"] == "corpus":
            return _corpus(tree)
        values = tree["values"]
        if tree["objects"]:
            objects = np.empty(len(values), dtype=object)
            for i, value in enumerate(values):
                objects[i] = value
            values = objects
        return Groups(values=_fixed(values), labels=_labels(tree["labels"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise CorruptRunError(
            str(path), f"{type(error).__name__}: {error}", "data that hdpkit wrote", "Restore a copy of it."
        ) from error


def _corpus(tree: dict[str, Any]) -> Corpus:
    lengths = tree["lengths"]
    names = None if tree["names"] is None else tuple(tree["names"])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    documents = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    labels = {"document": (_fixed(documents), list(range(len(lengths)) if names is None else names))}
    return Corpus(
        values=_fixed(tree["terms"]),
        labels=labels | _labels(tree["labels"]),
        n_terms=tree["n_terms"],
        vocabulary=None if tree["vocabulary"] is None else tuple(tree["vocabulary"]),
        names=names,
        document_lengths=_fixed(lengths),
        offsets=_fixed(offsets),
    )


def _labels(listed: Any) -> dict[str, Any]:
    return {name: (_fixed(codes), keys) for name, codes, keys in listed}


def _fixed(array: Any) -> Any:
    array.setflags(write=False)
    return array
