"""The settings of a language model: what is declared, checked and made into restaurants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.base_measures import AtomicMeasure, Uniform
from hdpkit.checks import choice, instance, whole_number
from hdpkit.data.encode import check_hashable, check_markers, check_vocabulary
from hdpkit.errors import ParameterError
from hdpkit.franchise import Restaurant
from hdpkit.franchise.kernels import KERNELS
from hdpkit.moves import Concentration, Move, TableGibbs
from hdpkit.priors import Beta, Gamma
from hdpkit.stores import stores

__all__ = ["ModelSettings"]

ORDER_LIMIT = 100
"""Largest order of a model: declarations are nested, one in the other."""


@attrs.frozen(kw_only=True)
class ModelSettings:
    """What an `NGramModel` was given; attributes as its parameters.

    Attributes
    ----------
    discounts, concentrations : tuple
        One for each level, the root's first.
    vocabulary : tuple or None
        With the symbol of the sentence's end.
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
        """Check what a user wrote."""
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
                "unknown", unknown, "another symbol than those of the sentence's start and end",
                "Choose another one, or None.",
            )  # fmt: skip
        made = cls(
            order=order,
            discounts=_levels("discounts", discounts, order, Beta(1.0, 1.0)),
            concentrations=_levels("concentrations", concentrations, order, Gamma(1.0, 1.0)),
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
        """The restaurants: a root, one for each context of one symbol, of two, and so on."""
        made: Any = Uniform() if self.base is None else self.base
        for level, (concentration, discount) in enumerate(
            zip(self.concentrations, self.discounts, strict=True)
        ):
            try:
                made = Restaurant(
                    made,
                    concentration=concentration,
                    discount=discount,
                    each=f"context {level}" if level else None,
                )
            except ParameterError as error:
                where = "of the root" if level == 0 else f"of contexts of length {level}"
                raise ParameterError(
                    f"{error.parameter}s ({where})", error.value, error.allowed, error.remedy
                ) from None
        assert isinstance(made, Restaurant)
        return made

    def moves(self) -> list[Move]:
        """Every customer's table, and every hyperparameter that has a prior."""
        theta = [declaration.hyperparameters[0] for declaration in self.restaurant().chain()]
        schedule: list[Move] = [TableGibbs()]
        if any(one.prior is not None for one in theta):
            schedule.append(Concentration())
        return schedule


def _levels(name: str, given: Any, order: int, default: Any) -> tuple[Any, ...]:
    """One for each level."""
    if given is None:
        return (default,) * order
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        if len(given) != order:
            raise ParameterError(
                name, given, f"one value, or {order} of them, the root's first",
                f"There is a level for each length of a context, 0 to {order - 1}.",
            )  # fmt: skip
        return tuple(given)
    return (given,) * order
