"""Known components: dishes that are given in advance as distributions over terms.

A bank has the values of the data, one value for each component, and the earlier observations of prior
components, which are never removed: sweeps over counts need no code for them. A frozen topic is a row that
the bank looks up. Generic code and drawn topics use it; fused tables and blocks leave such franchises to
generic code. Results for users exclude the customers of components and their earlier observations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import AnyInts, Floats
from hdpkit.checks import instance, items, number_array, whole_number
from hdpkit.data import GroupedData, Groups
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.python_bank import FixedBank
from hdpkit.random import ChoiceSource, RandomStream
from hdpkit.stores import FrozenCells, FrozenSeating

_OFF = 1e-6  # largest difference of a row's sum from 1
_LARGEST = 2**31 - 2
_COUNTS = "A component counts as many observations as its pseudo-counts, for instance counts=1000."


def _matrix(value: Any) -> Floats:
    array = number_array(value)
    allowed = "distributions over terms, one a row: numbers from 0 to 1 whose sum is 1"
    if array is None or array.ndim != 2 or 0 in array.shape:
        raise ParameterError("matrix", value, allowed, "Give an array of shape (components, terms).")
    if not np.all(np.isfinite(array) & (array >= 0.0)):
        raise ParameterError("matrix", value, allowed, "Give numbers that are not negative.")
    sums = array.sum(axis=1)
    if np.any(off := np.abs(sums - 1.0) > _OFF):
        row = int(np.argmax(off))
        raise ParameterError(
            f"matrix, row {row}", array[row].tolist(), f"{allowed}; here it is {sums[row]:.6g}",
            "Divide each row by its sum.",
        )  # fmt: skip
    made: Floats = array / sums[:, None]
    made.setflags(write=False)
    return made


def _frozen(value: Any) -> Any:
    read = isinstance(value, bool | np.bool_ | list | tuple | np.ndarray)
    try:
        array = np.asarray(value if read else None)
    except (ValueError, RecursionError):  # ragged, or too deep
        array = np.empty(0)
    if array.dtype != bool or array.ndim > 1:
        raise ParameterError("frozen", value, "True or False, or one of these per component", "Give a bool.")
    return bool(array) if array.ndim == 0 else _as_given(value)


def _given_counts(value: Any) -> Any:
    if value is None:
        return None
    array = number_array(value)
    if (
        array is None
        or array.ndim > 1
        or not np.all(np.isfinite(array) & (array > 0.0) & (array <= _LARGEST))
    ):
        raise ParameterError("counts", value, "a positive number, or one per component", _COUNTS)
    if array.ndim == 0:
        return value if isinstance(value, int | float) else float(array)
    return _as_given(value) if isinstance(value, list | tuple | np.ndarray) else array


def _names(value: Any) -> Any:
    if value is None:
        return None
    good = (
        isinstance(value, list | tuple | np.ndarray)
        and not (isinstance(value, np.ndarray) and value.ndim == 0)
        and all(isinstance(name, str) and name for name in value)
    )
    if not good or len(set(value)) < len(value):
        raise ParameterError("names", value, "different texts, one per component", "Leave them out.")
    return _as_given(value)


def _labels(names: Any, n: int) -> tuple[str, ...]:
    """Names of components; default names have their numbers."""
    return tuple(f"known {j}" if names is None else str(names[j]) for j in range(n))


def _number(component: Any, n: int) -> int:
    return whole_number("component", component, 0, n - 1, remedy="Components are numbered from 0.")


def _as_given(value: Any) -> Any:
    """A copy of several values, so that later changes have no effect."""
    return value.copy() if isinstance(value, np.ndarray) else type(value)(value)


@attrs.frozen(eq=False)
class Known:
    """Components that are known in advance: dishes of a franchise that always exist.

    Component j is dish j in all arrays during the entire chain, with the lasting id j. In the model each
    component is a customer of the root who was seated before all data and has its own dish: the root counts
    one more customer for this dish. The topic is known either by ``counts[j]`` observations of earlier data,
    rounded term by term, so that its posterior is Dirichlet(eta + these + counts of the data in the dish);
    or, with ``frozen``, exactly, so that it never changes. Raises a ParameterError if rows aren't
    distributions, counts are missing or round to 0, or lengths differ.

    Parameters
    ----------
    matrix : float64 array, shape (n_components, n_terms)
        Distributions over terms. Rows sum to one.
    counts : float, or array of shape (n_components,), optional
        Pseudo-counts of each component; not needed for frozen ones.
    frozen : bool, or bool array of shape (n_components,)
        Whether the topic of a component is exactly its row. A term with probability 0 is then never
        assigned to it.
    names : list of str, optional
        Names of the components; "known 0", "known 1", ... by default.
    """

    matrix: Floats = attrs.field(converter=_matrix, repr=False)
    counts: Any = attrs.field(default=None, converter=_given_counts)
    frozen: Any = attrs.field(default=False, converter=_frozen)
    names: Any = attrs.field(default=None, converter=_names)

    def __attrs_post_init__(self) -> None:
        n = len(self.matrix)
        for name in ("counts", "frozen", "names"):
            value = getattr(self, name)
            if isinstance(value, list | tuple | np.ndarray) and len(value) != n:
                raise ParameterError(
                    name, value, f"of length {n}, the number of rows of the matrix", "Give one per component."
                )
        if self.counts is None and not np.all(self.frozen):
            raise ParameterError(
                "counts", None, "given, unless all components are frozen", f"{_COUNTS} Or frozen=True."
            )
        nothing = (self.pseudo_counts.sum(axis=1) == 0) & ~self.is_frozen
        if np.any(nothing):
            row = int(np.argmax(nothing))
            raise ParameterError(
                "counts", self.counts, f"such that one of component {row} is left when they are rounded",
                "Term by term, counts x matrix is rounded to whole numbers: give more.",
            )  # fmt: skip

    @property
    def n_components(self) -> int:
        """Number of components, J."""
        return len(self.matrix)

    @property
    def is_frozen(self) -> npt.NDArray[np.bool_]:
        """Whether each component is frozen: bool, shape (J,)."""
        return np.broadcast_to(np.asarray(self.frozen, dtype=bool), (self.n_components,)).copy()

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components."""
        return _labels(self.names, self.n_components)

    @property
    def pseudo_counts(self) -> npt.NDArray[np.int64]:
        """Earlier observations of each component by term: int64, shape (J, n_terms); 0 for frozen ones."""
        counts = np.broadcast_to(
            np.asarray(0.0 if self.counts is None else self.counts), (self.n_components,)
        )
        rounded = np.rint(counts[:, None] * self.matrix).astype(np.int64)
        rounded[self.is_frozen] = 0
        return rounded

    def earlier(self, component: int) -> list[Any]:
        """Earlier observations of a component, one by one."""
        number = _number(component, self.n_components)
        terms = np.repeat(np.arange(self.matrix.shape[1]), self.pseudo_counts[number])
        return [int(term) for term in terms]


