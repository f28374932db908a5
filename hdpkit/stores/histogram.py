"""The histogram store in Python, as a readable reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import ClassVar

from hdpkit.arrays import Int32s
from hdpkit.random import ChoiceSource
from hdpkit.stores._seating import SIZES, columns, empty_row
from hdpkit.stores.counts import CountedStore, named_columns
from hdpkit.stores.protocol import Detail, Frozen


class HistogramReference(CountedStore):
    """Tables of each size that serve a dish (Blunsom et al. 2009, algorithms 1 and 2, corrected)."""

    # A customer who joins a table of size s makes it a table of size s + 1.

    DETAIL = Detail.SIZES
    ANONYMOUS: ClassVar[int] = -1  # a table as a customer of the parent

    def clear(self) -> None:
        super().clear()
        self._dish = [-1] * self.n_customers
        self._histograms: dict[tuple[int, int], Counter[int]] = {}

    def dish_of(self, customer: int) -> int:
        return self._dish[customer]

    def _label(self, customer: int, dish: int) -> None:
        if customer >= 0:
            self._dish[customer] = dish

    def _sizes(self, node: int, dish: int) -> Iterable[int]:
        return self._histograms.get((node, dish), Counter()).elements()

    def _change(self, node: int, dish: int, size: int, by: int) -> None:
        histogram = self._histograms.setdefault((node, dish), Counter())
        histogram[size] += by
        if histogram[size] == 0:
            del histogram[size]
        if not histogram:
            del self._histograms[node, dish]

    def _draw_size(self, node: int, dish: int, discount: float, source: ChoiceSource) -> int:
        sizes = sorted(self._histograms[node, dish].items())
        if len(sizes) == 1:
            return sizes[0][0]
        return sizes[source.choose([(size - discount) * count for size, count in sizes])][0]

    def join(self, node: int, dish: int, customer: int, discount: float, source: ChoiceSource) -> None:
        """Seat a customer at a table of the dish, drawn with weight size - discount."""
        size = self._draw_size(node, dish, discount, source)
        self._change(node, dish, size, -1)
        self._change(node, dish, size + 1, 1)
        self._label(customer, dish)
        self._count(node, dish, customers=1)

    def open(self, node: int, dish: int, customer: int) -> int:
        """Seat a customer at a new table; returns that table as a customer of the parent."""
        self._change(node, dish, 1, 1)
        self._label(customer, dish)
        self._count(node, dish, customers=1, tables=1)
        return self.ANONYMOUS

    def remove(self, node: int, dish: int, customer: int, source: ChoiceSource) -> tuple[bool, int]:
        """Remove a customer from a table drawn with probability proportional to its size (no discount)."""
        size = self._draw_size(node, dish, 0.0, source)
        self._change(node, dish, size, -1)
        if size > 1:
            self._change(node, dish, size - 1, 1)
        self._label(customer, -1)
        self._count(node, dish, customers=-1, tables=-(size == 1))
        return size == 1, self.ANONYMOUS

    def relabel_dishes(self, mapping: Int32s) -> None:
        super().relabel_dishes(mapping)
        self._dish = [k if k < 0 else int(mapping[k]) for k in self._dish]
        self._histograms = {(n, int(mapping[k])): h for (n, k), h in self._histograms.items()}

    def freeze(self, empty: Callable[[int], Int32s] = empty_row) -> Frozen:
        """Dishes and histograms."""
        bins = sorted(
            (node, dish, size, count)
            for (node, dish), histogram in self._histograms.items()
            for size, count in histogram.items()
        )
        return {"dish": self.dishes(empty), **named_columns(SIZES, bins)}

    def thaw(self, frozen: Frozen) -> None:
        """Replace the state by frozen dishes and histograms."""
        eaten, *bins = columns(frozen, "dish", *SIZES)
        self.clear()
        self._dish = eaten.tolist()
        for node, dish, size, count in zip(*(column.tolist() for column in bins), strict=True):
            self._change(node, dish, size, count)
            self._count(node, dish, customers=size * count, tables=count)
