"""Priors: `Gamma`, `Beta` (discounts), `Normal` (locations), `Above` (a bound), `Dirichlet` (weights of
parents); markers `Each`, `Shifted`; and `expected_tables` under a prior.

A number in a declaration is fixed; a hyperparameter with a prior is resampled by the moves that update it. A
user-defined prior needs the methods of the protocol `Prior` and, unless its values are the positive numbers,
`support`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, overload, runtime_checkable

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import (
    as_float,
    choice,
    instance,
    log_density,
    number_array,
    positive_number,
    real_number,
    real_values,
    refuse,
    shape_of,
    validator,
)
from hdpkit.errors import ParameterError
from hdpkit.numerics import gamma_ratio, lgamma, log, log1p
from hdpkit.random import ChoiceSource

# Draws are kept inside the open support: with a small shape, a double underflows to 0 with noticeable
# probability (Gamma(0.01, 1): one draw in 1,200), and a concentration of 0 or a discount of 1 isn't valid.
_SMALLEST = float(np.finfo(np.float64).tiny)
_BELOW_ONE = math.nextafter(1.0, 0.0)
_SMALLEST_SHAPE = 1e-300  # used for smaller shapes, whose draws underflow anyway


@runtime_checkable
class Prior(Protocol):
    """The protocol of a prior in a declaration."""

    @property
    def mean(self) -> float:
        """Expectation; the value at which the hyperparameter starts."""
        ...

    def log_density(self, x: float) -> float:
        """Log density at `x`, in nats; -inf outside the support."""
        ...

    def draw(self, generator: np.random.Generator, size: Any = None) -> Any:
        """Draw one float, or an array of shape `size`."""
        ...


def _number(x: Any) -> float:
    """A real number as a float; NaN and infinities are values of a density's argument."""
    number = as_float(x)
    if math.isnan(number) and not isinstance(x, float | np.floating):
        raise ParameterError("x", x, "a number", "Give an int or float.")
    return number


def _of_positive(name: str, value: Any, remedy: str) -> Prior:
    """Return `value` if it is a prior of positive numbers."""
    if isinstance(value, Prior) and not isinstance(value, type) and support_of(value)[0] >= 0.0:
        return value
    raise ParameterError(name, value, "a prior of positive numbers", remedy)


class Distribution:
    """Base class of the priors of the package: how they answer, and what they draw from."""

    __slots__ = ()

    @property
    def support(self) -> tuple[float, float]:
        """The open interval of possible values."""
        raise NotImplementedError

    def log_density(self, x: float) -> float:
        """Log density at `x` in nats; -inf outside the support, NaN at NaN."""
        x = _number(x)
        if math.isnan(x):
            return x
        low, high = self.support
        return self._log_density(x) if low < x < high else -math.inf

    def draw(
        self,
        generator: ChoiceSource | np.random.Generator,
        size: int | tuple[int, ...] | None = None,
    ) -> float | npt.NDArray[np.float64]:
        """Draw from the distribution.

        Draws are inside the support; one that would round to a finite end is the nearest normal double
        inside.

        Parameters
        ----------
        generator : ChoiceSource or numpy.random.Generator
            Source of randomness; it advances. A choice source gives the same bits on every processor.
        size : int or tuple of int, optional
            Shape of the answer; None for one float.
        """
        kinds = (ChoiceSource, np.random.Generator)
        allowed = "a choice source or a numpy Generator"
        instance("generator", generator, kinds, allowed, remedy="RandomStream((1, 2)).")
        drawn = self._draw(generator, None if size is None else shape_of("size", size))
        return float(drawn) if size is None else drawn

    def _log_density(self, x: float) -> float:
        raise NotImplementedError

    def _draw(self, generator: Any, size: tuple[int, ...] | None) -> Any:
        raise NotImplementedError


