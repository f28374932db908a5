"""Split-merge of dishes at any depth (Wang & Blei 2012), of the customers of groups, and of states."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import flag, validator, whole_number
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.beam_sampler import CHAIN, run_sequences
from hdpkit.moves.protocol import (
    BLOCKS,
    LATENT_DISHES,
    MARGINALS,
    NO_KEPT_PARAMETERS,
    SEVERAL_RESTAURANTS,
    Move,
    MoveInfo,
    Requirement,
    accepts,
    no_tables_of_values,
)
from hdpkit.moves.registry import moves
from hdpkit.numerics import add_up, lgamma, log
from hdpkit.random import ChoiceSource
from hdpkit.steps.groups import reseat_groups
from hdpkit.steps.units import index_units, move_units, scan_units

MOST_SPLIT = 32  # states at once

Sides = npt.NDArray[np.int8]
_KINDS = ("split", "merge", "exchange")  # of proposals from candidates


@attrs.define
class SplitMerge(Move):
    """Split one dish in two, or merge two into one, and accept by Metropolis-Hastings.

    Two distinct customers of the root (tables of its children, and data seated at it) are drawn, by default
    uniformly. If they share a dish it is split between them, otherwise their dishes are merged.

    Parameters
    ----------
    scans : int, optional
        None: sequential allocation (Dahl 2003; Wang & Blei 2012, figure 2). t >= 0: a launch state, t
        restricted Gibbs scans and a final one (Jain & Neal 2004). The launch state is uniform, or with
        ``candidates`` each unit is on the side of the one of the pair to which it is more similar.
    candidates : int, optional
        None: both customers are drawn uniformly. c >= 1: the first is, and c others, at random, are the
        candidates for the second. Three proposals are equally probable: a split, for which the second is one
        of the candidates in the same dish, drawn uniformly; a merge, for which it is one of those in other
        dishes, drawn with weight 1 / rank by similarity to the first; and an exchange, with such a pair,
        which divides the units of the two dishes anew. About 100 are enough for mixtures of points.
    annealed : bool
        Whether scan s of the t scans before the final one is at power s / (t + 1) of the likelihood
        (`Franchise.at_power`), so that a uniform launch state is forgotten sooner. The final scan is at
        power 1.

    Notes
    -----
    A split of a dish with m units into m_a and m_b is accepted with ratio
    (theta_0 + d_0 K) [1-d_0]_1^(m_a-1) [1-d_0]_1^(m_b-1) / [1-d_0]_1^(m-1) DM(n_a) DM(n_b) / DM(n) / q,
    where K is the number of dishes before the split. A merge is accepted with the inverse ratio, where q is
    the probability of the reverse proposal. Under fixed weights of N dishes in total, the factor before the
    marginals is N - K. After a split the first unit's side keeps the dish and its id, and the other has a new
    one; after a merge the dish of the first unit remains.

    With candidates the ratio also has the probability of drawing the pair after the split, divided by that
    before it. The ratio of an exchange is that of two splits of the joined dish: into the proposed division,
    and into the present one. The similarity of two units is the log ratio of the densities of their values
    under a common dish and under two dishes of their own. It depends neither on their dishes nor on those of
    other units, so ranks and launch states are the same for a proposal and its reverse.
    """

    serves = BLOCKS
    needs_tables = True
    calls = (index_units, scan_units, move_units)
    requires = (
        LATENT_DISHES,
        MARGINALS,
        no_tables_of_values("scans", "SplitMerge()"),
        no_tables_of_values("candidates", "SplitMerge()"),
        Requirement(
            lambda state, move: (
                not move.annealed
                or (bool(move.scans) and state.measure.has_powers and not state.keeps_parameters)
            ),
            "Powers belong to the scans before the final one: give scans=3. Dishes of {measure} must have "
            "powers (BaseMeasure.has_powers).",
            "annealed",
            "False",
        ),
    )

    scans: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 0, remedy="None is sequential allocation.")
        ),
    )

    candidates: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, remedy="None draws both customers uniformly.")
        ),
    )

    annealed: bool = attrs.field(default=False, validator=validator(flag))

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal."""
        with state.parts_integrated(rng), state.labelled_seating(rng):
            units = state.units(1, with_customers=True)
            if len(units) < 2:
                return MoveInfo(1, 0)
            a = rng.index(len(units))
            if self.candidates is not None:
                choice = self._candidates(state, rng, units, a)
                kind = _KINDS[rng.index(len(_KINDS))]
                b = choice.draw(state.unit_dishes(units), kind == "split", rng)
                propose = self._exchange if kind == "exchange" else self._propose
                tried = MoveInfo(1, int(b is not None and propose(state, rng, units, a, b, choice)))
                return MoveInfo(1, tried.accepted, ((kind, tried),))
            b = rng.index(len(units) - 1)
            b += b >= a
            return MoveInfo(1, int(self._propose(state, rng, units, a, b)))

    def _candidates(self, state: Franchise, rng: ChoiceSource, units: Any, a: int) -> _Candidates:
        """Candidates for the second of a pair: neither they nor their ranks depend on the dishes of units."""
        others = np.delete(np.arange(len(units), dtype=np.int64), a)
        if self.candidates is not None and self.candidates < len(others):
            others = others[np.sort(rng.permutation(len(others))[: self.candidates])]
        with state.reserved(1) as slots:
            state.add_units(units, np.array([a], dtype=np.int64), slots[0])
            logs = state.log_units(units, others, slots)
        return _Candidates(a, others, _ranks(logs[:, 0] - logs[:, 1]))

    def _propose(
        self,
        state: Franchise,
        rng: ChoiceSource,
        units: Any,
        a: int,
        b: int,
        choice: _Candidates | None = None,
    ) -> bool:
        dishes = state.unit_dishes(units)
        split = bool(dishes[a] == dishes[b])
        if split and state.n_dishes == state.root.most_dishes:
            return False  # no unused dish is left
        if _is_held(state, dishes, a, b):
            return False  # the reverse move would not be possible either
        members = np.flatnonzero((dishes == dishes[a]) | (dishes == dishes[b])).astype(np.int64)
        others = members[(members != a) & (members != b)]
        # For a merge, the reverse proposal must end at the current sides.
        current = None if split else (dishes == dishes[b]).astype(np.int8)
        sides, log_q, log_data = self._allocate(state, rng, units, (a, b), others, current)

        on_b = members[sides[members] == 1]
        log_split = _log_prior_ratio(state, split, len(members), len(on_b)) + log_data - log_q
        if choice is not None:
            log_split += choice.log_ratio(b, sides)
        if not accepts(log_split if split else -log_split, rng):
            return False
        if split:
            state.move_units(units, on_b, state.open_dish(rng), rng)
        else:
            state.move_units(units, on_b, int(dishes[a]), rng)
        return True

    def _exchange(
        self, state: Franchise, rng: ChoiceSource, units: Any, a: int, b: int, choice: _Candidates
    ) -> bool:
        """Divide the units of two dishes anew."""
        dishes = state.unit_dishes(units)
        if _is_held(state, dishes, a, b):
            return False
        members = np.flatnonzero((dishes == dishes[a]) | (dishes == dishes[b])).astype(np.int64)
        others = members[(members != a) & (members != b)]
        log_density = []
        for current in (None, (dishes == dishes[b]).astype(np.int8)):
            sides, log_q, log_data = self._allocate(state, rng, units, (a, b), others, current)
            prior = _log_prior_ratio(state, False, len(members), int(np.count_nonzero(sides == 1)))
            log_density.append(log_data - log_q + prior + choice.log_ratio(b, sides))
            if current is None:
                divided = sides
        if not accepts(log_density[0] - log_density[1], rng):
            return False
        for side, unit in ((1, b), (0, a)):
            moved = others[(divided[others] == side) & (dishes[others] != dishes[unit])]
            state.move_units(units, moved, int(dishes[unit]), rng)
        return True

    def _allocate(
        self,
        state: Franchise,
        rng: ChoiceSource,
        units: Any,
        pair: tuple[int, int],
        others: Int64s,
        current: Any,
    ) -> tuple[Sides, float, float]:
        """Sides of the units (``current``, if given), log q of these, and log DM(n_a) DM(n_b) / DM(n)."""
        sides = np.full(len(units), -1, dtype=np.int8)
        sides[list(pair)] = 0, 1
        if self.scans is None:
            order = others[rng.permutation(len(others))]
        else:
            order = others
            if self.candidates is None:
                sides[others] = [rng.bernoulli(0.5) for _ in others]  # the launch state
            else:
                sides[others] = _nearer(state, units, pair, others)
        placed = np.flatnonzero(sides >= 0)
        sizes = np.array([np.count_nonzero(sides == 0), np.count_nonzero(sides == 1)], dtype=np.int64)
        bank: Any = state.bank
        with state.reserved(2) as slots:
            if state.measure.seats_values:
                blocks = [units.customers(u) for u in (*pair, *order.tolist())]
                targets = (
                    [slots[0], slots[1], *(slots[current[u]] for u in order)] if current is not None else None
                )
                bank.exchange(blocks, slots, targets, rng)
            for side, slot in enumerate(slots):
                state.add_units(units, placed[sides[placed] == side], slot)
            launches = self.scans or 0
            for number in range(launches):
                with state.at_power((number + 1) / (launches + 1)) if self.annealed else nullcontext():
                    _scan(state, rng, units, order, sides, sizes, slots, None)
            log_q = _scan(state, rng, units, order, sides, sizes, slots, current)
            if state.measure.seats_values:
                return sides, log_q, bank.log_exchanged(split=current is None)
            block = units.gather(np.flatnonzero(sides == 1))
            on_a, alone = bank.log_block(block, np.array(slots[:1], dtype=np.int32))
        return sides, log_q, float(alone - on_a)


