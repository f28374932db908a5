"""``hdpkit fit --shards``: topics of a corpus in shards, on one machine, with MPI or on a Dask cluster."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from hdpkit import shards
from hdpkit.cli.backends import backend_of, ended_together
from hdpkit.cli.folders import held_for_a_run
from hdpkit.cli.kind import named
from hdpkit.cli.output import say
from hdpkit.cli.runs import carry_out
from hdpkit.data import ShardedCorpus
from hdpkit.data.files.corpora import ReadingSettings
from hdpkit.errors import ParameterError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.kinds.topics import Topics, topic_updates
from hdpkit.moves import RootWeights, SliceGibbs
from hdpkit.run.run_folder import RUN, holding
from hdpkit.run.trace import Trace

SERVING = frozenset(
    {
        *("corpus", "out", "eta", "concentration", "root_concentration", "n_components", "moves"),
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
            carry_out(
                lambda _: _fit(source, backend, model, options), out, options["terms"], options["quiet"]
            )
        else:
            _fit(source, backend, model, options)


def _hold(stack: ExitStack, folder: Path) -> None:
    """Hold the folder of a run, which may be there already."""
    if (folder / RUN).exists():
        stack.enter_context(holding(folder))
    else:
        reading = ReadingSettings(format="shards")
        stack.enter_context(held_for_a_run(folder, {"reading": reading.as_data()}))


def _fit(source: ShardedCorpus, backend: shards.Backend, model: Topics, options: dict[str, Any]) -> Trace:
    quiet = options["quiet"] or not backend.leads

    def progress(sweep: int, numbers: dict[str, Any]) -> None:
        if not quiet:
            likelihood = f"log likelihood {numbers['log_likelihood']:,.0f}"
            say(f"sweep {sweep}: {numbers['n_dishes']} topics, {likelihood}", err=True)

    finite, restaurant = model.n_components, named(Topics, lambda: model.declare(source))
    weights = [] if finite is not None else [RootWeights()]
    run = shards.run(
        restaurant,
        source,
        options["moves"] or [SliceGibbs(), *weights, *topic_updates(restaurant)],
        sweeps=options["sweeps"],
        rng=options["seed"],
        backend=backend,
        init=options["init"],
        root="weights" if finite is None else FixedWeights(finite),
        threads=options["threads"],
        spool=options["spool"],
        folder=options["out"],
        checkpoint=options["checkpoint_sweeps"] or 10,
        progress=progress,
    )
    return run.trace


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
