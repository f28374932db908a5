"""Mistakes for observed dishes: several tables of the root for one value, each a draw from H."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_WALK = "hdpkit.steps.walk"
_UNITS = "hdpkit.steps.units"
_HISTOGRAM = "hdpkit.stores.histogram"
_DISHES = "hdpkit.franchise.dish_kinds"
_STATISTICS = "hdpkit.franchise.seats"
_SIMULATE = "hdpkit.posterior.simulate"
_ATOMS = "hdpkit.measures.atomic"

_ROOT = "hdpkit.steps.root"
_ABOVE = "self.root.above(dish) if parent < 0 else self.probability(parent, dish)"
_EMPTY = "            if total == 0 and extra == 0.0:\n                continue\n"
_TOLD = "            opened.append(node)\n            node = int(self.topology.parent[node])\n"
_SHARE = "share = self.store.customers(node, dish) - d * tables"
_FRESH = "fresh = (theta + d * self.store.node_tables(node)) * above"

BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------------ H, and the tables of the root
    PlantedBug(
        "root opens without H",
        "A second table of a value opens in the root with theta + d T for (theta + d T) H.",
        _WALK,
        _ABOVE,
        "1.0 if parent < 0 else self.probability(parent, dish)",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "root opens with its own predictive",
        "A table of the root opens with (theta + d T) P_root(dish) for (theta + d T) H(dish).",
        _WALK,
        _ABOVE,
        "self.probability(max(parent, 0), dish)",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "uniform H",
        "1/V for H(dish), whatever H is.",
        _WALK,
        _ABOVE,
        "1 / (len(self.root.row(())) - 1) if parent < 0 else self.probability(parent, dish)",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "H left out of the root's row",
        "The root's predictive has its customers and nothing above them.",
        _ROOT,
        "        return self.base.copy()\n",
        "        return np.append(np.zeros(len(self.base) - 1), 1.0)\n",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "empty root passes 1 for H",
        "A root without customers gives every value all that is new.",
        _WALK,
        _EMPTY,
        _EMPTY.replace("continue", "row = row if r else row * 0.0 + 1.0\n                continue"),
        "check_observed_rows",
    ),
    PlantedBug(
        "empty restaurant of observed dishes not passed through",
        "theta + d T is evaluated at T = 0: with theta = 0 < d that is 0/0.",
        _WALK,
        _EMPTY,
        "",
        "check_observed_values_below_zero",
    ),
    PlantedBug(
        "remainder ignored",
        "What is no atom has no probability in the root's row.",
        _ROOT,
        "        return self.base.copy()\n",
        "        return np.append(self.base[:-1], 0.0)\n",
        "check_observed_predictives",
    ),
    PlantedBug(
        "one table a value in the root",
        "The rule of latent dishes: the root never opens a second table of a value.",
        _WALK,
        "        if parent < 0 and not self.root.opens_again():\n",
        "        if parent < 0:\n",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "root told once a value",
        "Blunsom et al. 2009, algorithm 1 as printed: a root that serves the value isn't told.",
        _WALK,
        _TOLD,
        _TOLD + "            node = node if node != 0 or not self.store.tables(0, dish) else -1\n",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "observed dish dies",
        "A value that loses its last customer is struck off the list of dishes.",
        _WALK,
        "        return closed and self.root.loses_dishes()",
        "        return closed",
        "check_observed_dishes_stay",
    ),
    # ------------------------------------------------------------------ discounts in seating
    PlantedBug(
        "root shares without the discount",
        "To share weighs c for c - d T in the root alone.",
        _WALK,
        _SHARE,
        "share = self.store.customers(node, dish) - (d * tables if parent >= 0 else 0.0)",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "observed dishes shared without the discount",
        "To share weighs c for c - d T in every restaurant.",
        _WALK,
        _SHARE,
        "share = self.store.customers(node, dish) - (d * tables if not self.root.opens_again() else 0.0)",
        "check_observed_dish_gibbs",
    ),
    PlantedBug(
        "d T left out of the root's opening mass",
        "A table opens in the root with theta H for (theta + d T) H.",
        _WALK,
        _FRESH,
        "fresh = (theta + (d * self.store.node_tables(node) if parent >= 0 else 0.0)) * above",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "d T left out of the opening mass",
        "A table opens with theta P(dish) for (theta + d T) P(dish).",
        _WALK,
        _FRESH,
        "fresh = theta * above",
        "check_observed_dish_gibbs",
    ),
    PlantedBug(
        "opening mass by the value's own tables",
        "theta + d t_dish for theta + d T: the discount goes to the tables that it came from.",
        _WALK,
        _FRESH,
        "fresh = (theta + d * tables) * above",
        "check_observed_table_gibbs",
    ),
    PlantedBug(
        "size drawn without the discount, observed dishes",
        "A table of a histogram is shared by size s for s - d.",
        _HISTOGRAM,
        "(size - discount) * count",
        "size * count",
        "check_observed_histograms",
    ),
    PlantedBug(
        "removal with s - d, observed dishes",
        "A customer leaves a table of size s with weight s - d for s.",
        _HISTOGRAM,
        "size = self._draw_size(node, dish, 0.0, source)",
        "size = self._draw_size(node, dish, 0.3, source)",
        "check_observed_histograms",
    ),
    PlantedBug(
        "tables of the root dealt in order",
        "A labelled seating of the root is drawn in data order, as if a value had one table there.",
        "hdpkit.stores.labelled_seating",
        "if len(plan) > 1 and (lead",
        "if len(plan) > 1 and restaurant > 0 and (lead",
        "check_observed_labelled_seating",
    ),
    PlantedBug(
        "table redrawn with its seat kept",
        "Dish Gibbs knows that the dish stays and leaves the table where it sits, if that is the only one.",
        _UNITS,
        "        if walk.unseat(code, node, dish, source):\n            walk.slots.close(dish)\n"
        "        dish = _choose_dish(walk, node, block, bank.log_block(",
        "        if walk.root.opens_again() and store.tables(node, dish) == 1:\n"
        "            bank.add(dish, block)\n            continue\n"
        "        if walk.unseat(code, node, dish, source):\n            walk.slots.close(dish)\n"
        "        dish = _choose_dish(walk, node, block, bank.log_block(",
        "check_observed_dish_gibbs",
    ),
    # ------------------------------------------------------------------ scores and simulated data
    PlantedBug(
        "H once a value",
        "log p(data | seating) has log H for every value that the root serves, not for every table.",
        _DISHES,
        "tables = [seating.tables(0, dish) for dish in served.tolist()]",
        "tables = [1 for dish in served.tolist()]",
        "check_observed_scores",
    ),
    PlantedBug(
        "atoms counted for dishes",
        "The number of dishes is that of all atoms, not of those that have customers.",
        _DISHES,
        "return len(self.state.seating.node_dishes(0))",
        "return len(self.state.slots)",
        "check_observed_scores",
    ),
    PlantedBug(
        "one new atom a value",
        "Tables of the root that served one value get one atom together when data are drawn anew.",
        _SIMULATE,
        "    top = np.arange(len(dish))\n",
        "    old = seating['table_dish']\n"
        "    dish = np.array([dish[np.flatnonzero((old == k) & (above[:-1] < 0))[0]] for k in old])\n"
        "    top = np.arange(len(dish))\n",
        "check_observed_simulation",
    ),
    PlantedBug(
        "atoms drawn without H",
        "New atoms of the root's tables are uniform.",
        _SIMULATE,
        "    weights = exp_each(measure.log_probabilities())\n",
        "    weights = np.ones(measure.n_terms)\n",
        "check_observed_simulation",
    ),
    PlantedBug(
        "tables below keep their dish",
        "An atom drawn for a table of the root is not carried down to the tables that sit there.",
        _SIMULATE,
        '"table_dish": dish[top]}',
        '"table_dish": np.where(dish < 0, seating["table_dish"], dish)}',
        "check_observed_simulation",
    ),
    # ------------------------------------------------------------------ who knows which dishes there are
    PlantedBug(
        "only the dishes that are served",
        "A thawed franchise has the dishes that its state lists, not all atoms.",
        _STATISTICS,
        "state.slots.reset(state.dish_kind.slots(slots, state.bank), held, ids, births)",
        "state.slots.reset(slots, held, ids, births)",
        "check_observed_components",
    ),
    PlantedBug(
        "components told of no dishes",
        "After a thaw components know no dish, although all atoms are there.",
        "hdpkit.franchise.dish_kinds",
        "            part.reset(self.slots.occupied_slots())\n\n    def freeze",
        "            part.reset(self.slots.occupied_slots()[:0])\n\n    def freeze",
        "check_observed_components",
    ),
    PlantedBug(
        "frozen dishes not looked at",
        "A state of other data is taken over: customers whose dish is not their value.",
        "hdpkit.franchise.frozen",
        "if observed is not None and np.any((dish >= 0) & (dish != observed[0])):",
        "if False:",
        "check_frozen_observed_dishes",
    ),
    PlantedBug(
        "frozen slots beyond the atoms",
        "A state whose tables serve what is no atom is taken over.",
        "hdpkit.franchise.frozen",
        "if observed is not None and (len(held) or (len(slots) and slots[-1] >= observed[1])):",
        "if False:",
        "check_frozen_observed_dishes",
    ),
    # ------------------------------------------------------------------ the measure
    PlantedBug(
        "H again for every customer",
        "A customer who joins a table of the root has probability H(value) for 1.",
        _ATOMS,
        "new if atom.n == 0 else 0.0 if atom.value == value else -math.inf",
        "new if atom.n == 0 or atom.value == value else -math.inf",
        "check_contract_of_atoms",
    ),
    PlantedBug(
        "atom that the table had",
        "A table that has lost its customers keeps its value.",
        _ATOMS,
        "new if atom.n == 0 else",
        "new if atom.value < 0 else",
        "check_contract_of_atoms",
    ),
    PlantedBug(
        "values beyond the atoms",
        "A value that H doesn't know passes for the next atom.",
        _ATOMS,
        "if low < 0 or high >= self.n_terms:",
        "if low < 0 or high > self.n_terms:",
        "check_contract_of_atoms",
    ),
    PlantedBug(
        "shifted cumulative sum of atoms",
        "The cumulative sum of a simulated atom starts at zero.",
        _ATOMS,
        "weights = np.cumsum(exp_each(self.log_probabilities()))",
        "weights = np.cumsum(np.roll(exp_each(self.log_probabilities()), 1))",
        "check_contract_of_atoms",
    ),
)
