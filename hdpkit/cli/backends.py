"""Where the workers of a run over shards run: in this process, as ranks of MPI, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from hdpkit import shards
from hdpkit.errors import MissingExtraError, ParameterError

BACKENDS = "auto|local|mpi|tcp://HOST:PORT"

LAUNCHERS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
"""Environment variables that MPI launchers set for their processes."""


def backend_of(name: str, patience: float | None = None) -> shards.Backend:
    """The backend with this name; "auto" is MPI if an MPI launcher has started this process."""
    if name == "auto":
        name = "mpi" if any(variable in os.environ for variable in LAUNCHERS) else "local"
    if name == "local":
        return shards.Local()
    if name == "mpi":
        return shards.MPI(patience=patience)
    if "://" not in name:
        raise ParameterError("backend", name, BACKENDS, "Give the address of a scheduler of Dask.")
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError(
            "backend", name, "with distributed installed", 'pip install "hdpkit[dask]"'
        ) from error
    return shards.Dask(Client(name), patience=patience)


@contextmanager
def ended_together(backend: shards.Backend | None) -> Iterator[None]:
    """End all processes of a run if this one ends the block with an error."""
    try:
        yield
    except BaseException:
        if backend is not None:
            backend.give_up()
        raise
