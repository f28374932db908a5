"""Moves over documents, which run on one process, threads, MPI and Dask alike, and draws for readers."""

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
    DRAWN_PARAMETERS,
    EVERYWHERE,
    NO_KEPT_PARAMETERS,
    NO_ROOT_DISCOUNT,
    Move,
    MoveInfo,
    Requirement,
    Threaded,
    checked_info,
    kernel_of,
    something_to_do,
)
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource
from hdpkit.steps.documents import reseat_documents


class RootWeights(Move):
    """Draw the weights of all dishes and the remaining weight, given the seating.

    (beta_1, ..., beta_K, beta_u) ~ Dirichlet(m_1 - d_0, ..., m_K - d_0, theta_0 + K d_0), where m_k customers
    of the root eat dish k (Teh et al. 2006, section 5.2; with a discount Pitman 1996). The franchise must
    have ``root="weights"``.
    """

    serves = EVERYWHERE
    continuous = True
    by_cell = True
    updates = ("root weights",)
    over = "totals"
    requires = (
        something_to_do(
            lambda state, move: state.root.declared == "weights",
            "The root's weights are fixed or integrated out: build hk.Franchise(..., root='weights'), or "
            "leave RootWeights out.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw all weights."""
        with state.root_integrated(rng):
            pass  # they are drawn at the end of the block
        return MoveInfo(1, 1)


moves.register("root-weights", RootWeights, lambda: [RootWeights()])


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

        Returns a MoveInfo, and the changes outside the documents, which are carried out when those of all
        workers are added up.

        Parameters
        ----------
        state : Franchise
        n_blocks : int
            Number of blocks of terms in which changes of counts are returned; 0: they are requested later.
        """

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run over all documents."""
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

        Returns how many updates of tokens were tried, and accepted.

        Parameters
        ----------
        document : Document
        common : Common
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


def _weights_of_documents(state: Franchise, move: Move) -> bool:
    weighted = state.root.declared != "restaurant" and state.topology.n_levels >= 2
    return weighted and (state.draws_tables or state.counts_tables)


def _differ_by_documents(state: Franchise, move: Move) -> bool:
    documents = state.declarations[-1].name
    differ_by = getattr(state.measure, "differ_by", documents)
    return differ_by == documents or kernel_of(state, "reseat_documents") == "reference"


@attrs.frozen
class _ByDocument(Threaded, OverDocuments):
    """A sweep that draws every token given topics and the root's weights."""

    proportions = "integrated"
    calls = (reseat_documents,)
    requires = (
        Requirement(
            _weights_of_documents,
            "Documents must share topics and weights only: build "
            "hk.Franchise(..., store='counts', root='weights'), of two levels or more.",
        ),
        DRAWN_PARAMETERS,
        # A label's parameters are drawn before it becomes a dish; a dish that kept its own would differ.
        NO_KEPT_PARAMETERS,
        NO_ROOT_DISCOUNT,
        Requirement(
            _differ_by_documents,
            "Topics must differ by the innermost declaration, not by {state.measure.differ_by!r}: use "
            "TableGibbs.",
        ),
        Requirement(
            lambda state, move: (
                state.topology.n_levels > 2 or kernel_of(state, "reseat_documents") is not None
            ),
            "No sweep over documents serves {state.measure!r} over this store: use TableGibbs.",
        ),
        Requirement(
            lambda state, move: (
                state.topology.n_levels == 2
                or kernel_of(state, "reseat_documents") not in (None, "reference")
            ),
            "With levels above the documents there is compiled code only, for DirichletMultinomial and "
            "kernel='auto': use TableGibbs.",
        ),
    )

    def begin(self, state: Franchise, rng: ChoiceSource) -> None:
        """Draw topics, and break the remainder into labels."""
        DocumentSweeps.of(state).begin(rng, self.proportions, self.threads)

    def sweep(self, state: Franchise, n_blocks: int) -> tuple[MoveInfo, Changes]:
        """Sweep over the documents of some shards."""
        n = state.topology.n_customers
        return MoveInfo(n, n), DocumentSweeps.of(state).sweep(n_blocks)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Sweep over all documents, also with more than two levels and over counts by cell."""
        DocumentSweeps.of(state).reseat(rng, self.proportions, self.threads)
        n = state.topology.n_customers
        return MoveInfo(n, n)


class SliceGibbs(_ByDocument):
    """Draw topics, then every customer's dish given topics and the root's weights, documents in parallel.

    P(z_ji = k) is proportional to phi_kx (n_jk + alpha psi_k), proportions of documents integrated out. The
    remainder of the root's weights is broken into labels, until it is below a slice l < 1 / (4 customers)
    that is drawn once a sweep, independently of the state. Customers whose label weighs at least l choose
    among all labels that do; the others keep their label for this sweep. So the number of dishes is not
    truncated. It needs ``store="counts"`` and a root with weights. With more than two
    levels, each restaurant that has others below it gets weights for one sweep, drawn given its customers,
    and documents draw from the weights of the restaurant above. `DirichletMultinomial` has compiled sweeps.
    Any other measure with `draw_parameters` and `log_likelihood` uses the reference code in Python, for two
    levels only.

    Over a `Bursty` measure the topics phi_k are drawn given the tables, and those of documents are integrated
    out: the probability of a term is (c_jkv - a t_jkv + (b + a t_jk) phi_kv) / (c_jk + b). Without a discount
    numbers of tables are then drawn given the dishes, otherwise with each customer. There is compiled code
    over `DirichletMultinomial`, if topics differ by the innermost declaration.

    Parameters
    ----------
    threads : int
        Number of threads, each with one document at a time. The chain doesn't depend on it.
    """


class CountGibbs(_ByDocument):
    """Like `SliceGibbs` with proportions drawn: full Gibbs sampling (Fuentes et al. 2011, section 2).

    Each document's proportions are drawn given its dishes, Dirichlet(n_jk + alpha psi_k); then its customers
    are independent, and those with the same term have the same distribution, proportional to phi_kx theta_jk.
    Each customer has a slice u_ji ~ U(0, xi_z) with xi_k = min(psi_k, 1 / customers), and chooses among the
    labels with xi_k > u_ji (Walker 2007).

    Over counts by cell and a `Bursty` measure without a discount the topics of documents are drawn, too:
    phi_jk ~ Dirichlet(b phi_k + c_jk), and then the tables of each term (Antoniak 1974, with mass b phi_kv).
    With a discount, what is left of phi_jk beside the document's tables has no finite Dirichlet distribution:
    customers are not counted by cell, and the compiled sweep is that of `SliceGibbs`.

    Parameters
    ----------
    threads : int
        As in `SliceGibbs`.
    """

    proportions = "drawn"
    by_cell = True


class DrawTopics(Move):
    """Draw the parameters of every dish given its data: topics, for words (Fuentes et al. 2011, section 2).

    They are integrated out of the state, so the chain doesn't depend on this move. `Franchise.drawn_topics`
    returns them until the state changes, so put it last in a schedule. Moves that need topics (`SliceGibbs`,
    `CountGibbs`) draw their own.
    """

    serves = EVERYWHERE
    continuous = True
    by_cell = True
    requires = (DRAWN_PARAMETERS,)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them."""
        state.draw_topics(rng)
        return MoveInfo(1, 1)


class DrawRootWeights(RootWeights):
    """`RootWeights` under another name, like those of `DrawTopics` and `DrawProportions`."""


class DrawProportions(Move):
    """Draw the proportions of every group given its dishes and the root's weights.

    As `DrawTopics`, for `Franchise.drawn_proportions`: Dirichlet(n_jk + alpha_j psi_k, ..., alpha_j psi_u),
    where psi are the weights of the root, or the proportions of the restaurant above.
    """

    serves = EVERYWHERE
    continuous = True
    by_cell = True
    requires = (
        Requirement(
            lambda state, move: state.root.declared != "restaurant" and state.topology.n_levels >= 2,
            "Proportions are drawn given the root's weights: build hk.Franchise(..., root='weights'), of two "
            "levels or more.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw them."""
        state.draw_proportions(rng)
        return MoveInfo(1, 1)


moves.register("draw-topics", DrawTopics, lambda: [DrawTopics()])
moves.register("draw-root-weights", DrawRootWeights, lambda: [DrawRootWeights()])
moves.register("draw-proportions", DrawProportions, lambda: [DrawProportions()])
moves.register("slice-gibbs", SliceGibbs, lambda: [SliceGibbs(), SliceGibbs(threads=2)])
moves.register("count-gibbs", CountGibbs, lambda: [CountGibbs()])
