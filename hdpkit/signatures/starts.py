"""A start of a cohort by chains over a part of its mutations."""

from __future__ import annotations

from typing import Any

from hdpkit.checks import instance, real_number, whole_number
from hdpkit.data import Corpus, downsample
from hdpkit.errors import ParameterError
from hdpkit.franchise import Franchise, Restaurant
from hdpkit.init import Factors
from hdpkit.moves import Concentration, DishGibbs, TableGibbs
from hdpkit.schedule import Scheduler
from hdpkit.signatures.extraction import extract_signatures

__all__ = ["start_from_part"]


def start_from_part(
    sample: Restaurant,
    corpus: Corpus,
    *,
    max_per_sample: int = 300,
    sweeps: int = 100,
    chains: int = 2,
    similarity: float = 0.95,
    rng: Any = None,
) -> Factors:
    """Find a start for a cohort with many mutations by chains over few mutations of each sample.

    Over all mutations of a cohort chains mix slowly: superfluous signatures, which hold parts of flat ones,
    stay. Over some hundred mutations of each sample Table Gibbs and Dish Gibbs mix in some hundred sweeps.
    The signatures that all of these chains agree on are what a chain over all mutations begins with. All
    chains that are given this start begin with the same signatures: that they agree afterwards says less than
    after starts that differ.

    Parameters
    ----------
    sample : Restaurant
        The model, as ``hk.Franchise(sample, corpus)`` takes it.
    corpus : Corpus
    max_per_sample : int
        Mutations of each sample that are drawn.
    sweeps : int
        Of each chain; the last half is looked at.
    chains : int
        A process each, from 1.
    similarity : float
        As in `extract_signatures`.
    rng : int, Generator or None

    Returns
    -------
    hdpkit.init.Factors
        With the signatures as its ``topics``.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    instance("corpus", corpus, Corpus, "a Corpus", remedy="read_spectra(path) returns one.")
    whole_number("chains", chains, 1, remedy="2 is usual.")
    whole_number("sweeps", sweeps, 2, remedy="100 is usual.")
    if not 0.0 < real_number("similarity", similarity) < 1.0:
        raise ParameterError("similarity", similarity, "above 0 and below 1", "0.95 is usual.")
    part = downsample(corpus, max_per_sample, rng=rng)
    trace = Scheduler([TableGibbs(), DishGibbs(), Concentration()]).run(
        Franchise(sample, part), sweeps=sweeps, rng=rng, init="one", samples=10,
        chains=chains if chains > 1 else None,
    )  # fmt: skip
    found = extract_signatures(trace, part, similarity=similarity, chains=1.0, min_samples=0)
    return Factors(topics=found.matrix)
