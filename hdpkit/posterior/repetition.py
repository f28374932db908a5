"""How often terms repeat within documents: pairs of document and term, observed and expected."""

from __future__ import annotations

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.simulate import seated_in_turn
from hdpkit.posterior.simulate_cells import terms_of
from hdpkit.random import Purpose, as_source


@attrs.frozen
class Repetition:
    """Numbers of different pairs of a document and a term in it. The fewer, the more terms repeat.

    Attributes
    ----------
    observed : int
        In the data.
    plain : int
        In a copy of the data with the dishes of a state, if topics are the same in all documents.
    bursty : int or None
        In such a copy if topics differ by document, as over `Bursty`; None over other measures.
    """

    observed: int
    plain: int
    bursty: int | None

    def sentence(self, term: str = "term", document: str = "document", topic: str = "topic") -> str:
        """The numbers in words, with these nouns."""
        found = f"There are {self.observed:,} different pairs of a {document} and a {term} in it"
        same = f"if {topic}s were the same in all {document}s"
        if self.bursty is None:
            return f"{found}; {self.plain:,} would be expected {same}, as the model assumes."
        return f"{found}; {self.bursty:,} would be expected of this model, and {self.plain:,} {same}."


def repetition(sample: Sample, observed: int, rng: int = 0) -> Repetition | None:
    """Compare the pairs of the data with those of copies drawn given a sample; None if it has no topics.

    Parameters
    ----------
    sample : Sample
        Its groups are the documents.
    observed : int
        Pairs of document and term in the data.
    rng : int
        Seed of the copies.
    """
    if sample.counts is None:
        return None
    generator = (source := as_source(rng, Purpose.OTHER)).generator
    b, a = (sample.hyperparameters.get(f"{what}/bursts") for what in ("concentration", "discount"))
    n_terms, by_dish = int(sample.counts.shape[1]), sample.group_counts.tocsc()
    plain: list[Int64s] = []
    bursty: list[Int64s] = []
    for k in range(sample.n_dishes):
        begin, end = by_dish.indptr[k : k + 2]
        documents = np.repeat(by_dish.indices[begin:end].astype(np.int64), by_dish.data[begin:end])
        law = sample.topic_law(k)
        topic: Floats = sample.topics_of(np.array([k]))[0] if law is None else law.draw(source)
        plain.append(np.unique(documents * n_terms + terms_of(topic, len(documents), generator)))
        if sample.tables is not None and b is not None:
            opens, root = seated_in_turn(documents, float(b), float(a or 0.0), generator)
            terms = np.zeros(len(documents), dtype=np.int64)
            terms[opens] = terms_of(topic, int(opens.sum()), generator)
            bursty.append(np.unique(documents * n_terms + terms[root]))
    pairs = [len(np.unique(np.concatenate(one))) if one else 0 for one in (plain, bursty)]
    return Repetition(observed, pairs[0], pairs[1] if sample.tables is not None else None)
