"""Terms that repeat within documents, and terms of most documents that lead many topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import attrs
import numpy as np
import scipy
from numpy.typing import ArrayLike

from hdpkit.arrays import Floats, Int64s
from hdpkit.data.files.text_options import function_words
from hdpkit.files import reading
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.simulate import seated_in_turn, terms_of
from hdpkit.random import Purpose, as_source
from hdpkit.run.run_folder import RUN, RunFolder
from hdpkit.run.states import ChainState

_COMMON = 0.3  # a term of boilerplate is in more than this share of the documents
_FIRST = 3  # such a term leads a topic if it is among its first three
_LED_TOPICS, _LED_TOKENS, _THEIR_TOKENS = 5, 0.4, 0.05  # the fewest for a hint


@attrs.frozen
class Boilerplate:
    """Terms of many documents that are the first terms of many topics."""

    terms: tuple[str, ...]  # the most frequent first
    share: float  # of the documents, which each of them is in at least
    n_topics: int  # that they lead
    token_share: float  # of these topics

    def hint(self, nouns: Any, texts: bool, language: str | None) -> str:
        """What the words do to the topics, in a sentence."""
        shown = ", ".join(self.terms[:6]) + (", ..." if len(self.terms) > 6 else "")
        many = len(self.terms) > 1
        found = (
            f"{len(self.terms)} {nouns.terms if many else nouns.term} ({shown}), {'each ' if many else ''}in "
            f"at least {self.share:.0%} of the {nouns.documents}, {'lead' if many else 'leads'} "
            f"{self.n_topics} {nouns.topics} with {self.token_share:.0%} of the {nouns.tokens}"
        )
        if texts:
            words = f", and --stop-words {language} for function words" if language is not None else ""
            return f"{found}. To leave them out: hdpkit fit ... --max-document-share {_COMMON}{words}."
        return f"{found}. Topics are easier to read without them: leave them out of the counts."


def boilerplate(
    dish_counts: Any,
    document_frequency: ArrayLike,
    n_documents: int,
    vocabulary: Sequence[str] | None,
    topic_counts: Any = None,
) -> Boilerplate | None:
    """What a list of words that most documents have says; None if it is not worth a remark."""
    counts = scipy.sparse.csr_array(dish_counts)
    leading = counts if topic_counts is None else scipy.sparse.csr_array(topic_counts)
    often = np.asarray(document_frequency) / max(n_documents, 1)
    common = often > _COMMON  # as --max-document-share, which keeps those that are in exactly this share
    sizes, of_terms = np.asarray(counts.sum(axis=1)), np.asarray(counts.sum(axis=0))
    total = max(int(sizes.sum()), 1)
    if of_terms[common].sum() < _THEIR_TOKENS * total:
        return None
    led = []
    for k in range(counts.shape[0]):
        begin, end = leading.indptr[k : k + 2]
        first = np.argsort(-leading.data[begin:end], kind="stable")[:_FIRST]
        if common[leading.indices[begin:end][first]].any():
            led.append(k)
    share = float(sizes[led].sum() / total)
    if len(led) < _LED_TOPICS or share < _LED_TOKENS:
        return None
    order = np.flatnonzero(common)[np.argsort(-of_terms[common], kind="stable")]
    words = tuple(str(v) if vocabulary is None else str(vocabulary[v]) for v in order.tolist())
    return Boilerplate(words, float(often[common].min()), len(led), share)


def boilerplate_hint(state: ChainState, folder: Path | None, nouns: Any) -> str | None:
    """What boilerplate leads the topics of a state, and the option against it; None if there is none."""
    often = state.document_frequency()
    if often is None or state.sample.counts is None:
        return None
    data, sample = cast(Any, state.data), state.sample
    found = boilerplate(sample.counts, often, data.n_documents, data.vocabulary, sample.topic_counts)
    if found is None:
        return None
    (of_texts, kept), language = _of_texts(folder), None
    if kept:
        n_words = np.asarray(sample.counts.sum(axis=0)).ravel().tolist()
        language, _ = function_words(Counter(dict(zip(data.vocabulary, n_words, strict=True))))
    return found.hint(nouns, of_texts, language)


def _of_texts(folder: Path | None) -> tuple[bool, bool]:
    """Whether the command that began the run counted words of texts, and kept function words."""
    if folder is None:
        return False, False
    with reading(folder / RUN):
        counter = RunFolder.open(folder).about.get("reading", {}).get("counter")
        return counter is not None, counter is not None and counter["options"]["stop_words"] in ("none", [])


@attrs.frozen
class Repetition:
    """Numbers of different pairs of a document and a term in it. The fewer, the more terms repeat."""

    observed: int  # in the data
    plain: int  # in a copy of the data with the dishes of a state, if topics are the same in all documents
    # in such a copy if topics differ by document, as over Bursty; None over other measures
    bursty: int | None

    def sentence(self, term: str = "term", document: str = "document", topic: str = "topic") -> str:
        """The numbers in words, with these nouns."""
        found = f"There are {self.observed:,} different pairs of a {document} and a {term} in it"
        same = f"if {topic}s were the same in all {document}s"
        if self.bursty is None:
            return f"{found}; {self.plain:,} would be expected {same}, as the model assumes."
        return f"{found}; {self.bursty:,} would be expected of this model, and {self.plain:,} {same}."


def repetition(sample: Sample, observed: int, rng: int = 0) -> Repetition | None:
    """Compare the pairs of the data with those of copies drawn given a sample; None if it has no topics."""
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
