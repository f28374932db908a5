"""Moves over documents, which run on one process, threads, MPI and Dask alike."""

from __future__ import annotations

import abc
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import refuse
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.whole_corpus import Changes
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.moves.protocol import (
    BLOCKS,
    NO_ROOT_DISCOUNT,
    Move,
    MoveInfo,
    Requirement,
    checked_info,
    kernel_of,
)
from hdpkit.random import ChoiceSource


@attrs.frozen(eq=False)
class Common:
    """What all documents have in common while a move over documents runs; read only.

    Attributes
    ----------
    topics : float64 array, shape (K, V)
        Topics of the dishes that tokens may take, drawn given the state; rows sum to 1, but in the further
        chains of `hdpkit.moves.ReplicaExchange`, where they are powers of topics. Some of these dishes may
        have no tokens yet.
    weights : float64 array, shape (K,)
        Weights of these dishes in the root; the sum is below 1, because there are other dishes.
    """

    topics: Floats
    weights: Floats


@attrs.define(eq=False)
class Document:
    """A document, as a move over documents gets it.

    Attributes
    ----------
    number : int
        Number of the document in the corpus, from 0.
    terms : int array, shape (n,)
        Terms of its tokens, read only. Tokens that can't take any of the dishes of `Common` are left out;
        they keep their dishes.
    dishes : int array, shape (n,)
        Dish of each token, a row of ``Common.topics``. The move assigns to it.
    concentration : float
        Concentration of the document.
    rng : ChoiceSource
        The document's own stream, which depends on the seed, the place in the schedule, the sweep and the
        number of the document.
    """

    number: int
    terms: npt.NDArray[np.int32]
    dishes: Int64s
    concentration: float
    rng: ChoiceSource


class OverDocuments(Move):
    """A move with ``over = "documents"``: `begin` in every worker, `sweep` over its documents, then the sum.

    Its `apply` does the same over all documents in one process.
    """

    over = "documents"
    serves = BLOCKS[1:]
    continuous = True
    updates = ("seating", "root weights")

    @abc.abstractmethod
    def begin(self, state: Franchise, rng: ChoiceSource) -> None:
        """Draw what all documents have in common; every worker has the same ``rng`` and gets the same result.

        Parameters
        ----------
        state : Franchise
            With the documents of some shards.
        rng : ChoiceSource
        """

    @abc.abstractmethod
    def sweep(self, state: Franchise, n_blocks: int) -> tuple[MoveInfo, Changes]:
        """Run over the documents of some shards; called when `begin` has ended in all workers.

        Parameters
        ----------
        state : Franchise
        n_blocks : int
            Number of blocks of terms in which changes of counts are returned; 0: they are requested later.

        Returns
        -------
        info : MoveInfo
        changes : Changes
            Changes outside the documents, which are carried out when those of all workers are added up.
        """

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run over all documents."""
        if steps == (0, 0):
            return MoveInfo()
        with state.lock():
            self.begin(state, rng)
            info, changes = self.sweep(state, 1)
            DocumentSweeps.of(state).end(changes)
        return info


class ByDocument(OverDocuments):
    """Base class of your own moves over documents: define `document`.

    Documents are independent given topics and root weights, so topics are drawn first, from their posterior
    given the state. A move that leaves the law of each document's dishes given topics and weights invariant
    leaves the posterior invariant: with n_k tokens of dish k in the document, concentration alpha and weights
    psi, this law is proportional to

        prod_i topics[z_i, x_i]  prod_k alpha psi_k (alpha psi_k + 1) ... (alpha psi_k + n_k - 1)

    Afterwards tables are drawn given the dishes. The dishes that tokens may take are those with root weights
    of at least 1 / (256 tokens of the corpus), also new ones, whose weights are broken off the remainder; so
    dishes are born and die, and the number of dishes is not truncated.

    The franchise must have ``store="counts"``, ``root="weights"``, two levels, and a `DirichletMultinomial`.
    Over shards (``hdpkit.shards``) the chain is bit for bit that of one process, because each document has
    its own stream; so use no other random numbers, and nothing of another document.
    """

    requires = (
        Requirement(
            lambda state, move: state.draws_tables and state.topology.n_levels == 2,
            "Documents must share topics and weights only: build "
            "hk.Franchise(..., store='counts', root='weights'), of two levels.",
        ),
        NO_ROOT_DISCOUNT,
        Requirement(
            lambda state, move: not state.measure.seats_values,
            "With topics that differ by document its terms would not be independent given the topics: use "
            "moves.SliceGibbs, or hk.DirichletMultinomial without hk.Bursty.",
        ),
        Requirement(
            lambda state, move: kernel_of(state, "draw_shard_topics") is not None,
            "There is compiled code only: use hk.DirichletMultinomial and kernel='auto'.",
        ),
    )

    @abc.abstractmethod
    def document(self, document: Document, common: Common) -> MoveInfo:
        """Change ``document.dishes``.

        Parameters
        ----------
        document : Document
        common : Common

        Returns
        -------
        MoveInfo
            How many updates of tokens were tried, and accepted.
        """

    def begin(self, state: Franchise, rng: ChoiceSource) -> None:
        """Draw topics, and break new dishes off the remainder."""
        DocumentSweeps.of(state).begin_assigned(rng)

    def sweep(self, state: Franchise, n_blocks: int) -> tuple[MoveInfo, Changes]:
        """Call `document` for each document, and draw the tables."""
        sweeps = DocumentSweeps.of(state)
        found = sweeps.assignment()
        common = Common(found.topics, found.weights)
        for shared in (common.topics, common.weights, found.terms):
            shared.flags.writeable = False
        ends, rows, stream, infos = found.ends.tolist(), found.rows.copy(), found.stream(), [MoveInfo()]

        def run(first: int, last: int) -> None:
            for i in range(first, last):
                own = slice(ends[i], ends[i + 1])
                found.at(stream, i)
                document = Document(
                    int(found.numbers[i]), found.terms[own], found.rows[own].copy(),
                    float(found.concentrations[i]), stream,
                )  # fmt: skip
                infos[0] += checked_info(self, self.document(document, common), "document")
                rows[own] = self._checked(document, len(common.weights))

        state.in_chunks(0, len(found.numbers), run)
        return infos[0], sweeps.assign(found, rows, n_blocks)

    def _checked(self, document: Document, n_dishes: int) -> Any:
        """The dishes that the move has assigned, if they are rows of the topics."""
        dishes, n = np.asarray(document.dishes), len(document.terms)
        if (
            dishes.shape != (n,)
            or dishes.dtype.kind not in "iu"
            or (n and not 0 <= dishes.min() <= dishes.max() < n_dishes)
        ):
            raise refuse(
                self, "document", document.dishes,
                f"dishes of document {document.number} from 0 to {n_dishes - 1}, shape ({n},)",
                "Assign rows of common.topics to document.dishes.",
            )  # fmt: skip
        return dishes