@attrs.frozen(init=False)
class Gamma(Distribution):
    """Gamma distribution over (0, inf), by shape and RATE.

    Density: ``rate^shape / Γ(shape) * x^(shape - 1) * exp(-rate * x)``. Raises a ParameterError if a
    parameter is not a finite positive number, or the mean over- or underflows.

    Parameters
    ----------
    shape : float
        Shape, finite and above 0.
    rate : float
        Rate (one over the scale), finite and above 0.
    """

    shape: float
    rate: float

    def __init__(self, shape: float, rate: float) -> None:
        self.__attrs_init__(positive_number("Gamma shape", shape), positive_number("Gamma rate", rate))
        # A hyperparameter starts at the mean, so the mean must be a valid value.
        if not 0.0 < self.mean < math.inf:
            raise ParameterError(
                "Gamma (shape, rate)",
                (self.shape, self.rate),
                "such that shape / rate is a finite number above 0",
                "Bring shape and rate closer to each other.",
            )

    support: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @property
    def mean(self) -> float:
        """Expectation, ``shape / rate``."""
        return self.shape / self.rate

    def _log_density(self, x: float) -> float:
        # log p(x) = shape log rate - log Γ(shape) + (shape - 1) log x - rate x
        return self.shape * log(self.rate) - lgamma(self.shape) + (self.shape - 1.0) * log(x) - self.rate * x

    def _draw(self, generator: Any, size: tuple[int, ...] | None) -> Any:
        if isinstance(generator, ChoiceSource):
            drawn = generator.gamma(max(self.shape, _SMALLEST_SHAPE), size) / self.rate
        else:  # NumPy's second parameter is the scale, not the rate
            drawn = generator.gamma(self.shape, 1.0 / self.rate, size)
        return np.maximum(drawn, _SMALLEST)


def _shape(name: str, value: Any) -> Any:
    """A positive number, or a prior of a positive number."""
    if isinstance(value, float | int) or not isinstance(value, Prior):
        return positive_number(name, value)
    return _of_positive(name, value, "For instance hk.Gamma(1, 1).")


@attrs.frozen(init=False)
class Beta(Distribution):
    """Beta distribution over (0, 1).

    Density: ``Γ(a + b) / (Γ(a) Γ(b)) * x^(a - 1) * (1 - x)^(b - 1)``. Raises a ParameterError if a parameter
    is not a finite positive number, or the mean rounds to 0 or 1.

    Parameters
    ----------
    a, b : float or prior
        Shapes, finite and above 0. Only `SparseDirichletMultinomial` accepts priors of them, and resamples
        them; elsewhere a Beta with such shapes raises an error.
    """

    a: Any
    b: Any

    def __init__(self, a: float | Prior, b: float | Prior) -> None:
        self.__attrs_init__(_shape("Beta a", a), _shape("Beta b", b))
        # A discount starts at the mean, and a discount of 1 isn't valid.
        if not self._of_priors and not 0.0 < self.mean < 1.0:
            raise ParameterError(
                "Beta (a, b)",
                (self.a, self.b),
                "such that a / (a + b) is above 0 and below 1 in double precision",
                "Bring a and b closer to each other.",
            )

    support: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def _of_priors(self) -> bool:
        return not (isinstance(self.a, float) and isinstance(self.b, float))

    @property
    def mean(self) -> float:
        """Expectation, ``a / (a + b)``."""
        if self._of_priors:
            raise ParameterError(
                "prior", self, "a Beta whose shapes are numbers",
                "Shapes with priors are for SparseDirichletMultinomial(selection=...).",
            )  # fmt: skip
        return self.a / (self.a + self.b)

    def _log_density(self, x: float) -> float:
        # log p(x) = log Γ(a + b) - log Γ(a) - log Γ(b) + (a - 1) log x + (b - 1) log(1 - x)
        return (
            gamma_ratio(self.a, self.b)
            - lgamma(self.b)
            + (self.a - 1.0) * log(x)
            + (self.b - 1.0) * log1p(-x)
        )

    def _draw(self, generator: Any, size: tuple[int, ...] | None) -> Any:
        if self._of_priors:
            _ = self.mean  # raises: shapes with priors have no distribution of their own
        return draw_beta(self.a, self.b, generator, size)


@attrs.frozen(init=False)
class Normal(Distribution):
    """Normal distribution over the real line, by mean and standard deviation.

    Raises a ParameterError if a parameter is out of its range.

    Parameters
    ----------
    mean : float
        Finite.
    deviation : float
        Standard deviation, finite and above 0.
    """

    mean: float
    deviation: float

    def __init__(self, mean: float, deviation: float) -> None:
        self.__attrs_init__(real_number("Normal mean", mean), positive_number("Normal deviation", deviation))

    support: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    def _log_density(self, x: float) -> float:
        z = (x - self.mean) / self.deviation
        return -0.5 * z * z - log(self.deviation) - 0.5 * log(2.0 * math.pi)

    def _draw(self, generator: Any, size: tuple[int, ...] | None) -> Any:
        if isinstance(generator, ChoiceSource):
            return self.mean + self.deviation * generator.normal(size)
        return generator.normal(self.mean, self.deviation, size)


