"""A franchise over a corpus in shards, as users declare it and read its state, and its chain."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._franchise_lock import HeldInterrupt
from hdpkit.checks import instance
from hdpkit.checks import path as path_of
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import Move
from hdpkit.moves.protocol import check_move
from hdpkit.random import Streams
from hdpkit.run.progress import Clock
from hdpkit.run.shards.backend import Backend, Local
from hdpkit.run.shards.files import (
    FromFolder,
    Stored,
    check_served,
    one_document,
    remove_others,
    seating_folder,
)
from hdpkit.run.shards.state import (
    ShardedJob,
    ShardedStart,
    Source,
    as_start,
    check_declared,
    check_moves,
    differs,
    whole_state,
)
from hdpkit.run.sweeps import Chain, Order
from hdpkit.run.trace import Draw


def added(counts: list[Any]) -> Any:
    """The sum of counts of terms by dish in some workers, sparse; None of those that leave them to others."""
    return sum((one for one in counts[1:] if one is not None), counts[0])


class ShardedFranchise:
    """Documents below a root, over a corpus in shards.

    `hdpkit.Scheduler.run` spreads the shards over the workers of a backend. Its chain is bit for bit that
    over the entire corpus with the same moves, seed and initial state, for any backend and any numbers of
    workers and threads. The moves are over documents or over totals (`Move.over`): `moves.SliceGibbs`,
    `moves.CountGibbs`, `moves.RootWeights`, `moves.Concentration`, `moves.BaseMeasureParameters`, over
    `Bursty` `moves.Discount`, and your own. A run starts with "auto" (`hdpkit.init.TermClusters` of the first
    million tokens), ``TermClusters`` or ``Random``, which draw the dishes of a document from its own stream
    and give each dish one table there, or with a state of `Franchise.freeze` with distinguished customers
    (`Franchise.expand_cells`). It takes no ``chains``, ``samples`` and ``audit_every``. On MPI every process
    has this object, and all must call its methods; they return their results only at rank 0, and None
    elsewhere.

    Raises a ParameterError if these can't be the declarations of a run over shards.

    Parameters
    ----------
    restaurant : Restaurant
        ``hk.Restaurant(root, each="document", ...)``, with one concentration, over a `DirichletMultinomial`,
        or a `Bursty` around one.
    corpus : ShardedCorpus or CutCorpus
        ``hk.ShardedCorpus.open(folder)``, or the result of `hdpkit.shards.cut`.
    root : str or FixedWeights
        "weights", or ``hk.FixedWeights(K)``.
    spool : path, optional
        Folder on a local disk where each worker keeps the terms and documents of its tokens in a file without
        a name, 8 bytes a token; by default in memory. Topics of tokens, 4 bytes each, are always in memory.

    Attributes
    ----------
    sweep : int
        Number of sweeps since the start of the chain.
    """

    def __init__(
        self,
        restaurant: Restaurant,
        corpus: Source,
        *,
        root: str | FixedWeights = "weights",
        spool: str | os.PathLike[str] | None = None,
    ) -> None:
        if not all(hasattr(corpus, name) for name in ("shards", "shard", "n_terms", "digest")):
            raise ParameterError(
                "corpus", corpus, "a corpus in shards",
                "hk.ShardedCorpus.open(folder), or shards.cut(corpus, n).",
            )  # fmt: skip
        place = None if spool is None else str(path_of("spool", spool, remedy="A folder on a local disk."))
        check_declared(restaurant, root)
        self.restaurant = restaurant
        self.corpus = corpus
        self.root = root
        self.spool = place
        self.sweep = 0
        self.streams: Streams | None = None
        self._backend: Backend | None = None
        self._whole = False  # whether the workers have the state after a complete sweep

    def __repr__(self) -> str:
        where = "" if self._backend is None else f", {self._backend}"
        return f"<ShardedFranchise: {self.sweep} sweeps over {len(self.corpus.shards)} shards{where}>"

    def declared(self) -> Franchise:
        """The same declarations over a single document."""
        franchise = Franchise(self.restaurant, one_document(self.corpus), store="counts", root=self.root)
        franchise.expand_cells()
        return franchise

    def _begin(self, backend: Backend, job: ShardedJob) -> None:
        """Give the workers their shards and the initial state."""
        self._whole = False
        self._backend = backend
        self.streams = job.streams()
        backend.scatter(job)
        self.sweep = int(job.start.common()["sweep"])
        self._whole = True

    def _swept(self) -> dict[str, Any]:
        """Run every move once in all workers; returns the numbers for a trace, except that of the sweep."""
        assert self._backend is not None
        self._whole = False
        numbers = self._backend.sweep()
        self.sweep = numbers.pop("sweep")
        self._whole = True
        return numbers

    def _gather(self, what: str, *arguments: Any) -> list[Any]:
        """Results of a method of all workers, in order; none unless this process leads."""
        if self._backend is None or not self._whole:
            raise StateError(
                "franchise", "without a state of all workers", "one whose last run ended without an error",
                "Run it, or open the folder of its run: hk.open_run(folder).",
            )  # fmt: skip
        self._whole = False
        found = self._backend.gather(what, *arguments)
        self._whole = True
        return found

    # ------------------------------------------------------------------ its state

    def freeze(self) -> dict[str, Any] | None:
        """The state as returned by `Franchise.freeze` for the entire corpus in one process."""
        found, commons = self._gather("states"), self._gather("common")
        if not found:
            return None
        assert self.streams is not None
        seatings = {i: own for part in found for i, own in part.items()}
        return whole_state(self.corpus, self.streams.seed, seatings, commons[0])

    def dish_counts(self) -> npt.NDArray[np.int64] | None:
        """Counts of each term in each dish: int64, shape (K, V)."""
        found = self._gather("dish_counts")
        counts: npt.NDArray[np.int64] | None = added(found).toarray() if found else None
        return counts

    def topic_counts(self) -> npt.NDArray[np.int64] | None:
        """Counts from which topics are learned: int64, shape (K, V); see `Franchise.topic_counts`."""
        if not differs(self.restaurant):
            return self.dish_counts()
        found = self._gather("observed")
        counts: npt.NDArray[np.int64] | None = found[0][0].toarray() if found else None
        return counts

    def document_counts(self) -> npt.NDArray[np.int64] | None:
        """Customers of each document and dish: int64 rows of document, dish (0 .. K-1) and customers."""
        found = self._gather("document_counts")
        if not found:
            return None
        by_shard = {number: own for part in found for number, own in part.items()}
        rows = [
            np.stack([own["document"].astype(np.int64) + info.first_document, own["dish"], own["customers"]])
            for info, own in ((self.corpus.shards[i], by_shard[i]) for i in sorted(by_shard))
        ]
        return np.concatenate(rows, axis=1).T


class ShardedChain(Chain):
    """The chain of a `ShardedFranchise` on the workers of a backend."""

    rescues = False  # another process may go on without the error

    def __init__(self, franchise: ShardedFranchise, moves: Sequence[Move], backend: Backend | None) -> None:
        n_tokens = sum(info.n_tokens for info in franchise.corpus.shards)
        super().__init__(moves, franchise, franchise.declared(), franchise.corpus, n_tokens)
        self.settings = {"spool": franchise.spool}
        self._backend = Local() if backend is None else backend
        remedy = "hdpkit.shards.Local(2), MPI(), Dask(client)."
        instance("backend", self._backend, Backend, "a backend", remedy=remedy)
        self._start: ShardedStart | None = None  # that was checked
        self._loaded: FromFolder
        self._frozen: Mapping[str, Any] | None = None  # the newest state whose shards are in files
        self._saved = 0  # sweep of the newest checkpoint
        self._log_joint = float("nan")  # after the last sweep

    def check(self, **options: Any) -> None:
        """Raise an error unless the moves can run over shards, and for options that need one process."""
        for name, value in options.items():
            if value is not None:
                raise ParameterError(
                    name, value, "left out for a run over shards",
                    "Its chain runs shard by shard, without it.",
                )  # fmt: skip
        check_moves(self.moves)
        for move in self.moves:
            check_move(move, self.declared)
        check_served(self.declared)

    def check_start(self, init: Any) -> None:
        """Raise an error unless the chain can start so."""
        if init is None:
            raise StateError(
                "init", None, "a start",
                "A run over shards goes on in its folder: hk.open_run(folder).resume().",
            )  # fmt: skip
        self._start = self._started(init)

    def lead(self, act: Callable[[], Any]) -> Any:
        """Call a function in the leading process; all get its result, or raise its error."""
        return self._backend.lead(act)

    def agreed(self, *wishes: bool) -> Sequence[bool]:
        """Which of these any process wishes."""
        return self._backend.agreed(wishes)

    def hold(self) -> AbstractContextManager[Callable[[], None]]:
        """Defer Ctrl-C to the end of a sweep, which workers can't undo; a second Ctrl-C isn't deferred."""
        return HeldInterrupt(once=True)

    # ------------------------------------------------------------------ its sweeps

    def draws(self, order: Order) -> Iterator[Draw]:
        """Yield a draw after every sweep; the leading process reports the progress."""
        franchise: Any = self.franchise
        start = self._loaded if order.init is None else self._start or self._started(order.init)
        job = ShardedJob(
            franchise.restaurant, franchise.corpus, tuple(self.moves), self.streams.seed, start,
            franchise.root, franchise.spool,
        )  # fmt: skip
        franchise._begin(self._backend, job)
        if order.begun is not None:
            order.begun()
        clock = Clock(order.progress if self._backend.leads else None, self.n_customers, order.sweeps, False)
        clock.begin()
        for left in range(order.sweeps, 0, -1):
            numbers = franchise._swept()
            self._log_joint = numbers["log_joint"]
            try:
                clock.swept(numbers, finished=left == 1)
            except BaseException:
                franchise._whole = False  # it isn't that at the end of the trace
                raise
            yield Draw(franchise.sweep, franchise, (), numbers)

    def _started(self, init: Any) -> ShardedStart:
        franchise, root = self.franchise, self.franchise.root
        most = root.n_dishes if isinstance(root, FixedWeights) else None
        own = differs(franchise.restaurant)
        bursts = franchise.restaurant.measure.starting_parameters if own else None
        return as_start(init, franchise.corpus, most, self.streams, bursts)

    # ------------------------------------------------------------------ its folder

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        """Begin with the state of a checkpoint, of which each worker reads its shards."""
        franchise, corpus = self.franchise, self.franchise.corpus
        stored = Stored.read(
            frozen, corpus.n_terms, len(corpus.shards), franchise.root == "weights", self.folder.path,
            differs(franchise.restaurant),
        )  # fmt: skip
        self._loaded = FromFolder.of(self.folder.path, stored)
        self._frozen = frozen
        franchise.sweep = stored.sweep

    def saved(self, sweep: int) -> None:
        """Remove the shards of all states but the two newest."""
        remove_others(self.folder.path, {self._saved, sweep})
        self._saved = sweep

    def state(self) -> Callable[[], Mapping[str, Any] | None]:
        """What writes the shards into files, and returns what all have in common."""
        return self._stored

    def _stored(self) -> Mapping[str, Any] | None:
        franchise = self.franchise
        if self._frozen is None or self._frozen["sweep"] != franchise.sweep:
            if not franchise._whole:
                return None
            written = franchise._gather("write", str(seating_folder(self.folder.path, franchise.sweep)))
            commons, counts = franchise._gather("common"), franchise._gather("dish_counts")
            observed = franchise._gather("observed") if differs(franchise.restaurant) else []
            self._frozen = {"sweep": franchise.sweep}
            if self._backend.leads:
                shards = {i: one for part in written for i, one in part.items()}
                stored = Stored.of(commons[0], added(counts), self._log_joint, shards, *observed[:1])
                self._frozen = stored.frozen()
        return self._frozen
