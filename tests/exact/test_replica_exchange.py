"""Replica exchange: chains at powers of the likelihood by enumeration, alone and together."""

import numpy as np
import pytest
from replica_checks import (
    tempered_log_marginal,
    tempered_model,
)

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.testing.exact import check_exact

CASES = {
    f"{type(move).__name__}, {shape}, {store}, {kernel}": (move, shape, store, kernel)
    for move, shape in (
        (moves.TableGibbs(), "2+1"),
        (moves.TableGibbs(), "three levels of three"),
        (moves.DishGibbs(), "2+1"),
        (moves.SplitMerge(), "flat 3"),
        (moves.SplitMerge(), "2+1"),
        (moves.ReseatGroups(scans=None), "2+1"),
    )
    for store, kernel in (("explicit", "auto"), ("histogram", "auto"), ("explicit", "reference"))
}


@pytest.mark.parametrize("case", CASES)
def test_moves_leave_the_posterior_at_a_power_invariant(case):
    move, shape, store, kernel = CASES[case]
    for power, eta in ((0.3, 0.5), (0.8, [0.3, 1.1, 0.6])):
        check_exact(tempered_model(power, shape, store, eta, kernel=kernel), move)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("power", [0.01, 0.5, 0.999])
def test_the_compiled_bank_has_the_marginals_of_the_formula(power, symmetric):
    eta = 0.5 if symmetric else [0.3, 1.1, 0.6]
    log_marginal = tempered_log_marginal(eta, power)
    values = [0] * 1500 + [1] * 3 + [2, 0, 1, 0]  # beyond the table
    measure = hk.DirichletMultinomial(eta, n_terms=3).tempered(power)
    bank = measure.bank(hk.Corpus.from_documents([values], n_terms=3))
    bank.born(0)
    seen, rest = list(range(1503)), [1503, 1504, 1505, 1506]
    bank.add(0, seen)
    known = values[:1503]
    new = bank.log_predictive(1504, [0])
    assert new[0] - new[1] == pytest.approx(
        log_marginal([*known, 0]) - log_marginal(known) - log_marginal([0]), abs=1e-9
    )
    blocks = bank.log_block(rest, [0])
    assert blocks[0] == pytest.approx(log_marginal(values) - log_marginal(known), abs=1e-9)
    assert blocks[1] == pytest.approx(log_marginal(values[1503:]), abs=1e-9)
    weights = bank.block(rest, [0])
    assert np.log(weights[0] / weights[1]) == pytest.approx(blocks[0] - blocks[1], abs=1e-9)
    slots = np.zeros(1, dtype=np.int32)
    for found in (bank.log_marginals(slots), measure.log_marginals(bank, slots, None)):
        assert found == pytest.approx([log_marginal(known)], abs=1e-9)
    assert bank.log_marginal_total(slots) in (None, pytest.approx(log_marginal(known), abs=1e-9))
    bank.remove(0, seen[:1000])
    assert bank.log_marginals(slots) == pytest.approx([log_marginal(values[1000:1503])], abs=1e-9)


def test_power_1_is_the_measure_itself():
    measure = hk.DirichletMultinomial(hk.Gamma(1.0, 1.0), n_terms=3)
    assert type(measure.tempered(1.0)) is hk.DirichletMultinomial
    again = measure.tempered(0.3).tempered(0.6)
    assert (again.power, again.eta, again.priors.keys()) == (0.6, 1.0, {"eta"})
    for power in (0.0, -1.0, 1.5, float("nan"), "half"):
        with pytest.raises(errors.ParameterError, match="power"):
            measure.tempered(power)
