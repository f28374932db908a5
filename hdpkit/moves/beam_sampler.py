"""Whole sequences of states of a hidden Markov model at once."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.errors import ScheduleError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.state_topology import ChainTopology
from hdpkit.franchise.steps import run_unchecked
from hdpkit.moves.protocol import NO_ROOT_DISCOUNT, SUPPORTED, MoveInfo, Requirement, Threaded
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource
from hdpkit.steps.state_sequences import SequencePlan, refused, sequence_sweep
from hdpkit.steps.step import Step

CHAIN = Requirement(
    lambda state, move: isinstance(state.topology, ChainTopology) and state.draws_tables,
    "States are drawn sequence by sequence over hk.Sequences: declare each=hk.PreviousDish(), "
    "store='counts' and root='weights'.",
)
"""A hidden Markov model over a store of counts and weights of the root."""


def run_sequences(
    state: Any, step: Step, source: ChoiceSource, *arguments: Any, slices: bool = False, threads: int = 1
) -> Any:
    """Run a step over sequences, which sets the weights of new states."""
    above = state.root.weights
    if above is None or state.root.kind == "restaurant":
        raise StateError(
            "root", state.root.kind, "weights that are part of the state",
            "Build hk.Franchise(..., store='counts', root='weights').",
        )  # fmt: skip
    dishes = state.population.dishes()
    plan = SequencePlan(state.measure, state.data, above, dishes, slices, threads)
    with above.births_given():
        return run_unchecked(state, step, plan, *arguments, source=source)


@attrs.frozen
class _BySequences(Threaded):
    """A sweep that draws all states of every sequence given drawn parameters and transition probabilities."""

    serves = ("weights", "fixed weights", "state homes")
    continuous = True
    calls = (sequence_sweep,)
    requires = (
        CHAIN,
        NO_ROOT_DISCOUNT,
        Requirement(
            lambda state, move: move.slices or state.root.most_dishes is not None,
            "The number of states is unbounded: use BeamSampler, or root=hk.FixedWeights(K).",
        ),
    )
    updates = ("seating", "root weights")
    slices = True

    def check(self, state: Franchise) -> None:
        """Raise an error unless dishes draw parameters, or have them."""
        if (trouble := refused(state.measure, state.dish_parts)) is not None:
            raise ScheduleError("moves", self.name, SUPPORTED, trouble)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw the states of all sequences."""
        run_sequences(state, sequence_sweep, rng, slices=self.slices, threads=self.threads)
        n = state.topology.n_customers
        return MoveInfo(n, n)


class BeamSampler(_BySequences):
    """Draw all states of every sequence of a hidden Markov model at once (Van Gael et al. 2008).

    Parameters of the states are drawn given their observations, and the transition probabilities of each
    state given its transitions: Dirichlet(alpha psi + kappa e_j + n_j), with their remainders. Every
    transition gets a slice, uniform below its probability. The remainder of the root's weights is broken into
    states until no row has more left than the smallest slice: nothing is truncated. Then each sequence is
    filtered forward over the transitions with probabilities above the slices, and drawn backward. Tables are
    drawn at the end. States without observations return to the remainder.

    A sequence moves as a whole, so the chain leaves states that single sites leave slowly; a new state must
    fit a path from its first draw of parameters. Combine it with `TableGibbs`, now and then.

    It needs `hdpkit.PreviousDish`, ``store="counts"``, ``root="weights"`` or fixed weights, and a conjugate
    measure with `draw_parameters` and `log_likelihood` (and `log_likelihoods`, which saves time), or
    `NonConjugate`, whose parameters `DishParameters` updates, and new states draw from the prior.

    Parameters
    ----------
    threads : int
        Number of threads, each with one sequence at a time. The chain doesn't depend on it.
    """


class ForwardBackward(_BySequences):
    """Draw all states of every sequence of a finite hidden Markov model at once (Scott 2002).

    Like `BeamSampler` without slices: the filter visits all K states of ``root=hk.FixedWeights(K)``, also
    those without observations. This takes K squared steps for each observation, and the chain mixes better.

    Parameters
    ----------
    threads : int
        As in `BeamSampler`.
    """

    slices = False


moves.register("beam-sampler", BeamSampler, lambda: [BeamSampler(), BeamSampler(threads=2)])
moves.register("forward-backward", ForwardBackward, lambda: [ForwardBackward()])
