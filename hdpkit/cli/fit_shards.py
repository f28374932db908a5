"""``hdpkit fit --shards``: topics of a corpus in shards, on one machine, with MPI or on a Dask cluster."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click

from hdpkit import shards
from hdpkit.cli.backends import backend_of, ended_together
from hdpkit.cli.folders import held_for_a_run
from hdpkit.cli.kind import named
from hdpkit.cli.output import say
from hdpkit.cli.runs import carry_out
from hdpkit.data import ShardedCorpus
from hdpkit.data.files.corpora import ReadingSettings
from hdpkit.errors import ParameterError, RunError, short_repr
from hdpkit.files import to_json
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.kinds.kind import FiniteOrNot
from hdpkit.kinds.topics import Topics, topic_updates
from hdpkit.moves import RootWeights, SliceGibbs
from hdpkit.run.collect import Checkpoint
from hdpkit.run.describe import describe, described_franchise
from hdpkit.run.run_folder import RUN, RunFolder, holding
from hdpkit.run.runs import Scheduler, open_run

SERVING = frozenset(
    {
        *(field.name for field in attrs.fields(FiniteOrNot)),
        *("corpus", "out", "eta", "moves"),
        *("threads", "sweeps", "init", "seed", "checkpoint_sweeps", "terms", "quiet", "shards", "backend"),
        *("root", "store", "config", "spool", "patience", "bursty", "burst_concentration", "purpose"),
    }
)
"""Options of ``hdpkit fit`` that apply to a run over shards."""


def fit_shards(corpus: Path, model: Topics, options: dict[str, Any]) -> None:
    """Run a chain over a corpus in shards."""
    _check_options(options)
    backend, out = backend_of(options["backend"], options["patience"]), options["out"]
    with ended_together(backend), ExitStack() as stack:
        source = ShardedCorpus.open(corpus)
        if backend.leads:
            sizes = f"{source.n_documents:,} documents, {source.n_tokens:,} tokens, {source.n_terms:,} terms"
            if not options["quiet"]:
                say(f"{sizes}, {source.n_shards:,} shards, {backend}", err=True)
        backend.lead(partial(_hold, stack, out))
        if backend.leads:
            carry_out(partial(_fit, source, backend, model, options), out, options["terms"], options["quiet"])
        else:
            _fit(source, backend, model, options, None)


def _hold(stack: ExitStack, folder: Path) -> None:
    """Hold the folder of a run, which may be there already."""
    if (folder / RUN).exists():
        stack.enter_context(holding(folder))
    else:
        reading = ReadingSettings(format="shards")
        stack.enter_context(held_for_a_run(folder, {"reading": reading.as_data()}))


def _fit(
    source: ShardedCorpus, backend: shards.Backend, model: Topics, options: dict[str, Any], progress: Any
) -> Any:
    """Begin the run, or go on with it if the folder has one of the same command."""
    finite, restaurant = model.n_components, named(Topics, lambda: model.declare(source))
    weights = [] if finite is not None else [RootWeights()]
    scheduler = Scheduler(
        options["moves"] or [SliceGibbs(), *weights, *topic_updates(restaurant)], options["threads"]
    )
    franchise = shards.ShardedFranchise(
        restaurant, source, root="weights" if finite is None else FixedWeights(finite), spool=options["spool"]
    )
    checkpoint = Checkpoint(sweeps=options["checkpoint_sweeps"] or 10)
    out, sweeps, seed = options["out"], options["sweeps"], options["seed"]
    if not backend.lead(lambda: (out / RUN).exists()):
        return scheduler.run(
            franchise, sweeps, seed, options["init"], folder=out, checkpoint=checkpoint, progress=progress,
            backend=backend, on_interrupt="raise",
        )  # fmt: skip
    backend.lead(partial(_check_same, RunFolder.open(out), franchise, scheduler, seed))
    there = open_run(out)
    left = sweeps - backend.lead(lambda: there.sweeps[0] or 0)
    if left < 1:
        return there.trace
    return there.resume(
        left, franchise=franchise, checkpoint=checkpoint, progress=progress, backend=backend,
        on_interrupt="raise",
    )  # fmt: skip


def _check_same(
    files: RunFolder, franchise: shards.ShardedFranchise, scheduler: Scheduler, seed: int
) -> None:
    """Raise a RunError unless the folder is that of a run with these arguments; threads may differ."""
    declared, moves = files.declared()
    given = described_franchise(franchise.declared())
    now = [describe(move, "moves") for move in scheduler.moves]
    digest = franchise.corpus.digest
    for name, kept, own, shown in (
        ("corpus", files.corpus_in_shards, digest, digest),
        ("root", declared["root"], given["root"], franchise.root),
        ("restaurant", declared, given, franchise.restaurant),
        ("moves", *map(_without_threads, (moves, now)), scheduler.moves),
        ("rng, the seed", files.settings.seed, seed, seed),
    ):
        if to_json(kept) != to_json(own):
            raise RunError(
                f"{name}, in {files.path}", short_repr(kept), f"the argument given now, {shown}",
                "Give the arguments that the run began with, or another folder.",
            )  # fmt: skip


def _without_threads(described: Any) -> Any:
    if isinstance(described, dict):
        return {key: _without_threads(one) for key, one in described.items() if key != "threads"}
    return [_without_threads(one) for one in described] if isinstance(described, list) else described


def _check_options(options: dict[str, Any]) -> None:
    """Raise an error for options that don't apply to a run over shards."""
    context = click.get_current_context()
    for name in options:
        given = context.get_parameter_source(name)
        if name not in SERVING and given not in (None, click.core.ParameterSource.DEFAULT):
            raise ParameterError(
                name.replace("_", "-"), options[name], "left out with --shards",
                "A run over shards is one chain of a topic model over documents, and keeps no samples.",
            )  # fmt: skip
