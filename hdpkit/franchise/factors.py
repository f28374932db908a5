"""A start for few terms and large groups: a non-negative factorisation of the counts, by scikit-learn."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import number_array, validator, whole_number
from hdpkit.errors import MissingExtraError, ParameterError
from hdpkit.franchise.term_clusters import serves_term_clusters
from hdpkit.random import RandomStream

__all__ = ["Factors", "check_factors", "dishes_of_factors", "factors_of", "law_of_cells"]

Floats = npt.NDArray[np.float64]

_ROUNDS = 100  # number of multiplicative updates
_MOST = 100  # default upper limit of the number of dishes
_AT_ONCE = 1 << 14  # customers


def _topics(value: Any) -> Floats | None:
    """Topics with rows normalised to sum 1; None is returned as it is."""
    if value is None:
        return None
    found = number_array(value)
    if found is None or found.ndim != 2 or not found.shape[1] or not np.isfinite(found).all():
        raise _unfit(value)
    if (found < 0).any():
        raise _unfit(value)
    sums = found.sum(axis=1, keepdims=True)
    if (sums <= 0).any():
        raise _unfit(value)
    rows: Floats = found / sums
    rows.setflags(write=False)
    return rows


def _unfit(value: Any) -> ParameterError:
    return ParameterError(
        "topics", value, "a matrix of numbers of at least 0, shape (K, n_terms), no row of zeros",
        "For instance sample.topics() of a run over fewer customers.",
    )  # fmt: skip


@attrs.frozen
class Factors:
    """Customers begin with the components of a non-negative factorisation of the counts.

    Counts by document and term are written as W H, W of shape (documents, K) and H of shape (K, terms), by
    scikit-learn's NMF with the Kullback-Leibler divergence (Lee & Seung 2001), after each document was scaled
    to sum 1, because otherwise the largest documents would dominate. A customer of document d and term v
    begins with dish k with probability proportional to W_dk H_kv. This start is meant for few terms and large
    documents. It is not part of the chain, which is exact from any start.

    Parameters
    ----------
    n_dishes : int, optional
        K, at least 1; by default the minimum of twice the square root of the number of terms that occur, 100,
        and the K of `hdpkit.FixedWeights`. Dishes without customers are removed.
    topics : array, shape (K, n_terms), optional
        H, with rows of any scale: then only W is fitted, and K is the number of rows. They may be from a run
        over a part of the customers (`hdpkit.downsample`), which mixes faster. Not allowed with known
        components.
    """

    n_dishes: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.Factors(20).")
        ),
    )
    topics: Floats | None = attrs.field(
        default=None, kw_only=True, converter=_topics, eq=attrs.cmp_using(eq=np.array_equal), hash=False
    )

    def __attrs_post_init__(self) -> None:
        if self.topics is not None and self.n_dishes not in (None, len(self.topics)):
            raise ParameterError(
                "n_dishes", self.n_dishes, f"{len(self.topics)}, the number of topics", "Leave it out."
            )


def check_factors(start: Factors, franchise: Any) -> None:
    """Raise an error if the data aren't documents of terms, or scikit-learn is missing."""
    if not serves_term_clusters(franchise):
        raise ParameterError(
            "init", start, "a start that fits: Factors is for a Corpus under a Dirichlet-multinomial",
            'For instance "sequential", or hk.init.Random(100).',
        )  # fmt: skip
    try:
        import sklearn.decomposition  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "sklearn", None, "installed, to factorise counts", "pip install 'hdpkit[text]', or another start."
        ) from error
    n_dishes, known = start.n_dishes, franchise.topology.known
    if start.topics is not None:
        n_dishes, n_terms = start.topics.shape
        if n_dishes + known == 0:
            raise ParameterError(
                "init", start, "one topic or more, where no component is known", "Give hk.init.Factors(20)."
            )
        if n_terms != franchise.data.n_terms:
            raise ParameterError(
                "init", start, f"topics over the {franchise.data.n_terms} terms of the data",
                "Take them of a run over the same terms.",
            )  # fmt: skip
    franchise.root._check_number("init", max(1, known + (n_dishes or 0)))


