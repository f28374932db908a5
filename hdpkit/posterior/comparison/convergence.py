"""Whether the chains of a schedule have converged: the rule, and what it is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import positive_number
from hdpkit.errors import ParameterError
from hdpkit.posterior.comparison.chains import ChainRecord

_NAMES = {"log_joint": "log probability", "n_dishes": "K"}

FEWEST_DRAWS = 20  # of a chain; with fewer nothing is estimated


def _above_one(instance: Any, attribute: Any, value: Any) -> None:
    positive_number(attribute.name, value, remedy="1.05 is usual.")
    if not value > 1.0:
        raise ParameterError(attribute.name, value, "a number above 1", "1.05 is usual.")


def _positive(instance: Any, attribute: Any, value: Any) -> None:
    positive_number(attribute.name, value, remedy="Leave it out for the usual value.")


@attrs.frozen(kw_only=True)
class ConvergenceRule:
    """When a schedule counts as converged.

    After burn-in all of these hold for the log joint, the number of dishes and each of the largest shares:

    - the rank-normalised R-hat over the chains (Vehtari et al. 2021) is at most ``rhat``;
    - the bulk effective sample size is at least ``ess`` times the number of chains;
    - in no chain do the means of the first and the second half differ by more than ``drift`` standard
      deviations of that chain.

    In addition, the log joint must change, each chain must have at least 20 recorded states, and the chains
    must agree (R-hat of both schedules together at most ``rhat``) with those of at least half of the other
    schedules that meet all these conditions, since all have the same posterior. A number that never changes
    in
    any chain (K of a finite model) is not judged.

    Parameters
    ----------
    rhat : float
        Above 1.
    ess : float
        Effective draws a chain.
    drift : float
        In standard deviations.
    """

    rhat: float = attrs.field(default=1.05, validator=_above_one)
    ess: float = attrs.field(default=50.0, validator=_positive)
    drift: float = attrs.field(default=1.0, validator=_positive)


@attrs.frozen
class NumberDiagnosis:
    """Convergence diagnostics of one number over the chains of a schedule, after burn-in."""

    mean: float
    sd: float
    rhat: float  # rank-normalised; infinite if chains are constant at different values, NaN if all is
    ess: float  # bulk, of all chains together; NaN if nothing changes
    drift: float  # largest difference of the means of a chain's halves, in its standard deviations


@attrs.frozen(eq=False)
class LaterDraws:
    """States of the chains of a schedule after burn-in: the last ``n_draws`` of each chain."""

    values: dict[str, Floats]  # (n_chains, n_draws) by key: log_joint, n_dishes, share_1, ...
    seconds: float  # of the moves, over all chains

    @property
    def n_draws(self) -> int:
        """Number of states of each chain."""
        return int(next(iter(self.values.values())).shape[1])


def later_draws(chains: Sequence[ChainRecord], burn_in: float, by: str = "seconds") -> LaterDraws:
    """Drop this share of each chain's time, and more from the start of longer chains: all get one length."""
    spans = [getattr(chain, by) - getattr(chain, by)[0] for chain in chains]
    rest = [int(np.count_nonzero(span[1:] > burn_in * span[-1])) for span in spans]
    n = min(rest)
    values: dict[str, list[Floats]] = {}
    for chain in chains:
        shares = {f"share_{rank}": column for rank, column in enumerate(chain.shares.T, start=1)}
        columns = {"log_joint": chain.log_joint, "n_dishes": chain.n_dishes} | shares
        for key, column in columns.items():
            values.setdefault(key, []).append(column[len(column) - n :])
    seconds = sum(float(chain.seconds[-1] - chain.seconds[len(chain.seconds) - n - 1]) for chain in chains)
    return LaterDraws({key: np.array(own, dtype=np.float64) for key, own in values.items()}, seconds)


def diagnosed(values: Floats, nested: int | None = None) -> NumberDiagnosis:
    """R-hat, effective sample size and drift of one number: shape (n_chains, n_draws)."""
    if nested is not None and values.shape[1] > 0:
        return _diagnosed_nested(values, nested)
    if values.shape[1] == 0:
        return NumberDiagnosis(math.nan, math.nan, math.nan, math.nan, math.nan)
    mean, sd = float(values.mean()), float(values.std())
    if values.shape[1] < FEWEST_DRAWS:
        return NumberDiagnosis(mean, sd, math.nan, math.nan, math.nan)
    still = np.ptp(values, axis=1) == 0.0
    if still.all():
        apart = math.nan if np.ptp(values) == 0.0 else math.inf
        return NumberDiagnosis(mean, sd, apart, math.nan, 0.0)
    return NumberDiagnosis(mean, sd, joint_rhat(values), _ess(values), _drift(values))


def _array_stats() -> Any:
    """Diagnostics of arrays; imported when they are needed, which takes half a second."""
    from arviz_stats.base import array_stats

    return array_stats


