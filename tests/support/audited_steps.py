"""Enumerated steps of a move, with an audit of the state after every branch."""

import pickle

from hdpkit.measures.python_bank import PythonBank
from hdpkit.stores import ExplicitReference, HistogramReference
from hdpkit.testing.exact import check_exact, checked_matrix


class Audits:
    """Audits of one franchise, each state of it once: many branches end in one state.

    Compiled stores and banks keep their counts to themselves: over them every branch is audited.
    """

    def __init__(self, franchise):
        self.franchise = franchise
        self.seen = set()

    def form(self):
        """All that an audit reads; None where it can't be told."""
        franchise = self.franchise
        store, bank = franchise.seating, franchise.bank
        readable = type(store) in (ExplicitReference, HistogramReference) and type(bank) is PythonBank
        if not readable or franchise.parts:
            return None
        counts = [tuple(sorted(counter.items())) for counter in (*store._customers, *store._n_tables)]
        frozen = [array.tobytes() for array in store.freeze().values()]
        statistics = pickle.dumps(sorted(bank._of.items()))  # by slot
        return (*counts, *frozen, statistics, franchise.slots.occupied_slots().tobytes())

    def audit(self):
        """Audit the current state, unless that was done before."""
        form = self.form()
        if form is None or form not in self.seen:
            self.franchise.audit()
            self.seen.add(form)


def audited_steps(model, move, reversible=False):
    """Transition matrix of each step, one at a time: the first rows that are wrong end a check."""
    audits = Audits(model.franchise)

    def step(number):
        def apply(franchise, source):
            move.apply(franchise, source, (number, number + 1))
            audits.audit()

        return apply

    steps = range(move.n_steps(model.franchise))
    return (checked_matrix(model, step(number), reversible) for number in steps)


def enumerate_steps(model, move, *, reversible=False):
    """The exact-kernel test of every step, every branch of it audited."""
    return check_exact(model, move, matrices=audited_steps(model, move, reversible), reversible=reversible)
