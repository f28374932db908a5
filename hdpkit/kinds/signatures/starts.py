"""A start for a cohort: how many signatures its counts support, and which."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Bools, Floats, Int64s
from hdpkit.checks import function, instance, real_number, whole_number
from hdpkit.data import Corpus
from hdpkit.data.files.tables import Columns
from hdpkit.errors import ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known
from hdpkit.franchise.starts import Factors
from hdpkit.posterior.alignment import unit_rows
from hdpkit.random import Purpose, Streams

_TINY = 1e-300
_SHARE = 0.03  # Dirichlet parameter of each signature in a sample
# Plain updates, then those of a mean field: of a random start, of a trial, after a signature was removed.
_BEGUN, _TRIAL, _CONTINUED = (150, 100), (10, 10), (40, 40)
_TRIED = 3  # pairs that may be merged, and signatures that may be removed
_TRIAL_SAMPLES = 500  # random samples over which they are tried
_FIRST, _MOST = 24, 96  # the rank from which signatures are removed by default, and its upper limit
_FULL = 0.75  # share of the largest rank above which a choice calls for a larger one
_BELOW = 4  # ranks below the best that are tried at least
_FAR = 6.0  # standard errors from which lower ranks need not be tried
_LAST = 1000  # updates of the chosen signatures over all mutations


@attrs.frozen(kw_only=True, eq=False)
class RankChoice:
    """The signatures with which chains begin, and scores of all numbers of signatures that were tried.

    Attributes
    ----------
    rank : int
        The chosen number of new signatures: the smallest whose score is within one standard error of the
        best.
    ranks : int array, shape (R,)
        Numbers of new signatures that were tried, ascending.
    scores : float64 array, shape (R,)
        Log likelihood of the held-out mutations in nats, relative to the best rank.
    errors : float64 array, shape (R,)
        Standard error of that difference, from its spread over the samples.
    stability : float64 array, shape (R,)
        Mean cosine of the signatures with those of the other paths, matched one to one; NaN for one path.
    overdispersion : float
        1/b, if the variance of the counts of a sample with n mutations is 1 + n/b times that of the model.
    topics : float64 array, shape (rank, n_channels)
        The signatures; rows sum to one.
    """

    rank: int
    ranks: Int64s
    scores: Floats
    errors: Floats
    stability: Floats
    overdispersion: float
    topics: Floats = attrs.field(repr=False)

    def __str__(self) -> str:
        best = int(self.ranks[np.argmax(self.scores)])
        where = f"{self.rank} signatures" if self.rank != 1 else "1 signature"
        why = (
            "the best held-out score" if best == self.rank
            else f"the fewest within one standard error of the best held-out score ({best})"
        )  # fmt: skip
        stable = float(self.stability[np.searchsorted(self.ranks, self.rank)])
        told = "" if math.isnan(stable) else f"; stability {stable:.2f}"
        return f"{where}: of {self.ranks[0]} to {self.ranks[-1]} tried, {why}{told}"

    @property
    def init(self) -> Factors:
        """The start: ``Scheduler.run(franchise, init=choice.init)``."""
        return Factors(topics=self.topics)

    def table(self) -> Columns:
        """A row per rank: rank, score, standard error, stability, and whether it was chosen."""
        return {
            "rank": self.ranks,
            "score": self.scores,
            "error": self.errors,
            "stability": self.stability,
            "chosen": self.ranks == self.rank,
        }

    @classmethod
    def from_data(cls, content: Mapping[str, Any]) -> RankChoice:
        """The choice of the result of `as_data`; a ValueError, TypeError or KeyError if it isn't one."""
        columns: dict[str, Any] = {
            name: np.array(content[name], dtype=np.float64)  # None is NaN
            for name in ("ranks", "scores", "errors", "stability")
        }
        columns["ranks"] = columns["ranks"].astype(np.int64)
        rank = int(content["rank"])
        topics = np.array(content["topics"], dtype=np.float64).reshape(rank, int(content["channels"]))
        fits = {one.shape for one in columns.values()} == {(len(content["ranks"]),)}
        if not fits or rank not in columns["ranks"]:
            raise ValueError(f"ranks that don't fit each other: {content['ranks']}")
        return cls(rank=rank, topics=topics, overdispersion=float(content["overdispersion"]), **columns)

    def as_data(self) -> dict[str, Any]:
        """Return the choice as JSON-compatible data, which `from_data` reads."""
        kept = {
            name: getattr(value, "tolist", lambda value=value: value)()
            for name, value in attrs.asdict(self).items()
        }
        stable = [None if math.isnan(one) else one for one in kept["stability"]]
        return kept | {"stability": stable, "channels": self.topics.shape[1]}


