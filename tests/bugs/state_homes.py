"""Mistakes where homes of customers depend on the state."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_KERNEL = "hdpkit.franchise.reference.state_homes"
_STATE = "hdpkit.franchise.state_homes"
_SEQUENCES = "hdpkit.franchise.reference.state_sequences"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "the next transition left out",
        "A candidate is weighed by the customer's own predictive, without those of its followers.",
        _KERNEL,
        "yield [seat, *others], probability * further",
        "yield [seat, *others], probability / max(1, sum(1 for _ in self.joint_seats(wanted[1:])))",
        "check_state_homes",
    ),
    PlantedBug(
        "the follower's seat not moved",
        "A follower is seated again in its previous restaurant.",
        _KERNEL,
        "_sit(walk, j, seat, own, source)",
        "_sit(walk, j, attrs.evolve(seat, node=homes[j]), own, source)",
        "check_state_homes",
    ),
    PlantedBug(
        "the customer's own transition not counted",
        "A follower's predictive leaves out the customer, who may be in the same restaurant with its dish.",
        _KERNEL,
        "for level, r in enumerate(self.walk.topology.path(seat.node)[: seat.opens + 1]):",
        "for level, r in enumerate(self.walk.topology.path(seat.node)[:0]):",
        "check_state_homes_over_counts",
    ),
    PlantedBug(
        "the customer's new table not counted above",
        "A follower's predictive counts the customer, but no table that it opens.",
        _KERNEL,
        "if level < seat.opens:",
        "if level < 0:",
        "check_state_homes",
    ),
    PlantedBug(
        "the followers' transitions weighed without each other",
        "The predictive of a second follower leaves out the first one.",
        _KERNEL,
        """            self.count(seat, 1)
            for others, further in self.joint_seats(wanted[1:]):
                yield [seat, *others], probability * further
            self.count(seat, -1)
""",
        """            first = int(self.node_customers.total() == 0)
            self.count(seat, first)
            for others, further in self.joint_seats(wanted[1:]):
                yield [seat, *others], probability * further
            self.count(seat, -first)
