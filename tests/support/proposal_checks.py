"""Random changes through a proposal, moves that are written on proposals, and what must hold of them."""

import math

import numpy as np

from hdpkit import moves
from hdpkit.errors import HdpkitError
from hdpkit.franchise.freezing import Kept
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.moves import MoveInfo
from hdpkit.moves.protocol import accepts
from hdpkit.random import RandomStream
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact
from hdpkit.testing.machines import same


def frozen(state):
    """The frozen state, also within `labelled_seating`."""
    if state.lent is None:
        return dict(state.freeze())
    return {"state": dict(Kept.of(state).frozen), "seats": state.lent.freeze()}


def predictives(state):
    """Numbers that depend on the last bit of the statistics."""
    slots = state.slots.occupied_slots()
    return [state.bank.log_block([i], slots).tolist() for i in range(state.topology.n_customers)]


def tables_for(state, customer):
    """Tables at which a customer may sit: of its restaurant and of those above."""
    topology, store = state.topology, state.seating
    way, node, found = set(), int(topology.home[customer]), set()
    while node >= 0:
        way.add(node)
        node = int(topology.parent[node])
    for other in range(topology.n_customers):
        table = store.table_at(other)
        while table >= 0:
            own = not state.measure.atomic or store.table_dish(table) == state.data.values[customer]
            if store.table_node(table) in way and own:
                found.add(table)
            table = store.table_at(~table)
    return sorted(found)


def change(state, p, rng, steps=4):
    """Change a state by a proposal: blocks, seats, hyperparameters."""
    n = state.topology.n_customers
    for _ in range(1 + rng.index(steps)):
        kind = rng.index(6)
        slots = state.slots.occupied_slots().tolist()
        unused = state.root.most_dishes is None or len(slots) < state.root.most_dishes
        if kind == 0 and not state.measure.atomic:
            units = state.units(1, with_customers=True)
            own = [u for u in range(len(units)) if units.customers(u)[0] < n]
            which = [u for u in own if rng.bernoulli(0.5)] or own[:1]
            if which:
                k = rng.index(len(slots) + unused)
                p.move_units(units, which, slots[k] if k < len(slots) else None)
        elif kind == 1:
            names = [declaration.name for declaration in state.declarations]
            if state.root.most_dishes is not None:
                names = names[1:]
            if names:
                p.set_hyperparameters(names[rng.index(len(names))], 0.1 + 3.0 * rng.uniform())
        else:
            customer = rng.index(n)
            if state.seating.dish_of(customer) >= 0:
                p.unseat(customer)
            if rng.bernoulli(0.8):
                sit(state, p, customer, rng)


def sit(state, p, customer, rng):
    """Seat a customer anywhere."""
    slots = state.slots.occupied_slots().tolist()
    unused = state.root.most_dishes is None or len(slots) < state.root.most_dishes
    options = [{"table": table} for table in tables_for(state, customer)]
    options += [] if state.measure.atomic else [{"dish": slot} for slot in slots]
    options += [{}] if unused or state.measure.atomic else []
    p.seat(customer, **options[rng.index(len(options))])


def run_random_changes(state, seed):
    """The log ratio is that of the log joint; what isn't accepted leaves no trace."""
    rng = RandomStream((seed, 5))
    for _ in range(3):
        state.reseat(0, state.topology.n_customers, rng)
    with state.lock(), state.labelled_seating(rng):
        for accepted in (False, True, False, True, False):
            before, bits, joint = frozen(state), predictives(state), state.log_joint()
            with state.proposal(rng) as p:
                change(state, p, rng)
                assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
                if accepted:
                    for customer in np.flatnonzero(state.seating.dishes()[: state.topology.n_customers] < 0):
                        sit(state, p, int(customer), rng)
                    assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
                    p.accept()
            if not accepted:
                assert same(frozen(state), before)
                assert predictives(state) == bits
    state.audit()


class AdoptByProposal(moves.Move):
    """A customer of the root takes the dish of another one, or a new dish."""

    needs_tables = True
    serves = ("restaurant", "weights", "fixed weights")
    requires = (moves.LATENT_DISHES,)

    def log_hastings(self, m_from, m_to):
        return math.log((m_from - 1) / m_to)

    def log_ratio(self, state, p):
        return p.log_ratio

    def apply(self, state, rng, steps=None):
        with state.labelled_seating(rng), state.proposal() as p:
            units = state.units(1, with_customers=True)
            if len(units) < 2:
                return MoveInfo(1, 0)
            dishes = state.unit_dishes(units)
            a = rng.index(len(units))
            b = (a + 1 + rng.index(len(units) - 1)) % len(units)
            m_from, m_to = np.sum(dishes == dishes[a]), np.sum(dishes == dishes[b])
            if dishes[a] == dishes[b] or m_from == 1:
                return MoveInfo(1, 0)
            p.move_units(units, [a], dishes[b])
            if not accepts(self.log_ratio(state, p) + self.log_hastings(m_from, m_to), rng):
                return MoveInfo(1, 0)
            p.accept()
            return MoveInfo(1, 1)


class SitWith(moves.Move):
    """A customer sits down at the table of another one of its restaurant."""

    needs_tables = True
    serves = ("restaurant", "weights", "fixed weights")
    requires = (moves.LATENT_DISHES,)

    def log_hastings(self, before, after):
        return math.log(before / after)

    def apply(self, state, rng, steps=None):
        with state.labelled_seating(rng), state.proposal() as p:
            n, home = state.topology.n_customers, state.topology.home
            customer = rng.index(n)
            others = [i for i in range(n) if home[i] == home[customer] and i != customer]
            if not others:
                return MoveInfo(1, 0)
            tables = [state.seating.table_at(i) for i in others]
            old, new = state.seating.table_at(customer), tables[rng.index(len(tables))]
            if old == new or old not in tables:  # the reverse move would need a table that is empty
                return MoveInfo(1, 0)
            p.unseat(customer)
            p.seat(customer, table=new)
            if not accepts(p.log_ratio + self.log_hastings(tables.count(old), tables.count(new)), rng):
                return MoveInfo(1, 0)
            p.accept()
            return MoveInfo(1, 1)


def check_proposals():
    """For planted bugs: ratios, exact falling back, and the kernels of two moves."""
    measure = DirichletMultinomial(0.5, n_terms=3)
    for seed in range(12):
        shape = ("flat 4", "2+1 with one at the root", "three levels")[seed % 3]
        store = ("explicit", "explicit-reference")[seed % 2]
        run_random_changes(tiny_franchise(shape, measure, store=store, corner="discounts"), seed)
    for move in (AdoptByProposal(), SitWith()):
        model = ExactModel(tiny_franchise("2+2", measure, store="explicit", corner="discounts"))
        check_exact(model, move, reversible=True)
    try:
        state = tiny_franchise("2+2", measure, store="explicit")
        with state.proposal() as p:
            p.unseat(0)
            p.accept()
    except HdpkitError:
        return
    raise AssertionError("a customer is left unseated")