def choose_rank(
    sample: Restaurant,
    corpus: Corpus,
    *,
    known: Known | None = None,
    most: int | None = None,
    paths: int = 3,
    held_out: float = 0.1,
    rng: Any = None,
    progress: Callable[[int, int], Any] | None = None,
) -> RankChoice:
    """Choose the number of signatures by held-out mutations, and signatures with which chains begin.

    A tenth of the mutations of each sample (each mutation with probability 0.1) is held out. The others are
    fitted by variational updates (mean field; Blei, Ng & Jordan 2003, section 5.2, with Dirichlet
    distributions for the signatures too), first with too many signatures, from the spectra of random samples.
    Then one signature at a time is removed, or two are merged into one, whichever costs least, and the
    others are fitted again. This gives a score for each number of signatures (rank); some paths from
    different random samples show whether they find the same signatures.

    The chosen rank is the smallest whose score is within one standard error of the best (Breiman et al. 1984,
    section 3.4.3). Its signatures are fitted to all mutations.

    Counts of tumours vary more than the model assumes: by a factor of 1 + n/b for n mutations. b is estimated
    from the residuals of the largest rank (the median over the half of the samples with the most mutations),
    and a sample counts like n/(1 + n/b) mutations (quasi-likelihood; Wedderburn 1974). From the score
    is subtracted what signatures gain by describing deviations of single samples, which are the same among
    held-out mutations: n/b divided by 1 + n/b, times the ratio of held-out to other mutations, for each
    fitted number of the sample (the shares of its signatures, and its part of the entries of all signatures).
    Chains count all mutations fully.

    Levels above the samples are not used. Raises a ParameterError if an argument is out of range; a DataError
    if there are no mutations.

    Parameters
    ----------
    sample : Restaurant
        The model, as in ``hk.Franchise(sample, corpus)``.
    corpus : Corpus
    known : Known, optional
        Known components, as in ``hk.Franchise(sample, corpus, known=known)``: ranks are numbers of other
        signatures, from 0.
    most : int, optional
        The largest rank. By default 24, doubled (up to 96) while the choice is above three quarters of it;
        at most the number of samples, and of channels that occur.
    paths : int
        Number of paths, at least 1. With one there is no stability.
    held_out : float
        Probability with which a mutation is held out, above 0 and below 1.
    rng : int, Generator or None
    progress : function, optional
        Called with the number of the path, from 0, and the rank after each step.
    """
    instance("corpus", corpus, Corpus, "a Corpus", remedy="read_spectra(path) returns one.")
    whole_number("paths", paths, 1, 1000, remedy="3 is usual.")
    if most is not None:
        whole_number("most", most, 1, remedy="24 is usual.")
    if not 0.0 < real_number("held_out", held_out) < 1.0:
        raise ParameterError("held_out", held_out, "above 0 and below 1", "0.1 is usual.")
    if progress is not None:
        function("progress", progress, remedy="Leave it out.")
    franchise = Franchise(sample, corpus, store="counts", root="weights", known=known)
    eta = np.asarray(franchise.measure.eta_vector, dtype=np.float64)  # type: ignore[attr-defined]
    generator = Streams(rng).source(Purpose.RANKS).generator
    counts = np.asarray(corpus.to_counts().toarray(), dtype=np.int64)
    split = _split(counts, held_out, _Prior.of(eta, known), generator)
    limit = max(1, min(int((split.fitted.sum(axis=1) > 0).sum()), split.n_used))
    first, told = min(limit, most or _FIRST), progress or (lambda path, rank: None)
    while True:  # the first path shows how many signatures are enough
        found = _Paths(split, [], [])
        found.add(_path(split, first, None, generator, partial(told, 0)))
        if most is not None or found.rank <= _FULL * first or first == min(limit, _MOST):
            break
        first = min(2 * first, limit, _MOST)
    lowest = found.ranks[0]
    for number in range(1, paths):
        found.add(_path(split, first, lowest, generator, partial(told, number)))
    return found.choice(counts)