_LEAST_SHAPE = 1e-6  # below it all weights but one are smaller than the smallest float


def _shapes(value: Any) -> Any:
    """A positive number, or two or more of them."""
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) and len(value) > 1:
        return tuple(_weight_shape(one) for one in value)
    return _weight_shape(value)


def _weight_shape(value: Any) -> float:
    if positive_number("Dirichlet shapes", value) < _LEAST_SHAPE:
        raise ParameterError("Dirichlet shapes", value, f"at least {_LEAST_SHAPE:g}", "For instance 0.01.")
    return float(value)


@attrs.frozen
class Dirichlet:
    """Dirichlet distribution of the weights of several parents: see `MixtureOf`.

    Raises a ParameterError if a shape is not a finite number of at least 1e-6.

    Parameters
    ----------
    shapes : float or sequence of float
        At least 1e-6: one number for all parents, or one each.
    """

    shapes: Any = attrs.field(default=1.0, converter=_shapes)


def support_of(prior: Prior) -> tuple[float, float]:
    """Open interval of a prior's possible values; without `support`, the positive numbers."""
    given = getattr(prior, "support", (0.0, math.inf))
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        low = high = math.nan
    if not low < high:
        raise refuse(prior, "support", given, "an open interval (low, high)", "For instance (0.0, math.inf).")
    return low, high


def mean_of(prior: Prior) -> float:
    """Return a prior's mean: a finite number."""
    return float(real_values(prior, "mean", prior.mean, ()))


def log_density_at(prior: Prior, x: float) -> float:
    """Return a prior's log density at a point: a number or -inf."""
    return log_density(prior, "log_density", prior.log_density(x))


def draw_from(prior: Prior, source: ChoiceSource, size: int | tuple[int, ...] | None = None) -> Any:
    """Draw a number from a prior, by ``choose`` if it has finitely many values, or an array of this shape."""
    if size is None and callable(getattr(prior, "choose", None)):
        return real_values(prior, "choose", prior.choose(source), ())  # type: ignore[attr-defined]
    takes_sources = getattr(type(prior), "draw", None) is Distribution.draw
    drawn = prior.draw(source if takes_sources else source.generator, size)
    return real_values(prior, "draw", drawn, _shape_of_draws(size))


