"""The tree of restaurants: the slots of dishes, the walk from root to restaurant, the tree of contexts.

A step allocates everything that it may need before it changes anything (`Walk.ready`: entries on the way to
the root, tables, bins, a slot, weights), through `hdpkit.vectors`, whose calls all raise. Over a store of
counts there are two walks. With weights of the root and two levels, no draw of a verb depends on numbers of
tables, so a `Walk` draws them at the end of the verb (`table_counts`). Otherwise they are part of the state,
and a `CountsWalk` draws them with the dishes.
"""