""",
        "check_state_homes_of_two_followers",
    ),
    PlantedBug(
        "the first follower alone",
        "Only one of the customers whose home depends on a dish moves with it.",
        _KERNEL,
        "[i, *walk.topology.followers(i)]",
        "[i, *walk.topology.followers(i)[:1]]",
        "check_state_homes_of_two_followers",
    ),
    PlantedBug(
        "a dish that lost its last customer stays",
        "The dish of a removed customer is a candidate beside the new dish.",
        _KERNEL,
        "walk.store.tables(0, dishes[i]) == 0 and dishes[i] not in kept",
        "walk.store.tables(0, dishes[i]) < 0",
        "check_state_homes",
    ),
    PlantedBug(
        "a weight for each table of the root",
        "A dish at the root gets a second table, which would be another dish.",
        _KERNEL,
        "if r == 0 and tables > 0:",
        "if r == 0 and tables > 9:",
        "check_state_homes",
    ),
    PlantedBug(
        "tables of the restaurant that a follower left",
        "The verb draws the tables of new restaurants only.",
        _KERNEL,
        "changed.update(homes.values(), (seat.node for seat in chosen))",
        "changed.update(seat.node for seat in chosen)",
        "check_state_homes_over_counts",
    ),
    PlantedBug(
        "the weight of a dish left out above",
        "All dishes have the same probability above the restaurants.",
        _KERNEL,
        "self._above = dict(zip(keys, walk.root.row(live).tolist(), strict=True))",
        "self._above = dict.fromkeys(keys, 1.0)",
        "check_state_homes_and_root_weights",
    ),
    PlantedBug(
        "rows in the order of slots",
        "A thawed state gets other restaurants for its dishes than it had.",
        _STATE,
        "self._take(self.checked(frozen, sorted(self._rows))._rows)",
        "self.checked(frozen, sorted(self._rows))",
        "check_state_homes",
    ),
    PlantedBug(
        "restaurants of dead dishes are not free",
        "Restaurants of dishes aren't given back when dishes die.",
        _STATE,
        "heapq.heappush(self._free, row)",
        "pass",
        "check_state_homes_of_the_prior",
    ),
    PlantedBug(
        "a self-transition counted once",
        "A follower's predictive leaves the customer out of the row if both have the row's own dish.",
        _KERNEL,
        "known[0] + self.customers[key]",
        "known[0] + self.customers[key] * (self.walk.topology.sticky.own(node)[0] != dish)",
        "check_sticky",
    ),
    PlantedBug(
        "the denominator of the next transition forgotten",
        "A row with the customer in it has the denominator without it.",
        _KERNEL,
        "walk.store.node_customers(r) + self.node_customers[r] + kappa",
        "walk.store.node_customers(r) + kappa",
        "check_sticky",
    ),
    PlantedBug(
        "the denominator without kappa",
        "A sticky row has the concentration alpha.",
        _KERNEL,
        "walk.store.node_customers(r) + self.node_customers[r] + kappa",
        "walk.store.node_customers(r) + self.node_customers[r]",
        "check_sticky",
    ),
    PlantedBug(
        "overrides counted at the root",
        "The weights of the root are drawn given all tables, those of kappa among them.",
        "hdpkit.franchise.root",
        "return m - self.state.topology.sticky.overrides(slots)",
        "return m",
        "check_sticky_scores",
    ),
    PlantedBug(
        "every table of the own dish an override",
        "Tables of a dish in its row are never customers of the root.",
        "hdpkit.franchise.reference.table_counts",
        "overrides = sum(source.bernoulli(kappa / a) for _ in range(1 + sum(opened)))",
        "overrides = 1 + sum(opened)",
        "check_sticky",
    ),
    PlantedBug(
        "the start row sticky",
        "First customers of sequences favour the dish of the first row.",
        _STATE,
        "if row >= 0 else (-1, 0.0)",
        "if row >= 0 else (self._rows.dish_in(1), self.kappa)",
        "check_sticky",
    ),
    PlantedBug(
        "a dead dish's row kept",
        "The row of a dish that died still favours its slot, which another dish may get.",
        _STATE,
        "del self._dish_in[row]",
        "pass",
        "check_sticky_births",
    ),
    PlantedBug(
        "a sequence that goes on in the next",
        "The first customer of a sequence is in the row of the last dish of the sequence before.",
        _STATE,
        "return state.fixed(0) if customer in self.begins else",
        "return state.fixed(0) if customer == 0 else",
        "check_sticky",
    ),
    PlantedBug(
        "rows of the beam without kappa",
        "Transition probabilities are drawn as if rows were not sticky.",
        _SEQUENCES,
        "shapes[j] += self.kappa",
        "shapes[j] += 0.0",
        "check_sequences",
    ),
    PlantedBug(
        "the start row of the beam sticky",
        "The start row is drawn like that of a state.",
        _SEQUENCES,
        "        if not start:\n            shapes[j] += self.kappa",
        "        shapes[j % (len(shapes) - 1)] += self.kappa",
        "check_sequences",
    ),
    PlantedBug(
        "no states beyond those there are",
        "The remainder isn't broken, although it is above the smallest slice.",
        _SEQUENCES,
        "while float(rows.pi[:, -1].max()) >= least and",
        "while float(rows.pi[:, -1].max()) >= 2.0 and",
        "check_sequences",
    ),
    PlantedBug(
        "transitions that the slice allows weighed by their probabilities",
        "The filter multiplies by the probability of a transition, although its slice was drawn.",
        _SEQUENCES,
        "return (self.pi > self.slice[i]).astype(float) if self.slices else self.pi",
        "return np.where(self.pi > self.slice[i], self.pi, 0.0) if self.slices else self.pi",
        "check_sequences",
    ),
    PlantedBug(
        "the next state left out in backward sampling",
        "States are drawn from their filters alone.",
        _SEQUENCES,
        "weights = f if after < 0 else f * self._possible(i + 1)[:-1, after]",
        "weights = f",
        "check_sequences",
    ),
    PlantedBug(
        "tables of the beam without kappa",
        "Tables of the own dish are drawn with mass alpha psi.",
        _SEQUENCES,
        "    masses[own] += kappa\n",
        "    masses[own] += 0.0\n",
        "check_sequences",
    ),
    PlantedBug(
        "the weight of a state that died kept from the remainder",
        "Weights of states without observations don't return to the remainder.",
        _SEQUENCES,
        "rest = float(rows.psi[-1] + rows.psi[:-1][~used].sum())",
        "rest = float(rows.psi[-1])",
        "check_sequences",
    ),
)
