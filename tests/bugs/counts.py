"""Mistakes in stores of counts, and in what is drawn given counts."""

from __future__ import annotations

from hdpkit.testing.planted import PlantedBug

__all__ = ["BUGS"]

_TABLES = "hdpkit.franchise.reference.table_counts"
_STORE = "hdpkit.stores.reference.tallies"
_PARTITIONS = "hdpkit.stores.reference.partitions"

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
        "A verb over counts ends without drawing the tables of its restaurants.",
        _TABLES,
        "if not walk.tables_at_end:",
        "if not walk.tables_at_end or len(list(nodes)) < 3:",
        "check_direct_assignment",
    ),
    PlantedBug(
        "tables of one restaurant",
        "A verb that touched several restaurants draws the tables of the first.",
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
        "source.bernoulli(_S[i - 1][t - 1] / _S[i][t])",
        "source.bernoulli(_S[i - 1][t - 1] / (_S[i - 1][t - 1] + _S[i - 1][t]))",
        "check_seats_drawn_from_counts",
    ),
    PlantedBug(
        "Stirling numbers with n for n - 1",
        "s(n + 1, t) = s(n, t - 1) + (n + 1) s(n, t).",
        _STORE,
        "here = log(i) if i else -np.inf",
        "here = log(i + 1) if i else -np.inf",
        "check_log_seating_of_counts",
    ),
)
