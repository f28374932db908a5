"""Mistakes in larger moves, scores and prior draws."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_UNITS = "hdpkit.steps.units"
_SPLIT_MERGE = "hdpkit.moves.split_merge"
_GROUPS = "hdpkit.steps.groups"

BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------------ split-merge
    PlantedBug(
        "q left out",
        "The acceptance ratio lacks the probability of the proposal.",
        _SPLIT_MERGE,
        " + log_data - log_q",
        " + log_data",
        "check_split_merge",
    ),
    PlantedBug(
        "q of the launch state",
        "q is the probability of the launch state, not of the final scan.",
        _SPLIT_MERGE,
        "log_q = _scan(state, rng, units, order, sides, sizes, slots, current)",
        "log_q = -log(2.0) * len(order)\n"
        "            _scan(state, rng, units, order, sides, sizes, slots, current)",
        "check_split_merge_by_scans",
    ),
    PlantedBug(
        "q of an intermediate scan",
        "q is the probability of the scan before the final one.",
        _SPLIT_MERGE,
        "_scan(state, rng, units, order, sides, sizes, slots, None)\n"
        "            log_q = _scan(state, rng, units, order, sides, sizes, slots, current)",
        "stale = _scan(state, rng, units, order, sides, sizes, slots, None)\n"
        "            log_q = _scan(state, rng, units, order, sides, sizes, slots, current)\n"
        "            log_q = stale if self.scans else log_q",
        "check_split_merge_by_scans",
    ),
    PlantedBug(
        "merge launched from the current split",
        "The launch state of a merge is where it must lead back to, not a fresh one.",
        _SPLIT_MERGE,
        "sides[others] = [rng.bernoulli(0.5) for _ in others]",
        "sides[others] = [rng.bernoulli(0.5) if current is None else current[i] for i in others]",
        "check_split_merge_by_scans",
    ),
    PlantedBug(
        "merge without a fresh permutation",
        "q of a merge is computed in data order, that of a split in a random one.",
        _SPLIT_MERGE,
        "order = others[rng.permutation(len(others))]",
        "order = others[rng.permutation(len(others))] if current is None else others",
        "check_split_merge",
    ),
    PlantedBug(
        "K after the split",
        "The root's factor theta_0 + d_0 K takes the dishes after the split.",
        _SPLIT_MERGE,
        "n_before = state.n_dishes - (0 if split else 1)",
        "n_before = state.n_dishes + (1 if split else 0)",
        "check_split_merge",
    ),
    PlantedBug(
        "gamma left out of split-merge",
        "The ratio of a split lacks theta_0 + d_0 K.",
        _SPLIT_MERGE,
        "log(root.concentration + root.discount * n_before)",
        "0.0",
        "check_split_merge",
    ),
    PlantedBug(
        "merge ratio not inverted",
        "A merge is accepted with the ratio of the split.",
        _SPLIT_MERGE,
        "log_split if split else -log_split",
        "log_split",
        "check_split_merge",
    ),
    PlantedBug(
        "words for units in split-merge",
        "The factorials take the words below the root's customers, not the customers.",
        _SPLIT_MERGE,
        "_log_prior_ratio(state, split, len(members), len(on_b))",
        "_log_prior_ratio(state, split, len(units.gather(members)), len(on_b))",
        "check_split_merge",
    ),
    PlantedBug(
        "pair drawn with replacement",
        "The two units may be the same.",
        _SPLIT_MERGE,
        "b += b >= a",
        "b = rng.index(len(units))",
        "check_split_merge",
    ),
    PlantedBug(
        "pair drawn by dish",
        "The first of the pair is uniform within a uniform dish, not over the units.",
        _SPLIT_MERGE,
        "a = rng.index(len(units))",
        "dishes = state.unit_dishes(units)\n"
        "            a = rng.choose([1.0 / np.count_nonzero(dishes == k) for k in dishes])",
        "check_split_merge",
    ),
    PlantedBug(
        "split's words by their predictives",
        "DM(n_b) of the new dish is the product of its words' predictives.",
        _SPLIT_MERGE,
        "float(alone - on_a)",
        "float(sum(state.bank.log_predictive(i, ())[-1] for i in block) - on_a)",
        "check_split_merge",
    ),
    PlantedBug(
        "emptied dish kept by a merge",
        "The dish that a merge empties stays, owned by nobody.",
        _UNITS,
        "        if closed:\n            walk.slots.close(old)\n",
        "",
        "check_split_merge",
    ),
    PlantedBug(
        "allocation without sizes in q",
        "Units are allotted with their sizes, q is computed without them.",
        _UNITS,
        "        log_q += float(logs[side])\n",
        "        bare = bank.log_block(block, slots)[:2]\n"
        "        log_q += float(bare[side] - np.logaddexp(bare[0], bare[1]))\n",
        "check_split_merge",
    ),
    PlantedBug(
        "allocation without sizes",
        "Sequential allocation lacks the factor |A| - d_0 (exact all the same, but not what is said).",
        _UNITS,
        "logs = np.log(sizes - walk.discount[0]) + bank.log_block(block, slots)[:2]",
        "logs = bank.log_block(block, slots)[:2]",
        "check_allocation",
    ),
    PlantedBug(
        "Barker below, Metropolis above",
        "A ratio below one is accepted with r / (1 + r), one above for certain.",
        "hdpkit.moves.protocol",
        "rng.bernoulli(exp(log_ratio))",
        "rng.bernoulli(exp(log_ratio) / (1.0 + exp(log_ratio)))",
        "check_split_merge",
    ),
    PlantedBug(
        "probability of the pair left out",
        "The ratio of a proposal from candidates lacks the probabilities of drawing the pair.",
        _SPLIT_MERGE,
        "log_split += choice.log_ratio(b, sides)",
        "pass",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "probability of the pair before the split",
        "A merge's pair is drawn among units of all other dishes, not only of the second's.",
        _SPLIT_MERGE,
        "sides[self.units] != 0",
        "sides[self.units] == 1",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "similarity to the dish",
        "Candidates are ranked by the similarity to the first unit's dish, not to the unit.",
        _SPLIT_MERGE,
        "state.add_units(units, np.array([a], dtype=np.int64), slots[0])",
        "every = state.unit_dishes(units)\n"
        "            state.add_units(units, np.flatnonzero(every == every[a]), slots[0])",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "way back of an exchange left out",
        "The ratio of an exchange lacks the probability of proposing the present division.",
        _SPLIT_MERGE,
        "log_density.append(log_data - log_q + prior + choice.log_ratio(b, sides))",
        "log_q *= current is None\n"
        "            log_density.append(log_data - log_q + prior + choice.log_ratio(b, sides))",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "pair of an exchange left out",
        "The ratio of an exchange lacks the probabilities of drawing the pair.",
        _SPLIT_MERGE,
        " + prior + choice.log_ratio(b, sides))",
        " + prior)",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "prior of an exchange left out",
        "The ratio of an exchange lacks the numbers of units on each side.",
        _SPLIT_MERGE,
        " - log_q + prior",
        " - log_q",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "launch by the dishes",
        "The launch state is by the similarity to the dishes of the pair, not to the units.",
        _SPLIT_MERGE,
        "state.add_units(units, np.array([unit], dtype=np.int64), slot)",
        "every = state.unit_dishes(units)\n"
        "            state.add_units(units, np.flatnonzero(every == every[unit]), slot)",
        "check_split_merge_of_candidates",
    ),
    PlantedBug(
        "launch from the sides of the way back",
        "A merge is launched from the sides that it must lead back to.",
        _SPLIT_MERGE,
        "sides[others] = _nearer(state, units, pair, others)",
        "sides[others] = _nearer(state, units, pair, others) if current is None else current[others]",
        "check_split_merge_of_candidates",
    ),
    # ------------------------------------------------------------------ scores and prior draws
    PlantedBug(
        "log of a zero discount",
        "[theta+d]_d^(T-1) is taken as d^(T-1) times a ratio of theta/d.",
        "hdpkit.franchise.scores",
        "add_up(log(theta + i * d) for i in range(1, len(sizes)))",
        "sum(np.log(np.float64(d)) + np.log(theta / np.float64(d) + i) for i in range(1, len(sizes)))",
        "check_scores",
    ),
    PlantedBug(
        "joint without the root",
        "The log joint leaves the root's seating out.",
        "hdpkit.franchise.scores",
        "for node in range(len(concentration)):",
        "for node in range(1, len(concentration)):",
        "check_scores",
    ),
    PlantedBug(
        "rising factorial from theta",
        "[theta]_1^c for [theta+1]_1^(c-1) in the log joint.",
        "hdpkit.franchise.scores",
        "- lgamma(theta + 1.0) if",
        "- lgamma(theta) if",
        "check_scores",
    ),
    PlantedBug(
        "prior drawn from the root",
        "A customer's dish is simulated from the root's weights, not from its restaurant's.",
        "hdpkit.posterior.simulate",
        "source.choose(walk.prior_row(node))",
        "source.choose(walk.prior_row(0))",
        "check_prior_draws",
    ),
    # ------------------------------------------------------------------ whole groups
    PlantedBug(
        "q left out of a group's proposal",
        "The ratio lacks the probabilities of the sides.",
        _GROUPS,
        "slots) - log_q)",
        "slots))",
        "check_reseat_groups",
    ),
    PlantedBug(
        "way back from the current sides",
        "The launch of the way back is the current state, not a fresh one.",
        _GROUPS,
        "            data.scan(launch, weights, slots, None, source)\n",
        "            data.scan(launch, weights, slots, forced, source)\n",
        "check_reseat_groups_by_scans",
    ),
    PlantedBug(
        "weight of the current state before the removal",
        "P(dish) of the way back is taken while the customer still sits.",
        _GROUPS,
        "        if walk.unseat(i, node, dish, source):\n"
        "            walk.slots.close(dish)\n"
        "        log_p += float(np.log(walk.probability(node, dish)))\n",
        "        log_p += float(np.log(walk.probability(node, dish)))\n"
        "        if walk.unseat(i, node, dish, source):\n"
        "            walk.slots.close(dish)\n",
        "check_reseat_groups",
    ),
    PlantedBug(
        "new dish for nothing in a group",
        "The prior of a proposal lacks the probability of its new dish.",
        _GROUPS,
        "        log_p += float(np.log(walk.probability(node, dish)))\n        walk.seat(i",
        "        if walk.slots.is_occupied(dish):\n"
        "            log_p += float(np.log(walk.probability(node, dish)))\n"
        "        walk.seat(i",
        "check_reseat_groups",
    ),
    PlantedBug(
        "sides that know the current state",
        "The weights of the sides count who eats what now.",
        _GROUPS,
        "    prior = scale * bare.prior_row(node)\n",
        "    prior = scale * bare.prior_row(node) + np.bincount(current, minlength=len(slots))\n",
        "check_reseat_groups",
    ),
    PlantedBug(
        "two dishes of one group for one",
        "A group that alone eats two dishes is taken for one that eats one.",
        _GROUPS,
        "    if len(own) > 1:\n        return False  # the reverse proposal can open at most one new dish\n",
        "",
        "check_reseat_groups",
    ),
    PlantedBug(
        "refused proposal kept",
        "The seating of a group that was refused stays as proposed.",
        _GROUPS,
        "        if not taken:\n            walk.store.thaw(frozen)\n",
        "",
        "check_reseat_groups",
    ),
    PlantedBug(
        "group scored by its first customers",
        "The likelihood of a block takes one customer a side.",
        _GROUPS,
        "bank.log_block(group[sides == side], slots",
        "bank.log_block(group[sides == side][:1], slots",
        "check_reseat_groups",
    ),
)
