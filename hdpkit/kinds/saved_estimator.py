"""A fitted estimator as a run folder: its parameters in a file (and a text counter), chains as in a run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from hdpkit.allowed import Allowed
from hdpkit.checks import absolute_path, items
from hdpkit.data.files.corpora import ReadingSettings
from hdpkit.data.files.records import Layout
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.errors import CorruptRunError, RunError
from hdpkit.files import pack, reading, unpack
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.starts import Factors, Random, TermClusters
from hdpkit.kinds.kept_columns import KeptColumns
from hdpkit.moves import Move
from hdpkit.posterior.topic_labels import LABELS, read_topic_labels, write_topic_labels
from hdpkit.run.chain_trace import ChainTrace
from hdpkit.run.collect import Plan
from hdpkit.run.describe import describe, rebuild
from hdpkit.run.run_folder import (
    ESTIMATOR,
    READING,
    RUN,
    ChainFolder,
    ChainWriter,
    RunFolder,
    holding,
    kept,
)
from hdpkit.run.runs import begin_folder, open_run
from hdpkit.run.samples import Samples
from hdpkit.run.trace import Trace

_PLACES = {
    "eta": "part of a base measure",
    "smoothing": "part of a base measure",
    "selection": "part of a base measure",
    "bursty": "hyperparameter",
    "concentration": "hyperparameter",
    "root_concentration": "hyperparameter",
    "start_concentration": "hyperparameter",
    "store": "store",
    "known": "known components",
    "emission": "base measure",
    "measure": "base measure",
    "sticky": "hyperparameter",
    "init": "start",
    "schedule": "move",
}
_WRITERS = {
    "topics": "TopicModel.save",
    "states": "HiddenMarkovModel.save",
    "components": "MixtureModel.save",
}
_OF_THE_PROCESS = ("progress", "text", "random_state", "samples")


@attrs.frozen
class SavedModel:
    """The content of a model's folder: arguments, fitted attributes, chains."""

    parameters: dict[str, Any]
    attributes: dict[str, Any]
    franchises: list[Franchise]
    trace: Trace | ChainTrace


def save(model: Any, folder: str | os.PathLike[str], moves: Sequence[Move]) -> None:
    """Write a fitted model; see `SampledModel.save`."""
    path = absolute_path("folder", folder, remedy="Name a new folder.")
    parameters = model.get_params(deep=False)
    text, counter = parameters.get("text"), getattr(model, "counter_", None)
    seed, samples = parameters["random_state"], parameters["samples"]
    tree = {
        "kind": model._kind,
        "parameters": {
            name: describe(value, name) for name, value in parameters.items() if name not in _OF_THE_PROCESS
        },
        "samples": attrs.asdict(samples) if isinstance(samples, Samples) else samples,
        "random_state": seed if isinstance(seed, int) else None,
        "text": text.as_data() if isinstance(text, TextOptions) else None,
        "counter": None if counter is None else counter.as_data(),
        "n_features": int(model.n_features_in_),
        "columns": attrs.asdict(model._columns) if model._columns is not None else None,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
    }
    packed = pack(tree, "model")
    traces = model.trace_.chains if isinstance(model.trace_, ChainTrace) else [model.trace_]
    with ExitStack() as beside:
        beside.enter_context(holding(path))
        beside.enter_context(kept(path, ESTIMATOR, packed))
        if counter is not None:  # used by `hdpkit infer` to count new texts
            read = ReadingSettings(format="csv", layout=Layout(), counter=counter)
            beside.enter_context(kept(path, READING, read.as_data()))
        _write_run(path, model, moves, traces)
    if getattr(model, "_label_rows", ()):
        write_topic_labels(path / LABELS, model._label_rows)


