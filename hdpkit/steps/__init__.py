"""What is done to a seating and its dishes: readable functions, and compiled twins beside them (`_NAME.pyx`).

A compiled step allocates everything that it may need before it changes anything (`Walk.ready`: entries on
the way to the root, tables, bins, a slot, weights), through `hdpkit.vectors`, whose calls all raise. Over a
store of counts there are two walks. With weights of the root and two levels, no draw of a step depends on
numbers of tables, so a `Walk` draws them at the end of the step (`table_counts`). Otherwise they are part of
the state, and a `CountsWalk` draws them with the dishes.

A rejected proposal is undone from a journal of the seats, including table numbers (`Group`); the readable
twin freezes the store and thaws it. Parts are notified of births and deaths only when a proposal is accepted.
Blocks are scored by ratios of marginals, products that are protected against overflow, with one logarithm for
many factors.
"""
