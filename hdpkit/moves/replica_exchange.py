"""Replica exchange: chains at powers of the likelihood, which exchange their states.

The scheduler applies every move of the schedule to each further franchise in turn
(`hdpkit.run.sweeps.Ensemble`), and this move to the run's own only. It reaches the others through a part
of the state (`Replicas`), which freezes and thaws them, so checkpoints, resuming and going back need no code
for them. `exchange` thaws the frozen state of each franchise in the other; sweep and streams stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import as_float, items, whole_number, whole_numbers
from hdpkit.errors import AuditError, ParameterError, ScheduleError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import maker, take_over
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, Requirement, accepts, check_move
from hdpkit.parts import Part
from hdpkit.random import ChoiceSource


def _powers(value: Any) -> tuple[float, ...]:
    remedy = "For instance (1.0, 0.9, 0.8)."
    powers = tuple(map(as_float, items("powers", value, "numbers from 1 downwards", remedy=remedy)))
    falling = all(low < high for high, low in itertools.pairwise(powers))
    if len(powers) < 2 or powers[0] != 1.0 or not falling or not powers[-1] > 0.0:
        raise ParameterError("powers", value, "1, and then one or more falling numbers above 0", remedy)
    return powers


@attrs.frozen
class ReplicaExchange(Move):
    """Exchange the states of chains at powers of the likelihood (parallel tempering).

    A run with this move has a further chain for each power below 1, which all other moves of the schedule
    update too, from streams of their own. The chain at power b has the posterior p(z) L_b(z), where z is the
    state and L_b the likelihood of ``measure.tempered(b)``: over most measures L ** b, where L is the
    probability of the data given their dishes, with parameters of dishes integrated out. Over
    `DirichletMultinomial` topics phi give terms the weights phi ** b before they are integrated out: L_b is
    the product over dishes of B(eta + b n_k) / B(eta), where B is the normaliser of a Dirichlet distribution.
    Over `NonConjugate` the likelihood given the parameters is raised to the power. Each application proposes
    to exchange the states of neighbours: of the first and second power, the third and fourth, ... and in
    every other application of the second and third, ... (Swendsen & Wang 1986; Geyer 1991). States z at power
    b and y at power c are exchanged with probability min(1, L_b(y) L_c(z) / (L_b(z) L_c(y))).

    The run's trace, samples, callbacks and final franchise are those of the chain at power 1. ``trace.moves``
    has a row for each pair, for instance "ReplicaExchange 1.0 0.9"; seconds of other moves are those of all
    chains. ``trace["replicas/walker"]`` is the number of the chain from which the state at power 1 descends.
    The further chains are saved in run folders and continue there bit for bit; a copy of a franchise has
    none.

    Parameters
    ----------
    powers : sequence of float
        1, and then one or more falling numbers above 0. Neighbours should exchange states in 20 to 40 % of
        the attempts; the number of powers that this needs grows with the square root of the size of the data.

    Notes
    -----
    Between powers the dishes of a state keep their topics but get new ids. A run is refused with known
    components, over a measure that has no powers (observed dishes, `Bursty`, dishes that keep numbers or
    selection proportions in the state), and with a move that the measure at a power doesn't serve: over most
    measures one that draws parameters of dishes (`SliceGibbs`, `CountGibbs`, `BeamSampler`). A move of your
    own must take probabilities of data from the franchise or its measure.

    References
    ----------
    Swendsen & Wang (1986), Replica Monte Carlo simulation of spin-glasses. Geyer (1991), Markov chain Monte
    Carlo maximum likelihood.
    """

    powers: tuple[float, ...] = attrs.field(converter=_powers)

    serves = tuple(model for model in EVERYWHERE if model != "known")
    by_cell = True
    ensemble = True
    updates = ("seating", "concentration", "discount", "base", "root weights")
    requires = (
        Requirement(
            lambda state, move: _has_powers(state) and state.known is None,
            "It needs a measure at powers of the likelihood (BaseMeasure.tempered; also log_marginal, if a "
            "measure defines it), whose dishes keep no parts in the state, and no known components; the base "
            "measure here is {measure}.",
        ),
    )

    def check(self, state: Franchise) -> None:
        """Raise an error if the franchise has chains at other powers."""
        replicas = state.parts.get(Replicas.name)
        if isinstance(replicas, Replicas) and replicas.powers != self.powers:
            raise ScheduleError(
                "powers", self.powers, f"{replicas.powers}, those of the chains that this franchise has",
                "Run franchise.copy(), which has no further chains.",
            )  # fmt: skip

    def others(self, state: Franchise) -> Sequence[Franchise]:
        """Return the chains at powers below 1; the first call makes them, in the state of the franchise."""
        check_move(self, state)
        replicas = state.parts.get(Replicas.name)
        if not isinstance(replicas, Replicas):
            replicas = Replicas(self.powers, [tempered(state, power) for power in self.powers[1:]])
            state.register(replicas.name, replicas)
        return replicas.franchises

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Propose exchanges between neighbours."""
        chains = [state, *self.others(state)]
        replicas: Any = state.parts[Replicas.name]
        n_pairs = len(chains) - 1
        first = replicas.applications % 2 if n_pairs > 1 else 0
        replicas.applications += 1
        details = []
        for i in range(first, n_pairs, 2):
            one, other, powers = chains[i], chains[i + 1], self.powers[i : i + 2]
            accepted = accepts(_log_ratio(one, other, powers), rng)
            if accepted:
                exchange(one, other)
                replicas.walkers[[i, i + 1]] = replicas.walkers[[i + 1, i]]
            details.append((f"{powers[0]} {powers[1]}", MoveInfo(1, int(accepted))))
        return MoveInfo(len(details), sum(info.accepted for _, info in details), tuple(details))


