"""Mistakes in held groups and in known components."""

from planted import PlantedBug

__all__ = ["BUGS"]

HELD = "hdpkit.franchise.held"

BUGS = (
    PlantedBug(
        "a held customer moved",
        "All customers are reseated, those of held groups, too.",
        HELD,
        "        ranges = self._ranges\n",
        "        ranges = np.array([[0, self._topology.n_customers]])\n",
        "check_held_customers",
    ),
    PlantedBug(
        "a table above held customers moved",
        "Tables are free whose own restaurant has nobody who is held, whoever sits below.",
        HELD,
        "                node = int(parent[node])\n",
        "                node = -1\n",
        "check_held_tables",
    ),
    PlantedBug(
        "a dish of held customers split",
        "Split-merge takes any two units.",
        "hdpkit.franchise.held",
        "np.unique(self._eaten(seating)).astype(np.int64)",
        "np.empty(0, dtype=np.int64)",
        "check_held_dishes",
    ),
    PlantedBug(
        "tables of held documents kept",
        "A sweep over documents leaves out all of a held one.",
        "hdpkit.steps.documents",
        "    draw_tables_given(walk, set(nodes.tolist()), psi, source)\n",
        "    draw_tables_given(walk, set(nodes[plan.held[nodes] == 0].tolist()), psi, source)\n",
        "check_tables_of_held_documents",
    ),
    PlantedBug(
        "tables of a new dish without its weight",
        "Tables are drawn before the weights of new dishes are in the state.",
        "hdpkit.steps.documents",
        "    draw_tables_given(walk, set(nodes.tolist()), psi, source)\n",
        "    from hdpkit.steps.table_counts import draw_tables_of\n"
        "    draw_tables_of(walk, set(nodes.tolist()), source)\n",
        "check_tables_of_held_documents",
    ),
    PlantedBug(
        "a frozen dish dies",
        "A dish is closed when its last data customer leaves, though it is known.",
        "hdpkit.steps.sweeps",
        "        if walk.unseat(i, node, dish, source):\n            walk.slots.close(dish)\n"
        "        dish = _choose_dish(walk, node, [i], ",
        "        if walk.unseat(i, node, dish, source) or walk.store.customers(0, dish) == 1:\n"
        "            walk.slots.close(dish)\n        dish = _choose_dish(walk, node, [i], ",
        "check_known_components",
    ),
    PlantedBug(
        "the topic of a frozen dish moves",
        "Predictives are those of the customers of the dish.",
        "hdpkit.measures.python_bank",
        "        return self._put(super().log_predictive(customer, slots), slots, [self.values[customer]])\n",
        "        return super().log_predictive(customer, slots)\n",
        "check_known_components",
    ),
    PlantedBug(
        "pseudo-counts counted twice",
        "What a component has seen is put into its statistics twice.",
        "hdpkit.franchise.known",
        "        times = self.pseudo[rows, terms]\n",
        "        times = 2 * self.pseudo[rows, terms]\n",
        "check_known_components",
    ),
    PlantedBug(
        "a split of a known dish accepted",
        "Split-merge takes known dishes for any others.",
        "hdpkit.franchise.blocks",
        "        return np.union1d(self.held.dishes(self.seating), np.arange(self.known_dishes.n))\n",
        "        return self.held.dishes(self.seating)\n",
        "check_known_dishes_stay_whole",
    ),
    PlantedBug(
        "units of held customers moved",
        "Steps over units move whatever they are given.",
        HELD,
        "        if self._is_held(self._topology.home[below]).any():\n",
        "        if self._is_held(self._topology.home[below]).all() and not below.size:\n",
        "check_held_units",
    ),
    PlantedBug(
        "the prior of a restaurant for a split under fixed weights",
        "A move by the prior of a restaurant, over another root.",
        "hdpkit.moves.split_merge",
        "    if root.most_dishes is not None:\n        return log(root.most_dishes - n_before)\n",
        "    if root.most_dishes == 0:\n        return log(root.most_dishes - n_before)\n",
        "check_served_models",
    ),
)
