"""The estimator of hidden Markov models."""

from __future__ import annotations

import math
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, whole_number, whole_numbers
from hdpkit.data import Sequences
from hdpkit.errors import DataError
from hdpkit.kinds.estimators import Estimator, at_once, of_rows
from hdpkit.kinds.hidden_markov import DECODERS, HiddenMarkov
from hdpkit.posterior.evaluation.evaluate import evaluate
from hdpkit.posterior.evaluation.forward import Forecast, forecast
from hdpkit.posterior.new_data import CommonStates, states_in_common

_DRAWS = 5  # of parameters, in each sample, for scores


class HiddenMarkovModel(DensityMixin, Estimator):
    """Hidden Markov model with an inferred number of states: a scikit-learn estimator.

    The first state of a sequence is drawn from G_start, the others from G_j, where j is the state before;
    G_j ~ DP(concentration, G0), G0 ~ DP(gamma, emissions) (Teh et al. 2006, section 7), and by
    ``sticky`` G_j favours state j (Fox et al. 2008). Methods and attributes are named as in hmmlearn. See
    docs/sequences.md.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_components_, n_states_ : int
        Number of states, K: clusters of the partition of the observations of least expected loss over the
        samples of all chains. Those of less than 1 % of the observations, or in fewer than half of the
        samples, are left out.
    franchise_, franchises_, trace_, samples_, diagnosis_
        As in `TopicModel`.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn; ``n_iter_`` is the number of completed sweeps.
    """

    kind = HiddenMarkov
    kind_: HiddenMarkov
    decoder: Any

    # ------------------------------------------------------------------ fitting

    @at_once
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Fit the model.

        Raises a ValueError (DataError, ParameterError) if the observations don't suit the emission, rows are
        missing in part, lengths don't fit, or a parameter is out of range.

        Parameters
        ----------
        X : array of shape (n_observations, n_columns), data frame, or Sequences
            Observations in order, all sequences below each other. A row of NaN is a missing observation.
        y : ignored
            Labels, one for each row, are ignored, as scikit-learn's meta-estimators pass them. An array of
            another length is taken as ``lengths``: the second argument in hmmlearn.
        lengths : array of int, optional
            Number of observations of each sequence, with the sum n_observations. None: one sequence.
        """
        self.kind_ = self._made()
        self.kind_, data = self.kind_.prepared(self._sequences(X, y, lengths, reset=True))
        return self._begin(data)

    @property
    def n_states_(self) -> int:
        """Number of states, K."""
        return len(self._found("n_states_"))

    @property
    def state_shares_(self) -> Floats:
        """Mean share of the observations of each state: shape (K,). What is missing to one is in none."""
        return self._found("state_shares_").shares

    @property
    def transmat_(self) -> Floats:
        """Posterior mean transition probabilities: shape (K, K).

        States are in descending order of their observations. The probabilities of the rest are left out, and
        rows sum to one; ``aligned_.transitions`` has them.
        """
        rows = self._found("transmat_").transitions[:-1, :-1]
        return rows / rows.sum(axis=1, keepdims=True)

    @property
    def startprob_(self) -> Floats:
        """Posterior mean probabilities of the first state of a sequence, as in `transmat_`: shape (K,)."""
        row = self._found("startprob_").transitions[-1, :-1]
        return row / row.sum()

    @property
    def means_(self) -> Floats:
        """Mean observation of each state, for measures over numbers: shape (K, D)."""
        return np.asarray(self._moments("means_")[0])

    @property
    def covars_(self) -> Floats:
        """Covariance of the observations of each state, for measures over numbers: shape (K, D, D)."""
        return np.asarray(self._moments("covars_")[1])

    @property
    def emissionprob_(self) -> Floats:
        """Probabilities of the terms in each state, for measures over terms: shape (K, n_terms)."""
        found = self._found("emissionprob_")
        if not self.kind_.of_terms:
            raise AttributeError("emissionprob_: observations are numbers, see means_")
        return found.rows

    # ------------------------------------------------------------------ states of sequences

    def predict(self, X: Any, lengths: Any = None) -> Int64s:
        """State of each observation, from 0: int64 array of shape (n_observations,).

        By ``decoder``, which is the most probable path (Viterbi) by default.

        In each sample, given posterior mean transition probabilities and the predictive densities of its
        states; states without observations are left out. An observation is in the state that it has on the
        paths of most samples, or the one with the largest mean probability.

        Parameters
        ----------
        X, lengths
            As in `fit`.
        """
        return self._decoded(self._probabilities(X, lengths), self._decoder())

    def predict_proba(self, X: Any, lengths: Any = None) -> Floats:
        """Probability of each state for each observation, given its whole sequence (smoothing).

        Of shape (n_observations, ``n_states_``); rows sum to one. Averaged over the samples, given in each
        the parameters of `predict`.

        Parameters
        ----------
        X, lengths
            As in `fit`.
        """
        return self._probabilities(X, lengths).probabilities

    def decode(self, X: Any, lengths: Any = None, algorithm: Any = None) -> tuple[float, Int64s]:
        """Log probability of sequences in nats, and their states, shape (n_observations,), as in hmmlearn.

        The first is the log of the average of p(X | sample), states summed out, given in each sample the
        parameters of `predict`.

        Parameters
        ----------
        X, lengths
            As in `fit`.
        algorithm : "viterbi" or "posterior", optional
            None: ``decoder``.
        """
        which = self._decoder(algorithm)
        found = self._probabilities(X, lengths)
        return found.log_probability, self._decoded(found, which)

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """Log probability of sequences, in nats: higher is better.

        The log of the average over `samples_` of p(X | sample), where parameters are drawn given the sample,
        including those of states without observations, and states are summed out: an estimate of the log
        posterior predictive probability (`hdpkit.evaluate`). If there are no samples, or the measure draws no
        parameters, it is log p(X) as in `decode`.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        """
        check_is_fitted(self)
        data = self._new(X, y, lengths)
        measure = self.franchise_.measure
        draws = measure.supports("draw_parameters") and measure.supports("log_likelihood")
        if not self.samples_ or not draws or not measure.conjugate:
            return self._under(data).log_probability
        threads = effective_n_jobs(self.n_jobs)
        found = evaluate(
            self.franchise_, data, samples=self.samples_, particles=_DRAWS, threads=threads, rng=0
        )
        return found.log_probability

    def forecast(
        self,
        X: Any = None,
        lengths: Any = None,
        *,
        horizon: int = 1,
        draws: int = 1000,
        random_state: Any = None,
    ) -> Forecast:
        """Forecast the next values of sequences, averaged over `samples_`: see `hdpkit.forecast`.

        Parameters
        ----------
        X, lengths
            As in `fit`. None, or what the model was fitted to: the values after the sequences of `fit`.
        horizon : int
            Number of values after the last one of each sequence.
        draws : int
            Number of continuations of each sequence.
        random_state : int, RandomState, Generator or None
            None: that of the model.
        """
        check_is_fitted(self)
        data = None if X is None else self._new(X, None, lengths)
        own = self.franchise_.data
        if data is not None and _same(data, own):
            data = None
        found = forecast(
            self.franchise_,
            horizon,
            data,
            samples=self.samples_ or None,
            draws=draws,
            particles=_DRAWS,
            threads=effective_n_jobs(self.n_jobs),
            rng=self._seed(random_state),
        )
        columns = self.kind_.kept
        return found if columns is None else attrs.evolve(found, draws=columns.rows(found.draws))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[npt.NDArray[Any], Int64s]:
        """Draw a new sequence: its observations, shape (n_samples, n_columns), and their states.

        Given the last state of a chain, transition probabilities are drawn, and parameters of states drawn or
        integrated out (`Franchise.draw_sequences`). Numbers from ``n_states_`` on are other states than those
        of the model.

        Parameters
        ----------
        n_samples : int
            Number of observations.
        random_state : int, RandomState, Generator or None
            None: that of the model.
        """
        check_is_fitted(self)
        n = whole_number("n_samples", n_samples, 1, remedy="Number of observations.")
        of = self._fitted.states
        state = next((one for one in of if one.franchise is self.franchise_), of[0])
        drawn, (dishes,) = state.franchise.draw_sequences([n], rng=self._seed(random_state))
        number = np.append(self.aligned_.which(state.sample), np.full(n, -1))
        others = np.flatnonzero(number < 0)
        number[others] = self.n_states_ + np.arange(len(others))
        return self.kind_.every_column(drawn[0]), number[dishes]

    # ------------------------------------------------------------------ parts

    def _decoder(self, given: Any = None) -> str:
        name, value = ("decoder", self.decoder) if given is None else ("algorithm", given)
        return choice(name, value, DECODERS, remedy="Leave it out.")

    def _probabilities(self, X: Any, lengths: Any) -> CommonStates:
        check_is_fitted(self)
        return self._under(self._new(X, None, lengths))

    def _under(self, data: Sequences) -> CommonStates:
        return states_in_common(self.aligned_, data, effective_n_jobs(self.n_jobs))

    def _decoded(self, found: CommonStates, decoder: str) -> Int64s:
        by_itself: Int64s = found.probabilities.argmax(axis=1)
        return found.path if decoder == "viterbi" else by_itself

    def _sequences(self, X: Any, y: Any, lengths: Any, *, reset: bool) -> Sequences:
        """Observations as sequences, after scikit-learn's checks of X."""
        if isinstance(X, Sequences):
            self._check_width(int(np.prod(X.values.shape[1:], dtype=np.int64)), reset)
            return X
        X = of_rows(self, X, reset, "observations")
        if np.isinf(X).any():
            raise DataError("X", "infinity", "finite numbers, or NaN where they are missing", "Correct it.")
        if lengths is None and y is not None and np.ndim(y) == 1 and len(y) != len(X):
            lengths = y
        sizes = [len(X)] if lengths is None else _sizes(lengths, len(X))
        arrays = np.split(X, np.cumsum(sizes)[:-1])
        absent = np.isnan(X)
        if np.any(absent.any(axis=1) & ~absent.all(axis=1)):
            raise DataError(
                "X", "rows with some NaN", "rows without NaN, or all NaN: missing observations",
                "Make the whole row missing, or fill the entries that are.",
            )  # fmt: skip
        n_terms = None if reset else getattr(self.franchise_.data, "n_terms", None)
        return self.kind_.sequences(arrays, n_terms)

    def _new(self, X: Any, y: Any, lengths: Any) -> Sequences:
        """New sequences, prepared as those of the fit."""
        return self.kind_.same(self._sequences(X, y, lengths, reset=False))


def _same(data: Any, own: Any) -> bool:
    """Whether these are the observations of the fit, of which new ones are not independent."""
    pairs = ((data.offsets, own.offsets), (data.missing, own.missing), (data.values, own.values))
    return all(np.array_equal(one, other) for one, other in pairs)


def _sizes(lengths: Any, n: int) -> list[int]:
    """Lengths of sequences, checked."""
    sizes: list[int] = whole_numbers(
        "lengths", lengths, 0, n, remedy="The number of observations of each sequence."
    ).tolist()
    if not sizes or math.fsum(sizes) != n:
        raise DataError("lengths", f"a sum of {sum(sizes)}", f"{n}, the number of rows of X", "Correct them.")
    return sizes
