"""Topics of dishes and proportions of groups, drawn given the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import StateError
from hdpkit.franchise.guard import changes
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.root import Root
from hdpkit.franchise.sample_draws import drawn_weights
from hdpkit.franchise.sampling import levels_of
from hdpkit.franchise.state import State
from hdpkit.franchise.statistics import Statistics
from hdpkit.franchise.verb_arguments import check_source
from hdpkit.random import ChoiceSource, RandomStream

__all__ = ["Drawn"]

Floats = npt.NDArray[np.float64]

_LEAST_SHAPE = 1e-300  # of gamma draws
_KEYS = 2**62  # a stream is identified by two numbers below this


class Drawn(Owner):
    """Draws of quantities that are integrated out of the state. They are valid until the state changes.

    A draw is stored as the identifier of its stream; its numbers are computed when they are read.
    """

    def __init__(self, state: State, root: Root, statistics: Statistics) -> None:
        super().__init__(state)
        self.root = root
        self.statistics = statistics
        self._keys: dict[str, tuple[int, tuple[int, int]]] = {}

    @changes
    def draw_topics(self, source: ChoiceSource) -> None:
        """Draw the parameters of every dish given its data, for `drawn_topics` until the state changes.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` that a move is given.
        """
        self._draw("topics", source)

    @changes
    def draw_proportions(self, source: ChoiceSource) -> None:
        """Draw the proportions of every group given its dishes and root weights, for `drawn_proportions`.

        Parameters
        ----------
        source : ChoiceSource
            The ``rng`` that a move is given.

        Raises
        ------
        StateError
            If the weights of the root are integrated out.
        """
        if self.root._kind() not in ("weights", "fixed"):
            raise StateError(
                "root", self.root._kind(), "weights, given which proportions are drawn",
                "Build hk.Franchise(..., root='weights'), or call Sample.draw_group_weights.",
            )  # fmt: skip
        self._draw("proportions", source)

    def _draw(self, what: str, source: ChoiceSource) -> None:
        check_source(source)
        self._keys[what] = self.state._changes, (source.index(_KEYS), source.index(_KEYS))

    def _stream(self, what: str, move: str) -> RandomStream:
        """The stream of a draw; raises a StateError unless it was made in the present state."""
        changes, key = self._keys.get(what, (-1, (0, 0)))
        if changes != self.state._changes:
            raise StateError(
                what, "not drawn" if changes < 0 else "drawn before the state changed",
                "drawn given the present state",
                f"Let {move} be the last move of the schedule, or call draw_{what}(rng).",
            )  # fmt: skip
        return RandomStream(key)

    def topics(self) -> list[Any]:
        """Drawn parameters of the dishes, one per dish, as returned by `BaseMeasure.draw_parameters`.

        Topics of words are distributions over terms, shape (V,).

        Raises
        ------
        StateError
            If they were not drawn since the last change of the state.
        """
        stream = self._stream("topics", "moves.DrawTopics()")
        state = self.state
        slots = state.slots.occupied_slots()
        drawn = state.measure.draw_many(self.statistics.fresh_bank(), slots, state.dishes_for_bank(), stream)
        return list(drawn) if state._known is None else state._known.put_topics(list(drawn))

    def proportions(self) -> Floats:
        """Drawn proportions of the groups, shape (groups, K + 1), that of new dishes last.

        Groups are the restaurants below the root, in order; each is Dirichlet(n_jk + alpha_j psi_k, ...,
        alpha_j psi_u) given its customers and psi, the proportions of the restaurant above. Those of the root
        are its weights. With discounts they are drawn as by `Sample.draw_group_weights`.

        Raises
        ------
        StateError
            If they were not drawn since the last change of the state.
        """
        stream = self._stream("proportions", "moves.DrawProportions()")
        state, slots = self.state, self.state.slots.occupied_slots()
        weights: Any = self.root.weights
        psi = weights.table.many(slots)
        if np.any(state.hyperparameters.d[1:] > 0.0):
            rows = psi[None]
            for level in levels_of(state):
                rows = np.concatenate([rows, drawn_weights(level, rows, slice(None), stream.generator)])
            return np.asarray(rows[1:], dtype=np.float64)
        drawn = np.zeros((state.topology.n_nodes, len(slots) + 1))
        drawn[0] = psi
        for node in range(1, state.topology.n_nodes):  # parents first
            n = [state.seating.customers(node, slot) for slot in slots.tolist()]
            above = drawn[state.topology.parent[node]]
            shapes = np.append(n, 0.0) + state.hyperparameters.theta[node] * above
            some = shapes >= _LEAST_SHAPE  # in a finite model the remainder may be 0
            drawn[node, some] = stream.dirichlet(shapes[some])
        return drawn[1:]