def _shape_of_draws(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape of draws."""
    return () if size is None else (size,) if isinstance(size, int) else size


@attrs.frozen(init=False)
class Above(Distribution):
    """A prior of numbers above a bound: that of a number of which the bound has been subtracted.

    For instance, ``Above(Gamma(1, 1), 0.25)`` is the distribution of 0.25 plus a draw from Gamma(1, 1).
    Raises a ParameterError if ``prior`` is not a prior of positive numbers, or the bound is negative or not
    finite.

    Parameters
    ----------
    prior : Prior
        Of what is above the bound: positive numbers.
    low : float
        The bound, 0 or more.
    """

    prior: Prior
    low: float

    def __init__(self, prior: Prior, low: float) -> None:
        _of_positive("prior", prior, "For instance Above(Gamma(1, 1), 0.25).")
        bound = real_number("low", low)
        if bound < 0.0:
            raise ParameterError("low", low, "a finite number, 0 or more", "With 0 it is the prior itself.")
        self.__attrs_init__(prior, bound)

    @property
    def support(self) -> tuple[float, float]:
        """The open interval of possible values."""
        low, high = support_of(self.prior)
        return (self.low + low, self.low + high)

    @property
    def mean(self) -> float:
        """Expectation."""
        return self.low + mean_of(self.prior)

    def _log_density(self, x: float) -> float:
        return log_density_at(self.prior, x - self.low)

    def _draw(self, generator: Any, size: tuple[int, ...] | None) -> Any:
        if isinstance(generator, ChoiceSource):
            drawn = np.asarray(draw_from(self.prior, generator, size))
        else:
            drawn = real_values(self.prior, "draw", self.prior.draw(generator, size), _shape_of_draws(size))
        return np.maximum(self.low + drawn, np.nextafter(self.low, math.inf))


def draw_beta(a: float, b: float, source: ChoiceSource | np.random.Generator, size: Any = None) -> Any:
    """Draw from Beta(a, b), strictly between 0 and 1 whatever a and b are."""
    if isinstance(source, ChoiceSource):
        a, b = max(a, _SMALLEST_SHAPE), max(b, _SMALLEST_SHAPE)
    return np.clip(source.beta(a, b, size), _SMALLEST, _BELOW_ONE)


@attrs.frozen
class Shifted:
    """A prior of concentration + discount, so that the concentration may lie in (-discount, 0].

    A Pitman-Yor process only requires theta + d > 0. The joint prior of theta and d is p(d) p(theta + d). To
    combine it with `Each`, write ``Each(Shifted(prior))``. Raises a ParameterError if `prior` is not a prior
    of positive numbers.

    Parameters
    ----------
    prior : Prior
        Prior of the sum, a positive number.
    """

    prior: Prior = attrs.field(
        validator=validator(
            instance,
            Prior,
            "a prior: something with `mean`, `log_density` and `draw`",
            remedy="Wrap a prior, as in Shifted(Gamma(1.0, 1.0)); Each goes outside.",
        )
    )

    def __attrs_post_init__(self) -> None:
        if not (support_of(self.prior)[0] >= 0.0 and mean_of(self.prior) > 0.0):
            raise ParameterError(
                "prior", self.prior, "a prior of positive numbers",
                "The sum of concentration and discount is above 0: for instance hk.Gamma(1, 1).",
            )  # fmt: skip


@attrs.frozen
class Each:
    """Mark that every restaurant of a declaration has its own hyperparameter, all with the same prior.

    Without it, the restaurants of a declaration share one value. Raises a ParameterError if `prior` is not a
    prior.

    Parameters
    ----------
    prior : Prior or Shifted
        Prior of each of the hyperparameters, independently.
    """

    prior: Prior | Shifted = attrs.field(
        validator=validator(
            instance,
            (Prior, Shifted),
            "a prior: something with `mean`, `log_density` and `draw`",
            remedy="Wrap a prior, as in Each(Gamma(1.0, 1.0)); a fixed number needs no Each.",
        )
    )


# ---------------------------------------------------------------------- expectations under the prior

Method = Literal["exact", "sum", "digamma", "antoniak", "corrected"]

# Number of terms that "exact" adds one by one; the rest uses the asymptotic series of psi.
_SHIFT = 16
# B_2k / 2k for k = 1..5, B the Bernoulli numbers. The next term is 691/32760 / 16^12 < 1e-16.
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)

_MOST_SUMMED = 10_000_000
_CHUNK = 1_000_000


@overload
def expected_tables(n: float, mass: float, method: Method = "exact") -> float: ...
@overload
def expected_tables(n: npt.ArrayLike, mass: npt.ArrayLike, method: Method = "exact") -> float | Floats: ...
def expected_tables(n: npt.ArrayLike, mass: npt.ArrayLike, method: Method = "exact") -> float | Floats:
    """Expected number of tables of a dish in a Dirichlet process whose base distribution is fixed.

    ``E = a (1/a + 1/(a+1) + ... + 1/(a+n-1))`` (Antoniak 1974; Blunsom et al. 2009, section 3), where the
    mass ``a`` of a dish is concentration times base probability. If that probability is inferred, as in every
    restaurant of a franchise except the root, no method gives the expected tables of a dish. With the
    concentration as mass the result is the prior expectation of the total number of tables of a restaurant,
    for any base distribution. Returns a float64 array, 0 where `n` is 0; a float if both arguments are single
    numbers. Raises a ParameterError if an argument is out of range, or the shapes don't fit.

    Parameters
    ----------
    n : int or array_like of int
        Customers who have the dish: whole numbers from 0, also as floats.
    mass : float or array_like of float
        The mass a, finite and above 0. `n` and `mass` are broadcast against each other.
    method : {"exact", "sum", "digamma", "antoniak", "corrected"}
        - "exact": relative error below 1e-14 for every n and mass, in constant time;
        - "sum": the sum, term by term; n up to 10,000,000;
        - "digamma": ``a (psi(a + n) - psi(a))``, computed directly; for large a the two are nearly equal, and
          about ``1e-16 a log(a) / n`` of the result is lost;
        - "antoniak": ``a log((n + a) / a)``, too small by about ``n / (2 (a + n))``: as a tends to 0 it tends
          to 0, while the expectation tends to 1;
        - "corrected": "antoniak" plus that term.
    """
    formula = _METHODS[choice("method", method, _METHODS, remedy="The default is 'exact'.")]
    customers, masses = _whole_numbers(n), _positive_numbers(mass)
    if method == "sum":
        allowed = f"at most {_MOST_SUMMED:,}, where terms are summed"
        _refuse_first("n", n, customers, customers > _MOST_SUMMED, allowed, "Use method='exact'.")
    try:
        customers, masses = np.broadcast_arrays(customers, masses)
    except ValueError:
        raise ParameterError(
            "shapes of n and mass",
            (customers.shape, masses.shape),
            "shapes that broadcast",
            "Give one of them another axis, as in n[:, None].",
        ) from None
    with np.errstate(all="ignore"):  # for 0 customers, and masses at the ends of the range of doubles
        expected = np.where(customers > 0, formula(customers, masses), 0.0)
    return float(expected) if expected.ndim == 0 else expected


def _exact(n: Floats, a: Floats) -> Floats:
    """The first terms one by one, the rest as a difference of psi without cancellation of large numbers."""
    # psi(x) ~ log x - 1/(2x) - sum_k B_2k / (2k x^2k), so that with c = b + more
    # psi(c) - psi(b) ~ log1p(more/b) + more/(2bc) + sum_k B_2k / 2k (b^-2k - c^-2k): if the difference is
    # small, all terms are small, and the leading ones are positive.
    b = a + _SHIFT
    more = np.maximum(n - _SHIFT, 0.0)
    log_ratio = _log1p_ratio(more, b)
    rest = log_ratio + more / (b + more) / (2.0 * b)
    for k, coefficient in enumerate(_SERIES, 1):
        rest -= coefficient * b ** (-2.0 * k) * np.expm1(-2.0 * k * log_ratio)
    expected = a * rest
    for i in reversed(range(_SHIFT)):  # small ones first
        expected += np.where(i < n, a / (a + i), 0.0)
    return expected


def _sum(n: Floats, a: Floats) -> Floats:
    return np.array([_summed(int(m), mass) for m, mass in zip(n.flat, a.flat, strict=True)]).reshape(n.shape)


def _summed(n: int, a: float) -> float:
    return math.fsum(
        float(np.sum(a / (a + np.arange(first, min(first + _CHUNK, n))))) for first in range(0, n, _CHUNK)
    )


def _digamma(n: Floats, a: Floats) -> Floats:
    return a * (scipy.special.digamma(a + n) - scipy.special.digamma(a))


def _antoniak(n: Floats, a: Floats) -> Floats:
    return a * _log1p_ratio(n, a)


def _corrected(n: Floats, a: Floats) -> Floats:
    return _antoniak(n, a) + n / (a + n) / 2.0


_METHODS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "exact": _exact,
    "sum": _sum,
    "digamma": _digamma,
    "antoniak": _antoniak,
    "corrected": _corrected,
}


def _log1p_ratio(x: Floats, y: Floats) -> Floats:
    """log((x + y) / y), also if the quotient overflows."""
    ratio = x / y
    return np.where(np.isfinite(ratio), np.log1p(ratio), np.log(x) - np.log(y))


def _whole_numbers(n: Any) -> Floats:
    allowed, remedy = "whole numbers >= 0", "Give numbers of customers."
    numbers = _numbers("n", n, allowed, remedy)
    whole = np.isfinite(numbers) & (numbers >= 0.0) & (np.floor(numbers) == numbers)
    _refuse_first("n", n, numbers, ~whole, allowed, remedy)
    return numbers


def _positive_numbers(mass: Any) -> Floats:
    allowed, remedy = "finite numbers above 0", "A mass is a concentration times a base probability."
    numbers = _numbers("mass", mass, allowed, remedy)
    _refuse_first("mass", mass, numbers, ~(np.isfinite(numbers) & (numbers > 0.0)), allowed, remedy)
    return numbers


def _numbers(name: str, given: Any, allowed: str, remedy: str) -> Floats:
    numbers = number_array(given)
    if numbers is None:
        raise ParameterError(name, given, allowed, remedy)
    return numbers


def _refuse_first(
    name: str, given: Any, numbers: Floats, wrong: npt.NDArray[np.bool_], allowed: str, remedy: str
) -> None:
    """Raise an error for the first invalid number, with its index in an array."""
    if numbers.ndim == 0 and wrong:
        raise ParameterError(name, given, allowed, remedy)
    for place in np.argwhere(wrong)[:1].tolist():
        raise ParameterError(f"{name}{place}", float(numbers[tuple(place)]), allowed, remedy)
