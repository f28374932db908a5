"""The explicit store in Python, as a readable reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from hdpkit.arrays import Int32s
from hdpkit.random import ChoiceSource
from hdpkit.stores._seating import SEATS, columns, empty_row
from hdpkit.stores.counts import CountedStore, named_columns
from hdpkit.stores.protocol import Detail, Frozen


@attrs.define
class Table:
    """A table and where it sits."""

    node: int
    dish: int
    size: int = 1
    seat: int = -1  # the table of the parent restaurant at which this one sits


class ExplicitReference(CountedStore):
    """The full seating: a table for each data customer, a seat in the parent for each table."""

    DETAIL = Detail.SEATS

    _changes = 0  # see `changes_of_seats`

    @property
    def changes_of_seats(self) -> int:
        """A counter that increases when the seat of a customer or of a table may have changed."""
        return self._changes

    def clear(self) -> None:
        super().clear()
        self._changes += 1
        self._seats = [-1] * self.n_customers
        self._tables: dict[int, Table] = {}
        self._serving: dict[tuple[int, int], list[int]] = {}
        self._next_table = 0

    def _sizes(self, node: int, dish: int) -> Iterable[int]:
        return [self._tables[t].size for t in self._serving.get((node, dish), [])]

    def table_at(self, customer: int) -> int:
        """Number of the table where a customer sits, -1 for none."""
        return self._seats[customer] if customer >= 0 else self._tables[~customer].seat

    def _sit(self, customer: int, table: int) -> None:
        self._changes += 1
        if customer >= 0:
            self._seats[customer] = table
        else:
            self._tables[~customer].seat = table

    def table_size(self, table: int) -> int:
        """Customers of a table."""
        return self._tables[table].size

    def table_node(self, table: int) -> int:
        """Restaurant of a table."""
        return self._tables[table].node

    def dish_of(self, customer: int) -> int:
        table = self._seats[customer]
        return -1 if table < 0 else self._tables[table].dish

    def join(self, node: int, dish: int, customer: int, discount: float, source: ChoiceSource) -> None:
        """Seat a customer at a table of the dish, drawn with weight size - discount."""
        tables = self._serving[node, dish]
        which = 0
        if len(tables) > 1:
            which = source.choose([self._tables[t].size - discount for t in tables])
        self._tables[tables[which]].size += 1
        self._sit(customer, tables[which])
        self._count(node, dish, customers=1)

    def open(self, node: int, dish: int, customer: int) -> int:
        """Seat a customer at a new table; returns that table as a customer of the parent."""
        table = self._next_table
        self._next_table += 1
        self._tables[table] = Table(node, dish)
        self._serving.setdefault((node, dish), []).append(table)
        self._sit(customer, table)
        self._count(node, dish, customers=1, tables=1)
        return ~table

    def remove(self, node: int, dish: int, customer: int, source: ChoiceSource) -> tuple[bool, int]:
        """Remove a customer from its table."""
        table = self.table_at(customer)
        self._sit(customer, -1)
        if customer < 0 and self._tables[~customer].size == 0:
            del self._tables[~customer]  # the table had closed; only its seat was still needed
        self._tables[table].size -= 1
        self._count(node, dish, customers=-1)
        if self._tables[table].size > 0:
            return False, ~table
        self._serving[node, dish].remove(table)
        self._count(node, dish, tables=-1)
        if node == 0:
            del self._tables[table]
        return True, ~table

    def serve_dish(self, table: int, dish: int) -> None:
        """Change the dish of a table within its restaurant; its seat in the parent doesn't change."""
        record = self._tables[table]
        self._serving[record.node, record.dish].remove(table)
        self._count(record.node, record.dish, customers=-record.size, tables=-1)
        record.dish = dish
        self._serving.setdefault((record.node, dish), []).append(table)
        self._count(record.node, dish, customers=record.size, tables=1)

    def table_dish(self, table: int) -> int:
        """Dish of a table, -1 if no table has this number."""
        return self._tables[table].dish if table in self._tables else -1

    def sit(self, customer: int, table: int) -> None:
        """Seat a customer at this table, which has others."""
        record = self._tables[table]
        record.size += 1
        self._sit(customer, table)
        self._count(record.node, record.dish, customers=1)

    def reopen(self, node: int, dish: int, customer: int, table: int) -> None:
        """Open a closed table again under its number, with this customer and first in its list."""
        self._tables[table] = Table(node, dish)
        self._serving.setdefault((node, dish), []).insert(0, table)
        self._sit(customer, table)
        self._count(node, dish, customers=1, tables=1)

    def table_before(self, table: int) -> int:
        """The table before this one in the list of its restaurant and dish, -1 if it is the first."""
        record = self._tables[table]
        tables = self._serving[record.node, record.dish]
        place = tables.index(table)
        return tables[place - 1] if place else -1

    def place_after(self, table: int, before: int) -> None:
        """Move a table behind another one of its list; with -1 it becomes the first."""
        record = self._tables[table]
        tables = self._serving[record.node, record.dish]
        tables.remove(table)
        tables.insert(tables.index(before) + 1 if before >= 0 else 0, table)

    def relabel_dishes(self, mapping: Int32s) -> None:
        super().relabel_dishes(mapping)
        self._serving = {(n, int(mapping[k])): tables for (n, k), tables in self._serving.items() if tables}
        for tables in self._serving.values():
            for t in tables:
                self._tables[t].dish = int(mapping[self._tables[t].dish])

    def freeze(self, empty: Callable[[int], Int32s] = empty_row) -> Frozen:
        """The labelled seating."""
        order = [t for pair in sorted(self._serving) for t in self._serving[pair]]
        number = {t: i for i, t in enumerate(order)} | {-1: -1}
        tables = [(t.node, t.dish, number[t.seat]) for t in (self._tables[i] for i in order)]
        seat = empty(self.n_customers)
        seat[:] = [number[t] for t in self._seats]
        return {SEATS[0]: seat, **named_columns(SEATS[1:], tables)}

    def thaw(self, frozen: Frozen) -> None:
        """Replace the state by a labelled seating; lists of tables get the order of the arrays."""
        seats, nodes, dishes, above = columns(frozen, *SEATS)
        self.clear()
        self._seats = seats.tolist()
        for table, (node, dish, seat) in enumerate(zip(nodes, dishes, above, strict=True)):
            self._tables[table] = Table(int(node), int(dish), 0, int(seat))
            self._serving.setdefault((int(node), int(dish)), []).append(table)
        self._next_table = len(self._tables)
        for table in [*self._seats, *(t.seat for t in self._tables.values())]:
            if table >= 0:
                self._tables[table].size += 1
        for record in self._tables.values():
            self._count(record.node, record.dish, customers=record.size, tables=1)
