"""Sampled tests with a stated error rate, and p-values whose level holds far out in the tail.

A test that draws random numbers is sometimes wrong. `SampledTests` bounds how often: for any registered
tests, it rejects correct samplers with probability at most about 1e-4. This holds only if each p-value is
valid: P(p <= u) <= u for a correct sampler, also at u = 1e-7. So the statistics here take INDEPENDENT draws
(replicas, not a chain), and are chosen for their tails. For instance with 1,000 draws and cells of
probability 0.02, 0.03 and 0.95, Pearson's chi-square has a p-value below 5e-7 nine times too often, the
likelihood-ratio statistic with Williams' correction 1.05 times (exact enumeration; with expected counts of 5
it is 77 times for Pearson). Such approximations are what "about" means in "about 1e-4".
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from hdpkit.checks import flag, seed_number, text, whole_number
from hdpkit.errors import ParameterError, RegistryError, StateError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
PValues = Mapping[str, float] | ArrayLike
Run = Callable[[int, int], PValues]

_MIN_EXPECTED = (
    20.0  # a pooled cell's expected count; levels then hold within a factor of 1.5 at 5e-8, 1.1 at 1e-2
)


class SampledTestFailure(AssertionError):
    """A sampled test failed; the message names the test, the p-values, the limits and the seed."""


@attrs.frozen
class Outcome:
    """The result of one sampled test."""

    name: str  # the test
    first: dict[str, float]  # P-values of the first look
    # P-values of the repeat that were judged (those that were suspicious at first); empty without a
    # repeat
    repeat: dict[str, float]
    seeds: tuple[int, ...]  # the seed of each look

    def __str__(self) -> str:
        looks = [("first look", self.first), ("repeat", self.repeat)]
        text = [
            f"{look} (seed {seed}): " + ", ".join(f"{label} p={p:.3g}" for label, p in values.items())
            for (look, values), seed in zip(looks, self.seeds, strict=False)
        ]
        return f"{self.name}: " + "; ".join(text)


class SampledTests:
    """A family of sampled tests that fails by chance with probability at most 1e-4, all together.

    All tests are registered before the first is run; P is the number of p-values registered. A first look
    fails if a p-value is below 5e-5/P. Those p-values that are below 1e-2 (and haven't failed) are repeated
    with four times the draws and a new seed; the repeat fails if one of THEM is below 5e-3/P.

    Why 1e-4: let a sampler be right, so that P(p <= u) <= u. One p-value fails at the first look with
    probability at most 5e-5/P. It fails at the repeat only if it is below 1e-2 at first and below 5e-3/P
    then; the looks are independent, so that has probability at most 1e-2 * 5e-3/P = 5e-5/P. Together 1e-4/P,
    and by the union bound at most 1e-4 for P p-values, however they depend on each other. (If a repeat judged
    also the others, the bound would not hold.) To check a test twice, until it passes, is an error.

    Parameters
    ----------
    fresh : bool
        Draw a new seed for the family from the system; by default it is fixed.
    seed : int, optional
        Seed of the family, by default 0; to repeat a run with ``fresh``, give its ``seed``.

    Attributes
    ----------
    seed : int
        Seed of the family. Seeds of looks are derived from it, the test's name and the look.
    outcomes : list of Outcome
        One for each test checked, including failed ones.
    """

    FIRST = 5e-5
    """A first look fails below this over P."""
    SUSPICIOUS = 1e-2
    """Below this a p-value is repeated."""
    REPEAT = 5e-3
    """The repeat fails below this over P."""
    MORE_DRAWS = 4
    """Number of draws of the repeat, relative to the first look."""

    def __init__(self, *, fresh: bool = False, seed: int | None = None) -> None:
        if flag("fresh", fresh) and seed is not None:
            raise ParameterError("seed", seed, "left out with fresh=True", "Choose one of the two.")
        if seed is not None:
            seed_number("seed", seed)
        self.seed: int = secrets.randbits(63) if fresh else (seed or 0)
        self.outcomes: list[Outcome] = []
        self._labels: dict[str, tuple[str, ...]] = {}
        self._checked: set[str] = set()

    @property
    def n_p_values(self) -> int:
        """P, the number of p-values registered."""
        return sum(len(labels) for labels in self._labels.values())

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Names of tests that were registered and have not been run."""
        return tuple(name for name in self._labels if name not in self._checked)

    def register(self, name: str, p_values: int | Sequence[str] = 1) -> None:
        """Announce a test before any is run.

        Raises a StateError if a test has been run already (P must be known before the first p-value is seen);
        a RegistryError if the name is taken.

        Parameters
        ----------
        name : str
            Name of the test; its seeds derive from it.
        p_values : int or sequence of str
            Number of its p-values, or their names.
        """
        if self._checked:
            raise StateError("register", name, "called before the first check", "Register all tests first.")
        if name in self._labels:
            raise RegistryError("name", name, "new", "Give each sampled test its own name.")
        labels = tuple(str(i) for i in range(p_values)) if isinstance(p_values, int) else tuple(p_values)
        if not labels or len(set(labels)) != len(labels):
            raise ParameterError("p_values", p_values, "one or more, each once", "Name what the test yields.")
        self._labels[name] = labels

    def look_seed(self, name: str, look: int) -> int:
        """Seed of a look (0 first, 1 repeat): a function of the family's seed, the name and the look."""
        name, look = text("name", name, remedy="As registered."), whole_number("look", look)
        source = np.random.SeedSequence([self.seed, zlib.crc32(name.encode("utf-8", "surrogatepass")), look])
        return int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def check(self, name: str, run: Run) -> Outcome:
        """Run a registered test, repeat it if it looks suspicious, and judge it.

        Returns the p-values, if the test passed. Raises a SampledTestFailure if it failed.

        Parameters
        ----------
        name : str
            A registered name.
        run : callable
            ``run(n_draws_multiplier, seed)`` draws with this seed, with the usual number of draws times the
            multiplier, and returns its p-values: an array in the registered order, or a dict with the
            registered names.
        """
        if not isinstance(name, str) or name not in self._labels:
            raise RegistryError("name", name, "a registered test", "Register it before the first check.")
        if name in self._checked:
            raise StateError("name", name, "checked once", "Running again until it passes breaks the level.")
        self._checked.add(name)
        total = self.n_p_values
        seeds: tuple[int, ...] = (self.look_seed(name, 0),)
        first = self._p_values(name, run(1, seeds[0]))
        suspicious = [label for label, p in first.items() if p < self.SUSPICIOUS]
        repeat: dict[str, float] = {}
        failed = [label for label, p in first.items() if p < self.FIRST / total]
        limit = self.FIRST / total
        if suspicious and not failed:
            seeds = (*seeds, self.look_seed(name, 1))
            again = self._p_values(name, run(self.MORE_DRAWS, seeds[1]))
            repeat = {label: again[label] for label in suspicious}
            limit = self.REPEAT / total
            failed = [label for label, p in repeat.items() if p < limit]
        outcome = Outcome(name, first, repeat, seeds)
        self.outcomes.append(outcome)
        if failed:
            look = "repeat" if repeat else "first look"
            raise SampledTestFailure(
                f"sampled test {name!r} failed at the {look}: {', '.join(failed)} below {limit:.3g} "
                f"({total} p-values are registered; family seed {self.seed}).\n{outcome}"
            )
        return outcome

    def summary(self) -> str:
        """The family's seed, P, and one line for each test that was run."""
        head = f"seed {self.seed}, {self.n_p_values} p-values registered"
        return "\n".join([head, *(str(outcome) for outcome in self.outcomes)])

    def _p_values(self, name: str, answer: PValues) -> dict[str, float]:
        labels = self._labels[name]
        if isinstance(answer, Mapping):
            if set(answer) != set(labels):
                raise ParameterError(
                    name, sorted(answer), f"exactly {sorted(labels)}", "Register its p-values."
                )
            numbers = [float(answer[label]) for label in labels]
        else:
            array = np.atleast_1d(np.asarray(answer, dtype=np.float64))
            if array.shape != (len(labels),):
                raise ParameterError(name, array.shape, f"{len(labels)} p-values", "Register its p-values.")
            numbers = [float(p) for p in array]
        if not all(0 <= p <= 1 for p in numbers):  # NaN must not count as a pass
            raise ParameterError(name, numbers, "probabilities", "Correct the test's statistic.")
        return dict(zip(labels, numbers, strict=True))


def two_sample_p(a: ArrayLike, b: ArrayLike) -> float:
    """P-value of the hypothesis that two samples of INDEPENDENT draws have the same law.

    Twice the smaller of two p-values (union bound): for a difference of any kind, by a table of few distinct
    values or Kolmogorov and Smirnov's test, and for a shift Mann and Whitney's rank test with ties, which
    unlike a test of means keeps its level under heavy tails. The first alone if there are two values (the
    second would be the same), or one sample is more than twice as long (the rank test's normal tails are then
    off).
    """
    x, y = _sample("a", a), _sample("b", b)
    both = np.concatenate([x, y])
    values, place = np.unique(both, return_inverse=True)
    if values.size == 1:
        return 1.0
    if values.size > max(2, both.size // 40):
        method = "exact" if max(x.size, y.size) <= 500 else "asymp"
        any_kind = float(stats.ks_2samp(x, y, method=method).pvalue)
    else:
        parts = (place[: x.size], place[x.size :])
        any_kind = _table_p(np.stack([np.bincount(part, minlength=values.size) for part in parts]))
    if values.size == 2 or max(x.size, y.size) > 2 * min(x.size, y.size):
        return any_kind
    shift = float(stats.mannwhitneyu(x, y, alternative="two-sided").pvalue)
    return min(1.0, 2 * min(any_kind, shift))


def _sample(name: str, values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or np.any(np.isnan(array)):
        raise ParameterError(name, values, "a list of numbers, not empty, without NaN", "Correct the sample.")
    return array


def _groups(expected: FloatArray) -> IntArray:
    """Where to cut a row of cells so that each group expects enough draws; always two groups or more."""
    starts, so_far = [0], 0.0
    for place, here in enumerate(expected):
        if so_far >= _MIN_EXPECTED:
            starts.append(place)
            so_far = 0.0
        so_far += float(here)
    if so_far < _MIN_EXPECTED and len(starts) > 2:
        starts.pop()
    elif len(starts) == 1 or so_far < _MIN_EXPECTED:  # too few draws for two full groups: cut near the middle
        cumulative = np.cumsum(expected)[:-1]
        starts = [0, int(np.argmin(np.abs(cumulative - float(np.sum(expected)) / 2))) + 1]
    return np.array(starts, dtype=np.int64)


def _table_p(table: IntArray) -> float:
    """Two rows of counts in ordered columns: likelihood-ratio test with Williams' (1976) correction."""
    total, rows = int(table.sum()), table.sum(axis=1)
    table = np.add.reduceat(table, _groups(table.sum(axis=0) * (int(rows.min()) / total)), axis=1)
    if table.shape[1] == 2:
        return float(stats.fisher_exact(table).pvalue)
    columns = table.sum(axis=0)
    statistic = 2 * float(np.sum(special.xlogy(table, table * total / np.outer(rows, columns))))
    spread = (total * float(np.sum(1 / rows)) - 1) * (total * float(np.sum(1 / columns)) - 1)
    freedom = columns.size - 1
    return float(stats.chi2.sf(statistic / (1 + spread / (6 * total * freedom)), freedom))