def factors_of(start: Factors, franchise: Any, source: RandomStream) -> tuple[Floats, Floats]:
    """W and H: float64, shapes (n_documents, K) and (K, n_terms); known components are the first."""
    counts = scipy.sparse.csr_matrix(franchise.data.to_counts(), dtype=np.float64)
    used = np.flatnonzero(np.asarray((counts > 0).sum(axis=0)).ravel())
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    shares = scipy.sparse.diags(1.0 / np.maximum(lengths, 1.0)) @ counts
    known = franchise._known
    if start.topics is None:
        weights, laws = _factorised(start, franchise, shares, used, source)
        if known is None:
            return weights, laws
        laws = laws[laws.sum(axis=1) > 0.0]
        laws = laws / laws.sum(axis=1, keepdims=True)
    else:
        laws = start.topics
    if known is not None:
        laws = np.vstack([known.topics, laws])
    left = used[laws[:, used].sum(axis=0) == 0.0]  # terms that occur in no component
    if len(left):
        laws = np.vstack([laws, np.bincount(left, minlength=laws.shape[1]) / len(left)])
    return _weights(shares, laws), laws


def _factorised(
    start: Factors, franchise: Any, shares: Any, used: Any, source: RandomStream
) -> tuple[Floats, Floats]:
    """W and H of the shares of terms, if no topics are given."""
    from sklearn.decomposition import NMF

    default = max(1, min(round(2 * len(used) ** 0.5), _MOST))
    most = franchise.root.most_dishes
    n_dishes = start.n_dishes or min(default, default if most is None else most - franchise.topology.known)
    if n_dishes == 0:
        return np.empty((shares.shape[0], 0)), np.empty((0, shares.shape[1]))
    seed = int(source.generator.integers(2**31))
    few = n_dishes <= min(shares.shape[0], len(used))
    model = NMF(
        n_dishes, init="nndsvda" if few else "random", solver="mu", beta_loss="kullback-leibler",
        max_iter=_ROUNDS, tol=0.0, random_state=seed,
    )  # fmt: skip
    weights: Floats = np.asarray(model.fit_transform(shares[:, used]), dtype=np.float64)
    laws = np.zeros((n_dishes, shares.shape[1]))
    laws[:, used] = model.components_
    return weights, laws


def _weights(shares: Any, laws: Floats) -> Floats:
    """W, given H."""
    from sklearn.decomposition import non_negative_factorization

    weights, _, _ = non_negative_factorization(
        shares, H=laws.copy(), n_components=len(laws), update_H=False, solver="mu",
        beta_loss="kullback-leibler", max_iter=_ROUNDS, tol=0.0,
    )  # fmt: skip
    return np.asarray(weights, dtype=np.float64)


def law_of_cells(factors: tuple[Floats, Floats], documents: Any, terms: Any) -> Floats:
    """Distribution of the dish for these documents and terms: float64, shape (n, K); rows sum to one."""
    weights, laws = factors
    law = weights[documents] * laws[:, terms].T
    total = law.sum(axis=1, keepdims=True)
    return np.where(total > 0, law / np.where(total > 0, total, 1.0), 1.0 / law.shape[1])


def dishes_of_factors(start: Factors, franchise: Any, source: RandomStream) -> npt.NDArray[np.int32]:
    """Dish of each customer: int32, shape (n_customers,)."""
    data: Any = franchise.data
    factors = factors_of(start, franchise, source)
    dishes = np.empty(len(data), dtype=np.int32)
    for first in range(0, len(data), _AT_ONCE):
        last = min(first + _AT_ONCE, len(data))
        law = law_of_cells(factors, data.codes_between("document", first, last), data.terms[first:last])
        drawn = source.generator.random(last - first)[:, None]
        dishes[first:last] = np.minimum((np.cumsum(law, axis=1) < drawn).sum(axis=1), law.shape[1] - 1)
    return dishes
