"""Selected terms of sparse topics, and the proportions of the vocabulary that dishes select.

Term v of topic k is selected with probability pi_k, and the topic is Dirichlet(lambda) over its selected
terms (Wang & Blei 2009). For a dish with n customers and a distinct terms, these a terms are selected; the
selection of the other V - a terms is summed over, by the total number R = a .. V of selected terms
(`_selection.pyx`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import number_array, whole_number
from hdpkit.errors import DataError, DeclarationError, StateError
from hdpkit.measures._sparse_dirichlet_multinomial import ProportionTable
from hdpkit.measures.python_bank import PythonBank
from hdpkit.numerics import exp_each, gamma_ratio, lgamma, log
from hdpkit.parts import Part, TablePart, inconsistent
from hdpkit.random import ChoiceSource

_MOST_TERMS = 2**31 - 1
NAME = "selection proportions"
SMALLEST, LARGEST = 1e-6, 1e6  # range of the smoothing, and of the parameters of the prior of proportions


def check_n_terms(value: Any) -> int:
    """Return V, the number of terms: 2 or more, because with one term there is nothing to select."""
    if whole_number("n_terms", value, 1, _MOST_TERMS) == 1:
        raise DeclarationError(
            "n_terms", value, f"a whole number from 2 to {_MOST_TERMS}",
            "A topic over one term has nothing to select; use DirichletMultinomial.",
        )  # fmt: skip
    return int(value)


def draw_topic(law: Any, n: int, shapes: Floats, smoothing: float, source: ChoiceSource) -> Floats:
    """Draw a topic given its n customers: which terms are selected, by ``law``, and their proportions."""
    # ``shapes`` has n_v + smoothing for terms with customers, and 0 for others; so has the topic for others.
    others = np.flatnonzero(shapes == 0.0)
    more = law.draw(len(shapes) - len(others), n, source)
    shapes = np.array(shapes, dtype=np.float64)
    shapes[others[source.permutation(len(others))[:more]]] = smoothing
    topic = np.zeros(len(shapes))
    selected = shapes > 0.0
    if selected.any():
        topic[selected] = source.dirichlet(shapes[selected])
    return topic


# ---------------------------------------------------------------------------------------- stored proportions


class SelectionProportions(TablePart):
    """The proportion pi_k of the vocabulary that each dish selects, its selectors integrated out."""

    # pi_k ~ Beta(r, s). Given its data it is drawn together with the number R of selected terms (Wang & Blei
    # 2009, footnote 4): R with pi integrated out, then pi ~ Beta(r + R, s + V - R). A new dish draws pi given
    # its first data, not from Beta(r, s), because its weight was computed with pi integrated out.

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self.table = ProportionTable()

    @property
    def integrated(self) -> ChoiceSource | None:
        """The source of the block in which the proportions are integrated out; None outside of one."""
        return self._source

    @integrated.setter
    def integrated(self, source: ChoiceSource | None) -> None:
        self._source = source
        self.table.integrated = source is not None

    _source: ChoiceSource | None = None

    # ------------------------------------------------------------------ draws

    def _law(self, slot: int, given: Any = None) -> Any:
        """The distribution of a dish's selections, with its own smoothing if dishes have separate ones."""
        state = self.state
        return state.measure.law(given, None if state.measure.conjugate else state.bank.parameter(slot))

    def _drawn(self, slot: int, a: int, n: int, source: ChoiceSource) -> tuple[float, float]:
        """Draw log pi, log(1 - pi) of a dish given n values with a distinct terms."""
        return self._given_selected(a + self._law(slot).draw(a, n, source), source)

    def _given_selected(self, selected: int, source: ChoiceSource) -> tuple[float, float]:
        """Draw log pi, log(1 - pi) given the number of selected terms."""
        measure = self.state.measure
        r, s = measure.selection.r, measure.selection.s
        logs = source.log_beta(float(r) + selected, float(s) + (measure.n_terms - selected))
        return float(logs[0]), float(logs[1])

    def draw(self, source: ChoiceSource) -> None:
        """Draw all proportions given the data of the dishes, selectors integrated out."""
        slots, sizes = self._sizes()
        drawn = [self._drawn(k, a, n, source) for k, (a, n) in zip(slots.tolist(), sizes, strict=True)]
        self.table.put(slots, drawn)

    def draw_through_selectors(self, source: ChoiceSource) -> None:
        """Draw the selectors given the proportions, and the proportions given the selectors' number."""
        slots, sizes = self._sizes()
        present = self.table.many(slots).tolist()
        drawn = []
        for slot, (a, n), given in zip(slots.tolist(), sizes, present, strict=True):
            selected = a + self._law(slot, given).draw(a, n, source)
            drawn.append(self._given_selected(selected, source))
        self.table.put(slots, drawn)

    def _sizes(self) -> tuple[Int32s, list[list[int]]]:
        """Occupied slots, and their numbers of distinct terms and of values."""
        slots = self.state.slots.occupied_slots()
        return slots, np.transpose(self.state.bank.sizes(slots)).tolist()

    def proportions(self) -> Floats:
        """Return pi of each dish, in the order of the dishes."""
        logs = self.table.many(self.state.slots.occupied_slots())[:, 0]
        return np.array(exp_each(logs), dtype=float)

    # ------------------------------------------------------------------ births and deaths of dishes

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        """Draw pi of a new dish given its first values."""
        if self.integrated is not None:
            return
        if source is None:
            raise StateError(
                "source", None, "a choice source, because the selection proportion of a new dish is drawn",
                "Pass one: open_dish(source).",
            )  # fmt: skip
        n_different = len(np.unique(np.asarray(self.state.data.values)[customers]))
        self.table.set(slot, *self._drawn(slot, n_different, len(customers), source))

    def died(self, slot: int) -> None:
        self.table.drop(slot)

    def reset(self, slots: Int32s) -> None:
        """Set the proportions of these dishes to their prior means, until they are drawn or thawed."""
        selection = self.state.measure.selection
        total = selection.r + selection.s
        logs = [log(selection.r / total), log(selection.s / total)]
        self.table.put(slots, np.tile(logs, (len(slots), 1)))

    # ------------------------------------------------------------------ saved with the state

    def audit(self, slots: Int32s) -> None:
        logs = self.table.many(slots)
        if not np.all(np.abs(exp_each(logs.ravel()).reshape(logs.shape).sum(axis=1) - 1.0) <= 1e-9):
            raise inconsistent(NAME, logs, "log pi and log(1 - pi) of every dish")

    def freeze(self) -> dict[str, Any]:
        """Logarithms of pi and of 1 - pi of the occupied slots, ascending."""
        return {"logs": self.table.many(self.state.slots.occupied_slots())}

    def thaw(self, frozen: dict[str, Any]) -> None:
        slots = self.state.slots.occupied_slots()
        logs = number_array(frozen.get("logs") if isinstance(frozen, Mapping) else None)
        if logs is not None and logs.size == 0:
            logs = np.empty((0, 2))
        if (
            logs is None
            or logs.shape != (len(slots), 2)
            or not np.all(logs <= 0.0)
            or not np.all(np.abs(np.exp(logs).sum(axis=1) - 1.0) < 1e-6)
        ):
            raise DataError(
                f"{NAME}, in the frozen state", frozen, f"log pi and log(1 - pi) of {len(slots)} dishes",
                "Thaw a state over the same data and declarations.",
            )  # fmt: skip
        self.table.put(slots, logs)

    def log_density(self, state: Any) -> float:
        """Log density of the proportions, Beta(r, s) each, in nats. The likelihood is conditional on them."""
        r, s = (float(shape) for shape in (state.measure.selection.r, state.measure.selection.s))
        logs = self.table.many(state.slots.occupied_slots())
        norm = gamma_ratio(r, s) - lgamma(s)
        return math.fsum(norm + (r - 1.0) * logs[:, 0] + (s - 1.0) * logs[:, 1])

    def scalars(self, state: Any) -> Mapping[str, float]:
        return {"mean": float(np.mean(self.proportions()))}


class SelectionBank(PythonBank):
    """Statistics in Python of a measure with selected terms, and the stored proportions, if there are any."""

    def __init__(self, measure: Any, values: Any) -> None:
        super().__init__(measure, values)
        self.table: ProportionTable | None = None

    def read(self, parts: Mapping[str, Part]) -> None:
        """Find the part that has the proportions."""
        part = parts.get(NAME)
        self.table = part.table if isinstance(part, SelectionProportions) else None

    def begin(self, slot: int) -> Any:
        """Statistics without values, with the proportion of a slot."""
        made = self.measure.make()
        made.given = None if self.table is None else self.table.get(slot)
        return made

    def _many(self, slots: Sequence[int] | npt.NDArray[Any]) -> list[Any]:
        many = super()._many(slots)
        for slot, statistics in zip(slots, many, strict=False):  # the last has no slot
            statistics.given = None if self.table is None else self.table.get(slot)
        return many

    def sizes(self, slots: Any) -> tuple[list[int], list[int]]:
        """Numbers of distinct terms and of values of these slots."""
        many = [self._of[int(slot)] for slot in slots]
        return [one.distinct for one in many], [one.total for one in many]
