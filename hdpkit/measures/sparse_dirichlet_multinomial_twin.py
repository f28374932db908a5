"""The sparse Dirichlet-multinomial in Python, as a readable reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import as_float, choice, validator
from hdpkit.data import GroupedData
from hdpkit.errors import DeclarationError, ParameterError, StateError
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.dirichlet_multinomial_twin import CountsTerms, TermCounts, known_terms
from hdpkit.measures.dish_smoothing import SMOOTHING, SmoothingBank, SmoothingOfDishes
from hdpkit.measures.proportions import NAME, SelectionBank, SelectionProportions
from hdpkit.measures.protocol import Resampled
from hdpkit.measures.selection import (
    SelectionReference,
    check_n_terms,
    check_shape,
    draw_topic,
)
from hdpkit.measures.selection_range import LARGEST, SMALLEST, check_smoothing
from hdpkit.numerics import log, log1p
from hdpkit.parts import Part
from hdpkit.priors import Beta, Each, Prior, Shifted, draw_from, log_density_at, mean_of, support_of
from hdpkit.random import ChoiceSource

MOST_DRAWS = 1000  # most prior draws until one is in the domain


@attrs.define
class SelectedCounts(TermCounts):
    """Statistics of a dish: counts of terms, shape (V,), and their sum.

    Also log pi and log(1 - pi) if pi is given, and the smoothing if dishes have separate ones.
    """

    given: tuple[float, float] | None = None
    smoothing: float | None = None

    @property
    def distinct(self) -> int:
        """Number of distinct terms."""
        return int(np.count_nonzero(self.terms))


@attrs.frozen
class SelectionPrior:
    """The prior Beta(r, s) of pi, as stored by a measure: numbers or `Resampled` ones."""

    r: float
    s: float

    def __repr__(self) -> str:
        return f"Beta({self.r!r}, {self.s!r})"


def _parameter(name: str, value: Any, check: Any) -> Any:
    """A number, or the current value of a parameter with a prior, which starts at its mean."""
    if not isinstance(value, float | int) and isinstance(value, Prior) and not isinstance(value, type):
        value = Resampled(mean_of(value), value)
    if isinstance(value, Resampled):
        check(float(value))
        return value
    check(value)
    return float(value)


def _smoothing(value: Any) -> Any:
    if isinstance(value, Each):
        prior = value.prior
        if isinstance(prior, Shifted) or support_of(prior)[0] < 0.0:
            raise ParameterError(
                "smoothing", value, "hk.Each of a prior of positive numbers", "For instance hk.Gamma(1, 1)."
            )
        check_smoothing(mean_of(prior))
        return value
    return _parameter("smoothing", value, check_smoothing)


def _selection(value: Any) -> Any:
    if isinstance(value, Beta):
        value = SelectionPrior(value.a, value.b)
    if isinstance(value, SelectionPrior):
        r, s = (
            _parameter(name, shape, lambda x, name=name: check_shape(name, x))
            for name, shape in (("r", value.r), ("s", value.s))
        )
        return SelectionPrior(r, s)
    number = as_float(value)
    if 0.0 < number < 1.0:
        return number
    raise ParameterError(
        "selection", value, "hk.Beta(r, s), or a number above 0 and below 1",
        "hk.Beta(1, 1) is uniform; a number is the proportion that every dish selects.",
    )  # fmt: skip


@attrs.frozen(eq=False)
class SparseDirichletMultinomialReference(CountsTerms):
    """Dirichlet(smoothing) over a random selection of the vocabulary, in Python, as a readable reference.

    Each dish selects every term with probability pi ~ Beta(r, s), and is Dirichlet over the terms selected
    (Wang & Blei 2009); which are selected is integrated out. With N values of the terms A, and
    ``g(R; N) = G(smoothing R) / G(smoothing R + N)``::

        Z(a, N) = sum_y C(V-a, y) E[pi^(a+y) (1-pi)^(V-a-y)] g(a+y; N),
        f(v) = (n_v + smoothing) Z(|A|, N+1) / Z(|A|, N) for v in A, else smoothing Z(|A|+1, N+1) / Z(|A|, N);

    where the expectation is over pi, or for the dish's pi in the state. A dish that selects no term generates
    an unobservable term (the paper's term V+1): f_new(v) = (1 - p(no term selected)) / V. Data are simulated
    given that no dish does so (`simulate`).

    Parameters
    ----------
    smoothing : float, prior or Each
        Dirichlet parameter of the selected terms; a prior is resampled. With ``hk.Each(prior)`` dishes have
        separate ones, which are part of the state and updated by `hdpkit.moves.Smoothing` or
        `DishParameters`; the prior is truncated to 1e-6 .. 1e6.
    selection : Beta or float
        ``hk.Beta(r, s)``, the prior of pi; r and s are numbers or priors, which are resampled. A number is
        the pi of all dishes.
    proportions : str
        "integrated": pi of each dish is integrated out. "stored": it is a part of the state, as in the paper,
        and updated by `hdpkit.moves.Selectors` or `SelectorCounts`.
    n_terms : int, optional
        V; by default taken from the data.
    """

    smoothing: Any = attrs.field(default=0.1, converter=_smoothing)
    selection: Any = attrs.field(factory=lambda: Beta(1.0, 1.0), converter=_selection)
    proportions: str = attrs.field(
        default="integrated",
        validator=validator(choice, ("integrated", "stored"), remedy="Integrated mixes better."),
    )
    n_terms: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(lambda instance, attribute, value: check_n_terms(value)),
    )

    exact_statistics = True
    numerics: ClassVar[Any] = SelectionReference
    predicts: ClassVar[bool] = True
    auxiliary: ClassVar[int] = 3
    update: ClassVar[None] = None

    def __attrs_post_init__(self) -> None:
        if self.proportions == "stored" and not isinstance(self.selection, SelectionPrior):
            raise ParameterError(
                "proportions", self.proportions, '"integrated" where selection is a number',
                "There is nothing to store: every dish has this proportion. Or give a prior: hk.Beta(1, 1).",
            )  # fmt: skip

    # ------------------------------------------------------------------ parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name: smoothing, if all dishes share one, and r and s, or the proportion of all."""
        shared = {"smoothing": self.smoothing} if self.conjugate else {}
        if isinstance(self.selection, SelectionPrior):
            return {**shared, "r": self.selection.r, "s": self.selection.s}
        return {**shared, "selection": self.selection}

    def with_parameters(self, **values: float) -> Self:
        """Return this measure with other values of parameters that have a prior; the priors don't change."""
        kept: dict[str, Any] = {name: Resampled(value, self.priors[name]) for name, value in values.items()}
        if "r" in kept or "s" in kept:
            shapes = kept.pop("r", self.selection.r), kept.pop("s", self.selection.s)
            kept["selection"] = SelectionPrior(*shapes)
        return attrs.evolve(self, **kept)

    def constructor_arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor, for run folders."""
        selection = self.selection
        if isinstance(selection, SelectionPrior):
            selection = Beta(*(getattr(x, "prior", x) for x in (selection.r, selection.s)))
        return {
            "smoothing": self.smoothing, "selection": selection, "proportions": self.proportions,
            "n_terms": self.n_terms,
        }  # fmt: skip

    def law(self, given: Sequence[float] | None = None, smoothing: float | None = None) -> Any:
        """The sums over selections: pi integrated out, or with this log pi and log(1 - pi).

        Parameters
        ----------
        given : (float, float), optional
            log pi and log(1 - pi) of a dish.
        smoothing : float, optional
            Smoothing of a dish, if dishes have separate ones.
        """
        if self.n_terms is None:
            raise DeclarationError("n_terms", None, "known", "Build a Franchise, or pass n_terms.")
        shapes, of_all = self.law_numbers()
        given = of_all if given is None else given
        size = self.smoothing_without_values if smoothing is None else smoothing
        if given is not None:
            return self.numerics(self.n_terms, size, log_pi=given[0], log_rest=given[1])
        return self.numerics(self.n_terms, size, r=shapes[0], s=shapes[1])

    def law_numbers(self) -> tuple[Any, Any]:
        """r and s, or None; and log pi and log(1 - pi) of all dishes, or None."""
        if isinstance(self.selection, SelectionPrior):
            return (float(self.selection.r), float(self.selection.s)), None
        return None, (log(self.selection), log1p(-self.selection))

    # ------------------------------------------------------------------ one smoothing per dish

    @property
    def conjugate(self) -> bool:  # type: ignore[override]
        """Whether all dishes share one smoothing; otherwise each dish's smoothing is part of the state."""
        return not isinstance(self.smoothing, Each)

    @property
    def smoothing_without_values(self) -> float:
        """The smoothing of all dishes; the mean of its prior if they have separate ones.

        The predictive of a single value under a dish without values doesn't depend on the smoothing.
        """
        return float(self.smoothing) if self.conjugate else mean_of(self.smoothing.prior)

    def _smoothing_of(self, statistics: SelectedCounts, total: int) -> float:
        """Smoothing of a dish, for a query about ``total`` values."""
        if self.conjugate or (statistics.smoothing is None and total <= 1):
            return self.smoothing_without_values
        if statistics.smoothing is None:
            raise StateError(
                "smoothing", None, "the smoothing of the dish, where each dish has its own",
                "Call measure.begun(smoothing) instead of measure.make().",
            )  # fmt: skip
        return statistics.smoothing

    def begun(self, smoothing: float) -> SelectedCounts:
        """Return the statistics of a dish without values that has this smoothing.

        Parameters
        ----------
        smoothing : float
            From 1e-6 to 1e6.
        """
        return attrs.evolve(self.make(), smoothing=check_smoothing(float(smoothing)))

    def draw(self, source: ChoiceSource) -> float:
        """Draw the smoothing of a dish from its prior, truncated to the range of smoothings."""
        prior = self.smoothing.prior
        for _ in range(MOST_DRAWS):
            drawn = draw_from(prior, source)
            if SMALLEST <= drawn <= LARGEST:
                return float(drawn)
        raise DeclarationError(
            "smoothing", prior, f"a prior with mass from {SMALLEST} to {LARGEST}", "Give it another prior."
        )

    @property
    def log_prior(self) -> Callable[[float], float] | None:
        """Log prior density of the smoothing of a dish; None if the prior has finitely many values."""
        prior = self.smoothing.prior
        if hasattr(prior, "choose"):
            return None
        return lambda x: log_density_at(prior, x) if SMALLEST <= x <= LARGEST else -math.inf

    # ------------------------------------------------------------------ statistics

    def for_data(self, data: GroupedData) -> Self:
        n_terms = check_n_terms(known_terms(data, self.n_terms))
        return self if self.n_terms == n_terms else attrs.evolve(self, n_terms=n_terms)

    def make(self) -> SelectedCounts:
        return SelectedCounts(np.zeros(self.n_terms or 0, dtype=np.int64))

    def log_predictive(self, value: int, many: Sequence[SelectedCounts]) -> Floats:
        """Log f(v) under each dish: shape (n,)."""
        f = []
        for one in many:
            smoothing = self._smoothing_of(one, one.total + 1)
            inside, outside = self.law(one.given, smoothing).coefficients(one.distinct, one.total)
            f.append((one.terms[value] + smoothing) * inside if one.terms[value] else outside)
        return np.log(np.array(f, dtype=float))

    def log_block(self, values: Sequence[int], many: Sequence[SelectedCounts]) -> Floats:
        """Log ratio of the marginals of each dish with and without the block: shape (n,)."""
        terms, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        out = np.empty(len(many))
        for k, one in enumerate(many):
            before = one.terms[terms]
            a, n = one.distinct + int(np.count_nonzero(before == 0)), one.total + int(counts.sum())
            smoothing = self._smoothing_of(one, n)
            start = before + smoothing
            out[k] = self.law(one.given, smoothing).log_ratio(one.distinct, one.total, a, n)
            out[k] += np.sum(scipy.special.gammaln(start + counts) - scipy.special.gammaln(start))
        return out

    def log_marginal(self, statistics: SelectedCounts) -> float:
        """``log Z(|A|, N) + sum_v log [G(n_v + smoothing) / G(smoothing)]``."""
        counts, smoothing = statistics.terms[statistics.terms > 0], self._smoothing_now(statistics)
        selected = self.law(statistics.given, smoothing).log_sum(statistics.distinct, statistics.total)
        gammaln = scipy.special.gammaln
        return float(selected + np.sum(gammaln(counts + smoothing) - gammaln(smoothing)))

    def _smoothing_now(self, statistics: SelectedCounts) -> float:
        return self._smoothing_of(statistics, statistics.total)

    def predictive(self, statistics: SelectedCounts) -> Floats:
        """f(v) of every term: shape (V,). It is the posterior mean of the topic."""
        smoothing, terms = self._smoothing_now(statistics), statistics.terms
        law = self.law(statistics.given, smoothing)
        inside, outside = law.coefficients(statistics.distinct, statistics.total)
        return np.where(terms > 0, (terms + smoothing) * inside, outside)

    def posterior_mean(self, statistics: SelectedCounts) -> Floats:
        """Mean of the topic, shape (V,): equation 11 of the paper, averaged over the selections."""
        return self.predictive(statistics)

    def term_means(
        self,
        bank: Any,
        slots: npt.NDArray[np.int32],
        dishes: npt.NDArray[np.int32],
        totals: npt.NDArray[np.int64],
    ) -> tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]:
        """Return the coefficients of a mean topic: smoothing, those of `predictive`, and the selection."""
        found = bank.statistics(slots, dishes)
        smoothing = np.array([self._smoothing_now(one) for one in found], dtype=float)
        factors = np.array([
            self.law(one.given, own).coefficients(one.distinct, one.total)
            for one, own in zip(found, smoothing, strict=True)
        ]).reshape(-1, 2)  # fmt: skip
        selection = self._selection_numbers(one.given for one in found)
        return smoothing[:, None], factors[:, 0], factors[:, 1] / smoothing, selection

    def _selection_numbers(self, given: Iterable[Any]) -> Floats:
        """r and s, or log pi and log(1 - pi) of each dish: `TermMeans.selection`."""
        shapes, of_all = self.law_numbers()
        if of_all is None and self.proportions == "integrated":
            return np.array(shapes)
        return np.array([of_all or one for one in given], dtype=float).reshape(-1, 2)

    def draw_parameters(self, statistics: SelectedCounts, source: ChoiceSource) -> Floats:
        """Draw the topic, shape (V,): the number of selected terms, which, and their Dirichlet proportions.

        Other terms have 0; if a dish without values selects no term, all terms have 0.
        """
        smoothing, terms = self._smoothing_now(statistics), statistics.terms
        shapes = np.where(terms > 0, terms + smoothing, 0.0)
        law = self.law(statistics.given, smoothing)
        return draw_topic(law, statistics.total, shapes, smoothing, source)

    def selected_terms(self, statistics: SelectedCounts) -> float:
        """Expected number of terms that a dish selects, given its data: its terms plus E[y] others."""
        law = self.law(statistics.given, self._smoothing_now(statistics))
        return float(law.expected(statistics.distinct, statistics.total))

    # ------------------------------------------------------------------ simulation, and the state

    def log_observable(self, statistics: SelectedCounts) -> float:
        """Log probability that a dish without values selects a term; 0 with values."""
        if statistics.total:
            return 0.0
        return float(np.log(self.predictive(statistics).sum()))

    def simulate(self, statistics: SelectedCounts, generator: np.random.Generator) -> int:
        """Draw a term from the predictive distribution of a dish, given that it selects one.

        The distribution is that of drawing complete data sets, including the paper's term V+1, and rejecting
        those in which this term occurs. Given seating (and proportions) dishes are independent, and either
        all values of a dish are this term or none is. So only dishes that select no term are rejected, and a
        value is drawn from the predictive over the V terms, for a new dish divided by its sum. Seating and
        proportions are drawn by rejection, with this sum for each dish (`log_observable`).
        """
        weights = np.cumsum(self.predictive(statistics))
        return int(np.searchsorted(weights, generator.random() * weights[-1], side="right"))

    def parts(self, state: Any) -> Mapping[str, Part]:
        """The selection proportions, if they are stored, and the smoothings, if dishes have separate ones."""
        parts: dict[str, Part] = {}
        if not self.conjugate:
            parts[SMOOTHING] = SmoothingOfDishes(state)
        if self.proportions == "stored":
            parts[NAME] = SelectionProportions(state)
        return parts

    def bank(self, data: GroupedData) -> StatisticsBank:
        return self.readable_bank(data)

    def readable_bank(self, data: GroupedData) -> StatisticsBank:
        kind = SelectionBank if self.conjugate else SmoothingBank
        return kind(self, np.asarray(data.values))
