"""The distribution from which the root's children draw, as a component of a franchise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.support.turn import Block
from hdpkit.checks import instance
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.declarations import FixedWeights, kind_of_root
from hdpkit.franchise.fixed_weights import FixedTable, log_dishes
from hdpkit.franchise.guard import Guarded, unguarded
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.parts import Parts
from hdpkit.franchise.roots import ROOTS
from hdpkit.franchise.scores import log_seating_of_restaurant
from hdpkit.franchise.state import State
from hdpkit.franchise.turns import Turns
from hdpkit.franchise.weights import Weights
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource

__all__ = ["Root"]

Floats = npt.NDArray[np.float64]


class Root(Owner, Guarded):
    """The distribution of the root's children: a restaurant of latent dishes or of atoms, or weights.

    Obtained as `Franchise.root`.

    Attributes
    ----------
    declared : str or FixedWeights
        "restaurant", "weights" or fixed weights, as declared.
    """

    def __init__(self, state: State, turns: Turns, parts: Parts, declared: str | FixedWeights) -> None:
        super().__init__(state)
        self._parts = parts
        self._turn = state._turn
        self._turns = turns
        self.declared = declared
        self._weights: Weights | FixedTable | None = None
        if isinstance(declared, FixedWeights):
            self._weights = FixedTable(state, declared)
        elif declared == "weights":
            self._weights = Weights(state)

    def __repr__(self) -> str:
        return f"<Root {self.declared}>"

    def _outside(self) -> None:
        self._turns.outside()

    def _make_whole(self) -> None:
        self.state._make_whole()

    @property
    def kind(self) -> str:
        """The distribution from which the root's children draw at present: a key of `ROOTS`."""
        return self._kind()

    def _kind(self) -> str:
        """`kind`, for owners: every verb uses it, within its turn."""
        if self._weights is None:
            return self.state._dish_kind.root_kind("restaurant")
        integrated = isinstance(self._weights, Weights) and self._weights.integrated is not None
        return self.state._dish_kind.root_kind("restaurant" if integrated else kind_of_root(self.declared))

    @property
    def weights(self) -> Weights | FixedTable | None:
        """The part of the state that has the weights; None if they are always integrated out."""
        return self._weights

    @property
    def most_dishes(self) -> int | None:
        """Largest possible number of dishes; None if there is no limit."""
        return self.declared.n_dishes if isinstance(self.declared, FixedWeights) else None

    @property
    def concentration(self) -> float:
        """Concentration of the root."""
        return float(self.state.hyperparameters.theta[0])

    @property
    def discount(self) -> float:
        """Discount of the root."""
        return float(self.state.hyperparameters.d[0])

    @unguarded
    def integrated(self, source: ChoiceSource) -> Block:
        """Integrate out the weights of the root within a block, and draw them again at its end.

        Within the block the root is a Chinese restaurant. A move that leaves the posterior of seating and
        hyperparameters invariant, followed by a draw of the weights given both, leaves the joint posterior
        invariant. If the root has no weights, or fixed ones, the block does nothing; nested blocks have no
        additional effect.
        """
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        return Block(self._turn, self.state, lambda: self._integrate(source), self._parts.draw)

    # ------------------------------------------------------------------ for the owners

    def _for_walk(self, kernel: str) -> Any:
        """The root of a walk of this kernel."""
        kind = ROOTS[self.kind]
        return (kind.readable if kernel == "reference" else kind.compiled)(self.state.bank, self._weights)

    def _kept(self) -> tuple[Any, Floats | None]:
        """A separate root for a stored state, and H if dishes are atoms."""
        kind = self.state._dish_kind.root_kind(kind_of_root(self.declared))
        return ROOTS[kind].kept(self.state.bank, self._weights)

    def _log_of_dishes(self, store: Any) -> float:
        """Term of log p(seating) for the dishes of the root's customers."""
        if not isinstance(self.declared, FixedWeights):
            return 0.0
        sizes = np.array([store.customers(0, dish) for dish in store.node_dishes(0).tolist()], dtype=np.int64)
        of_restaurant = log_seating_of_restaurant(sizes, self.concentration, self.discount)
        return log_dishes(self.declared.n_dishes, len(sizes), int(sizes.sum())) - of_restaurant

    def _check_number(self, name: str, n_dishes: int, *, frozen: bool = False) -> None:
        """Raise an error if there are more dishes than possible."""
        if self.most_dishes is not None and n_dishes > self.most_dishes:
            error = DataError if frozen else ParameterError
            raise error(
                name, f"{n_dishes} dishes", f"at most {self.most_dishes} dishes, as root={self.declared}",
                "Start with fewer, or declare hk.FixedWeights with more.",
            )  # fmt: skip

    def _integrate(self, source: ChoiceSource) -> list[IntegrablePart]:
        self._turns.outside()
        return self._parts.integrate(source, [self._weights])

    def _check_restaurant(self, verb: str) -> None:
        """Raise an error if the root has weights at present and a verb needs a restaurant."""
        if self.kind == "weights":
            raise StateError(
                "root", "weights", "a restaurant while this verb runs",
                f"Call {verb} inside `with franchise.root_integrated(rng):`.",
            )  # fmt: skip
