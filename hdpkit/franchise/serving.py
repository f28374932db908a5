"""The kernels for the verbs of one franchise at its present hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hdpkit.checks import choice
from hdpkit.franchise.kernels import VERBS, choose_kernel, is_compiled
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.root import Root
from hdpkit.franchise.state import State
from hdpkit.stores import Detail, ExplicitReference, ExplicitStore, detail_of

__all__ = ["Serving"]


class Serving(Owner):
    """Rows of the kernel table, cached until a condition on which they depend changes."""

    def __init__(self, state: State, root: Root) -> None:
        super().__init__(state)
        self.root = root
        self._found: dict[str, tuple[str, Callable[..., Any]]] = {}
        self._for: tuple[Any, Any, Any] = (None, None, None)  # the conditions for which the entries are valid
        self._at: tuple[int, str] | None = None

    @property
    def table_store_type(self) -> Any:
        """The type of store that verbs which need table numbers run on."""
        kind = self.state.store_type
        if detail_of(kind) is Detail.SEATS:
            return kind
        return getattr(kind, "SEATED_OUT", ExplicitStore if is_compiled(kind) else ExplicitReference)

    def of(self, verb: str) -> tuple[str, Callable[..., Any]]:
        """Name and function of the kernel that runs a verb."""
        state = self.state
        numbers, bank, measure = state.hyperparameters, state.bank, state.measure
        at, then = (numbers.version, self.root._kind()), self._for
        if at != self._at or numbers is not then[0] or bank is not then[1] or measure is not then[2]:
            self._found, self._for, self._at = {}, (numbers, bank, measure), at
        if not isinstance(verb, str) or verb not in self._found:
            choice("verb", verb, VERBS, remedy="See docs/architecture.md.")
            self._found[verb] = choose_kernel(
                verb,
                state.forced_kernel,
                self.table_store_type if VERBS[verb] else state.store_type,
                state.bank,
                state.topology.n_levels,
                state.hyperparameters,
                at[1],
            )
        return self._found[verb]

    def check(self) -> None:
        """Raise a KernelError if a forced kernel doesn't support the franchise."""
        if self.state.forced_kernel in ("generic", "fused"):
            self.of("reseat")
