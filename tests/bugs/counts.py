"""Mistakes in stores of counts, and in draws given counts."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_TABLES = "hdpkit.steps.table_counts"
_STORE = "hdpkit.stores.counts"
_PARTITIONS = "hdpkit.stores.labelled_seating"
_STIRLING = "hdpkit.stirling"
_INDICATORS = "hdpkit.steps.counts_walk"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "tables drawn with n for n - 1",
        "The ith customer opens a table with probability a / (a + i) for a / (a + i - 1).",
        _TABLES,
        "source.bernoulli(a / (a + i))",
        "source.bernoulli(a / (a + i + 1))",
        "check_tables_given_customers",
    ),
    PlantedBug(
        "binomial draws with n for n - 1",
        "The same in the draws of all restaurants at once.",
        _TABLES,
        "n_open = int(source.binomial(len(there), a / (a + i - 1)))",
        "n_open = int(source.binomial(len(there), a / (a + i)))",
        "check_tables_by_binomial_draws",
    ),
    PlantedBug(
        "the first restaurants open",
        "The tables of a binomial draw go to the first restaurants for a uniform subset.",
        _TABLES,
        "source.permutation(len(there))[:n_open]",
        "range(n_open)",
        "check_tables_by_binomial_draws",
    ),
    PlantedBug(
        "tables as they were left",
        "A step over counts ends without drawing the tables of its restaurants.",
        _TABLES,
        "if not walk.tables_at_end:",
        "if not walk.tables_at_end or len(list(nodes)) < 3:",
        "check_direct_assignment",
    ),
    PlantedBug(
        "tables of one restaurant",
        "A step that touched several restaurants draws the tables of the first.",
        _TABLES,
        "sorted(set(nodes) - {0})",
        "sorted(set(nodes) - {0})[:1]",
        "check_direct_assignment",
    ),
    PlantedBug(
        "more tables than customers",
        "A customer who leaves takes a table along only if it was the last one of the dish.",
        _STORE,
        "closes = self.tables(node, dish) == self.customers(node, dish)",
        "closes = self.customers(node, dish) == 1",
        "check_store_of_counts",
    ),
    PlantedBug(
        "a uniform table",
        "Who opens no table joins a table drawn uniformly, for that of a customer drawn uniformly.",
        _PARTITIONS,
        "table.append(table[source.index(i)])",
        "table.append(source.index(len(sizes)))",
        "check_seats_drawn_from_counts",
    ),
    PlantedBug(
        "openings without n - 1",
        "s(n, t) = s(n - 1, t - 1) + s(n - 1, t), the factor n - 1 left out.",
        _PARTITIONS,
        "else _S[i - 1][t - 1] / _S[i][t])",
        "else _S[i - 1][t - 1] / (_S[i - 1][t - 1] + _S[i - 1][t]))",
        "check_seats_drawn_from_counts",
    ),
    PlantedBug(
        "Stirling numbers with n for n - 1",
        "s(n + 1, t) = s(n, t - 1) + (n + 1) s(n, t).",
        _STIRLING,
        "log(i - j * d)",
        "log(i + 1 - j * d)",
        "check_log_seating_of_counts",
    ),
    PlantedBug(
        "Stirling number of n for n + 1",
        "A customer without a table multiplies by S(n, t) / S(n, t) for S(n + 1, t) / S(n, t).",
        _STIRLING,
        "exp(log_stirling(n + 1, t, d) - log_stirling(n, t, d))",
        "exp(log_stirling(n, t, d) - log_stirling(n, t, d))",
        "check_indicators",
    ),
    PlantedBug(
        "the stuck customer moves",
        "The only one of several customers who counts for a table is taken out as if it did not.",
        _INDICATORS,
        "return None",
        "break",
        "check_indicators",
    ),
    PlantedBug(
        "the stuck customer moves, with the table",
        "It is taken out with its table; the others are left without one.",
        _INDICATORS,
        "                if t == 1:\n                    return None\n",
        "",
        "check_indicators",
    ),
    PlantedBug(
        "an indicator with the probability of sitting alone",
        "u = 1 with probability S(n - 1, t - 1) / S(n, t) for t / n.",
        _INDICATORS,
        "source.bernoulli(t / n)",
        "source.bernoulli(one_alone(n, t, self.discount[node]))",
        "check_indicators",
    ),
    PlantedBug(
        "an indicator by a fair coin",
        "u = 1 with probability 1/2 for t / n.",
        _INDICATORS,
        "source.bernoulli(t / n)",
        "source.bernoulli(0.5)",
        "check_indicators",
    ),
    PlantedBug(
        "(n - t + 1) / (n + 1) left out",
        "p(z, u) without 1 / C(n, t), for a customer without a table.",
        _INDICATORS,
        "* (n - t + 1) / (n + 1) if",
        "if",
        "check_indicators",
    ),
    PlantedBug(
        "(t + 1) / (n + 1) left out",
        "The same for a customer with a table.",
        _INDICATORS,
        "* (t + 1) / (n + 1))",
        ")",
        "check_formulas_of_indicators",
    ),
    PlantedBug(
        "the root as it was before",
        "The root's factor is that of before the customer has left it.",
        _INDICATORS,
        "        if walk.take_out(i, node, dish, closes, source):\n            walk.slots.close(dish)\n",
        "        live, stale = walk.slots.occupied_slots().tolist(), walk.prior_row(0).tolist()\n"
        "        before = type(walk).weight\n"
        "        walk.weight = lambda r, k: (\n"
        "            dict(zip(live, stale)).get(k, stale[-1]) if r == 0 else before(walk, r, k)\n"
        "        )\n"
        "        if walk.take_out(i, node, dish, closes, source):\n            walk.slots.close(dish)\n",
        "check_indicators",
    ),
    PlantedBug(
        "opened without d T",
        "A customer with a table multiplies by theta for theta + d T.",
        _INDICATORS,
        "self.concentration[node] + self.discount[node] * self.store.node_tables(node)",
        "self.concentration[node]",
        "check_indicators",
    ),
    PlantedBug(
        "indicators that end at the first restaurant",
        "A customer with u = 1 is taken out of the parent without an indicator of its own.",
        _INDICATORS,
        "                if not source.bernoulli(t / n):\n",
        "                if closes or not source.bernoulli(t / n):\n",
        "check_indicators",
    ),
    PlantedBug(
        "a table closes with its indicator",
        "Who leaves for good takes a table along with probability t / n, for that of sitting alone.",
        _INDICATORS,
        "source.bernoulli(one_alone(n, t, self.discount[node]))",
        "source.bernoulli(t / n)",
        "check_leaving_counts",
    ),
    PlantedBug(
        "joining tables by size",
        "Sizes of tables drawn from counts, in a restaurant with a discount, with size for size - d.",
        _PARTITIONS,
        "source.choose(np.array(sizes) - d)",
        "source.choose(np.array(sizes, dtype=float))",
        "check_seats_drawn_from_discounted_counts",
    ),
)
