"""The state machine of a store of counts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from hdpkit.random import RandomStream
from hdpkit.testing.machines import StoreMachine


class CountsMachine(StoreMachine):
    """Drives a store of counts; the model has customers and tables by restaurant and dish, and no sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: dict[tuple[int, int], list[int]] = {}

    @precondition(lambda self: any(node > 0 for node, _ in self.counted))
    @rule(which=st.integers(0, 1000), tables=st.integers(0, 13))
    def set_tables(self, which: int, tables: int) -> None:
        """Give a dish of a restaurant another number of tables; the parent's customers follow."""
        pairs = sorted(pair for pair in self.counted if pair[0] > 0)
        node, dish = pairs[which % len(pairs)]
        parent, own = self.parent[node], self.counted[node, dish]
        above = self.counted[parent, dish]
        # The caller must ensure that the parent has at most as many tables as customers.
        fewest = max(1, own[1] - (above[0] - above[1]))
        n = fewest + tables % (own[0] - fewest + 1)
        self.store.set_tables(node, self.labels[dish], n, parent)
        above[0] += n - own[1]
        own[1] = n

    @rule(really=st.integers(0, 3))
    def clear(self, really: int) -> None:
        """Remove all customers at once."""
        if really == 3:  # not too often
            self.store.clear()
            self.dish, self.counted = [None] * len(self.home), {}

    def _climb(
        self, who: Any, node: int, dish: int, opens: int, discount: float, source: RandomStream
    ) -> None:
        label, code = self.labels[dish], who
        for opened in range(len(self.parent)):
            if node < 0:
                return
            if opened >= opens and (node, dish) in self.counted:
                self.store.join(node, label, code, discount, source)
                self.counted[node, dish][0] += 1
                return
            code = self.store.open(node, label, code)
            assert code < 0, "a table is a negative customer of the parent"
            own = self.counted.setdefault((node, dish), [0, 0])
            own[0] += 1
            own[1] += 1
            node = self.parent[node]

    def _descend(self, who: Any, node: int, dish: int, source: RandomStream) -> None:
        code, closed = who, True
        while closed and node >= 0:
            own = self.counted[node, dish]
            closed, code = self.store.remove(node, self.labels[dish], code, source)
            assert code < 0, "a table is a negative customer of the parent"
            assert closed is (own[0] == own[1]), f"remove says closed = {closed} at {own}"
            own[0] -= 1
            own[1] -= closed
            if own[0] == 0:
                del self.counted[node, dish]
            node = self.parent[node]

    @invariant()
    def counts_agree(self) -> None:
        """Customers and tables of every restaurant and dish; a parent's customers are tables below."""
        store, labels = self.store, self.labels
        below = {
            pair: sum(1 for i, dish in enumerate(self.dish) if (self.home[i], dish) == pair)
            + sum(n[1] for (node, dish), n in self.counted.items() if (self.parent[node], dish) == pair)
            for pair in self.counted
        }
        for node in range(len(self.parent)):
            served = sorted(dish for n, dish in self.counted if n == node)
            assert store.node_dishes(node).tolist() == [labels[dish] for dish in served]
            for dish, label in enumerate(labels):
                customers, tables = self.counted.get((node, dish), [0, 0])
                assert [store.customers(node, label), store.tables(node, label)] == [customers, tables]
                assert customers == below.get((node, dish), 0), "a parent's customers are the tables below"
                assert (customers == tables == 0) or 1 <= tables <= customers
            assert store.node_customers(node) == sum(store.customers(node, label) for label in labels)
            assert store.node_tables(node) == sum(store.tables(node, label) for label in labels)
