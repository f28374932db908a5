"""Mistakes with several parents."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_WALK = "hdpkit.steps.graph_walk"
_GRAPH = "hdpkit.franchise.several_parents"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "weights forgotten where a table opens",
        "A table chooses its parent by the parents' predictives alone.",
        _WALK,
        "opens = [fresh * self.topology.weight(a) * self._chance",
        "opens = [fresh * self._chance",
        "check_choices_of_parents",
    ),
    PlantedBug(
        "weights forgotten in the row",
        "The row of a restaurant has the mean of its parents' rows.",
        _WALK,
        "[tree.weight(a) * rows.get(int(tree.parent[a]), above) for a in arms]",
        "[rows.get(int(tree.parent[a]), above) / len(arms) for a in arms]",
        "check_choices_of_parents",
    ),
    PlantedBug(
        "arm drawn uniformly at a removal",
        "Without seats a customer leaves each arm that serves its dish with the same probability.",
        _WALK,
        "float(store.customers(a, dish)) for a in arms",
        "float(store.customers(a, dish) > 0) for a in arms",
        "check_choices_of_parents",
    ),
    PlantedBug(
        "tables of the arm for those of the restaurant",
        "d T counts the tables of the first arm only.",
        _WALK,
        "sum(self.store.node_tables(a) for a in self.topology.arms(node))",
        "self.store.node_tables(node)",
        "check_choices_of_parents",
    ),
    PlantedBug(
        "lone customer as one of the tables",
        "Over counts a table of an arm closes with probability t / n for that of a customer who sits alone.",
        _WALK,
        "source.bernoulli(one_alone(n, t, self.discount[node]))",
        "source.bernoulli(t / n)",
        "check_choices_over_counts",
    ),
    PlantedBug(
        "arms dealt in order",
        "Customers who sit alone are dealt to the arms of their restaurant in data order.",
        "hdpkit.stores.labelled_seating",
        "(lead is not None or max(plan)[0] > 1)",
        "max(plan)[0] > 1",
        "check_labelled_arms",
    ),
    PlantedBug(
        "hyperparameters see one arm",
        "Customers and tables of a restaurant are those of its first arm.",
        _GRAPH,
        "        np.add.at(found, self.lead[self.n_restaurants :], values[self.n_restaurants :])\n",
        "",
        "check_sums_over_arms",
    ),
    PlantedBug(
        "weights drawn from their prior",
        "The choices of the tables don't count.",
        "hdpkit.moves.parent_weights",
        "rng.dirichlet(base.shapes + chosen)",
        "rng.dirichlet(base.shapes)",
        "check_weights_given_choices",
    ),
    PlantedBug(
        "choices without density",
        "The log joint lacks the weights of the tables' choices.",
        _GRAPH,
        "return total + float((tables[arms] * np.log(self.weights.arms[arms])).sum())",
        "return total",
        "check_log_joint_of_choices",
    ),
)
