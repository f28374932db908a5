"""A run's topics and shares for other programs: tables, JSON, the arrays of pyLDAvis, ArviZ's netCDF."""

from __future__ import annotations

import importlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import choice, flag, whole_number
from hdpkit.data.files.tables import Columns, rows_of, write_blocks, write_workbook
from hdpkit.errors import DataError, MissingExtraError, ParameterError, RunError
from hdpkit.files import refusals, written_aside
from hdpkit.posterior import component_tables
from hdpkit.posterior.components import Components
from hdpkit.posterior.documents import check_documents, document_labels, shares_by_label
from hdpkit.run.trace import ChainTrace, Trace

EXPORTS = ("csv", "parquet", "excel", "json", "pyldavis", "arviz")
"""Formats to which a run can be exported."""

_DIGITS = 9
_TOPICS = 64  # topics in a block of the table of terms


def share_columns(names: Any, shares: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Columns of a table of shares: the document, each topic (from 1), and the rest."""
    topics = {f"topic_{k}": shares[:, k - 1] for k in range(1, shares.shape[1])}
    return {"document": list(names), **topics, "other": shares[:, -1]}


def term_tables(topics: Components, n_terms: int) -> Iterator[Columns]:
    """A row for each top term of each topic: topic, term, probability and, with samples, its interval."""
    names = topics.titles
    rows = topics.top_terms(n_terms)
    while some := list(itertools.islice(rows, _TOPICS)):
        ends = [[end[terms] for end in topics.ends_of(k)] for k, terms, _ in some]
        yield {
            "topic": np.concatenate([np.full(len(terms), k + 1) for k, terms, _ in some]),
            "label": [names[k] for k, terms, _ in some for _ in terms],
            "rank": np.concatenate([np.arange(1, len(terms) + 1) for _, terms, _ in some]),
            "term": [str(word) for _, terms, _ in some for word in topics.words(terms)],
            "probability": np.concatenate([probability for *_, probability in some]),
            "probability_low": np.concatenate([low for low, _ in ends]),
            "probability_high": np.concatenate([high for _, high in ends]),
        }
    if not len(topics):
        none = np.empty(0)
        yield {"topic": none, "label": [], "rank": none, "term": [], "probability": none}


def document_tables(topics: Components) -> Iterator[Columns]:
    """A row per document, in blocks: its name, tokens, labels (date, groups), largest topic and shares."""
    first, found, names = 0, document_labels(topics), topics.titles
    for block in topics.documents():
        columns = share_columns(block.names, block.shares)
        head: dict[str, Any] = {"document": columns.pop("document"), "tokens": block.lengths}
        if names:
            largest = block.shares[:, :-1].argmax(axis=1)
            head |= {"topic": largest + 1, "label": [names[k] for k in largest.tolist()]}
        of = slice(first, first := first + len(block.lengths))
        for name, (codes, keys) in found.items():
            free = name if name not in head | columns else f"{name}_label"
            head[free] = ["" if code < 0 else str(keys[code]) for code in codes[of].tolist()]
        yield head | columns


def label_table(topics: Components) -> Iterator[Columns]:
    """A row for each value of each label of documents and each topic: its share of the value's tokens."""
    for name, shares in shares_by_label(topics).items():
        columns = shares.columns(labels=topics.titles)
        values = columns.pop("period")
        yield {"column": [name] * len(values), "value": values, **columns}


def export_topics(
    topics: Components,
    to: str,
    out: str | os.PathLike[str],
    n_terms: int = 100,
    *,
    raw: bool = False,
    by: str | None = None,
) -> list[Path]:
    """Write topics and the shares of the documents; periods of the shares over time are as in `trends`."""
    choice("to", to, EXPORTS[:-1], remedy="export_trace writes for ArviZ.")
    n_terms = whole_number("n_terms", n_terms, 1, remedy="How many terms of a topic are written.")
    check_documents(topics)  # before anything is written
    path = Path(out)
    if to in ("csv", "parquet", "excel"):
        grouped = topics.usual_groups
        tables: dict[str, Iterable[Columns]] = (
            {} if grouped is None else {"groups": [grouped.table(min(n_terms, 10))]}
        )
        tables |= {
            "topics": [topics.table(min(n_terms, 10))],
            "terms": term_tables(topics, n_terms),
            "documents": document_tables(topics),
        }
        if by_label := list(label_table(topics)):
            tables["document_groups"] = by_label
        if (over_time := topics.trends(by)) is not None:
            tables["trends"] = [over_time.columns(labels=topics.titles)]
            if grouped is not None and (of_groups := topics.trends(by, grouped.of)) is not None:
                tables["group_trends"] = [of_groups.columns("group", grouped.titles)]
        return _written(path, to, tables, raw)
    pieces = _json(topics, n_terms) if to == "json" else _pyldavis(topics)
    with refusals(path, "write a file"), written_aside(path) as out_file:
        _write(out_file, pieces)
    return [path]


def tables_of_components(found: Components) -> dict[str, Columns]:
    """Tables of points or sequences, numbered from 1: components, parameters, component of each point."""
    data, k, ends = found.data, len(found), ("low", "high")
    tables: dict[str, Columns] = {
        "components": found.table(),
        "parameters": component_tables.parameters(found, found.parameters, "component", ends),
    }
    shares = found.memberships
    points: dict[str, Any] = {"point": np.arange(1, len(shares) + 1)}
    best = np.append(np.arange(1, k + 1), 0)[shares.argmax(axis=1)]  # 0: none of them
    parts = [*map(str, range(1, k + 1)), "other"]
    of_states = found.has_transitions
    if of_states:
        tables["transitions"] = component_tables.transitions(found, parts, ends)
    elif found.has_groups:
        names = ("group", "component", "weight")
        tables["weights"] = component_tables.weights(found, names, parts, ends)
    if found.has_groups:
        codes, keys = data.labels[next(iter(data.label_names)) if of_states else found.label]
        points["sequence" if of_states else "group"] = ["" if c < 0 else keys[c] for c in codes.tolist()]
    points["component"] = best if found.partition is None else found.partition + 1
    if found.partition is not None:
        points["group_of_component"] = found.point_groups.of[found.partition] + 1
    tables["points"] = points | {f"component_{i + 1}": shares[:, i] for i in range(k)}
    return tables


def export_components(
    found: Components, to: str, out: str | os.PathLike[str], *, raw: bool = False
) -> list[Path]:
    """Write the components of points, or the states of sequences: CSV, Parquet, Excel or JSON."""
    choice("to", to, EXPORTS[:4], remedy="export_trace writes for ArviZ.")
    path, tables = Path(out), tables_of_components(found)
    if to == "json":
        rows = {
            name: rows_of({key: _listed(own) for key, own in one.items()}) for name, one in tables.items()
        }
        with refusals(path, "write a file"), written_aside(path) as out_file:
            _write(out_file, iter([json.dumps(rows, ensure_ascii=False, indent=1, default=str), "\n"]))
        return [path]
    return _written(path, to, {name: [columns] for name, columns in tables.items()}, raw)


def _written(path: Path, to: str, tables: dict[str, Iterable[Columns]], raw: bool) -> list[Path]:
    """Write tables, each in blocks: a workbook, or a folder with a file for each."""
    if to == "excel":
        write_workbook(path, tables)
        return [path]
    new_folder(path)
    files = [path / f"{name}.{to}" for name in tables]
    for file, blocks in zip(files, tables.values(), strict=True):
        write_blocks(file, blocks, raw=flag("raw", raw))
    return files


def _listed(values: Any) -> list[Any]:
    """A column as a list; numbers with nine digits."""
    if not isinstance(values, np.ndarray):
        return list(values)
    return [_short(value) for value in values.tolist()] if values.dtype.kind == "f" else list(values.tolist())


def export_trace(trace: Trace | ChainTrace, out: str | os.PathLike[str]) -> Path:
    """Write a trace for ArviZ."""
    path = Path(out)
    if path.suffix != ".nc":
        raise ParameterError("out", str(path), "a file that ends in .nc", "Choose such a name.")
    if path.is_dir():
        raise RunError("out", str(path), "new", "Choose another name.")
    engine = _netcdf_writer()
    data = trace.to_arviz()
    aside = path.with_name(f"{path.name}.tmp")
    with refusals(path, "write a file"):
        try:
            data.to_netcdf(str(aside), engine=engine)
        except ImportError as error:  # xarray imports further packages when writing, and may need newer ones
            raise _missing(f"{type(error).__name__}: {error}") from error
        else:
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)
    return path


