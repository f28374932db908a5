"""The exact-kernel test if terms repeat in restaurants: a state is a seating and all numbers of tables."""

import collections
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.measures.by_restaurant import Placed
from hdpkit.testing.exact import ExactModel, Seen, chain_rule_of, with_known
from hdpkit.testing.exact_parameters import blocks_of, shares_of

Tables = dict[tuple[int, Any], int]
"""Numbers of tables by restaurant and term."""
Law = list[tuple[Tables, float, float]]
"""Numbers of tables and a concentration, with p(terms, numbers of tables, concentration)."""


class ExactBurstyModel(ExactModel):
    """A tiny franchise over `Bursty`, with every seating of its terms at tables of each dish and
    restaurant.
    """

    def __init__(
        self, franchise: Franchise, log_marginal: Callable[[list[Any]], float] | None = None
    ) -> None:
        measure: Any = franchise.measure
        self._a, self._own = float(measure.discount), not measure.conjugate
        concentration = measure.concentration
        self._grid = shares_of(concentration.prior) if self._own else [(float(concentration), 1.0)]
        of_terms = chain_rule_of(measure.measure)
        self._of_tables = log_marginal or (lambda terms: of_terms(terms) if terms else 0.0)
        if franchise.known is not None:
            self._of_tables = with_known(franchise.known, self._of_tables)
        self._laws: dict[tuple[Placed | Seen, ...], Law] = {}
        super().__init__(franchise, self._log_marginal)
        self._split(self._tables)

    def _tables(self, frozen: dict[str, Any]) -> Iterator[tuple[Any, float, dict[str, Any]]]:
        """Which customers represent tables and the dishes' concentrations, given the seating."""
        n_data = len(self.franchise.data.values)
        blocks = blocks_of(frozen)
        laws = [self._law([self.values[i] for i in block]) for block in blocks]
        for chosen in itertools.product(*laws):
            opens = np.zeros(n_data, dtype=np.int8)
            weight = 1.0
            for block, law, (tables, _, p) in zip(blocks, laws, chosen, strict=True):
                weight *= p / math.fsum(q for *_, q in law)
                left = dict(tables)
                for i in block:  # the first customers represent the tables
                    if i < n_data:
                        where = self.values[i].restaurant, self.values[i].value
                        opens[i] = left[where] > 0
                        left[where] -= 1
            own = tuple(b for _, b, _ in chosen) if self._own else ()
            kept = {"slots": frozen["slots"], "parameters": [*map(np.array, own)]} if self._own else {}
            yield (tuple(opens.tolist()), own), weight, {"bank": {"opens": opens, **kept}}

    def _of_dishes(self, of_values: Callable[[list[Any]], float]) -> Callable[[list[Any]], float]:
        return of_values  # known components are those of the tables

    def _log_marginal(self, values: list[Placed | Seen]) -> float:
        """Log p(terms) of a dish."""
        p = math.fsum(p for *_, p in self._law(values))
        return math.log(p) if p > 0.0 else -math.inf

    def _law(self, values: list[Placed | Seen]) -> Law:
        """Numbers of tables and concentrations of a dish, with their probability."""
        known = tuple(values)
        if known not in self._laws:
            seen = [value for value in values if isinstance(value, Seen)]
            terms = [value for value in values if isinstance(value, Placed)]
            total: dict[tuple[tuple[tuple[Any, int], ...], float], float] = collections.defaultdict(float)
            for b, share in self._grid:
                for sizes, weight in self._seatings(terms, b):
                    tables = {where: len(of) for where, of in sizes.items()}
                    heads = [term for (_, term), n in tables.items() for _ in range(n)]
                    p = share * weight * math.exp(self._of_tables([*seen, *heads]))
                    total[tuple(sorted(tables.items())), b] += p
            self._laws[known] = [(dict(tables), b, p) for (tables, b), p in total.items()]
        return self._laws[known]

    def _seatings(self, values: list[Placed], b: float) -> Iterator[tuple[dict[Any, list[int]], float]]:
        """Sizes of tables by restaurant and term, and the probability of each seating without the terms."""
        if not values:
            yield {}, 1.0
            return
        *before, last = values
        where = last.restaurant, last.value
        for sizes, weight in self._seatings(before, b):
            here = [of for (restaurant, _), of in sizes.items() if restaurant == last.restaurant]
            n, t = sum(map(sum, here)), sum(map(len, here))
            own = sizes.get(where, [])
            opened = (b + self._a * t) / (b + n)
            yield {**sizes, where: [*own, 1]}, weight * opened
            for table, size in enumerate(own):
                joined = [*own[:table], size + 1, *own[table + 1 :]]
                yield {**sizes, where: joined}, weight * (size - self._a) / (b + n)

    def _state(self) -> Any:
        bank: Any = self.franchise.bank
        seating, slots = self._seating()
        own = tuple(bank.parameter(slot) for slot in slots) if self._own else ()
        return seating, (tuple(bank.freeze()["opens"].tolist()), own)
