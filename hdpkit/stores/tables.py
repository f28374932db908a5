"""Tables of the readable explicit store, and how changes of its seating are taken back (`TakesBack`)."""

from __future__ import annotations

from collections.abc import Callable

import attrs


@attrs.define
class Table:
    """A table and where it sits."""

    node: int
    dish: int
    size: int = 1
    seat: int = -1  # the table of the parent restaurant at which this one sits


class TablesInLists:
    """Seats at given tables; a subclass has tables by number, and lists of them by restaurant and dish."""

    _tables: dict[int, Table]
    _serving: dict[tuple[int, int], list[int]]
    _sit: Callable[[int, int], None]
    _count: Callable[..., None]

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
