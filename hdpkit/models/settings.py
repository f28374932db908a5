"""The settings of a language model: checks, and the declared restaurants."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.base_measures import AtomicMeasure, Uniform
from hdpkit.checks import choice, instance, whole_number
from hdpkit.data.encode import check_hashable, check_markers, check_vocabulary
from hdpkit.errors import ParameterError
from hdpkit.franchise import Restaurant
from hdpkit.franchise.kernels import KERNELS
from hdpkit.models.levels import ORDER_LIMIT, context_restaurants, levels
from hdpkit.priors import Beta, Gamma
from hdpkit.stores import stores

__all__ = ["ModelSettings"]


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