@attrs.frozen
class _Candidates:
    """What the second unit of a pair is drawn from."""

    first: int
    units: Int64s
    ranks: Int64s  # by similarity to the first unit, from 1

    def draw(self, dishes: Int32s, split: bool, rng: ChoiceSource) -> int | None:
        """Draw the second unit; None if no candidate is in the same dish, or none in another."""
        together = dishes[self.units] == dishes[self.first]
        units = self.units[together if split else ~together]
        if len(units) == 0:
            return None
        weights = [1.0] * len(units) if split else (1.0 / self.ranks[~together]).tolist()
        return int(units[rng.choose(weights)])

    def log_ratio(self, second: int, sides: Sides) -> float:
        """Log of the probability of this pair for the merge, divided by that for the split."""
        place = int(np.flatnonzero(self.units == second)[0])
        apart = add_up((1.0 / self.ranks[sides[self.units] != 0]).tolist())
        return log(int(np.count_nonzero(sides[self.units] >= 0))) - log(int(self.ranks[place])) - log(apart)


def _is_held(state: Franchise, dishes: Any, a: int, b: int) -> bool:
    """Whether the dish of one of two units is held. (Sets, because `np.isin` is slow for two numbers.)"""
    return not {int(dishes[a]), int(dishes[b])}.isdisjoint(state.held_dishes().tolist())