def _write_run(path: Path, model: Any, moves: Sequence[Move], traces: Sequence[Trace]) -> None:
    """Write the run: the traces and the current states of its chains."""
    franchises = model.franchises_
    streams, target = franchises[0].streams, max(one.sweep for one in franchises)
    init = model.init if isinstance(model.init, str | Random | TermClusters | Factors) else "sequential"
    chains = len(franchises) if len(franchises) > 1 else None
    written = list[ChainFolder]()
    try:
        with begin_folder(path, moves, franchises[0], target, streams, init, Plan(), chains) as job:
            for number, (franchise, trace) in enumerate(zip(franchises, traces, strict=True)):
                written.append(job.folder.chain(number))
                with closing(
                    ChainWriter(written[-1], streams.seed, franchise.streams.chain, target)
                ) as writer:
                    for sample in trace.samples:
                        writer.keep(sample)
                    writer.trace = trace
                    writer.checkpoint(franchise.freeze())
    except BaseException:  # chains without a state would begin again, and be other ones
        (path / RUN).unlink(missing_ok=True)
        for chain in written:
            shutil.rmtree(chain.path, ignore_errors=True)
        raise


def load(folder: str | os.PathLike[str], allow: Iterable[Any], kind: str | None = None) -> SavedModel:
    """Read a folder written by `save`; see `SampledModel.load`. None: a model of any kind."""
    path = absolute_path("folder", folder, remedy="What was given to save.")
    several, remedy = isinstance(allow, Iterable) and not isinstance(allow, str), 'allow=["my_module"].'
    allowed = items("allow", allow, "a list of names", remedy=remedy) if several else allow
    allowed_imports = Allowed(allowed)
    file = path / ESTIMATOR
    payload = RunFolder.open(path).read(ESTIMATOR)
    if payload is None:
        wrote = _WRITERS.get(kind or "", "a model")
        raise RunError("folder", str(path), f"one that {wrote} wrote", "hk.open_run opens any run folder.")
    tree = unpack(payload, str(file))
    with reading(file):
        if kind not in (None, tree["kind"]):
            raise RunError(
                "folder", str(path), f"that of a model of the kind {kind!r}",
                f"It holds a model of the kind {tree['kind']!r}.",
            )  # fmt: skip
        parameters = {
            str(name): _rebuilt(value, allowed_imports, _PLACES.get(name, "number"))
            for name, value in tree["parameters"].items()
        }
        parameters["random_state"], samples = tree["random_state"], tree["samples"]
        parameters["samples"] = Samples(**samples) if isinstance(samples, dict) else samples
        if tree["text"] is not None:
            parameters["text"] = _options(tree["text"], allowed_imports)
        counter = tree["counter"]
        names = [str(name) for name in tree["feature_names"]]
        attributes: dict[str, Any] = {"n_features_in_": int(tree["n_features"])}
        if tree.get("columns") is not None:
            attributes["_columns"] = KeptColumns(**tree["columns"])
        if tree["kind"] == "topics":
            attributes["counter_"] = (
                None if counter is None else TextCounter.from_data(counter, allowed, where=str(file))
            )
    run = open_run(path, allowed)
    franchises = run.franchises()
    data: Any = franchises[0].data
    topics = tree["kind"] == "topics"
    width = getattr(data, "n_terms", None) if topics else int(np.prod(data.values.shape[1:], dtype=np.int64))
    unit = "terms" if topics else "columns"
    columns = attributes.get("_columns")
    if width != (attributes["n_features_in_"] if columns is None else len(columns.kept)):
        raise CorruptRunError(
            str(file), attributes["n_features_in_"], f"a model over {width} {unit}",
            "Files of several folders were mixed: restore copies of them.",
        )  # fmt: skip
    if topics:
        attributes["terms_"] = data.vocabulary
    if topics and os.path.lexists(path / LABELS):
        attributes["_label_rows"] = read_topic_labels(path / LABELS, data.n_terms)
    if names:
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return SavedModel(parameters, attributes, franchises, run.trace)


def _rebuilt(value: Any, allowed_imports: Allowed, place: str) -> Any:
    if value is None or (place in ("store", "start", "base measure") and isinstance(value, str)):
        return value
    if place == "move" and isinstance(value, list | tuple):
        return [rebuild(one, allowed_imports, place) for one in value]
    return rebuild(value, allowed_imports, place)


def _options(data: Any, allowed_imports: Allowed) -> TextOptions:
    given = dict(data)
    if given.get("tokenizer") is not None:
        given["tokenizer"] = allowed_imports.function(given["tokenizer"])
    return TextOptions(**given)
