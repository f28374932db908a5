"""A kind of model of one's own: patterns of visits by weekday, shared by shops.

The declaration below is all that is written. From a folder in which this file can be imported:

    hdpkit visits:Visits visits.csv --group shop --out run
    hdpkit report run --allow visits
    hdpkit infer run new.csv --allow visits

In Python ``VisitsModel(shape=3.0).fit(X, groups=shops)`` is a scikit-learn estimator.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

import hdpkit as hk
from hdpkit.kinds import Nouns, Points, estimator, setting, values
from hdpkit.kinds.numbers import as_counts


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Visits(Points):
    """Find the patterns of weeks in counts of visits, and save the run in a folder.

    POINTS is a table with a row for each week of a shop: the visits of each weekday.
    """

    name = "visits"
    nouns = Nouns("Patterns of visits", "pattern", "pattern", "week", "shop", "weekday")

    shape: float = setting(
        2.0, values.Between(0.0, None, ends=False), "Shape of the gamma prior of a pattern's mean visits."
    )

    def same(self, data: Any) -> Any:
        """Rows of counts."""
        return data.with_values(as_counts(data.values))

    def measure_of(self, values: Any) -> hk.BaseMeasure:
        """Poisson counts of each weekday, whose means have the mean of the data a priori."""
        mean = values.mean(axis=0)
        return hk.GammaPoisson(self.shape, self.shape / np.where(mean > 0.0, mean, 1.0))


VisitsModel = estimator(Visits)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    means = np.array([[20, 22, 25, 24, 40, 80, 10], [60, 58, 55, 57, 50, 10, 2], [5, 5, 6, 5, 8, 30, 35]])
    shops = np.arange(120) % 3
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]])
    weeks = rng.poisson(means[[rng.choice(3, p=shares[shop]) for shop in shops]])
    model = VisitsModel(sweeps=50, random_state=0).fit(weeks, groups=shops)
    print(f"{model.n_components_} patterns; of each shop's weeks:")
    print(model.group_weights_.round(2))
