"""What the chains of a run have in common: components, groups of documents, and scores of left-out words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.alignment import TermVectors, nearest
from hdpkit.posterior.components import Components
from hdpkit.posterior.evaluation.completion import TOLERANCE, FixedTopics, halves, repeats_in
from hdpkit.posterior.finding import components
from hdpkit.posterior.settled import far_enough, settled_after
from hdpkit.run.runs import Run
from hdpkit.run.trace import ChainTrace, Trace

READABLE = 0.8
"""Share of the data in shared components from which a run can be read."""
PARTLY = 0.5
"""The share from which it can be read in part."""
ALIKE = 0.7
"""The smallest correlation of two chains over pairs of groups at which these agree: half of the variance."""
EVERYWHERE = 0.6
"""The largest share of the data in components that most groups have which says something about groups."""
REPEATS = 0.9
"""The cosine from which a component nearly repeats another."""
SCORES = 1.05
"""The largest ratio of the chains' perplexities of left-out words at which these agree."""

_STATES = 5  # of each piece, for groups
_FEWEST = 4  # samples of each piece, whose spread can be compared
_GROUPS = 400
_HAVE = 0.05  # of a group
_SCORED = 100  # documents
_ENTRIES = 60_000_000  # counts of terms in components that are compared at once
_SEED = 0

Pieces = Sequence[Sequence[Sample]]


@attrs.frozen
class Agreement:
    """What pieces of a run have in common: several chains, or the halves of a single one."""

    n_pieces: int
    halves: bool
    shared: float  # share of the data in components that all pieces have
    components: int  # how many at least half of all states have
    in_all: int  # how many of these all pieces have
    documents: float  # smallest correlation of two pieces over pairs of groups
    perplexities: tuple[float, ...]  # of left-out words, a piece each
    unseen: tuple[str, ...]  # what was not looked at, in words
    of_customers: bool = False  # whether pairs of customers were compared, not of groups
    everywhere: float = math.nan  # share of the data in components that most groups have
    in_few: int = 0  # components of which most is in few groups (`Components.in_few`)
    repeats: int = 0  # components that nearly repeat another
    settled: float = math.nan  # share of the data in components on whose shares all pieces agree
    n_settled: int = 0  # how many these are

    @property
    def figures(self) -> dict[str, float]:
        """The numbers by name."""
        scores = self.perplexities or (math.nan,)
        names = (
            "shared", "components", "in_all", "documents", "everywhere", "in_few", "repeats", "settled",
        )  # fmt: skip
        found = {name: float(getattr(self, name)) for name in names}
        return found | {"perplexity_lowest": min(scores), "perplexity_highest": max(scores)}

    @property
    def alike(self) -> bool:
        """Whether groups and scores agree, as far as they could be compared."""
        scores = self.perplexities or (1.0,)
        return not self.documents < ALIKE and not max(scores) > SCORES * min(scores)


def agreement(pieces: Pieces, halves: bool, data: Any = None, similar: float | None = None) -> Agreement:
    """Compare pieces of a run: states of several chains, or of the halves of one."""
    unseen = []
    found = None
    every = [sample for piece in pieces for sample in piece]
    if all(one.counts is not None for one in every) or all(one.dishes is not None for one in every):
        each = _at_once(pieces)
        if each < max(map(len, pieces)):
            unseen.append("components" if each < 1 else f"more than {each} states of each")
        found = components_of_pieces(pieces, halves, similar)
    else:
        unseen.append("components")
    groups = [_together(_spread(piece, _STATES)) for piece in pieces]
    correlations = [_correlation(a, b) for a, b in itertools.combinations(groups, 2)]
    alike = min((one for one in correlations if not math.isnan(one)), default=math.nan)
    scores = _scores(pieces, data)
    numbers = any(one.counts is None for one in every)
    if not scores and not numbers:
        unseen.append("scores of left-out words")
    of_customers = any(one.dishes is not None for one in every)
    everywhere = float(np.mean([_everywhere(piece[-1]) for piece in pieces]))
    share, n, n_shared, settled = math.nan, 0, 0, math.nan
    in_few = repeats = n_settled = 0
    if found is not None:
        shared = found.in_all_chains
        share, n, n_shared = float(found.shares[shared].sum()), len(found), len(shared)
        if min(np.unique([one.chain for one in found.samples], return_counts=True)[1]) >= _FEWEST:
            settled, n_settled = float(found.shares[found.settled].sum()), int(found.settled.sum())
        if not of_customers and found.samples[0].n_groups * n <= _ENTRIES:
            agreed = found.selected(shared)
            in_few = int(agreed.in_few.sum())
            repeats = int((nearest(agreed.rows)[1] >= REPEATS).sum()) if not numbers else 0
    return Agreement(
        len(pieces), halves, share, n, n_shared, alike, scores, tuple(unseen), of_customers, everywhere,
        in_few, repeats, settled, n_settled,
    )  # fmt: skip