def _observations(value: Any) -> Any:
    allowed = "a list of arrays of numbers, one or more for each component"
    remedy = "Give the earlier observations of each component: values=[[0.1, 0.3], [5.2]]."
    made = []
    for one in items("values", value, allowed, remedy=remedy):
        array = number_array(one)
        if array is None or array.ndim == 0 or array.size == 0 or not np.all(np.isfinite(array)):
            raise ParameterError("values", value, allowed, remedy)
        made.append(array)
    if not made or len({array.shape[1:] for array in made}) > 1:
        raise ParameterError("values", value, allowed, remedy)
    return tuple(made)


@attrs.frozen(eq=False)
class KnownValues:
    """Components that are known by earlier observations, for measures whose values are numbers or vectors.

    As in `Known`, component j is dish j and always exists. Its statistics start with its values. Raises a
    ParameterError if a component has no values, or they aren't numbers.

    Parameters
    ----------
    values : list of arrays
        Earlier observations of each component, at least one: shape (n,), or (n, p) for vectors.
    names : list of str, optional
        Names of the components; "known 0", "known 1", ... by default.
    """

    values: Any = attrs.field(converter=_observations, repr=False)
    names: Any = attrs.field(default=None, converter=_names)

    def __attrs_post_init__(self) -> None:
        if self.names is not None and len(self.names) != len(self.values):
            raise ParameterError(
                "names", self.names, f"of length {len(self.values)}, the number of components", "One each."
            )

    @property
    def n_components(self) -> int:
        """Number of components, J."""
        return len(self.values)

    @property
    def is_frozen(self) -> npt.NDArray[np.bool_]:
        """No component is frozen: bool, shape (J,)."""
        return np.zeros(self.n_components, dtype=bool)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components."""
        return _labels(self.names, self.n_components)

    def earlier(self, component: int) -> list[Any]:
        """Earlier observations of a component, one by one."""
        return list(self.values[_number(component, self.n_components)])


@attrs.frozen(eq=False)
class _Values:
    """Data followed by the observations of known components, with the attributes that a bank uses."""

    values: npt.NDArray[Any]
    n_terms: int | None
    n_earlier: int

    def __len__(self) -> int:
        return len(self.values)


class KnownDishes:
    """The known components of a franchise; without any (n = 0) everything stays as it is."""

    # Component j has slot j: a customer of the root who isn't part of the data has this dish and never
    # leaves. In stores these customers come after those of the data. A bank has the values of the data, one
    # for each component, then the other earlier observations of prior components.

    def __init__(self, declared: Any = None, measure: Any = None, data: Any = None) -> None:
        self.declared = declared
        self.n = 0
        self.frozen: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.topics: Any = None
        self.pseudo: Any = None
        self.n_terms: Any = None
        if declared is None:
            return
        kinds = (Known, KnownValues)
        instance("known", declared, kinds, "hk.Known, or None", remedy="hk.Known(matrix, counts=...).")
        self.n, self.frozen = declared.n_components, declared.is_frozen
        if isinstance(declared, Known):
            self.n_terms = _checked(declared, measure, data)
            self.topics, self.pseudo = declared.matrix, declared.pseudo_counts
            rows, terms = np.nonzero(self.pseudo)
            times = self.pseudo[rows, terms]
            dish, seen = np.repeat(rows, times), np.repeat(terms, times)
        else:
            seen = _checked_values(declared, measure, data)
            dish = np.repeat(np.arange(self.n), [len(one) for one in declared.values])
        # For a frozen component: any term, which is not counted.
        own = np.empty((self.n, *seen.shape[1:]), dtype=seen.dtype)
        if self.frozen.any():
            own[self.frozen] = np.argmax(self.topics, axis=1)[self.frozen]
        first = np.searchsorted(dish, np.arange(self.n)[~self.frozen])
        own[~self.frozen] = seen[first]
        later = np.ones(len(dish), dtype=bool)
        later[first] = False
        self._seen = np.concatenate([own, seen[later]])
        self._dishes = np.append(np.where(self.frozen, -1, np.arange(self.n)), dish[later]).astype(np.int32)

    def require_none(self, allowed: str, remedy: str) -> None:
        """Raise a DeclarationError if there are known components, for what can't have them."""
        if self.n:
            raise DeclarationError("known", self.declared, allowed, remedy)

    def bank(self, measure: BaseMeasure, data: GroupedData) -> Any:
        """A bank of the measure over the data and the known observations."""
        if not self.n:
            return measure.bank(data)
        if not measure.conjugate:
            self.require_none(
                "no components where dishes keep parameters",
                f"Integrate out what dishes of {type(measure).__name__} keep, or leave known out.",
            )
        bank: Any = measure.bank(self._both(data))
        if self.frozen.any() and not hasattr(bank, "fix"):
            return self.readable(measure, data)
        return self.fixed(bank)

    def _both(self, data: GroupedData) -> Any:
        """The data, followed by the known observations."""
        values = np.asarray(data.values)
        both = np.concatenate([values, self._seen.astype(values.dtype)])
        return _Values(both, self.n_terms, len(self._seen))

    def fixed(self, bank: Any) -> Any:
        """The bank, with the topics of frozen components."""
        if self.frozen.any():
            bank.fix(self.topics, self.frozen)
        return bank

    def readable(self, measure: BaseMeasure, data: GroupedData) -> Any:
        """A bank in Python over the data and the known observations."""
        if not self.n:
            return measure.readable_bank(data)
        both = self._both(data)
        bank = measure.readable_bank(both)
        if self.frozen.any() and not hasattr(bank, "fix"):
            bank = FixedBank(measure, both.values)
        return self.fixed(bank)

    def to_count(self, dishes: AnyInts, topology: Any) -> AnyInts:
        """Dish of each of a bank's values, given the dishes of the customers of a store or of the data."""
        if not self.n:
            return dishes
        of_data = dishes[: topology.n_customers] if len(dishes) == topology.n_all else dishes
        return np.concatenate([np.asarray(of_data, dtype=np.int32), self._dishes])

    def cells(self) -> tuple[AnyInts, AnyInts, AnyInts] | None:
        """Terms, dishes and counts of the observations of prior components."""
        if self.pseudo is None:
            return None
        dish, term = np.nonzero(self.pseudo)
        return term.astype(np.int32), dish.astype(np.int32), self.pseudo[dish, term].astype(np.int32)

    def without(self, counts: Any) -> Any:
        """Counts of terms by dish, the known ones first, without earlier observations."""
        if self.pseudo is None:
            return counts
        found = np.array(counts, dtype=np.int64)
        found[: self.n] -= self.pseudo[: len(found)]
        return found

    def without_sparse(self, counts: Any) -> Any:
        """`without` for a sparse array."""
        if self.pseudo is None:
            return counts
        seen = scipy.sparse.csr_array(self.pseudo)
        seen.resize(counts.shape)
        found = scipy.sparse.csr_array(counts - seen)
        found.eliminate_zeros()
        return found

    def add_seen(self, totals: AnyInts) -> AnyInts:
        """Customers of dishes, the known ones first, with what prior components have seen before."""
        if self.pseudo is None:
            return totals
        found = np.array(totals, dtype=np.int64)
        found[: self.n] += self.pseudo[: len(found)].sum(axis=1)
        return found

    def is_frozen(self, slots: AnyInts) -> npt.NDArray[np.bool_]:
        """Whether each of these dishes is a frozen component."""
        found = np.zeros(len(slots), dtype=bool)
        known = np.asarray(slots) < self.n
        found[known] = self.frozen[slots[known]]
        return found

    def put_topics(self, topics: Any) -> Any:
        """Parameters of dishes, the known ones first; those of frozen components become their topics."""
        for j in np.flatnonzero(self.frozen[: len(topics)]).tolist():
            topics[j] = self.topics[j].copy()
        return topics

    def fill(self, topics: Floats, slots: AnyInts) -> None:
        """Set the rows of those of these dishes that are frozen components."""
        frozen = self.is_frozen(slots)
        if frozen.any():
            topics[frozen] = self.topics[slots[frozen]]

    def drawn(self, measure: BaseMeasure, slot: int, statistics: Any, source: ChoiceSource) -> Any:
        """Draw the parameters of a dish given its data and, for a component, its earlier observations."""
        if slot < self.n and self.frozen[slot]:
            return self.topics[slot]
        for value in self.declared.earlier(slot) if slot < self.n else ():
            measure.add(statistics, value)
        return measure.draw_parameters(statistics, source)

    def enter(self, franchise: Any) -> None:
        """Seat the components in a new franchise."""
        if self.n:
            franchise.root._check_number("known", self.n)
            franchise._clear()

    def stay(self, franchise: Any) -> npt.NDArray[np.int32]:
        """Unseat all customers except those of components; returns the slots of these."""
        if self.n:
            franchise.store.thaw(franchise.population.only_known(self.n))
        else:
            franchise.store.clear()
        return np.arange(self.n, dtype=np.int32)

    def with_own(self, dishes: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Dishes of the data customers, extended to all customers of a store."""
        return np.append(dishes, np.full(self.n, -1, dtype=np.int32)) if self.n else dishes

    def check_frozen(self, frozen: Mapping[str, Any], seating: Mapping[str, Any]) -> None:
        """Raise a DataError unless a state has every component at its place."""
        if not self.n:
            return
        j, kept = np.arange(self.n), FrozenSeating.of(seating)
        there = isinstance(kept, FrozenCells) or np.array_equal(kept.dishes[-self.n :], j)
        if not np.array_equal(np.asarray(frozen["slots"])[: self.n], j) or not there:
            raise DataError(
                "slots, in the frozen state", frozen["slots"], f"{self.n} known components, in slots 0 to "
                f"{self.n - 1}", "Thaw a state of a franchise with the same known components.",
            )  # fmt: skip

    def check_possible(self, data: GroupedData, dishes: Any, name: str, first: int = 0) -> None:
        """Raise a ParameterError if a frozen component would have a term of probability 0."""
        if not self.frozen.any():
            return
        values = np.asarray(data.values)[first : first + len(dishes)]
        there = (dishes >= 0) & (dishes < self.n)
        at = np.where(there, dishes, 0)
        none = there & self.frozen[at] & (self.topics[at, values] == 0.0)
        if np.any(none):
            i = int(np.argmax(none))
            raise ParameterError(
                name, f"dish {dishes[i]} for customer {first + i}, whose term is {values[i]}",
                "dishes under which every customer's term has a positive probability",
                f"{self.declared.labels[int(dishes[i])]!r} is frozen and has no such term.",
            )  # fmt: skip

    def allowed(self, n_dishes: int) -> Floats:
        """Distribution of a term over the dishes of a random start: one row for each term, or for all."""
        if not self.n:
            return np.full((1, n_dishes), 1.0 / n_dishes)
        # An additional dish is for terms that no other dish may have.
        weights = np.ones((self.n_terms, max(n_dishes, self.n) + 1))
        weights[:, n_dishes:] = 0.0
        weights[:, : self.n] *= (self.topics.T > 0.0) | ~self.frozen
        weights[weights.sum(axis=1) == 0.0, -1] = 1.0
        return weights / weights.sum(axis=1, keepdims=True)

    def possible(self, data: GroupedData, drawn: Any, n_dishes: int, source: RandomStream) -> Any:
        """Redraw dishes whose frozen component can't have the term, uniformly among those that can."""
        if not self.frozen.any():
            return drawn
        weights, values = self.allowed(n_dishes), np.asarray(data.values)
        for i in np.flatnonzero(weights[values, drawn] == 0.0).tolist():
            drawn[i] = source.generator.choice(weights.shape[1], p=weights[values[i]])
        return drawn

    def before(self, topics: Floats) -> Floats:
        """The topics of components, followed by these."""
        return topics if self.topics is None else np.vstack([self.topics, topics])


def _checked(declared: Known, measure: BaseMeasure, data: GroupedData) -> int:
    """The number of terms; raises an error unless measure and data support these components."""
    if measure.atomic or not measure.conjugate or not measure.takes_terms:
        raise DeclarationError(
            "known", type(measure).__name__, "a conjugate measure over terms that keeps nothing by dish",
            "Known components are distributions over terms: use hk.DirichletMultinomial.",
        )  # fmt: skip
    n_terms = getattr(data, "n_terms", None) or getattr(measure, "n_terms", None)
    if n_terms is None:
        raise DeclarationError(
            "known", type(data).__name__, "components of data that are terms of a vocabulary",
            "Declare hk.DirichletMultinomial(n_terms=...).",
        )  # fmt: skip
    if declared.matrix.shape[1] != n_terms:
        raise DataError(
            "known", declared, f"distributions over the {n_terms} terms of the data, in their order",
            f"The rows of its matrix have {declared.matrix.shape[1]} terms: give one for each term.",
        )  # fmt: skip
    return int(n_terms)


def _checked_values(declared: KnownValues, measure: BaseMeasure, data: GroupedData) -> npt.NDArray[Any]:
    """All observations of components; raises an error unless measure and data support them."""
    if measure.atomic or not measure.conjugate or getattr(measure, "n_terms", None) is not None:
        raise DeclarationError(
            "known", type(measure).__name__, "a conjugate measure over numbers or vectors",
            "Over terms use hk.Known; other measures have no known components.",
        )  # fmt: skip
    seen = np.concatenate(declared.values)
    values = np.asarray(data.values)
    if values.dtype == object or seen.shape[1:] != values.shape[1:]:
        raise DataError(
            "known", declared, f"values of shape {values.shape[1:]} each, as those of the data",
            "Give earlier observations of the kind of the data.",
        )  # fmt: skip
    seen = seen.astype(values.dtype)
    measure.for_data(Groups(values=seen, labels={}))
    return seen