def _ranks(similarities: Floats) -> Int64s:
    """Ranks from 1, the most similar first. Similarities that differ by rounding only have the same rank."""
    ascending = np.sort(np.round(similarities, 9))
    return 1 + len(ascending) - np.searchsorted(ascending, np.round(similarities, 9), side="right")


def _nearer(state: Franchise, units: Any, pair: tuple[int, int], others: Int64s) -> npt.NDArray[np.bool_]:
    """Whether each unit is more similar to the second unit of a pair than to the first."""
    with state.reserved(2) as slots:
        for unit, slot in zip(pair, slots, strict=True):
            state.add_units(units, np.array([unit], dtype=np.int64), slot)
        logs = state.log_units(units, others, slots)
    nearer: npt.NDArray[np.bool_] = np.round(logs[:, 1] - logs[:, 0], 9) > 0.0
    return nearer


def _scan(
    state: Franchise,
    rng: ChoiceSource,
    units: Any,
    order: Int64s,
    sides: Sides,
    sizes: Int64s,
    slots: tuple[int, ...],
    forced: Sides | None,
) -> float:
    log_q = 0.0

    def piece(first: int, last: int) -> None:
        nonlocal log_q
        log_q = state.scan_units(units, order[first:last], sides, sizes, slots, forced, rng, log_q)

    state.in_chunks(0, len(order), piece)
    return log_q


def _log_prior_ratio(state: Franchise, split: bool, m: int, m_b: int) -> float:
    """Log ratio of the priors after and before the split of a dish of m units, m_b of which change dish."""
    root = state.root
    n_before = state.n_dishes - (0 if split else 1)  # dishes before the split
    if root.most_dishes is not None:
        return log(root.most_dishes - n_before)
    return (
        log(root.concentration + root.discount * n_before)
        + _log_rising(root.discount, m - m_b)
        + _log_rising(root.discount, m_b)
        - _log_rising(root.discount, m)
    )


def _log_rising(discount: float, m: int) -> float:
    """log of [1 - d]_1^(m - 1)."""
    return lgamma(m - discount) - lgamma(1.0 - discount)


