"""The von Mises-Fisher: dishes are distributions of unit vectors about a mean direction."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.data import GroupedData
from hdpkit.measures._conjugate import VonMisesFisherBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import base_measures
from hdpkit.measures.von_mises_fisher_twin import Resultant, VonMisesFisherReference


@attrs.frozen(eq=False)
class VonMisesFisher(VonMisesFisherReference):
    """Unit vectors about an unknown mean direction; compiled.

    x ~ vMF(mu, concentration), mu ~ vMF(prior_direction, prior_concentration); mu is integrated out. For
    embeddings that are compared by cosine: divide them by their lengths.

    Parameters
    ----------
    concentration : float, prior or Each
        Of the vectors of a dish about its mean direction, the same for all dishes; a prior is resampled. With
        ``hk.Each(prior)`` each dish has its own, which is part of the state; then mean directions must be
        uniform, and the code is in Python.
    prior_direction : array of shape (D,), optional
        Of length 1. Needed if ``prior_concentration`` is above 0.
    prior_concentration : float
        Concentration of mean directions about ``prior_direction``; 0, the default: they are uniform.
    """

    def bank(self, data: GroupedData) -> StatisticsBank:
        """Return compiled statistics; in Python if each dish has its own concentration."""
        if not self.conjugate:
            return self.readable_bank(data)
        return VonMisesFisherBank(self._matrix(data), self, Resultant)


def _examples(kind: type[VonMisesFisherReference]) -> list[Any]:
    return [kind(1.7, n_dims=2), kind(2.5, [0.6, 0.0, -0.8], 0.7)]


base_measures.register("von-mises-fisher", VonMisesFisher, lambda: _examples(VonMisesFisher))
base_measures.register(
    "von-mises-fisher-reference", VonMisesFisherReference, lambda: _examples(VonMisesFisherReference)
)
