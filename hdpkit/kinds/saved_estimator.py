"""A fitted estimator as a run folder: its kind and parameters in run.json, chains as in a run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from hdpkit.allowed import Allowed
from hdpkit.checks import absolute_path, items
from hdpkit.errors import CorruptRunError, RunError
from hdpkit.files import reading
from hdpkit.franchise.starts import Factors, Random, TermClusters
from hdpkit.kinds.catalog import kind_of
from hdpkit.moves import Move
from hdpkit.run.collect import Plan
from hdpkit.run.describe import describe, rebuild
from hdpkit.run.run_folder import RUN, ChainFolder, ChainWriter, holding
from hdpkit.run.runs import Run, begin_folder, open_run
from hdpkit.run.samples import Samples
from hdpkit.run.sweeps import OneProcess

_PLACES = {"init": "start", "schedule": "move"}
_OF_THE_PROCESS = ("progress", "random_state", "samples")


def save(model: Any, folder: str | os.PathLike[str], moves: Sequence[Move]) -> None:
    """Write a fitted model; see `Estimator.save`."""
    path = absolute_path("folder", folder, remedy="Name a new folder.")
    parameters = model.get_params(deep=False)
    settings = {one.name: one for one in model.kind.settings()}
    seed, samples = parameters["random_state"], parameters["samples"]
    tree = {
        "parameters": {
            name: settings[name].values.kept(name, value) if name in settings else describe(value, name)
            for name, value in parameters.items()
            if name not in _OF_THE_PROCESS
        },
        "samples": attrs.asdict(samples) if isinstance(samples, Samples) else samples,
        "random_state": seed if isinstance(seed, int) else None,
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
    }
    kind = model.kind_
    with holding(path, {"estimator": tree, "model": kind.as_data(), **kind.about(model)}):
        _write_run(path, model, moves)
    kind.keep_beside(model, path)


def _write_run(path: Path, model: Any, moves: Sequence[Move]) -> None:
    """Write the run: the traces and the current states of its chains."""
    franchises, traces = model.franchises_, getattr(model.trace_, "chains", [model.trace_])
    streams, target = franchises[0].streams, max(one.sweep for one in franchises)
    init = model.init if isinstance(model.init, str | Random | TermClusters | Factors) else "sequential"
    chains = len(franchises) if len(franchises) > 1 else None
    written = list[ChainFolder]()
    try:
        run = OneProcess(moves, franchises[0])
        run.streams = streams
        with begin_folder(path, run, target, init, Plan(), chains) as folder:
            for number, (franchise, trace) in enumerate(zip(franchises, traces, strict=True)):
                written.append(folder.chain(number))
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


def load(cls: Any, folder: str | os.PathLike[str], allow: Iterable[Any]) -> Any:
    """A model of a class from a folder written by `save`, or by the command of its kind."""
    path = absolute_path("folder", folder, remedy="What was given to save.")
    several, remedy = isinstance(allow, Iterable) and not isinstance(allow, str), 'allow=["my_module"].'
    names = items("allow", allow, "a list of names", remedy=remedy) if several else allow
    run = open_run(path, names)
    allowed = run.allowed
    if "model" not in run.about:
        raise RunError(
            "folder", str(path), f"one of {cls.__name__}.save, or of the command of its kind",
            "hk.open_run opens any run folder.",
        )  # fmt: skip
    with reading(path / RUN):
        kind = kind_of(run.data, run.about, allowed)
        if type(kind) is not cls.kind:
            raise RunError(
                "folder", str(path), f"one of {cls.__name__}.save, or of the command of its kind",
                f"It holds a model of the kind {kind.name!r}.",
            )  # fmt: skip
        tree = run.about.get("estimator")
        model = _of_a_command(cls, kind, run) if tree is None else _saved(cls, kind, tree, allowed)
        if kind.width(run.data) != model.n_features_in_:
            raise CorruptRunError(
                str(path / RUN), model.n_features_in_, f"a model over {kind.width(run.data)} columns",
                "Files of several folders were mixed: restore copies of them.",
            )  # fmt: skip
        kind.restore(model, run, names)
    model._finish(run.franchises(), run.trace)
    return model


def _saved(cls: Any, kind: Any, tree: Any, allowed: Allowed) -> Any:
    """A model that was saved, before its fitted attributes."""
    settings = {one.name: one for one in cls.kind.settings()}
    parameters = {
        name: settings[name].values.back(value, allowed)
        if name in settings
        else _rebuilt(value, allowed, _PLACES.get(name, "number"))
        for name, value in tree["parameters"].items()
    }
    samples = tree["samples"]
    parameters["samples"] = Samples(**samples) if isinstance(samples, dict) else samples
    model = cls(**parameters, random_state=tree["random_state"])
    model.kind_, model.n_features_in_ = kind, int(tree["n_features"])
    columns = [str(name) for name in tree["feature_names"]]
    if columns:
        model.feature_names_in_ = np.array(columns, dtype=object)
    return model


def _of_a_command(cls: Any, kind: Any, run: Run) -> Any:
    """A model with the settings of a run that a command began."""
    settings = {one.name: getattr(kind, one.name) for one in cls.kind.settings() if one.of != "commands"}
    model = cls(**settings, chains=len(run.sweeps), random_state=run.trace.seed)
    model.kind_, model.n_features_in_ = kind, kind.width(run.data)
    return model


def _rebuilt(value: Any, allowed: Allowed, place: str) -> Any:
    if value is None or isinstance(value, str):
        return value
    if place == "move" and isinstance(value, list | tuple):
        return [rebuild(one, allowed, place) for one in value]
    return rebuild(value, allowed, place)