@attrs.frozen(eq=False)
class _Prior:
    """Dirichlet parameters of new signatures, and known ones."""

    eta: Floats
    topics: Floats  # (n_known, n_terms)
    pseudo_counts: Floats
    frozen: Bools

    @classmethod
    def of(cls, eta: Floats, known: Known | None) -> _Prior:
        if known is None:
            return cls(eta, np.empty((0, len(eta))), np.empty((0, len(eta))), np.empty(0, dtype=bool))
        return cls(eta, known.matrix, known.pseudo_counts.astype(np.float64), known.is_frozen)

    @property
    def n_known(self) -> int:
        return len(self.topics)

    def parameters(self, n_new: int) -> tuple[Floats, Bools]:
        """Dirichlet parameters of all signatures, the known ones first, and which are frozen."""
        prior = np.tile(self.eta, (self.n_known + n_new, 1))
        prior[: self.n_known] += self.pseudo_counts
        return prior, np.append(self.frozen, np.zeros(n_new, dtype=bool))


@attrs.frozen(eq=False)
class _Fit:
    """Expected mutations by sample and signature, and signatures: means, and geometric means for updates."""

    expected: Floats
    means: Floats
    topics: Floats


def _scores(counts: Floats, fit: _Fit) -> Floats:
    """Log likelihood of each sample's counts: shape (n_samples,)."""
    proportions = fit.expected + _SHARE
    proportions = proportions / proportions.sum(axis=1, keepdims=True)
    return np.asarray((counts * np.log(np.maximum(proportions @ fit.means, _TINY))).sum(axis=1))


@attrs.frozen(eq=False)
class _Split:
    """Mutations that are fitted, with the weights of their samples, and those held out."""

    fitted: Floats  # times the weights
    held: Floats
    weights: Floats  # (n_samples,)
    held_out: float
    overdispersion: float
    prior: _Prior
    n_used: int
    trial_rows: Int64s  # samples by which a signature to be removed is chosen

    def fit(self, fit: _Fit, updates: tuple[int, int]) -> _Fit:
        """The fit after further updates: so many of EM, then so many of a mean-field approximation."""
        prior, frozen = self.prior.parameters(len(fit.means) - self.prior.n_known)
        plain, more = updates
        topics, means, expected = fit.topics, fit.topics, fit.expected
        if not len(topics):
            return _Fit(expected, topics, topics)
        for step in range(plain + more):
            # Geometric means in a mean field; each row (sample) is correct up to a factor.
            proportions = expected + _SHARE
            if step >= plain:
                proportions = np.exp(scipy.special.digamma(proportions))
            ratios = self.fitted / np.maximum(proportions @ topics, _TINY)
            by_topic = topics * (proportions.T @ ratios) + prior
            expected = proportions * (ratios @ topics.T)
            sums = by_topic.sum(axis=1, keepdims=True)
            means = np.where(frozen[:, None], means, by_topic / sums)
            if step < plain - 1:
                topics = means
            else:
                geometric = np.exp(scipy.special.digamma(by_topic) - scipy.special.digamma(sums))
                topics = np.where(frozen[:, None], topics, geometric)
        return _Fit(expected, means, topics)

    def begin(self, rank: int, rng: np.random.Generator) -> _Fit:
        """A fit from the spectra of random samples."""
        totals = self.fitted.sum(axis=1) + _TINY
        chosen = rng.choice(len(totals), rank, replace=False, p=np.sqrt(totals) / np.sqrt(totals).sum())
        spectra = self.fitted[chosen] + 0.01 * totals[chosen, None] / self.fitted.shape[1]
        topics = np.vstack([self.prior.topics, spectra / spectra.sum(axis=1, keepdims=True)])
        expected = np.repeat(totals[:, None] / max(len(topics), 1), len(topics), axis=1)
        return self.fit(_Fit(expected, topics, topics), _BEGUN)

    def scores(self, fit: _Fit) -> Floats:
        """The held-out score of each sample: shape (n_samples,)."""
        scale = np.maximum(self.weights, _TINY)[:, None]
        own = _Fit(fit.expected / scale, fit.means, fit.topics)
        fitted = _fitted_numbers(own.expected, self.n_used)
        gained = self.held_out / (1.0 - self.held_out) * (1.0 - self.weights) * fitted
        return np.asarray(self.weights * _scores(self.held, own) - gained)

    def smaller(self, fit: _Fit, number: int) -> _Fit:
        """The fit with as many new signatures less: two merged, or one removed, one after the other."""
        n_known, rows = self.prior.n_known, self.trial_rows
        part = attrs.evolve(self, fitted=self.fitted[rows])
        for _ in range(number):
            best, most = fit, -math.inf
            for gone, into in _candidates(fit, n_known):
                without = _without(fit, gone, into, n_known)
                if len(without.means):
                    tried = part.fit(attrs.evolve(without, expected=without.expected[rows]), _TRIAL)
                    score = float(_scores(part.fitted, tried).sum())
                else:
                    tried, score = without, 0.0
                if best is fit or score > most:
                    best, most = tried if len(rows) == len(self.fitted) else without, score
            fit = best
        return self.fit(fit, _CONTINUED)


