"""`hdpkit.evaluate`: one held-out score for every model whose measure has a predictive density."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, instance, positive_number, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.arguments import MOST_THREADS
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.evaluation.completion import LEAST, TOLERANCE, by_em, by_gibbs
from hdpkit.posterior.evaluation.forward import Forward, of_samples
from hdpkit.posterior.evaluation.result import Evaluation, Scorer, log_mean_exp, states_of
from hdpkit.posterior.fold_in import (
    NewGroupModel,
    Parents,
    check_foldable,
    layout_of,
    new_group_model,
    without_restaurants,
)
from hdpkit.random import ChoiceSource, Purpose, Seed, Streams, as_source

_METHODS = ("auto", "completion", "left-to-right", "predictive", "forward")
_STEPS = 1_000_000  # customers that are reseated between checks for Ctrl-C


def evaluate(
    states: Any,
    data: GroupedData,
    *,
    method: str = "auto",
    held_out: GroupedData | None = None,
    samples: Iterable[Sample] | None = None,
    fit: str = "auto",
    particles: int = 20,
    sweeps: int = 50,
    burn_in: int = 20,
    tolerance: float = TOLERANCE,
    threads: int = 1,
    rng: ChoiceSource | Seed = 0,
) -> Evaluation:
    """Score groups that the states were not sampled with. The states don't change.

    In each state the dishes and all restaurants are fixed; in a hidden Markov model the parameters of the
    states and the transition probabilities are drawn given it, and states are summed out. Probabilities are
    averaged over states and particles, not their logarithms. Where dishes differ by group (`Bursty`), those
    of a new group follow its values seen so far. See docs/evaluation.md. Raises a DataError or
    DeclarationError as for `Franchise.fold_in`, also if halves don't fit, or there is nothing to score; a
    ParameterError if an argument is out of range.

    Parameters
    ----------
    states : Franchise, Draw, Run, ChainTrace, or an iterable of franchises or draws
        Posterior states. `Scheduler.sample` is such an iterable: each draw is used as soon as it is yielded.
    data : Corpus, Groups or Sequences
        New groups, as for `Franchise.fold_in`: complete or, with ``held_out``, their observed halves. Of a
        hidden Markov model new sequences or, with ``held_out``, their beginnings.
    method : "auto", "completion", "left-to-right", "predictive" or "forward"
        "auto": "forward" for hidden Markov models, otherwise "completion". "completion": proportions are
        fitted to the observed half of each group, and each value of the other half is scored; of words also
        those that are new in their group (`Evaluation.new_perplexity`). "left-to-right": probability of whole
        groups, by particles (Wallach et al. 2009, in the unbiased form of Buntine 2009); the time grows with
        the square of a group's size. "predictive": the predictive perplexity of Wang & Blei (2009), exp(-sum
        log p(group | training) / sum of sizes), by left-to-right. "forward": log probability of sequences by
        the forward pass of a hidden Markov model; the average over draws of parameters (``particles``) and
        states is an unbiased estimate of the posterior predictive probability (but for states that together
        weigh less than 1e-9).
    held_out : Corpus, Groups or Sequences, optional
        The held-out halves, for completion: the same groups in the same order. By default each group of
        ``data`` is split at random, half of its values (rounded down) observed. For "forward" the
        continuations of the sequences of ``data``: log p(continuation | beginning).
    samples : iterable of Sample, optional
        For "forward": samples of chains over the data of one franchise, which is ``states``, instead of its
        current state; for instance ``trace.samples``.
    fit : "auto", "em" or "gibbs"
        How completion fits proportions; "auto" is "em" without a discount, "gibbs" with one.
    particles : int
        Number of particles of left-to-right, of independent samplers of completion by Gibbs, or of draws of
        parameters of "forward", per state.
    sweeps, burn_in : int
        Sweeps of each such sampler that are averaged, and those before them.
    tolerance : float
        EM ends when no proportion changes by more than this.
    threads : int
        Of "forward". The result doesn't depend on it.
    rng : seed, Generator or choice source
        For the split and the samplers. With the same seed, two models get the same split.
    """
    choice("method", method, _METHODS, remedy="Leave it out.")
    choice("fit", fit, ("auto", "em", "gibbs"), remedy="Leave it out.")
    particles = whole_number("particles", particles, 1, 2**31, remedy="20 are usual; more lower the error.")
    sweeps = whole_number("sweeps", sweeps, 1, 10_000_000, remedy="At least one sweep is averaged.")
    burn_in = whole_number("burn_in", burn_in, 0, 10_000_000, remedy="Sweeps before those that are averaged.")
    positive_number("tolerance", tolerance)
    whole_number("threads", threads, 1, MOST_THREADS, remedy="One per processor is usual.")
    if not isinstance(data, GroupedData):
        raise ParameterError("data", data, "a Corpus or Groups", "For instance Corpus.from_documents(...).")
    given = states_of(states)
    first = next(given)
    if method == "auto":
        method = first.topology.scored_by
    halves = method in ("completion", "forward")
    if held_out is not None and (not isinstance(held_out, GroupedData) or not halves):
        raise ParameterError(
            "held_out", held_out, 'a Corpus, Groups or Sequences, with method="completion" or "forward"',
            "The observed halves are `data`." if halves
            else f'Leave it out with method="{method}", which scores whole groups.',
        )  # fmt: skip
    if samples is not None and method != "forward":
        raise ParameterError(
            "samples", samples, 'None, except with method="forward"', "Pass states: franchises, or a run."
        )
    source = as_source(rng, Purpose.EVALUATE)
    common: dict[str, Any] = {"data": data, "held_out": held_out, "particles": particles, "source": source}
    scorer: Scorer
    if method == "completion":
        scorer = _Completion(
            **common, wanted=fit, sweeps=sweeps, burn_in=burn_in, tolerance=tolerance,
            split_source=as_source(rng, Purpose.SPLIT),
        )  # fmt: skip
    elif method == "forward":
        scorer = Forward(**common, threads=threads)
    else:
        scorer = _LeftToRight(**common)
    every = itertools.chain([first], given)
    if isinstance(scorer, Forward) and samples is not None:
        logs = [scorer.score(franchise, sample) for franchise, sample in of_samples([*every], samples)]
    else:
        logs = [scorer.score(franchise) for franchise in every]
    layout = scorer.layout
    assert layout is not None  # `states_of` yields at least one state
    units, standard_error = scorer.average(logs)
    n_groups = len(layout.names)
    by_group = np.zeros(n_groups)
    np.add.at(by_group, scorer.group, units)
    tokens = np.diff(layout.begins)
    new, new_tokens = scorer.of_new(units)
    for array in (by_group, tokens, new, new_tokens):
        array.setflags(write=False)
    return Evaluation(
        method=method,
        fit=scorer.fit,
        label=layout.label,
        names=layout.names,
        group_log_probability=by_group,
        group_tokens=tokens,
        standard_error=standard_error,
        n_states=len(logs),
        particles=max(len(each) for each in logs),
        group_new_log_probability=new,
        group_new_tokens=new_tokens,
    )


class _LeftToRight(Scorer):
    """Log probabilities of entire groups by left-to-right."""

    def score(self, franchise: Franchise) -> Floats:
        fixed = _filled(new_group_model(franchise, self.data, scaled=True))
        self.layout = fixed.layout
        return log_probabilities_by_group(fixed, self.particles, self.source)


def log_probabilities_by_group(fixed: NewGroupModel, particles: int, source: ChoiceSource) -> Floats:
    """Log probability of each group by each particle of left-to-right: shape (particles, n_groups)."""
    groups, begins = fixed.new_groups(), fixed.layout.begins
    logs = np.empty((particles, len(begins) - 1))
    for group, size in enumerate(np.diff(begins).tolist()):
        at_once = max(1, _STEPS // max(1, size * size))
        for first in range(0, particles, at_once):
            last = min(first + at_once, particles)
            logs[first:last, group] = groups.left_to_right(group, last - first, source)
    scales = np.zeros(len(begins) - 1)
    np.add.at(scales, fixed.layout.group, fixed.log_scale[fixed.row])
    return logs + scales


@attrs.define(kw_only=True)
class _Completion(Scorer):
    """Log probabilities of the values of held-out halves, each of which is a unit."""

    wanted: str
    sweeps: int
    burn_in: int
    tolerance: float
    split_source: ChoiceSource
    observed: npt.NDArray[np.bool_] | None = None  # which values are observed, if the halves are made here
    new: npt.NDArray[np.bool_] | None = None  # which values are terms that the observed half lacks
    seen: list[Floats] = attrs.field(factory=list)  # probability of the terms that it has, by state

    @property
    def group(self) -> Int64s:
        assert self.layout is not None
        return self.layout.group

    def score(self, franchise: Franchise) -> Floats:
        observed, held = self._halves(franchise)
        self.layout = _filled(held).layout
        self.fit = self._fit(observed.discount)
        if self.fit == "em":
            logs, seen = (found[None] for found in by_em(observed, held, self.tolerance))
        else:
            logs, seen = by_gibbs(observed, held, self.particles, self.sweeps, self.burn_in, self.source)
        if franchise.measure.takes_terms:
            self.seen.append(seen.mean(axis=0))
            self.new = _new(observed, held) if self.new is None else self.new
        return logs

    def of_new(self, units: Floats) -> tuple[Floats, Int64s]:
        assert self.layout is not None
        group, n_groups = self.group, len(self.layout.names)
        if self.new is None:
            return np.zeros(n_groups), np.zeros(n_groups, dtype=np.int64)
        tokens = np.bincount(group[self.new], minlength=n_groups).astype(np.int64)
        rest = np.log(np.maximum(1.0 - np.mean(self.seen, axis=0), LEAST))
        found = np.bincount(group[self.new], units[self.new], minlength=n_groups).astype(np.float64)
        return found - np.where(tokens > 0, tokens * rest, 0.0), tokens

    def _fit(self, discount: float) -> str:
        if self.wanted == "em" and discount > 0:
            raise ParameterError(
                "fit", "em", '"gibbs" or "auto", since groups have a discount',
                "The fixed point of EM is that of a Dirichlet prior.",
            )  # fmt: skip
        return ("gibbs" if discount > 0 else "em") if self.wanted == "auto" else self.wanted

    def _halves(self, franchise: Franchise) -> tuple[NewGroupModel, NewGroupModel]:
        if self.held_out is None:
            whole = new_group_model(franchise, self.data, scaled=True)
            if self.observed is None:
                self.observed = _half(whole.layout.begins, self.split_source)
            return whole.restricted(self.observed), whole.restricted(~self.observed)
        check_foldable(franchise)
        names, others = (layout_of(franchise, half).names for half in (self.data, self.held_out))
        if others != names:
            raise DataError(
                "held_out", f"{len(others)} groups, from {others[:1]}",
                f"the groups of data, in the same order: {len(names)}, from {names[:1]}",
                "Build both halves with the same documents, empty ones included, and the same names.",
            )  # fmt: skip
        terms = franchise.measure.takes_terms
        observed = new_group_model(franchise, self.data, scaled=terms, other=self.held_out)
        held = new_group_model(franchise, self.held_out, scaled=True, parents=observed.parents)
        if terms:
            observed = observed.joined(held)
            held = held.with_rows_of(observed)
        return observed, held


def _new(observed: NewGroupModel, held: NewGroupModel) -> npt.NDArray[np.bool_]:
    """Which held-out values are terms that are not in the observed half of their group."""
    n_rows = len(observed.density)
    cells = [half.layout.group * n_rows + half.row for half in (observed, held)]
    return ~np.isin(cells[1], cells[0])


def _half(begins: Int64s, source: ChoiceSource) -> npt.NDArray[np.bool_]:
    """A random half of each group, rounded down."""
    chosen = np.zeros(int(begins[-1]), dtype=bool)
    for first, last in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        chosen[first + source.permutation(last - first)[: (last - first) // 2]] = True
    return chosen


def _filled(scored: NewGroupModel) -> NewGroupModel:
    """Return the argument; raise a DataError if it has nothing to score."""
    if len(scored.row) == 0:
        raise DataError("data", "no value", "with at least one value to be scored", "All halves are empty.")
    return scored


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

    An observation is an entire group. Given the parameters of the dishes and the weights of the root, groups
    are
    independent. So both are drawn given the state, phi_k from p(phi_k | its data) and beta ~ Dirichlet(m_1 -
    d_0,
    ..., m_K - d_0, theta_0 + K d_0) (Teh et al. 2006, section 5.2; with ``root="weights"`` beta is in the
    state),
    and the number is log p(group | phi, beta, hyperparameters), with the shares and seats of the group summed
    out
    by left-to-right particles (Wallach et al. 2009; unbiased by Buntine 2009). This is the marginal
    likelihood of
    Merkle, Furr & Rabe-Hesketh (2019), which predicts a new group. All new dishes count as one dish with the
    predictive density of the prior, an approximation.

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
            Of two levels, with a measure that draws parameters; otherwise a DeclarationError is raised.
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