def joint_rhat(values: Floats) -> float:
    """Rank-normalised R-hat; for a single chain, that of its two halves."""
    if len(values) == 1:
        half = values.shape[1] // 2
        values = values[:, -2 * half :].reshape(2, half)
    if np.all(np.ptp(values, axis=1) == 0.0):
        return math.nan if np.ptp(values) == 0.0 else math.inf
    with np.errstate(all="ignore"):
        return float(_array_stats().rhat(values, chain_axis=0, draw_axis=1, method="rank"))


def nested_rhat(values: Floats, each: int) -> float:
    """Nested R-hat (Margossian et al. 2022) of ranks; each ``each`` chains began from one state."""
    if np.ptp(values) == 0.0:
        return math.nan
    ranks = scipy.stats.rankdata(values).reshape(len(values) // each, each, -1)
    scores = scipy.special.ndtri((ranks - 0.375) / (values.size + 0.25))
    of_chains = scores.mean(axis=2)
    between = float(of_chains.mean(axis=1).var(ddof=1))
    within = float(scores.var(axis=2, ddof=1).mean()) if scores.shape[2] > 1 else 0.0
    within += float(of_chains.var(axis=1, ddof=1).mean()) if each > 1 else 0.0
    return math.sqrt(1.0 + between / within) if within > 0.0 else math.inf


_FEWEST_OF_ARVIZ = 4  # draws of a chain, below which effective draws aren't estimated


def _diagnosed_nested(values: Floats, each: int) -> NumberDiagnosis:
    mean, sd = float(values.mean()), float(values.std())
    if np.ptp(values) == 0.0:
        return NumberDiagnosis(mean, sd, math.nan, math.nan, 0.0)
    # Chains are independent given their states: their last draws are as many effective draws at least.
    ess = _ess(values) if values.shape[1] >= _FEWEST_OF_ARVIZ else math.nan
    ess = float(len(values)) if math.isnan(ess) else ess
    drift = _drift(values) if values.shape[1] >= FEWEST_DRAWS else math.nan
    return NumberDiagnosis(mean, sd, nested_rhat(values, each), ess, drift)


def _ess(values: Floats) -> float:
    with np.errstate(all="ignore"):
        return float(_array_stats().ess(values, chain_axis=0, draw_axis=1, method="bulk"))


def _drift(values: Floats) -> float:
    half = values.shape[1] // 2
    moved = np.abs(values[:, -half:].mean(axis=1) - values[:, :half].mean(axis=1))
    sd = values.std(axis=1)
    return float(np.max(moved / np.where(sd > 0.0, sd, 1.0)))


def severity_of(diagnoses: Mapping[str, NumberDiagnosis], n_chains: int, rule: ConvergenceRule) -> float:
    """How far numbers are from the rule: at most 1 if they meet it; infinite if nothing can be said."""
    worst = [
        part
        for one in diagnoses.values()
        for part in (
            (one.rhat - 1.0) / (rule.rhat - 1.0),
            rule.ess * n_chains / max(one.ess, 1e-9),
            one.drift / rule.drift,
        )
        if not math.isnan(part)
    ]
    return max(worst, default=math.inf)


def reasons_of(
    kept: LaterDraws,
    diagnoses: Mapping[str, NumberDiagnosis],
    n_chains: int,
    rule: ConvergenceRule,
    nested: bool = False,
) -> tuple[str, ...]:
    """Why the chains of a schedule have not converged; empty if they have."""
    if kept.n_draws < FEWEST_DRAWS and not nested:
        states = "1 state" if kept.n_draws == 1 else f"{kept.n_draws} states"
        return (f"{states} a chain after burn-in, at least {FEWEST_DRAWS} are needed",)
    if math.isnan(diagnoses["log_joint"].ess):
        where = "never changes" if math.isnan(diagnoses["log_joint"].rhat) else "is constant in each chain"
        return (f"the log probability {where}",)
    # A number that never changes isn't judged.
    judged = {
        key: one for key, one in diagnoses.items() if not (math.isnan(one.ess) and math.isnan(one.rhat))
    }
    fewest = rule.ess * n_chains
    few = f"fewer than {fewest:g} effective draws"
    apart = f"halves of a chain more than {rule.drift:g} standard deviations apart"
    high = {key: one.rhat for key, one in judged.items() if not one.rhat <= rule.rhat}
    failures: list[tuple[str, dict[str, float], Any]] = [
        (f"R-hat above {rule.rhat:g}", high, max),
        (few, {k: d.ess for k, d in judged.items() if not d.ess >= fewest}, min),
        (apart, {k: d.drift for k, d in judged.items() if d.drift > rule.drift}, max),
    ]
    return tuple(f"{what}: {worst_of(those, pick)}" for what, those, pick in failures if those)


def worst_of(numbers: Mapping[str, float], worst: Callable[[Iterable[float]], float]) -> str:
    """Numbers by key as text; of the shares only the worst one."""
    shown = [f"{_NAMES[key]} {number:.3g}" for key, number in numbers.items() if key in _NAMES]
    shares = [number for key, number in numbers.items() if key not in _NAMES]
    return ", ".join([*shown, *([f"shares {worst(shares):.3g}"] if shares else [])])
