"""A franchise over a corpus in shards, as users declare it and read its state."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import path as path_of
from hdpkit.errors import ParameterError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.moves import Move
from hdpkit.run.shards.chain import ShardedChain, Spread, added
from hdpkit.run.shards.job import check_declared, differs
from hdpkit.run.shards.shard_state import whole_state
from hdpkit.run.shards.source import Source
from hdpkit.run.sweeps import Chain, Divided


class ShardedFranchise(Spread, Divided):
    """Documents below a root, over a corpus in shards.

    `hdpkit.Scheduler.run` spreads the shards over the workers of a backend. Its chain is bit for bit that
    over the entire corpus with the same moves, seed and initial state, for any backend and any numbers of
    workers and threads. The moves are over documents or over totals (`Move.over`), in any order:
    `moves.SliceGibbs`, `moves.CountGibbs`, `moves.RootWeights`, `moves.Concentration`,
    `moves.BaseMeasureParameters`, over `Bursty` `moves.Discount`, and your own. A run starts with "auto"
    (`hdpkit.init.TermClusters` of the first million tokens), ``TermClusters`` or ``Random``, which draw the
    dishes of a document from its own stream and give each dish one table there, or with a state of
    `Franchise.freeze` with distinguished customers (`Franchise.expand_cells`). It takes no ``chains``,
    ``samples`` and ``audit_every``.

    On MPI every process has this object, and all must call its methods; they return their results only at
    rank 0, and None elsewhere.

    Parameters
    ----------
    restaurant : Restaurant
        Documents below a root: ``hk.Restaurant(root, each="document", ...)``, with one concentration, over a
        `DirichletMultinomial`, or a `Bursty` around one.
    corpus : ShardedCorpus or CutCorpus
        A corpus in shards: ``hk.ShardedCorpus.open(folder)``, or the result of `hdpkit.shards.cut`.
    root : str or FixedWeights
        "weights", or ``hk.FixedWeights(K)``.
    spool : path, optional
        Folder on a local disk where each worker keeps the terms and documents of its tokens in a file without
        a name, 8 bytes a token. By default they are in memory. The topics of tokens, 4 bytes each, are always
        in memory.

    Attributes
    ----------
    sweep : int
        Number of sweeps since the start of the chain.

    Raises
    ------
    ParameterError
        If these can't be the declarations of a run over shards.
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
        super().__init__(restaurant, corpus, root, place)

    def __repr__(self) -> str:
        where = "" if self._backend is None else f", {self._backend}"
        return f"<ShardedFranchise: {self.sweep} sweeps over {len(self.corpus.shards)} shards{where}>"

    def chain(self, moves: Sequence[Move], backend: Any) -> Chain:
        """The chain of these moves over it; called by a run."""
        return ShardedChain(self, moves, backend)

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
