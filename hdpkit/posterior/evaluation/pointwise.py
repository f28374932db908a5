"""Log likelihoods of the groups of a run, for leave-one-out cross-validation."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.checks import instance, whole_number
from hdpkit.errors import DeclarationError
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.evaluation.evaluate import log_probabilities_by_group
from hdpkit.posterior.evaluation.result import log_mean_exp
from hdpkit.posterior.fold_in import (
    NewGroupModel,
    check_foldable,
    new_group_model,
    without_restaurants,
)
from hdpkit.posterior.new_labels import Parents
from hdpkit.random import ChoiceSource, Purpose, Streams


def _at_least_one(instance: Any, attribute: Any, value: Any) -> None:
    whole_number(attribute.name, value, 1, 2**31, remedy="20 particles are usual.")


def _not_negative(instance: Any, attribute: Any, value: Any) -> None:
    whole_number(attribute.name, value, 0, remedy="Leave it out for 0.")


@attrs.frozen(kw_only=True)
class GroupLogLikelihood:
    r"""Log likelihood of each group (document) in the draws of a run, for ``arviz.loo``.

    Pass it to ``record`` of a run under a key that begins with "log_likelihood/"; the rest of the key is the
    name of the dimension::

        record = {"log_likelihood/document": hk.GroupLogLikelihood(after=100, every=10)}
        trace = scheduler.run(franchise, sweeps=500, record=record)
        arviz.loo(trace.to_arviz())

    An observation is an entire group. Given the parameters of the dishes and the weights of the root, the
    groups are independent of each other. So both are drawn from their distribution given the state, phi_k
    from p(phi_k | its data) and beta ~ Dirichlet(m_1 - d_0, ..., m_K - d_0, theta_0 + K d_0) (Teh et al.
    2006, section 5.2; with ``root="weights"`` beta is in the state), and the number is log p(group | phi,
    beta, hyperparameters). The shares and seats of the group are summed out by left-to-right particles
    (Wallach et al. 2009; unbiased by Buntine 2009). This is the marginal likelihood of Merkle, Furr &
    Rabe-Hesketh (2019), which predicts a new group, not new words of a known one. All new dishes count as one
    dish with the predictive density of the prior. This is an approximation, whose effect is small if a new
    dish has little weight.

    ``arviz.loo`` leaves groups out by importance sampling. Its Pareto k is too large for groups that have a
    dish nearly to themselves; ArviZ then warns, and `hdpkit.evaluate` on held-out groups should be used
    instead. The time of left-to-right grows with the square of a group's size: record few draws.

    Parameters
    ----------
    particles : int
        Number of particles of each group in each draw. The mean log is biased downwards by about half the
        relative variance of the estimate.
    after : int
        Nothing is computed up to this sweep: the rows are NaN there, and `Trace.to_arviz` leaves them out.
    every : int
        Interval in sweeps.
    seed : int
        Seed of the draws and particles. The recorded chain doesn't depend on it.
    """

    particles: int = attrs.field(default=20, validator=_at_least_one)
    after: int = attrs.field(default=0, validator=_not_negative)
    every: int = attrs.field(default=1, validator=_at_least_one)
    seed: int = attrs.field(default=0, validator=_not_negative)

    def __call__(self, franchise: Franchise) -> Floats:
        """Log likelihood of each group of the franchise's own data: float64, shape (n_groups,), in nats.

        Parameters
        ----------
        franchise : Franchise
            Of two levels, with a measure that draws parameters.

        Raises
        ------
        DeclarationError
            If the model doesn't have two levels, or its measure draws no parameters.
        """
        _check(franchise)
        sweep = franchise.sweep
        if sweep <= self.after or (sweep - self.after) % self.every:
            return np.full(len(franchise.keys(franchise.declarations[1].name)), np.nan)
        chain = franchise.streams.chain if franchise.streams is not None else 0
        source = Streams(self.seed, chain=chain).source(Purpose.EVALUATE, sweep)
        fixed = new_group_model(franchise, franchise.data, scaled=True)
        drawn = _with_parameters_drawn(franchise, fixed, source)
        return log_mean_exp(log_probabilities_by_group(drawn, self.particles, source))


def _check(franchise: Franchise) -> None:
    instance("franchise", franchise, Franchise, "a Franchise", remedy="Pass this object as record={...}.")
    check_foldable(franchise)
    if len(franchise.declarations) != 2:
        raise DeclarationError(
            "franchise", franchise, "one of two levels: a root, and groups below it",
            "With levels in between, groups are dependent given the root's weights: score held-out groups "
            "by hk.evaluate.",
        )  # fmt: skip
    measure = without_restaurants(franchise).measure
    if not (measure.supports("draw_parameters") and measure.supports("log_likelihood")):
        raise DeclarationError(
            "base", type(franchise.measure).__name__, "a measure that draws parameters",
            "Define draw_parameters() and log_likelihood(), or score held-out groups by hk.evaluate.",
        )  # fmt: skip


def _with_parameters_drawn(franchise: Franchise, fixed: NewGroupModel, source: ChoiceSource) -> NewGroupModel:
    """Return the groups with densities under drawn parameters, and with drawn weights of the root."""
    slots = franchise.slots.occupied_slots()
    new = np.log(fixed.density[:, -1]) + fixed.log_scale
    state = without_restaurants(franchise)
    parameters = state.measure.draw_many(state.bank, slots, state.dishes, source)
    parameters = franchise.known_dishes.put_topics(list(parameters))
    logs = np.empty((len(new), len(slots) + 1))
    for k, parameter in enumerate(parameters):
        logs[:, k] = _log_likelihoods(state.measure, fixed.values, parameter)
    logs[:, -1] = new
    top = logs.max(axis=1)
    parents = Parents(_root_weights(franchise, slots, source)[None], fixed.parents.parent)
    return attrs.evolve(fixed.with_densities(np.exp(logs - top[:, None]), top), parents=parents)


def _log_likelihoods(measure: Any, values: npt.NDArray[Any], parameter: Any) -> Floats:
    if measure.takes_terms:  # parameters are distributions over terms
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(parameter, dtype=np.float64)[values])
    return np.array([measure.log_likelihood(value, parameter) for value in values])


def _root_weights(franchise: Franchise, slots: npt.NDArray[Any], source: ChoiceSource) -> Floats:
    """Weights of the dishes and, last, of a new one: those in the state, or drawn given the tables."""
    weights, rest = franchise.root_weights()
    if franchise.root.weights is not None:
        return np.append(weights, rest)
    theta, d = float(franchise.hyperparameters.theta[0]), float(franchise.hyperparameters.d[0])
    tables = np.array([franchise.seating.customers(0, slot) for slot in slots.tolist()], dtype=float)
    return source.dirichlet(np.append(tables - d, theta + len(slots) * d))
