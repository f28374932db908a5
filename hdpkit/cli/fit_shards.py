"""``hdpkit fit --shards``: topics of a corpus in shards, on one machine, with MPI or on a Dask cluster."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from hdpkit import shards
from hdpkit.cli.output import json_text, say, shown_path
from hdpkit.cli.priors import base_measure_of, concentrations_of, restaurants_of
from hdpkit.data import ShardedCorpus
from hdpkit.errors import MissingExtraError, ParameterError
from hdpkit.formats.writing import write_aside
from hdpkit.franchise import FixedWeights
from hdpkit.moves import BaseMeasureParameters, Concentration, Move, RootWeights, SliceGibbs
from hdpkit.record.chain_folder import holding

__all__ = ["CARRIERS", "fit_shards"]

CARRIERS = "auto|local|mpi|tcp://HOST:PORT"
SERVING = frozenset(
    {
        *("corpus", "out", "eta", "document_concentration", "root_concentration", "topics", "moves"),
        *("threads", "sweeps", "init", "seed", "checkpoint_sweeps", "terms", "quiet", "shards", "carrier"),
        *("root", "store", "config", "spool", "patience"),
    }
)
"""Options of ``hdpkit fit`` that apply to a run over shards."""

LAUNCHERS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
"""Environment variables that MPI launchers set for their processes."""


def fit_shards(corpus: Path, options: dict[str, Any]) -> None:
    """Run a chain over a corpus in shards.

    Parameters
    ----------
    corpus : Path
        A folder of ``hdpkit convert --shards``.
    options : dict
        Options of ``hdpkit fit``.
    """
    _check_options(options)
    carrier = _carrier(options["carrier"], options["patience"])
    try:
        with ExitStack() as stack:  # the run ends before the last files are written
            source = ShardedCorpus.open(corpus)
            carrier.lead(partial(stack.enter_context, holding(options["out"])))
            _fit(source, carrier, options)
    except BaseException:
        carrier.give_up()
        raise


def _fit(source: ShardedCorpus, carrier: shards.Carrier, options: dict[str, Any]) -> None:
    quiet = options["quiet"] or not carrier.leads
    if not quiet:
        sizes = f"{source.n_documents:,} documents, {source.n_tokens:,} tokens, {source.n_terms:,} terms"
        say(f"{sizes}, {source.n_shards:,} shards, {carrier}", err=True)

    def progress(sweep: int, numbers: dict[str, Any]) -> None:
        if not quiet:
            likelihood = f"log likelihood {numbers['log_likelihood']:,.0f}"
            say(f"sweep {sweep}: {numbers['n_dishes']} topics, {likelihood}", err=True)

    finite = options["topics"]
    run = shards.run(
        restaurants_of(base_measure_of(options), options),
        source,
        options["moves"] or _moves(options),
        sweeps=options["sweeps"],
        rng=options["seed"],
        carrier=carrier,
        init=options["init"],
        root="weights" if finite is None else FixedWeights(finite),
        threads=options["threads"],
        spool=options["spool"],
        folder=options["out"],
        checkpoint=options["checkpoint_sweeps"] or 10,
        progress=progress,
    )
    run.write_document_counts(options["out"] / "documents")
    counts = run.dish_counts()
    if counts is not None:
        _show(counts, source, options)


def _check_options(options: dict[str, Any]) -> None:
    """Raise an error for options that don't apply to a run over shards."""
    context = click.get_current_context()
    for name in options:
        given = context.get_parameter_source(name)
        if name not in SERVING and given not in (None, click.core.ParameterSource.DEFAULT):
            raise ParameterError(
                name.replace("_", "-"), options[name], "left out with --shards",
                "A run over shards is one chain of a topic model over documents, and keeps its last state.",
            )  # fmt: skip


def _carrier(name: str, patience: float | None) -> shards.Carrier:
    """The carrier with this name; "auto" is MPI if an MPI launcher has started this process."""
    if name == "auto":
        name = "mpi" if any(variable in os.environ for variable in LAUNCHERS) else "local"
    if name == "local":
        return shards.Local()
    if name == "mpi":
        return shards.MPI(patience=patience)
    if "://" not in name:
        raise ParameterError("carrier", name, CARRIERS, "Give the address of a scheduler of Dask.")
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError(
            "carrier", name, "with distributed installed", 'pip install "hdpkit[dask]"'
        ) from error
    return shards.Dask(Client(name), patience=patience)


def _moves(options: dict[str, Any]) -> list[Move]:
    """The moves: documents, then all hyperparameters with a prior."""
    moves: list[Move] = [SliceGibbs()]
    if options["topics"] is None:
        moves.append(RootWeights())
    if any(not isinstance(one, int | float) for one in concentrations_of(options)):
        moves.append(Concentration())
    if base_measure_of(options).priors:
        moves.append(BaseMeasureParameters())
    return moves


def _show(counts: np.ndarray[Any, Any], source: ShardedCorpus, options: dict[str, Any]) -> None:
    """Write topics.json: topics with their shares and top terms, the largest first; print them."""
    sizes = counts.sum(axis=1)
    words = source.vocabulary or tuple(map(str, range(source.n_terms)))
    topics: list[dict[str, Any]] = [
        {
            "topic": int(k),
            "share": float(sizes[k] / sizes.sum()),
            "terms": [
                {"term": words[v], "count": int(counts[k, v])}
                for v in np.argsort(-counts[k], kind="stable")[: options["terms"]].tolist()
                if counts[k, v] > 0
            ],
        }
        for k in np.argsort(-sizes, kind="stable").tolist()
    ]
    path = options["out"] / "topics.json"
    with write_aside(path, path.with_name(path.name + ".tmp")) as file:
        file.write(json_text(topics, indent=1).encode())
    if not options["quiet"]:
        for one in topics:
            say(f"{one['share']:6.1%}  {' '.join(each['term'] for each in one['terms'])}")
        say(f"{len(topics)} topics in {shown_path(path)}", err=True)