def _netcdf_writer() -> str:
    """Name, for xarray, of the package that writes netCDF; a MissingExtraError if there is none."""
    for names in (("h5netcdf", "h5py"), ("netCDF4",)):
        try:
            for name in names:
                importlib.import_module(name)
        except ImportError:
            continue
        return names[0].lower()
    raise _missing("no package that writes it")


def _missing(found: str) -> MissingExtraError:
    return MissingExtraError("h5netcdf h5py", found, "installed, to write .nc", "pip install h5netcdf h5py.")


def new_folder(path: Path) -> None:
    """Make a folder; raises a ParameterError if it exists and isn't empty."""
    with refusals(path, "make a folder"):
        path.mkdir(parents=True, exist_ok=True)
        there = sorted(entry.name for entry in path.iterdir())
    if there:
        raise ParameterError(
            "out", str(path), f"a new or an empty folder; it holds {there[0]}", "Choose one."
        )


def _write(file: IO[bytes], pieces: Iterator[str]) -> None:
    for piece in pieces:
        file.write(piece.encode("utf-8", "backslashreplace"))


def _numbers(row: npt.NDArray[Any]) -> str:
    if row.dtype.kind == "f":
        return "[" + ",".join(f"{value:.{_DIGITS}g}" for value in row.tolist()) + "]"
    return json.dumps(row.tolist(), separators=(",", ":"))


