"""The number of selected terms of a sparse topic, in Python, and the proportions that dishes select.

Term v of topic k is selected with probability pi_k, and the topic is Dirichlet(lambda) over its selected
terms (Wang & Blei 2009). For a dish with n customers and a distinct terms, these a terms are selected; the
selection of the other V - a terms is summed over, by the total number R = a .. V of selected terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int32s, Int64s
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


class SelectionReference:
    """The distribution of R, the number of selected terms, given a distinct terms and n customers."""

    # 1 <= a <= V, or a = n = 0. The proportion pi has the prior Beta(r, s) and is integrated out, or is
    # given by log_pi = log pi and log_rest = log(1 - pi). Compiled: `_selection.Selection`.

    def __init__(
        self,
        n_terms: int,
        smoothing: float,
        *,
        r: float | None = None,
        s: float | None = None,
        log_pi: float | None = None,
        log_rest: float | None = None,
    ) -> None:
        self.n_terms = n_terms
        self.smoothing = smoothing
        self.shapes = np.array([r, s], dtype=float)  # NaN if pi is given
        self.log_pi, self.log_rest = log_pi, log_rest

    def log_prior(self, R: Int64s) -> Floats:
        """Log probability p(R) of one set of R selected terms: shape (n,)."""
        if self.log_pi is not None and self.log_rest is not None:
            return R * self.log_pi + (self.n_terms - R) * self.log_rest
        r, s = self.shapes
        return np.asarray(scipy.special.betaln(r + R, s + self.n_terms - R) - scipy.special.betaln(r, s))

    def log_weights(self, a: int, n: int) -> Floats:
        """log C(V-a, y) p(a+y) g(a+y; n), g(R; n) = G(lambda R) / G(lambda R + n), for y = 0 .. V - a."""
        V, size, gammaln = self.n_terms, self.smoothing, scipy.special.gammaln
        y = np.arange(V - a + 1)
        choices = gammaln(V - a + 1) - gammaln(y + 1) - gammaln(V - a - y + 1)
        if n == 0:  # g(R; 0) = 1, also for R = 0
            return np.asarray(choices + self.log_prior(a + y))
        with np.errstate(divide="ignore"):
            seating = np.where(
                a + y > 0, gammaln(np.maximum(size * (a + y), 1e-300)) - gammaln(size * (a + y) + n), -np.inf
            )
        return np.asarray(choices + self.log_prior(a + y) + seating)

    def log_sum(self, a: int, n: int) -> float:
        """log Z(a, n): the logarithm of the sum of these weights."""
        return _log_sum(self.log_weights(a, n))

    def coefficients(self, a: int, n: int) -> tuple[float, float]:
        """The factor of n_v + lambda for a term that the dish has, and f(v) of any other term."""
        # Z(a, n+1) / Z(a, n), and lambda Z(a+1, n+1) / Z(a, n); 0 if there is no such term.
        log_sum = self.log_sum(a, n)
        inside = math.exp(self.log_sum(a, n + 1) - log_sum) if a > 0 else 0.0
        outside = self.smoothing * math.exp(self.log_sum(a + 1, n + 1) - log_sum) if a < self.n_terms else 0.0
        return inside, outside

    def log_ratio(self, a0: int, n0: int, a1: int, n1: int) -> float:
        """log Z(a1, n1) / Z(a0, n0)."""
        return self.log_sum(a1, n1) - self.log_sum(a0, n0)

    def expected(self, a: int, n: int) -> float:
        """Mean number of selected terms."""
        return float(np.sum(np.exp(self._log_law(a, n)) * np.arange(a, self.n_terms + 1)))

    def draw(self, a: int, n: int, source: ChoiceSource) -> int:
        """Draw the number of selected terms in addition to those of the dish."""
        if a == self.n_terms:
            return 0
        return int(source.choose(np.exp(self._log_law(a, n))))

    def _log_law(self, a: int, n: int) -> Floats:
        weights = self.log_weights(a, n)
        return np.asarray(weights - _log_sum(weights))


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


def _log_sum(weights: Floats) -> float:
    """log sum exp of log weights, at least one of which is finite."""
    # scipy.special.logsumexp, which supports arrays of several libraries, takes ten times longer.
    largest = weights.max()
    return float(largest + np.log(np.exp(weights - largest).sum()))


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
