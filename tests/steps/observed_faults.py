"""Checks of the fused sweep of observed dishes, which planted faults name."""

import numpy as np
from observed_checks import atoms_of, observed

import hdpkit as hk
from hdpkit.moves import TableGibbs
from hdpkit.testing.atomic_contract import atomic_log_marginal
from hdpkit.testing.cases import Corner, TinyShape
from hdpkit.testing.exact import TOLERANCE, ExactModel, check_exact, checked_matrix, step_matrices

STORES = ["explicit", "histogram"]
ATOMS = hk.Categorical([0.3, 0.2, 0.5])
CORNER = Corner(0.8, 0.4, 0.3, 0.6)
# Each leaves tables that others don't: two sizes in one restaurant, two dishes, tables of several documents,
# three levels, customers at inner restaurants.
# The smallest come first: many faults show there.
CASES = {
    "three customers": (TinyShape({"document": [0] * 3}, 3), [0] * 3),
    "three customers of two dishes": (TinyShape({"document": [0, 0, 1]}, 3), [0, 1, 0]),
    "one document": (TinyShape({"document": [0] * 4}, 4), [0] * 4),
    "two dishes": (TinyShape({"document": [0, 0, 0, 1]}, 4), [1, 0, 1, 0]),
    "at the root": (TinyShape({"document": [0, 0, None, 1]}, 4), [0] * 4),
    "three levels": (TinyShape({"author": ["a", "a", "a", "b"], "document": [0, 0, 1, 2]}, 4), [0] * 4),
    "inner customers": (
        TinyShape({"author": ["a", "a", "b", None], "document": [0, None, 1, None]}, 4),
        [0] * 4,
    ),
}


def model_of(case, store, kernel="fused"):
    franchise = observed(*CASES[case], CORNER, store, kernel, ATOMS)
    return ExactModel(franchise, atomic_log_marginal(atoms_of(ATOMS)))


def audited_steps(model):
    def step(number):
        def apply(franchise, source):
            TableGibbs().apply(franchise, source, (number, number + 1))
            franchise.audit()

        return apply

    # One after the other: the first rows that are wrong end the check.
    steps = range(TableGibbs().n_steps(model.franchise))
    return (checked_matrix(model, step(number), reversible=True) for number in steps)


def check_steps():
    """Every step against the posterior, every branch of it audited."""
    for case in CASES:
        for store in STORES:
            model = model_of(case, store)
            check_exact(model, TableGibbs(), reversible=True, matrices=audited_steps(model))


def check_one_law():
    """Every step against the generic kernel."""
    for store in STORES:
        models = [model_of("three levels", store, kernel) for kernel in ("fused", "generic")]
        for P, Q in zip(*(step_matrices(model, TableGibbs()) for model in models), strict=True):
            assert np.abs(P - Q).max() <= TOLERANCE


def check_sweeps():
    """A sweep in a batch is the product of its steps."""
    for store in STORES:
        model = model_of("two dishes", store)
        whole = model.matrix(lambda franchise, source: TableGibbs().apply(franchise, source))
        assert np.abs(whole - np.linalg.multi_dot(step_matrices(model, TableGibbs()))).max() <= TOLERANCE