def tempered(state: Franchise, power: float) -> Franchise:
    """An independent franchise in the same state, with a power of the likelihood: `BaseMeasure.tempered`."""
    twin: Franchise = maker(state, state.data, state.prepared.tempered(power))(state.freeze())
    return twin


def exchange(one: Franchise, other: Franchise) -> None:
    """Exchange the states of two franchises over the same data; measures, sweeps and streams stay."""
    first, second = one.freeze(), other.freeze()
    # States of franchises over the same data need no check, which takes longer than the exchange.
    take_over(one, _in_chain(first, second, one))
    take_over(other, _in_chain(second, first, other))


def _in_chain(own: Mapping[str, Any], new: Mapping[str, Any], franchise: Any) -> dict[str, Any]:
    """Another state for a franchise whose own is given: what belongs to its chain stays."""
    kept: dict[str, Any] = {key: own[key] for key in ("sweep", "seeded_calls", "streams") if key in own}
    of_run = {name for name, part in franchise.parts.items() if part.of_run}
    components = {name: part for name, part in new["components"].items() if name not in of_run}
    if "births" in own:  # dishes that aren't observed
        n = len(new["dish_ids"])
        kept |= {"dish_ids": own["births"] + np.arange(n), "births": own["births"] + n}
    return {**new, **kept, "components": components}


def _has_powers(state: Franchise) -> bool:
    supports = state.measure.supports
    if supports("tempered") and not any(map(supports, ("log_marginal", "log_marginals"))):
        return False
    return state.measure.has_powers and not state.dish_parts


def _log_ratio(one: Franchise, other: Franchise, powers: tuple[float, ...]) -> float:
    """Logarithm of the acceptance ratio for exchanging the states of two chains at these powers."""
    total = 0.0
    for chain, sign in ((one, 1.0), (other, -1.0)):
        # The measure of the state's chain: parameters with a prior are exchanged with the state.
        here, there = map(chain.measure.tempered, powers)
        total += sign * (chain.log_likelihood(there) - chain.log_likelihood(here))
    return total


class Replicas(Part):
    """The chains at powers below 1, as a part of the state of the chain at power 1."""

    name = "replicas"
    of_run = True

    def __init__(self, powers: Sequence[float], franchises: Sequence[Franchise]) -> None:
        self.powers = tuple(powers)
        self.franchises = tuple(franchises)
        self.walkers = np.arange(len(self.powers))
        self.applications = 0

    def started(self, state: Any, source: ChoiceSource) -> None:
        """Count from the beginning: the run starts the chains."""
        self.walkers = np.arange(len(self.powers))
        self.applications = 0

    def audit(self, slots: Any) -> None:
        """Check the state of each chain."""
        if sorted(self.walkers.tolist()) != list(range(len(self.powers))):
            raise AuditError("walkers", self.walkers, "each chain once", "Report the move that ran last.")
        for franchise in self.franchises:
            franchise.audit()

    def freeze(self) -> dict[str, Any]:
        """Return the states of the chains."""
        return {
            "chains": [franchise.freeze() for franchise in self.franchises],
            "walkers": self.walkers.copy(),
            "applications": self.applications,
        }

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Restore the states of the chains."""
        n = len(self.powers)
        walkers = whole_numbers("walkers", frozen["walkers"], 0, n - 1, length=n, remedy="Give one each.")
        applications = whole_number("applications", frozen["applications"], 0, remedy="Give a count.")
        for franchise, state in zip(self.franchises, frozen["chains"], strict=True):
            franchise.thaw(state)
        self.walkers, self.applications = walkers.copy(), applications  # which later moves change

    def memory_bytes(self) -> int:
        """Bytes of the chains."""
        return sum(franchise.memory_bytes() for franchise in self.franchises)

    def scalars(self, state: Any) -> Mapping[str, float]:
        """Return the number of the chain from which the state at power 1 descends."""
        return {"walker": float(self.walkers[0])}