def _everywhere(sample: Sample) -> float:
    """Share of the customers in components that more than half of the groups have, with 5 % of them."""
    if sample.dishes is not None or not sample.sizes.sum():
        return math.nan
    counts = sample.group_counts[_rows(sample.n_groups, _GROUPS)].toarray()
    have = counts >= np.maximum(_HAVE * counts.sum(axis=1, keepdims=True), 1)
    return float(sample.sizes[have.mean(axis=0) > 0.5].sum() / sample.sizes.sum())


def _at_once(pieces: Pieces) -> int:
    """Number of states of each piece whose components are compared at once."""
    every = [sample for piece in pieces for sample in piece]
    most = max(one.sizes.sum() if one.counts is None else one.counts.nnz for one in every)
    return int(_ENTRIES // max(most * len(pieces), 1))


def components_of_pieces(
    pieces: Pieces, halves: bool = False, similar: float | None = None
) -> Components | None:
    """The components of all pieces together, which are its chains."""
    few = [_spread(piece, _at_once(pieces)) for piece in pieces]
    numbered = [(number, one) for number, piece in enumerate(few) for one in piece]
    if not any(one.n_dishes for _, one in numbered):
        return None
    # Halves are aligned as one chain, so that the components are those that tables show.
    evolved = [attrs.evolve(one, chain=0 if halves else number) for number, one in numbered]
    found = components(evolved, similar=similar)
    if not halves:
        return found
    samples = [attrs.evolve(one, chain=n) for (n, _), one in zip(numbered, found.samples, strict=True)]
    return Components(samples, found._of_dishes, found._vectors, found.level, found.partition)


def _spread(piece: Sequence[Any], most: int) -> list[Any]:
    """At most so many of these, spread evenly, with the last."""
    places = np.unique(np.linspace(len(piece) - 1, 0, min(most, len(piece))).astype(np.int64))
    return [piece[place] for place in places]


def _together(samples: Sequence[Sample]) -> Floats:
    """For pairs of groups the probability that a customer of each is of the same component."""
    total: Any = np.zeros((0, 0))
    for sample in samples:
        if sample.dishes is not None:
            chosen = sample.dishes[_rows(len(sample.dishes), _GROUPS)]
            own = (chosen[:, None] == chosen[None, :]).astype(np.float64)
        else:
            weights = sample.group_weights(_rows(sample.n_groups, _GROUPS))[:, :-1]
            own = weights @ weights.T
        total = own if total.shape != own.shape else total + own
    return np.asarray(total[np.triu_indices(len(total), 1)], dtype=np.float64)


def _rows(n: int, most: int) -> slice:
    """At most so many of n rows, evenly spaced."""
    return slice(0, n, -(-n // most) if n else 1)


def _correlation(a: Floats, b: Floats) -> float:
    """Correlation of two vectors; NaN if one is constant, or they are of different groups."""
    if a.shape != b.shape or len(a) < 2 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


# ---------------------------------------------------------------------- scores


def _scores(pieces: Pieces, data: Any) -> tuple[float, ...]:
    """Perplexity of left-out words in the last state of each piece; empty if it can't be computed."""
    if not hasattr(data, "to_counts"):
        return ()
    last = [piece[-1] for piece in pieces]
    for sample in last:
        whole = sample.label == "document" and sample.n_groups == data.n_documents
        if not (whole and sample.levels and sample.counts is not None and sample.term_means is not None):
            return ()
    chosen = _rows(data.n_documents, _SCORED)
    counts = scipy.sparse.csr_array(data.to_counts())[chosen]
    seen, left = halves(counts, _SEED)
    return tuple(_perplexity(sample, chosen, seen, left) for sample in last) if left.sum() else ()


def _perplexity(sample: Sample, chosen: slice, seen: Any, left: Any) -> float:
    """Perplexity of left-out halves of documents, with topics from which these documents are subtracted."""
    vectors, means = TermVectors([sample]), sample.term_means
    assert means is not None
    rows = vectors.rows(sample)
    mass = 1.0 / np.asarray(means.inside, dtype=np.float64)
    of_new = float(np.mean(means.smoothing)) * vectors.n_terms
    weights = sample.group_weights(chosen)
    theta = np.broadcast_to(np.asarray(sample.levels[-1].concentration, dtype=np.float64), sample.n_groups)
    used = np.unique(np.concatenate([seen.indices, left.indices]))
    topics = rows.matrix[:, used].toarray() + rows.base[:, None] * vectors.shape[used]
    new = vectors.shape[used] / vectors.shape.sum()
    seen, left = seen[:, used], left[:, used]
    total = 0.0
    for d, concentration in enumerate(theta[chosen].tolist()):
        both = seen[[d]] + left[[d]]
        if both.nnz == 0:  # a document without tokens
            continue
        place = both.indices
        own = topics[:, place] * weights[d, :-1, None]
        own *= both.data / np.maximum(own.sum(axis=0), 1e-300)
        if sample.tables is not None:  # the words of the document are fewer observations of its topics
            own *= sample.tables[:, used[place]].toarray() / np.maximum(
                sample.counts[:, used[place]].toarray(), 1
            )
        others = np.maximum(topics[:, place] * mass[:, None] - own, 1e-12)
        remaining = np.maximum(mass - own.sum(axis=1), 1e-9)
        others /= remaining[:, None]
        fixed = FixedTopics.of(
            others, new[place], concentration * sample.root_weights, np.append(remaining, of_new),
            repeats_in(sample),
        )  # fmt: skip
        held = left[[d]][:, place]
        logs, _ = fixed.score(seen[[d]][:, place], held, TOLERANCE)
        total += float(held.data @ logs)
    return math.exp(-total / float(left.sum()))


# ---------------------------------------------------------------------- states to compare


def pieces_of(
    given: Trace | ChainTrace | Run, after: int | None = None, last: float = math.inf
) -> tuple[Pieces, bool]:
    """States from some sweep to another, by chain or by half of a single chain; and whether by half."""
    trace = given.trace if isinstance(given, Run) else given
    several, standing = isinstance(trace, ChainTrace), far_enough(trace)
    after = settled_after(trace) if after is None else after
    kept: Iterable[tuple[int, int, Callable[[], Any]]]
    newest: Iterable[tuple[int, int, Callable[[], Any]]] = ()
    if isinstance(given, Run):
        kept = ((file.files.chain, file.sweep, file.read) for file in given.samples.files)
        states = ((n, sweep) for n, sweep in enumerate(given.sweeps) if sweep is not None)
        newest = ((n, sweep, lambda n=n: given.state(n).sample) for n, sweep in states)  # type: ignore[misc]
    else:
        every = ((n, one) for n, chain in standing.items() for one in chain.samples)
        kept = ((n, one.sweep, lambda one=one: one) for n, one in every)  # type: ignore[misc]
        if isinstance(given, ChainTrace):
            finals = zip(given.numbers, given.franchises, strict=False)
            newest = ((n, final.sweep, final.sample) for n, final in finals)
    by_chain: dict[int, dict[int, Callable[[], Any]]] = {chain: {} for chain in standing}
    for chain, sweep, read in kept:
        if chain in by_chain:
            by_chain[chain][sweep] = read
    found = {chain: [own[s] for s in sorted(own) if after < s <= last] for chain, own in by_chain.items()}
    if not several:
        own = found.get(0, [])
        middle = len(own) // 2
        found = {0: own[:middle], 1: own[middle:]} if middle else {}
    elif math.isinf(last):
        for chain, sweep, read in newest:
            if chain in found and sweep not in by_chain[chain]:
                found[chain].append(read)
    pieces = [[read() for read in own] for _, own in sorted(found.items()) if own]
    return [piece for piece in pieces if all(isinstance(one, Sample) for one in piece)], not several
