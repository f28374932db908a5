"""The exact-kernel test with stored selection proportions: a state is a seating and a pi for every dish."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from exact_points import Numbers, PointModel
from marginals import selected_numbers, sparse_dirichlet_multinomial_log_marginal
from scipy import special

from hdpkit.arrays import Floats
from hdpkit.franchise.franchise import Franchise
from hdpkit.measures.proportions import NAME
from hdpkit.stores import FrozenSeating
from hdpkit.testing.exact_parameters import ExactParameterModel

SELECTION_P_VALUES = ("seating", "first dish", "second dish")


class ExactSelectionModel(PointModel):
    """A tiny franchise with stored selection proportions: every seating, and the law of pi given each."""

    P_VALUES = SELECTION_P_VALUES

    def __init__(self, franchise: Franchise) -> None:
        measure: Any = franchise.measure
        self.n_terms = int(measure.n_terms)
        self.r_s = float(measure.selection.r), float(measure.selection.s)
        super().__init__(franchise, self._witness(measure))
        self.mixtures: list[list[Floats]] = []
        for frozen in self._frozen:
            dishes = FrozenSeating.of(frozen["seating"]).dishes
            laws = [
                np.array(self._selected(self._smoothing(frozen, dish), np.flatnonzero(dishes == dish)))
                for dish in dict.fromkeys(dishes.tolist())
            ]
            self.mixtures.append([law / law.sum() for law in laws])

    def _witness(self, measure: Any) -> Callable[..., float]:
        """The marginal of a dish, pi integrated out, by all subsets of the vocabulary."""
        return sparse_dirichlet_multinomial_log_marginal(float(measure.smoothing), self.n_terms, self.r_s)

    def _smoothing(self, frozen: dict[str, Any], dish: int) -> float:
        """Smoothing of a dish in a state."""
        measure: Any = self.franchise.measure
        return float(measure.smoothing)

    def _selected(self, smoothing: float, block: npt.NDArray[np.int64]) -> list[float]:
        return selected_numbers(smoothing, self.n_terms, [self.values[i] for i in block], self.r_s)

    def enter(self, state: int, numbers: Numbers | None = None) -> Franchise:
        """Set the franchise to a state with these proportions of its dishes."""
        frozen = self._frozen[state]
        parts = {name: part for name, part in frozen["components"].items() if name != NAME}
        if numbers is not None:
            given = np.asarray(numbers, dtype=float)
            parts[NAME] = {"logs": np.stack([np.log(given), np.log1p(-given)], axis=1)}
        return self._put({**frozen, "components": parts})

    def numbers(self) -> Floats:
        """Proportions that the franchise has now, dishes in order of their first customer."""
        part: Any = self.franchise.measure_parts[NAME]
        order = list(dict.fromkeys(self.franchise.dishes.tolist()))
        of_dishes: Floats = part.proportions()[order]
        return of_dishes

    def density(self, state: int, numbers: Numbers) -> float:
        """p(seating, proportions | data), with respect to the proportions."""
        r, s = self.r_s
        total, R = float(self.pi[state]), np.arange(self.n_terms + 1)
        for law, x in zip(self.mixtures[state], numbers, strict=True):
            total *= float(np.dot(law, _beta_density(x, r + R, s + self.n_terms - R)))
        return total

    def exact_draws(self, state: int, generator: np.random.Generator) -> Floats:
        """Exact draws of the proportions given a seating."""
        r, s = self.r_s
        R = [generator.choice(len(law), p=law) for law in self.mixtures[state]]
        return np.array([generator.beta(r + n, s + self.n_terms - n) for n in R])

    def uniform(self, state: int, numbers: Floats) -> list[float | None]:
        """Distribution functions of the proportions of the first two dishes given a seating."""
        r, s = self.r_s
        R = np.arange(self.n_terms + 1)
        found = [
            float(np.dot(law, special.betainc(r + R, s + self.n_terms - R, x)))
            for law, x in zip(self.mixtures[state], numbers, strict=True)
        ]
        return [*found, None][:2]

    def drawn(self, numbers: Floats, ends: Floats) -> float | None:
        """The proportion of the dish that died."""
        dead = [x for x in numbers.tolist() if np.abs(ends - x).min(initial=1.0) > 1e-10]
        return float(dead[0]) if dead else None

    def generic_numbers(self, state: int) -> Floats:
        """Proportions that are all different."""
        n = len(self.mixtures[state])
        return np.sqrt(np.arange(2.0, n + 2.0) + state % 7) / 5.0


class ExactSmoothedSelectionModel(ExactSelectionModel, ExactParameterModel):
    """The exact-kernel test with pi and one of finitely many smoothings for every dish, in the state."""

    def _witness(self, measure: Any) -> Callable[..., float]:
        return lambda values, one: sparse_dirichlet_multinomial_log_marginal(one, self.n_terms, self.r_s)(
            values
        )

    def _smoothing(self, frozen: dict[str, Any], dish: int) -> float:
        kept = frozen["bank"]
        return float(kept["parameters"][kept["slots"].tolist().index(dish)])


# SciPy checks and looks up its distributions at every call, which takes longer than everything else here.
def _beta_density(x: float, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Floats:
    log_density = special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b)
    density: Floats = np.exp(log_density)
    return density
