"""Documents in parallel, given drawn topics and root weights."""

from __future__ import annotations

from typing import Self

import attrs

from hdpkit.checks import validator, whole_number
from hdpkit.franchise.arguments import MOST_THREADS
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.whole_corpus import Changes
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.moves.over_documents import OverDocuments
from hdpkit.moves.protocol import (
    DRAWN_PARAMETERS,
    EVERYWHERE,
    NO_KEPT_PARAMETERS,
    NO_ROOT_DISCOUNT,
    Move,
    MoveInfo,
    Requirement,
    kernel_of,
)
from hdpkit.moves.registry import moves
from hdpkit.moves.root_weights import RootWeights
from hdpkit.random import ChoiceSource
from hdpkit.steps.documents import reseat_documents


def _weights_of_documents(state: Franchise, move: Move) -> bool:
    weighted = state.root.declared != "restaurant" and state.topology.n_levels >= 2
    return weighted and (state.draws_tables or state.counts_tables)


def _differ_by_documents(state: Franchise, move: Move) -> bool:
    documents = state.declarations[-1].name
    differ_by = getattr(state.measure, "differ_by", documents)
    return differ_by == documents or kernel_of(state, "reseat_documents") == "reference"


@attrs.frozen
class _ByDocument(OverDocuments):
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

    threads: int = attrs.field(
        default=1, validator=validator(whole_number, 1, MOST_THREADS, remedy="One per processor is usual.")
    )

    def threaded(self, threads: int) -> Self:
        """Return this move with this number of threads, unless it already has more than one."""
        return attrs.evolve(self, threads=threads) if self.threads == 1 else self

    def begin(self, state: Franchise, rng: ChoiceSource) -> None:
        """Draw topics, and break the remainder into labels."""
        DocumentSweeps.of(state).begin(rng, self.proportions, self.threads)

    def sweep(self, state: Franchise, n_blocks: int) -> tuple[MoveInfo, Changes]:
        """Sweep over the documents of some shards."""
        n = state.topology.n_customers
        return MoveInfo(n, n), DocumentSweeps.of(state).sweep(n_blocks)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Sweep over all documents, also with more than two levels and over counts by cell."""
        if steps == (0, 0):
            return MoveInfo()
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
        if steps != (0, 0):
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
        if steps != (0, 0):
            state.draw_proportions(rng)
        return MoveInfo(1, 1)


moves.register("draw-topics", DrawTopics, lambda: [DrawTopics()])
moves.register("draw-root-weights", DrawRootWeights, lambda: [DrawRootWeights()])
moves.register("draw-proportions", DrawProportions, lambda: [DrawProportions()])
moves.register("slice-gibbs", SliceGibbs, lambda: [SliceGibbs(), SliceGibbs(threads=2)])
moves.register("count-gibbs", CountGibbs, lambda: [CountGibbs()])
