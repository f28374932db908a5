"""Mistakes in rows, seats, stores and Gibbs sweeps."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_WALK = "hdpkit.steps.walk"
_SWEEPS = "hdpkit.steps.sweeps"
_UNITS = "hdpkit.steps.units"
_EXPLICIT = "hdpkit.stores.explicit"
_HISTOGRAM = "hdpkit.stores.histogram"
_MULTINOMIAL = "hdpkit.measures.dirichlet_multinomial"
_MEASURE = "hdpkit.measures.protocol"

BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------------ predictive rows and seats
    PlantedBug(
        "new table without the existing dishes",
        "The mass of a new table is that of a new dish alone: 2.76 expected tables for 3.349 in one sampler.",
        _WALK,
        "            row *= theta + d * self.store.node_tables(r)\n",
        "            row[-1] *= theta + d * self.store.node_tables(r)\n            row[:-1] = 0.0\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "gamma left out",
        "A new dish has weight 1 in the root for theta_0.",
        _WALK,
        "theta, d = self.concentration[r], self.discount[r]",
        "theta, d = (self.concentration[r] if r else 1.0), self.discount[r]",
        "check_table_gibbs",
    ),
    PlantedBug(
        "discount of one table",
        "An existing dish loses d once, for d times its tables.",
        _WALK,
        "self.store.customers(r, dish) - d * self.store.tables(r, dish)",
        "self.store.customers(r, dish) - d * (self.store.tables(r, dish) > 0)",
        "check_table_gibbs",
    ),
    PlantedBug(
        "discount of one table in the new mass",
        "A new table has theta + d for theta + d T.",
        _WALK,
        "            row *= theta + d * self.store.node_tables(r)\n",
        "            row *= theta + d\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "tokens for tables in m",
        "The root counts the data customers who eat a dish, not the tables that serve it.",
        _WALK,
        "row[i] += self.store.customers(r, dish) -",
        "row[i] += (self.store.customers(r, dish) if r else (self.store.dishes() == dish).sum()) -",
        "check_table_gibbs",
    ),
    PlantedBug(
        "empty restaurant not passed through",
        "theta + d T is evaluated at T = 0: with theta = 0 < d that is 0/0.",
        _WALK,
        "            if total == 0 and extra == 0.0:\n                continue\n",
        "",
        "check_concentrations_below_zero",
    ),
    PlantedBug(
        "lone customer passed through",
        "A restaurant with one customer counts as empty.",
        _WALK,
        "            if total == 0 and extra == 0.0:\n",
        "            if total <= 1:\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "sharing without the discount",
        "To share weighs c for c - d T when a customer is seated.",
        _WALK,
        "share = self.store.customers(node, dish) - d * tables",
        "share = self.store.customers(node, dish)",
        "check_table_gibbs",
    ),
    PlantedBug(
        "own predictive for the parent's",
        "A table opens with (theta + d T) P_restaurant(dish) for P_parent(dish).",
        _WALK,
        "else self.probability(parent, dish)",
        "else self.probability(node, dish)",
        "check_table_gibbs",
    ),
    PlantedBug(
        "parent not told of a new table",
        "Blunsom et al. 2009, algorithm 1 as printed: a table that opens is no customer of the parent.",
        _WALK,
        "            opened.append(node)\n            node = int(self.topology.parent[node])\n",
        "            opened.append(node)\n            node = int(self.topology.parent[node])\n"
        "            node = node if not self.store.tables(max(node, 0), dish) else -1\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "parent not told of a closed table",
        "Blunsom et al. 2009, algorithm 2 as printed: a table that closes stays a customer of the parent.",
        _WALK,
        "            node = int(self.topology.parent[node])\n"
        "        return closed and self.root.loses_dishes()",
        "            return closed and int(self.topology.parent[node]) < 0\n        return closed",
        "check_table_gibbs",
    ),
    PlantedBug(
        "parent's probability before the removal",
        "A dish is drawn while the table that closed still counts in the parent.",
        _SWEEPS,
        "        if walk.unseat(i, node, dish, source):\n"
        "            walk.slots.close(dish)\n"
        "        dish = _choose_dish(",
        "        closed, above = walk.store.remove(node, dish, i, source)\n"
        "        old, parent = dish, int(walk.topology.parent[node])\n"
        "        logs = bank.log_predictive(i, walk.slots.occupied_slots())\n"
        "        chosen = _choose_dish(walk, node, [i], logs, source)\n"
        "        if closed and walk.unseat(above, parent, old, source) and chosen != old:\n"
        "            walk.slots.close(old)\n"
        "        dish = (lambda *ignored: chosen)(",
        "check_table_gibbs",
    ),
    PlantedBug(
        "empty dish kept",
        "A dish that lost its last customer stays, owned by nobody.",
        _SWEEPS,
        "        if walk.unseat(i, node, dish, source):\n",
        "        if walk.unseat(i, node, dish, source) and False:\n",
        "check_table_gibbs",
    ),
    PlantedBug(
        "two new dishes for one",
        "A birth is announced twice; the first dish stays without customers.",
        _SWEEPS,
        "return int(live[place]) if place < len(live) else int(walk.slots.open(customers))",
        "return int(live[place]) if place < len(live) else max("
        "int(walk.slots.open(customers)), int(walk.slots.open(customers)))",
        "check_table_gibbs",
    ),
    PlantedBug(
        "truncated sum over dishes",
        "The last existing dish is left out of the draw.",
        _SWEEPS,
        "np.log(walk.prior_row(node)) + log_likelihood",
        "np.log(np.r_[walk.prior_row(node)[:-2], 0.0, walk.prior_row(node)[-1:]][-len(log_likelihood):])"
        " + log_likelihood",
        "check_table_gibbs",
    ),
    PlantedBug(
        "shifted sum over dishes",
        "The draw answers with the dish before the one that was drawn.",
        _SWEEPS,
        "return int(live[place]) if place < len(live)",
        "return int(live[place - 1]) if place < len(live)",
        "check_table_gibbs",
    ),
    # ------------------------------------------------------------------ tables and their dishes
    PlantedBug(
        "table as a product of its words",
        "A block is scored by the product of its words' predictives.",
        _UNITS,
        "bank.log_block(block, walk.slots.occupied_slots())",
        "sum(bank.log_predictive(i, walk.slots.occupied_slots()) for i in block)",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "table counted before it is removed",
        "The weights of dishes are computed while the table's words still count.",
        _UNITS,
        "        bank.remove(dish, block)\n"
        "        if walk.unseat(code, node, dish, source):\n"
        "            walk.slots.close(dish)\n"
        "        dish = _choose_dish(walk, node, block, bank.log_block(",
        "        was = [*walk.slots.occupied_slots(), -1]\n"
        "        logs = bank.log_block(block, was[:-1])\n"
        "        bank.remove(dish, block)\n"
        "        if walk.unseat(code, node, dish, source):\n"
        "            walk.slots.close(dish)\n"
        "            logs = logs[[k != dish for k in was]]\n"
        "        dish = _choose_dish(walk, node, block, (lambda *ignored: logs)(",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "scan order that reads what it updates",
        "Tables are visited by the size of their current dishes.",
        _UNITS,
        "    for u in range(first, last):\n        code, node, block = units.codes[u]",
        "    def size(u: int) -> int:\n"
        "        return store.customers(0, store.dish_of(units.blocks[u][0]))\n"
        "    for u in sorted(range(first, last), key=size):\n"
        "        code, node, block = units.codes[u]",
        "check_dish_gibbs_sweep",
    ),
    PlantedBug(
        "table moved without those below",
        "The dish of a table changes, but not that of the tables that sit there.",
        _UNITS,
        "    for table in units.below[u]:\n",
        "    for table in units.below[u][-1:]:\n",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "customers left behind",
        "A table that changes its dish is counted there, but not its customers.",
        _EXPLICIT,
        "self._count(record.node, dish, customers=record.size, tables=1)\n\n    def relabel",
        "self._count(record.node, dish, customers=1, tables=1)\n\n    def relabel",
        "check_dish_gibbs",
    ),
    # ------------------------------------------------------------------ stores
    PlantedBug(
        "drawing a table without the discount",
        "Blunsom et al. 2009: a table of size s is shared with weight s for s - d.",
        _EXPLICIT,
        "[self._tables[t].size - discount for t in tables]",
        "[self._tables[t].size for t in tables]",
        "check_table_gibbs_of_four",
    ),
    PlantedBug(
        "shifted sum over tables",
        "The draw of a table answers with its neighbour.",
        _EXPLICIT,
        "which = source.choose([self._tables[t].size - discount for t in tables])",
        "which = source.choose([self._tables[t].size - discount for t in tables]) - 1",
        "check_table_gibbs_of_four",
    ),
    PlantedBug(
        "size not moved up",
        "Blunsom et al. 2009, algorithm 1 as printed: sharing a table of size s adds one to HD[s].",
        _HISTOGRAM,
        "        self._change(node, dish, size, -1)\n        self._change(node, dish, size + 1, 1)\n",
        "        self._change(node, dish, size, 1)\n",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "old size not removed",
        "Sharing a table of size s adds one of s + 1 and keeps that of s.",
        _HISTOGRAM,
        "        self._change(node, dish, size, -1)\n        self._change(node, dish, size + 1, 1)\n",
        "        self._change(node, dish, size + 1, 1)\n",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "removal by table",
        "A customer leaves a table drawn uniformly, not by customers.",
        _HISTOGRAM,
        "size = self._draw_size(node, dish, 0.0, source)",
        "size = list(self._sizes(node, dish))[source.index(self.tables(node, dish))]",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "removal with s - d",
        "A customer leaves a table of size s with weight s - d (here d = 0.6) for s.",
        _HISTOGRAM,
        "size = self._draw_size(node, dish, 0.0, source)",
        "size = self._draw_size(node, dish, 0.6, source)",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "sharing by size alone on histograms",
        "A size is drawn with weight s for s - d.",
        _HISTOGRAM,
        "(size - discount) * count",
        "size * count",
        "check_table_gibbs_on_histograms",
    ),
    PlantedBug(
        "sizes drawn without their number",
        "A size is drawn with weight s - d, however many tables have it.",
        _HISTOGRAM,
        "(size - discount) * count",
        "size - discount",
        "check_draw_of_sizes",
    ),
    PlantedBug(
        "permutation dropped from labelled seatings",
        "Customers are dealt over the tables in data order.",
        "hdpkit.stores.labelled_seating",
        "who = [who[p] for p in source.permutation(len(who))]",
        "who = list(who)",
        "check_labelled_seating",
    ),
    PlantedBug(
        "pairs of tables not permuted",
        "Two tables are dealt in data order, three or more are not.",
        "hdpkit.stores.labelled_seating",
        "if len(plan) > 1 and (lead",
        "if len(plan) > 2 and (lead",
        "check_labelled_seating",
    ),
    # ------------------------------------------------------------------ base measures
    PlantedBug(
        "V left out",
        "Hopper 2015: beta for V beta in the denominator of f_k.",
        _MULTINOMIAL,
        "return self.eta * (self.n_terms or 0) if",
        "return self.eta if",
        "check_table_gibbs",
    ),
    PlantedBug(
        "1/V for an asymmetric prior",
        "f_k takes the mean of eta for every term.",
        _MULTINOMIAL,
        "else self.eta[value]",
        "else float(np.mean(self.eta))",
        "check_asymmetric_prior",
    ),
    PlantedBug(
        "repeated words once",
        "Hopper 2015: a product over the terms of a table counts a repeated word once.",
        _MULTINOMIAL,
        "gammaln(before + more) - gammaln(before)",
        "gammaln(before + 1) - gammaln(before)",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "block's normaliser by terms",
        "The denominator of a block's probability grows by its distinct terms, not by its words.",
        _MULTINOMIAL,
        "gammaln(total + self.power * counts.sum())",
        "gammaln(total + len(counts))",
        "check_dish_gibbs",
    ),
    PlantedBug(
        "truncated cumulative sum of terms",
        "The last term is never simulated.",
        _MULTINOMIAL,
        "generator.random() * weights[-1]",
        "generator.random() * weights[-2]",
        "check_simulated_terms",
    ),
    PlantedBug(
        "shifted cumulative sum of terms",
        "The cumulative sum of a simulated term starts at zero.",
        _MULTINOMIAL,
        "weights = np.cumsum(self._posterior(statistics))",
        "weights = np.cumsum(np.roll(self._posterior(statistics), 1))",
        "check_simulated_terms",
    ),
    PlantedBug(
        "chain rule that doesn't learn",
        "A block's values are not added before the next: the product of words, for any measure.",
        _MEASURE,
        "                self.add(statistics, value)\n",
        "                pass\n",
        "check_chain_rule",
    ),
    PlantedBug(
        "block left in the statistics",
        "The chain rule adds to the dishes' own statistics.",
        _MEASURE,
        "[self.copy(statistics) for statistics in many]",
        "list(many)",
        "check_chain_rule",
    ),
)
