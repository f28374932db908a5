"""The sparse Dirichlet-multinomial: dishes are distributions over selected terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import as_float, choice, validator
from hdpkit.data import GroupedData
from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.measures._selection import Selection
from hdpkit.measures._sparse_dirichlet_multinomial import DishSmoothingBank, SparseDirichletMultinomialBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.dirichlet_multinomial import CountsTerms, TermCounts, known_terms
from hdpkit.measures.kept_parameters import OwnNumbers, OwnParameter, ParameterBank, SmoothingOfDishes
from hdpkit.measures.protocol import Resampled, in_python, numbers_or_prior
from hdpkit.measures.selection import (
    LARGEST,
    NAME,
    SMALLEST,
    SelectionBank,
    SelectionProportions,
    check_n_terms,
    draw_topic,
)
from hdpkit.numerics import log, log1p
from hdpkit.parts import Part
from hdpkit.priors import Beta, Each, mean_of
from hdpkit.random import ChoiceSource

SMOOTHING = "smoothing"


@attrs.define
class SelectedCounts(TermCounts):
    """Counts of terms, shape (V,), and their sum; the dish's own log pi, log(1 - pi) and smoothing."""

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


def _parameter(name: str, value: Any) -> Any:
    """A number, or the current value of a parameter with a prior, which starts at its mean."""
    of_selection = "1 and 1 make every proportion equally probable."
    usual = "0.01 to 1 is usual for topics." if name == SMOOTHING else of_selection
    allowed = f"a number from {SMALLEST} to {LARGEST}"
    return numbers_or_prior(name, value, SMALLEST, LARGEST, allowed, usual, most_dims=0)


def _smoothing(value: Any) -> Any:
    if isinstance(value, Each):
        _parameter(SMOOTHING, mean_of(SparseDirichletMultinomial.check_each(value)))
        return value
    return _parameter(SMOOTHING, value)


def _selection(value: Any) -> Any:
    if isinstance(value, Beta):
        value = SelectionPrior(value.a, value.b)
    if isinstance(value, SelectionPrior):
        return SelectionPrior(_parameter("r", value.r), _parameter("s", value.s))
    number = as_float(value)
    if 0.0 < number < 1.0:
        return number
    raise ParameterError(
        "selection", value, "hk.Beta(r, s), or a number above 0 and below 1",
        "hk.Beta(1, 1) is uniform; a number is the proportion that every dish selects.",
    )  # fmt: skip