def _rows(matrix: Iterable[npt.NDArray[np.float64]]) -> Iterator[str]:
    yield "["
    for number, row in enumerate(matrix):
        yield (",\n" if number else "\n") + _numbers(row)
    yield "]"


def _json(topics: Components, n_terms: int) -> Iterator[str]:
    facts = {"of": topics.source, "n_topics": len(topics), "n_documents": topics.data.n_documents}
    yield json.dumps(facts, ensure_ascii=False)[:-1]
    grouped = topics.usual_groups
    if grouped is not None:
        table: dict[str, Any] = grouped.table(min(n_terms, 10))
        table |= {"group": table["group"].tolist(), "topics": grouped.members}
        table["share"] = [_short(share) for share in table["share"]]
        yield ', "groups": ' + json.dumps(rows_of(table), ensure_ascii=False)
    names = topics.titles
    yield ', "topics": ['
    for k, top, probability in topics.top_terms(n_terms):
        topic: dict[str, Any] = {"topic": k + 1, "share": _short(topics.shares[k])}
        if grouped is not None:
            topic["group"] = int(grouped.of[k]) + 1
        topic["label"] = names[k]
        topic["share_interval"] = [_short(topics.shares_lower[k]), _short(topics.shares_upper[k])]
        topic["occurrence"] = _short(topics.occurrence[k])
        topic["terms"] = [
            {"term": word, "probability": _short(value)}
            for word, value in zip(topics.words(top), probability.tolist(), strict=True)
        ]
        ends = (end[top] for end in topics.ends_of(k))
        for one, low, high in zip(topic["terms"], *ends, strict=True):
            one["interval"] = [_short(low), _short(high)]
        yield (",\n" if k else "\n") + json.dumps(topic, ensure_ascii=False, allow_nan=False)
    yield '],\n"documents": ['
    separator = "\n"
    for block in topics.documents():
        for name, length, row in zip(block.names, block.lengths.tolist(), block.shares, strict=True):
            head = json.dumps({"document": name, "tokens": length}, ensure_ascii=False)[:-1]
            shares = f', "shares": {_numbers(row[:-1])}, "other": {_short(row[-1])}}}'
            yield separator + head + shares
            separator = ",\n"
    yield "]}\n"


def _short(value: Any) -> float:
    return float(f"{float(value):.{_DIGITS}g}")


def _pyldavis(topics: Components) -> Iterator[str]:
    """The arguments of ``pyLDAvis.prepare``: shares that sum to one, documents that have tokens."""
    if len(topics) == 0:
        raise DataError("topics", 0, "at least one", "The run has none yet.")
    lengths: list[int] = []

    def shares() -> Iterator[npt.NDArray[np.float64]]:
        for block in topics.documents():
            there = block.lengths > 0
            lengths.extend(block.lengths[there].tolist())
            rows = block.shares[there, :-1]
            total = rows.sum(axis=1, keepdims=True)
            yield from np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / len(topics))

    vocabulary = [str(word) for word in topics.words(range(topics.data.n_terms))]
    yield '{"topic_term_dists": '
    yield from _rows(row / row.sum() for _, rows in topics.blocks() for row in rows)
    yield ',\n"doc_topic_dists": '
    yield from _rows(shares())
    yield f',\n"doc_lengths": {_numbers(np.array(lengths, dtype=np.int64))}'
    yield f',\n"vocab": {json.dumps(vocabulary, ensure_ascii=False)}'
    yield f',\n"term_frequency": {_numbers(topics.term_counts)}}}\n'
