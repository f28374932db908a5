"""Urns of coloured balls (the Dirichlet-multinomial), compiled outside hdpkit.

The Python methods are the reference: the test harness compares the compiled functions with them. Operations
that a sweep doesn't need (simulating data, posterior means) exist only here.
"""

import attrs
import numpy as np

import hdpkit as hk
from hdpkit.errors import DataError, ParameterError
from polya_urn import _urn

__all__ = ["PolyaUrn"]


@attrs.frozen(eq=False)
class PolyaUrn(hk.BaseMeasure):
    """A dish is an urn: a ball of colour v is drawn with probability (n_v + a) / (n + a V), then doubled.

    Parameters
    ----------
    n_colours : int
        V; values are 0 .. V-1.
    a : float
        Balls of each colour in a new urn, above 0.
    """

    n_colours: int
    a: float = attrs.field(default=1.0)

    exact_statistics = True

    @a.validator
    def _check_a(self, attribute, value):
        if not value > 0:
            raise ParameterError("a", value, "above 0", "1.0 is uniform over all mixtures of colours.")

    def for_data(self, data):
        values = np.asarray(data.values)
        if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= self.n_colours:
            raise DataError("values", values, f"whole numbers from 0 to {self.n_colours - 1}", "Recode them.")
        return self

    def make(self):
        return np.zeros(self.n_colours, dtype=np.int64)

    def add(self, statistics, value):
        statistics[value] += 1

    def remove(self, statistics, value):
        statistics[value] -= 1

    def log_predictive(self, value, many):
        counts = np.array(many) + self.a
        return np.log(counts[:, value] / counts.sum(axis=1))

    def simulate(self, statistics, generator):
        counts = statistics + self.a
        return int(generator.choice(self.n_colours, p=counts / counts.sum()))

    def posterior_mean(self, statistics):
        return (statistics + self.a) / (statistics.sum() + self.a * self.n_colours)

    def example_values(self):
        return [0, 0, self.n_colours - 1, 1, 0]

    def compiled(self, data):
        return _urn.make(np.ascontiguousarray(data.values, dtype=np.int32), self.n_colours, self.a)
