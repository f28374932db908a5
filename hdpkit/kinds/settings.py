"""The settings of a language model: hyperparameters by level, and the declared restaurants and moves."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from hdpkit.checks import choice, instance, whole_number
from hdpkit.data.encode import check_hashable, check_markers, check_vocabulary
from hdpkit.errors import ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.measures.atomic import AtomicMeasure, Uniform
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Concentration, Discount, Move, TableGibbs
from hdpkit.priors import Beta, Gamma
from hdpkit.steps.step import KERNELS
from hdpkit.stores import stores

ORDER_LIMIT = 100
"""Largest order of a model; limited because declarations are nested."""


def as_declared(given: Any) -> Any:
    """Return an argument for all levels or for each level; lists and arrays are converted to tuples."""
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    return tuple(given) if isinstance(given, list) else given


def levels(name: str, given: Any, order: int, default: Any) -> tuple[Any, ...]:
    """Return a hyperparameter for each level, the root's first.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error.
    given : number, prior, sequence of these, or None
        One for all levels, or one for each.
    order : int
        Number of levels: contexts of 0 to order - 1 symbols.
    default : number or prior
        Used instead of None.

    Raises
    ------
    ParameterError
        If it is a sequence of another length.
    """
    declared = default if given is None else as_declared(given)
    if not isinstance(declared, tuple):
        return (declared,) * order
    if len(declared) != order:
        raise ParameterError(
            name, given, f"one value, or {order} of them, the root's first",
            f"Order {order} has {order} levels: contexts of 0 to {order - 1} symbols.",
        )  # fmt: skip
    return declared


def context_restaurants(
    measure: BaseMeasure, concentrations: tuple[Any, ...], discounts: tuple[Any, ...]
) -> Restaurant:
    """Declare a root and restaurants for each context of one symbol, of two, and so on."""
    made: Any = measure
    for level, (concentration, discount) in enumerate(zip(concentrations, discounts, strict=True)):
        each = f"context {level}" if level else None
        try:
            made = Restaurant(made, concentration=concentration, discount=discount, each=each)
        except ParameterError as error:
            where = f"of contexts of length {level}" if level else "of the root"
            name = f"{error.parameter}s ({where})"
            raise ParameterError(name, error.value, error.allowed, error.remedy) from None
    assert isinstance(made, Restaurant)
    return made


def moves_for(restaurant: Restaurant) -> list[Move]:
    """Return moves for every customer's table and for every hyperparameter that has a prior."""
    declared = [declaration.hyperparameters for declaration in restaurant.chain()]
    chosen: list[Move] = [TableGibbs()]
    if any(concentration.prior is not None for concentration, _ in declared):
        chosen.append(Concentration())
    if any(discount.prior is not None for _, discount in declared):
        chosen.append(Discount())
    return chosen


@attrs.frozen(kw_only=True)
class ModelSettings:
    """The settings of an `NGramModel`; attributes as its parameters.

    Attributes
    ----------
    discounts, concentrations : tuple
        One for each level, the root's first.
    vocabulary : tuple or None
        Includes the symbol of the sentence's end.
    """

    order: int
    discounts: Any
    concentrations: Any
    base: AtomicMeasure | None
    store: str | type
    start: Any
    end: Any
    unknown: Any
    vocabulary: Any
    kernel: str

    @classmethod
    def of(
        cls,
        order: Any,
        discounts: Any,
        concentrations: Any,
        base: Any,
        store: Any,
        start: Any,
        end: Any,
        unknown: Any,
        vocabulary: Any,
        kernel: Any,
    ) -> ModelSettings:
        """Check the arguments."""
        order = whole_number("order", order, 1, ORDER_LIMIT, remedy="2 is a bigram model, 3 a trigram model.")
        if base is not None:
            instance(
                "base", base, AtomicMeasure, "a base measure with atoms, or None",
                remedy="For instance hk.Uniform(V); None is hk.Uniform() over the vocabulary.",
            )  # fmt: skip
        choice("kernel", kernel, KERNELS, remedy="Leave it out for the fastest.")
        if isinstance(store, str):
            store = stores[store].name
        elif not isinstance(store, type):
            raise ParameterError(
                "store", store, f"one of {sorted(stores)} or a SeatingStore class", "See hdpkit.stores."
            )
        words = check_vocabulary(vocabulary)
        if words is not None and end is not None and check_hashable("end", end) not in words:
            words = (*words, end)
        check_markers(start, end, words)
        if unknown is not None and check_hashable("unknown", unknown) in (start, end):
            raise ParameterError(
                "unknown", unknown, "different from the symbols of the sentence's start and end",
                "Choose another one, or None.",
            )  # fmt: skip
        made = cls(
            order=order,
            discounts=levels("discounts", discounts, order, Beta(1.0, 1.0)),
            concentrations=levels("concentrations", concentrations, order, Gamma(1.0, 1.0)),
            base=base,
            store=store,
            start=start,
            end=end,
            unknown=unknown,
            vocabulary=words,
            kernel=kernel,
        )
        made.restaurant()
        return made

    def restaurant(self) -> Restaurant:
        """The restaurants of contexts of all lengths."""
        base = Uniform() if self.base is None else self.base
        return context_restaurants(base, self.concentrations, self.discounts)

    def as_dict(self) -> dict[str, Any]:
        """The settings for a run folder, whose data contain the vocabulary."""
        return {**attrs.asdict(self, recurse=False), "vocabulary": self.vocabulary is not None}

    @classmethod
    def names(cls) -> list[str]:
        """Names of the settings."""
        return [field.name for field in attrs.fields(cls)]