@attrs.frozen
class SplitMergeStates(Move):
    """Split a state of a hidden Markov model in two, or merge two, and accept by Metropolis-Hastings.

    For a split an observation is drawn uniformly, for a merge a state and one of its observations; then
    another observation of the same state, or of another one. The two are on different sides; all other
    observations of their states are divided by ``scans`` scans and a final one. A scan draws the sides of all
    of them together: it filters forward and samples backward through the sequences, with predictives and
    transition probabilities given the sides of the scan before, at first those of the two observations alone.
    So states that differ only in the states before and after them are divided, too. For a merge the last scan
    is evaluated at the present sides (Jain & Neal 2004; for sequences Hughes, Fox & Sudderth 2012).

    With ``length`` above 1 the states of two windows of consecutive observations are divided, or merged, pair
    by pair: where one state alternates with another, neither can be divided alone without a loss.

    The ratio has the states' probability given the weights of the root, with tables integrated out, and
    marginals of the observations. The weight of a state is divided by a draw of a beta distribution. After an
    accepted proposal tables are drawn. It needs `hdpkit.PreviousDish`, ``store="counts"``, ``root="weights"``
    or fixed weights, and a conjugate measure.

    Parameters
    ----------
    scans : int
        Number of scans before the final one.
    length : int
        Largest number of consecutive states that are split or merged at once; the number is drawn uniformly.
    """

    serves = ("weights", "fixed weights", "state homes")
    continuous = True
    updates = ("seating", "root weights")
    requires = (CHAIN, LATENT_DISHES, MARGINALS, NO_KEPT_PARAMETERS)

    scans: int = attrs.field(
        default=3, validator=validator(whole_number, 0, 10**6, remedy="A few are enough.")
    )
    length: int = attrs.field(
        default=2, validator=validator(whole_number, 1, MOST_SPLIT, remedy="2 is enough for most data.")
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal."""
        from hdpkit.steps.state_splits import split_states  # few runs need it

        split, accepted = run_sequences(state, split_states, rng, self.scans, self.length)
        info = MoveInfo(1, int(accepted))
        return MoveInfo(1, int(accepted), (("split" if split else "merge", info),))


moves.register(
    "split-merge",
    SplitMerge,
    lambda: [
        SplitMerge(),
        SplitMerge(scans=0),
        SplitMerge(scans=1),
        SplitMerge(scans=1, annealed=True),
        SplitMerge(candidates=2),
        SplitMerge(scans=0, candidates=9),
    ],
)
moves.register(
    "split-merge-states", SplitMergeStates, lambda: [SplitMergeStates(), SplitMergeStates(scans=0)]
)


_scans: Any = attrs.validators.optional(validator(whole_number, 0, remedy="None is sequential allocation."))


@attrs.define
class ReseatGroups(Move):
    """Remove all data customers of a restaurant, reseat them, and accept by Metropolis-Hastings.

    Table Gibbs moves one customer at a time: a document whose only dish is a mixture of two other dishes
    rarely changes to these, because the first customers to leave need a new table and gain little. This move
    changes all customers together. It makes one proposal for each restaurant that has data customers; step g
    is the g-th of these.

    Parameters
    ----------
    scans : int, optional
        t >= 0: a launch state by sequential allocation, t restricted Gibbs scans and a final one, as in
        split-merge (Jain & Neal 2004). None: only sequential allocation.

    Notes
    -----
    Sides are the dishes k of other customers and one new dish. A customer's side is drawn with weights
    ((theta + d + c) P(k) + n_k) f_k(x), where c is the number of customers that remain (tables of children)
    and P(k) the restaurant's predictive probability, both without the group, and n_k the number of the
    group's customers on the side. q is the probability of the final sides given the launch state, which is
    drawn separately for the forward and the reverse proposal. Given the sides, tables are drawn from the
    prior, one customer after the other; the remaining factor of the prior is W, the product over the group of
    P(dish of the customer | those seated before it). The proposal is accepted with ratio W' p(x | sides') q /
    (W p(x | sides) q'); W of the current state is computed by unseating the group in reverse order. If two or
    more dishes are served only in this restaurant, it doesn't change: the reverse proposal would have to open
    two dishes.
    """

    serves = BLOCKS
    needs_tables = True
    calls = (reseat_groups,)
    requires = (
        LATENT_DISHES,
        MARGINALS,
        no_tables_of_values("scans", "ReseatGroups(scans=None)"),
        SEVERAL_RESTAURANTS,  # the group of a single one would be all the data
    )

    scans: int | None = attrs.field(default=3, validator=_scans)

    def n_steps(self, state: Franchise) -> int:
        """One per restaurant that has data customers."""
        return len(state.groups()[0])

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal for each restaurant."""
        groups = state.groups()
        first, last = steps or (0, len(groups[0]))
        launches = 0 if self.scans is None else self.scans + 1
        accepted = 0

        def piece(a: int, b: int) -> None:
            nonlocal accepted
            accepted += state.reseat_groups(groups, a, b, launches, rng)

        with state.parts_integrated(rng), state.labelled_seating(rng):
            state.in_chunks(first, last, piece)
        return MoveInfo(last - first, accepted)


moves.register("reseat-groups", ReseatGroups, lambda: [ReseatGroups(scans=None)])