def _candidates(fit: _Fit, n_known: int) -> list[tuple[int, int | None]]:
    """New signatures that may go, each with the one that takes its mutations; None for all others."""
    unit = unit_rows(fit.means)
    rows, columns = np.triu_indices(len(unit), 1)
    new = columns >= n_known  # a pair of which one is new
    rows, columns = rows[new], columns[new]
    alike = np.argsort(-(unit @ unit.T)[rows, columns], kind="stable")[:_TRIED]
    rare = np.argsort(fit.expected.sum(axis=0)[n_known:], kind="stable")[:_TRIED]
    return [*((int(columns[i]), int(rows[i])) for i in alike), *((int(n_known + k), None) for k in rare)]


def _without(fit: _Fit, gone: int, into: int | None, n_known: int) -> _Fit:
    """The fit without a signature, whose mutations another one takes, before any update."""
    expected, means = fit.expected.copy(), fit.means.copy()
    if into is not None:
        if into >= n_known:
            both = expected[:, [gone, into]].sum(axis=0)
            share = both[0] / max(both.sum(), _TINY)
            means[into] = share * means[gone] + (1.0 - share) * means[into]
        expected[:, into] += expected[:, gone]
    expected, means = np.delete(expected, gone, axis=1), np.delete(means, gone, axis=0)
    return _Fit(expected, means, means)