@attrs.frozen(eq=False)
class SparseDirichletMultinomial(CountsTerms, OwnParameter):
    """Dirichlet(smoothing) over a random selection of the vocabulary; compiled.

    Each dish selects every term with probability pi ~ Beta(r, s), and is Dirichlet over the terms selected
    (Wang & Blei 2009): one parameter controls how sparse topics are, another how smooth. Which are selected
    is integrated out. With N values of the terms A, and
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

    predicts: ClassVar[bool] = True
    held = SMOOTHING
    smallest, largest, in_range = SMALLEST, LARGEST, "from 1e-6 to 1e6"

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

    def law(self, given: Sequence[float] | None = None, smoothing: float | None = None) -> Selection:
        """The sums over selections: pi integrated out, or with this log pi and log(1 - pi).

        Parameters
        ----------
        given : (float, float), optional
        smoothing : float, optional
        """
        if self.n_terms is None:
            raise DeclarationError("n_terms", None, "known", "Build a Franchise, or pass n_terms.")
        shapes, of_all = self.law_numbers()
        given = of_all if given is None else given
        size = self.smoothing_without_values if smoothing is None else smoothing
        if given is not None:
            return Selection(self.n_terms, size, log_pi=given[0], log_rest=given[1])
        return Selection(self.n_terms, size, r=shapes[0], s=shapes[1])

    def law_numbers(self) -> tuple[Any, Any]:
        """r and s, or None; and log pi and log(1 - pi) of all dishes, or None."""
        if isinstance(self.selection, SelectionPrior):
            return (float(self.selection.r), float(self.selection.s)), None
        return None, (log(self.selection), log1p(-self.selection))

    # ------------------------------------------------------------------ one smoothing per dish

    @property
    def smoothing_without_values(self) -> float:
        """The smoothing of all dishes; the mean of its prior if each has one: a first value doesn't tell."""
        return float(self.smoothing) if self.conjugate else mean_of(self.smoothing.prior)

    def _posterior(self, statistics: SelectedCounts, more: int = 0) -> tuple[float, Any]:
        """Smoothing of a dish, and the distribution of its selections, for a query about more values."""
        smoothing = self._own_of(statistics, statistics.total + more)
        return smoothing, self.law(statistics.given, smoothing)

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
            smoothing, law = self._posterior(one, 1)
            inside, outside = law.coefficients(one.distinct, one.total)
            f.append((one.terms[value] + smoothing) * inside if one.terms[value] else outside)
        return np.log(np.array(f, dtype=float))

    def log_block(self, values: Sequence[int], many: Sequence[SelectedCounts]) -> Floats:
        """Log ratio of the marginals of each dish with and without the block: shape (n,)."""
        terms, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        out, gammaln = np.empty(len(many)), scipy.special.gammaln
        for k, one in enumerate(many):
            before, more = one.terms[terms], int(counts.sum())
            smoothing, law = self._posterior(one, more)
            a, n = one.distinct + int(np.count_nonzero(before == 0)), one.total + more
            out[k] = law.log_ratio(one.distinct, one.total, a, n)
            out[k] += np.sum(gammaln(before + smoothing + counts) - gammaln(before + smoothing))
        return out

    def log_marginal(self, statistics: SelectedCounts) -> float:
        """``log Z(|A|, N) + sum_v log [G(n_v + smoothing) / G(smoothing)]``."""
        (smoothing, law), gammaln = self._posterior(statistics), scipy.special.gammaln
        counts = statistics.terms[statistics.terms > 0]
        selected = law.log_sum(statistics.distinct, statistics.total)
        return float(selected + np.sum(gammaln(counts + smoothing) - gammaln(smoothing)))

    def predictive(self, statistics: SelectedCounts) -> Floats:
        """f(v) of every term: shape (V,). It is the posterior mean of the topic."""
        smoothing, law = self._posterior(statistics)
        inside, outside = law.coefficients(statistics.distinct, statistics.total)
        return np.where(statistics.terms > 0, (statistics.terms + smoothing) * inside, outside)

    def posterior_mean(self, statistics: SelectedCounts) -> Floats:
        """Mean of the topic, shape (V,): equation 11 of the paper, averaged over the selections."""
        return self.predictive(statistics)

    def posterior_means(self, bank: Any, slots: Int32s, dishes: Int32s) -> npt.NDArray[Any]:
        if not hasattr(bank, "factors"):  # in Python
            return super().posterior_means(bank, slots, dishes)
        counts, (smoothing, inside, outside, _) = bank.counts(slots), self._coefficients(bank, slots, dishes)
        return np.where(counts > 0, (counts + smoothing[:, None]) * inside[:, None], outside[:, None])

    def term_means(
        self, bank: Any, slots: Int32s, dishes: Int32s, totals: Int64s
    ) -> tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]:
        """Return the coefficients of a mean topic: smoothing, those of `predictive`, and the selection."""
        smoothing, inside, outside, given = self._coefficients(bank, slots, dishes)
        shapes, of_all = self.law_numbers()
        if of_all is None and self.proportions == "integrated":
            selection = np.array(shapes)
        else:
            selection = np.array([of_all or one for one in given], dtype=float).reshape(-1, 2)
        shared = float(self.smoothing) if self.conjugate else smoothing[:, None]
        return shared, inside, outside / smoothing, selection

    def _coefficients(
        self, bank: Any, slots: Int32s, dishes: Int32s
    ) -> tuple[Floats, Floats, Floats, list[Any]]:
        """Smoothing of each dish, the coefficients of its f(v), and log pi and log(1 - pi) if pi is given."""
        if hasattr(bank, "factors"):  # compiled; the counts of all dishes may not fit in memory
            known = [(self._own_of(one, 0), one.given) for one in map(bank.begin, slots.tolist())]
            factors = bank.factors(slots)
        else:
            many = bank.statistics(slots, dishes)
            known = [(self._own_of(one, one.total), one.given) for one in many]
            factors = [self._posterior(one)[1].coefficients(one.distinct, one.total) for one in many]
        inside, outside = np.array(factors, dtype=float).reshape(-1, 2).T
        return np.array([own for own, _ in known], dtype=float), inside, outside, [one for _, one in known]

    def draw_parameters(self, statistics: SelectedCounts, source: ChoiceSource) -> Floats:
        """Draw the topic, shape (V,): the number of selected terms, which, and their Dirichlet proportions.

        Other terms have 0; if a dish without values selects no term, all terms have 0.
        """
        smoothing, law = self._posterior(statistics)
        shapes = np.where(statistics.terms > 0, statistics.terms + smoothing, 0.0)
        return draw_topic(law, statistics.total, shapes, smoothing, source)

    def selected_terms(self, statistics: SelectedCounts) -> float:
        """Expected number of terms that a dish selects, given its data: its terms plus E[y] others."""
        _, law = self._posterior(statistics)
        return float(law.expected(statistics.distinct, statistics.total))

    # ------------------------------------------------------------------ simulation, and the state

    def log_observable(self, statistics: SelectedCounts) -> float:
        """Log probability that a dish without values selects a term; 0 with values."""
        if statistics.total:
            return 0.0
        return float(np.log(self.predictive(statistics).sum()))

    def simulate(self, statistics: SelectedCounts, generator: np.random.Generator) -> int:
        """Draw a term from the predictive distribution of a dish, given that it selects one.

        As if data sets with the paper's term V+1 were rejected: given seating (and proportions) either all
        values of a dish are this term or none is. So a value is from the predictive over the V terms, for a
        new dish divided by its sum, and seating and proportions are drawn by rejection (`log_observable`).
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
        terms = np.asarray(data.values, dtype=np.int32)
        if not self.conjugate:
            return DishSmoothingBank(terms, self, OwnNumbers(self, terms))
        return SparseDirichletMultinomialBank(terms, self)

    def readable_bank(self, data: GroupedData) -> StatisticsBank:
        kind = SelectionBank if self.conjugate else SmoothingBank
        return kind(self, np.asarray(data.values))


class SmoothingBank(ParameterBank, SelectionBank):
    """Statistics in Python of a measure with selected terms and a separate smoothing for each dish."""

    def begin(self, slot: int) -> Any:
        made = super().begin(slot)
        made.smoothing = self.parameter(slot)
        return made


def _examples(kind: type[SparseDirichletMultinomial]) -> list[SparseDirichletMultinomial]:
    return [kind(0.5, n_terms=3), kind(0.3, Beta(2.0, 0.7), n_terms=3), kind(0.7, 0.4, n_terms=3)]


SparseDirichletMultinomialReference = in_python(
    "sparse-dirichlet-multinomial", SparseDirichletMultinomial, _examples
)