def _split(counts: Int64s, held_out: float, prior: _Prior, rng: np.random.Generator) -> _Split:
    """Hold out mutations, and find the weights of the samples."""
    held = rng.binomial(counts, held_out)
    rest = (counts - held).astype(np.float64)
    totals = rest.sum(axis=1)
    n_used = max(1, int((rest.sum(axis=0) > 0).sum()))
    overdispersion, weights = 0.0, np.ones(len(rest))
    rows = np.sort(rng.permutation(len(rest))[:_TRIAL_SAMPLES])
    rank = max(1, min(_FIRST, n_used, int((totals > 0).sum()) // 4))
    for _ in range(2):  # with the weights of the first fit large samples have no signatures of their own
        split = _Split(
            fitted=rest * weights[:, None], held=held.astype(np.float64), weights=weights, held_out=held_out,
            overdispersion=overdispersion, prior=prior, n_used=n_used, trial_rows=rows,
        )  # fmt: skip
        fit = split.begin(rank, rng)
        overdispersion = _overdispersion(rest, fit.expected / weights[:, None], fit.means)
        weights = 1.0 / (1.0 + overdispersion * totals)
    return attrs.evolve(split, fitted=rest * weights[:, None], weights=weights, overdispersion=overdispersion)


def _fitted_numbers(expected: Floats, n_channels: int) -> Floats:
    """Fitted numbers by sample: its shares, and its part of the entries of the signatures."""
    active = expected > 1.0
    of_signatures = n_channels * active.any(axis=0).sum() / len(expected)
    return np.asarray(active.sum(axis=1) + of_signatures)


def _overdispersion(counts: Floats, expected: Floats, means: Floats) -> float:
    """1/b, from Pearson's statistics of the samples with the most mutations; 0 if they are as expected."""
    totals = counts.sum(axis=1)
    large = (totals >= np.median(totals)) & (totals > 0)
    if not large.any():
        return 0.0
    used = counts.sum(axis=0) > 0
    taken = _fitted_numbers(expected, int(used.sum()))[large]
    counts, expected, totals = counts[large][:, used], expected[large], totals[large]
    shares = expected + _SHARE
    law = (shares / shares.sum(axis=1, keepdims=True)) @ means[:, used]
    law = np.maximum(totals[:, None] * law, _TINY)
    left = np.maximum(used.sum() - taken, 1.0)
    statistic = ((counts - law) ** 2 / law).sum(axis=1) / left
    return max(0.0, float(np.median((statistic - 1.0) / totals)))


@attrs.frozen(eq=False)
class _Paths:
    """Fits and scores by sample of each rank along each path."""

    split: _Split
    fits: list[dict[int, _Fit]]
    scores: list[dict[int, Floats]]

    def add(self, path: tuple[dict[int, _Fit], dict[int, Floats]]) -> None:
        """Add a path."""
        self.fits.append(path[0])
        self.scores.append(path[1])

    @property
    def ranks(self) -> list[int]:
        """The ranks that all paths have, ascending."""
        return sorted(set[int].intersection(*(set(path) for path in self.fits)))

    def best_path(self, rank: int) -> int:
        """The path with the best score at this rank."""
        return int(np.argmax([scores[rank].sum() for scores in self.scores]))

    def compared(self) -> tuple[Floats, Floats]:
        """Scores relative to the best rank, and standard errors of these differences."""
        own = np.array([self.scores[self.best_path(rank)][rank] for rank in self.ranks])
        apart = own - own[np.argmax(own.sum(axis=1))]
        return apart.sum(axis=1), apart.std(axis=1) * math.sqrt(apart.shape[1])

    @property
    def rank(self) -> int:
        """The smallest rank within one standard error of the best."""
        scores, errors = self.compared()
        return self.ranks[int(np.argmax(scores >= -errors))]

    def stability(self, rank: int) -> float:
        """Mean cosine of the new signatures of the best path with those of the others."""
        n, best = self.split.prior.n_known, self.best_path(rank)
        if len(self.fits) == 1 or rank == 0:
            return math.nan
        unit = [unit_rows(fits[rank].means[n:]) for fits in self.fits]
        found = []
        for other in unit[:best] + unit[best + 1 :]:
            alike = unit[best] @ other.T
            found.append(alike[scipy.optimize.linear_sum_assignment(-alike)].mean())
        return float(np.mean(found))

    def choice(self, counts: Int64s) -> RankChoice:
        """The choice, with its signatures fitted to all mutations."""
        (scores, errors), rank = self.compared(), self.rank
        fit, split = self.fits[self.best_path(rank)][rank], self.split
        scaled = _Fit(fit.expected / (1.0 - split.held_out), fit.means, fit.topics)
        complete = attrs.evolve(split, fitted=counts * split.weights[:, None]).fit(scaled, (0, _LAST))
        return RankChoice(
            rank=rank, ranks=np.array(self.ranks), scores=scores, errors=errors,
            stability=np.array([self.stability(one) for one in self.ranks]),
            overdispersion=split.overdispersion, topics=complete.means[split.prior.n_known :],
        )  # fmt: skip


def _path(
    split: _Split, first: int, lowest: int | None, rng: np.random.Generator, told: Callable[[int], Any]
) -> tuple[dict[int, _Fit], dict[int, Floats]]:
    """Fit the largest rank, then smaller ones: to the lowest, or until scores are far below the best."""
    fit = split.begin(first, rng)
    fits, scores = dict[int, _Fit](), dict[int, Floats]()
    least = (0 if split.prior.n_known else 1) if lowest is None else lowest
    while True:
        rank = len(fit.means) - split.prior.n_known
        fits[rank], scores[rank] = fit, split.scores(fit)
        told(rank)
        if rank <= least or (lowest is None and _is_far(scores)):
            return fits, scores
        fit = split.smaller(fit, min(max(1, rank // 16), rank - least))


def _is_far(scores: dict[int, Floats]) -> bool:
    """Whether the last score is far below the best one, so that lower ranks are no candidates."""
    last = min(scores)
    best = max(scores, key=lambda rank: (float(scores[rank].sum()), -rank))
    apart = scores[last] - scores[best]
    error = float(apart.std()) * math.sqrt(len(apart))
    return last <= best - _BELOW and float(apart.sum()) < -_FAR * error
