"""The hierarchical Pitman-Yor language model, any order: restaurants, a schedule and samples, wired."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.checks import flag, function, whole_number
from hdpkit.data import NGrams
from hdpkit.data.held_out import HeldOut, held_out
from hdpkit.errors import DataError, StateError
from hdpkit.franchise import Franchise, RestaurantView, Snapshot
from hdpkit.models.chain import ModelChain, SamplePlan
from hdpkit.models.generate import generate
from hdpkit.models.levels import moves_for
from hdpkit.models.predict import Posterior
from hdpkit.models.scores import Scores
from hdpkit.models.settings import ModelSettings
from hdpkit.models.text import first_data, more_data, sentences_of
from hdpkit.random import Seed, Streams
from hdpkit.record import Trace
from hdpkit.schedule import Scheduler
from hdpkit.schedule.sweeps import Progress

__all__ = ["NGramModel"]

Floats = npt.NDArray[np.float64]


class NGramModel:
    """A language model of n-grams: the hierarchical Pitman-Yor process of Teh (2006), any order.

    The distribution of the word after a context (w_-m, .., w_-1) is G ~ PY(discount, concentration, G'),
    where G' is that of the shorter context (w_-m+1, .., w_-1); above the empty context is the base measure.
    Seating is remembered as in Blunsom et al. (2009), unless another store is chosen.
    With ``order=2, discounts=0.0`` it is the hierarchical Dirichlet bigram model of Goldwater et al. (2006).

    Predictions are averages over samples of the posterior.

    Parameters
    ----------
    order : int
        Length of an n-gram, 1 to 100: at most order - 1 symbols of context and a word.
    discounts, concentrations : value, or sequence of ``order`` values, the root's (unigrams) first
        A value is a number (fixed), a prior (resampled; one hyperparameter for all restaurants of a level)
        or ``hk.Each(prior)`` (one for each restaurant). None: ``hk.Beta(1, 1)`` and ``hk.Gamma(1, 1)``.
    base : AtomicMeasure, optional
        What words are drawn from in the end. None: ``hk.Uniform()``, the words that occur (the end of the
        sentence is one). With more atoms than words (``hk.Uniform(V)``) or an open vocabulary, words that
        never occurred have a probability too.
    store : str or type
        How seating is remembered: "histogram", "explicit", or a SeatingStore class.
    start, end : hashable or None
        Symbols of the sentence's start (in contexts only) and end (predicted as a word); None: there is none.
    unknown : hashable or None
        A word that stands for words outside the vocabulary, if it is in the vocabulary: because it occurs in
        the training text, or because ``vocabulary`` has it.
    vocabulary : sequence, optional
        The words there may be; the end of the sentence is added. Other words of a training text become
        ``unknown``, or are refused where the vocabulary hasn't that.
    kernel : str
        As in `Franchise`.

    Raises
    ------
    ParameterError, DataError, RegistryError
        If the settings make no sense.
    """

    def __init__(
        self,
        order: int = 3,
        *,
        discounts: Any = None,
        concentrations: Any = None,
        base: Any = None,
        store: str | type = "histogram",
        start: Any = "<s>",
        end: Any = "</s>",
        unknown: Any = "<unk>",
        vocabulary: Any = None,
        kernel: str = "auto",
    ) -> None:
        self.settings = ModelSettings.of(
            order, discounts, concentrations, base, store, start, end, unknown, vocabulary, kernel
        )
        self._chain: ModelChain | None = None

    def __repr__(self) -> str:
        if self._chain is None:
            return f"<NGramModel: order {self.order}, not fitted>"
        n = len(self._chain.samples)
        return (
            f"<NGramModel: order {self.order}, {self.data.n_terms} words, {len(self.data)} tokens, "
            f"sweep {self.franchise.sweep}, {n} sample{'' if n == 1 else 's'}>"
        )

    @property
    def order(self) -> int:
        """Length of an n-gram."""
        return self.settings.order

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        text: Any,
        *,
        sweeps: int = 30,
        burn_in: int = 10,
        samples: int = 10,
        rng: Seed = None,
        moves: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the model to a text. Ctrl-C ends the run early and keeps what was done; `resume` goes on.

        Parameters
        ----------
        text : iterable of sequences, path, open file, or NGrams
            Sentences as lists of tokens; a file with a sentence a line (its path, "-" for standard input, or
            the open file; see `hdpkit.io.sentences.read_sentences`); or n-grams, which bring their own
            vocabulary and symbols of start and end.
        sweeps : int
            Sweeps of the sampler, burn-in included.
        burn_in : int
            Sweeps before the first sample.
        samples : int
            How many states are kept to predict from, spread evenly over the sweeps after the burn-in.
        rng : seed, SeedSequence, Generator or None
            Same seed, same model.
        moves : sequence of Move, optional
            The schedule. None: `TableGibbs`, and the updates of the hyperparameters that have priors.
        progress : function, optional
            Called with a `Tick` several times a second (for instance ``hk.ProgressBar()``).

        Returns
        -------
        NGramModel
            This model.
        """
        plan = SamplePlan.spread(0, sweeps, burn_in, samples)
        seed = Streams(rng).seed
        schedule = Scheduler(moves_for(self.settings.restaurant()) if moves is None else moves).moves
        _check_progress(progress)
        data = first_data(text, self.settings)
        franchise = Franchise(
            self.settings.restaurant(), data, store=self.settings.store, kernel=self.settings.kernel
        )
        chain = ModelChain(franchise, schedule, plan)
        for move in schedule:
            move.check(franchise)
        self._chain = chain
        chain.begin(seed, progress)
        return self

    def sweep(
        self, sweeps: int, *, samples: int | None = None, keep: bool = False, progress: Progress | None = None
    ) -> Self:
        """Run more sweeps, and take new samples from them.

        Parameters
        ----------
        sweeps : int
            How many more.
        samples : int, optional
            How many samples, spread evenly over these sweeps. By default as many as the last time, or one a
            sweep where that is less.
        keep : bool
            Whether the samples that are there stay. Otherwise they go as soon as there is a new one.
        progress : function, optional
            As in `fit`.
        """
        chain = self._fitted
        sweeps = whole_number("sweeps", sweeps, 1, remedy="Say how many more to run.")
        number = min(len(chain.plan.wanted), sweeps) if samples is None else samples
        plan = SamplePlan.spread(
            chain.franchise.sweep, sweeps, 0, number, list(chain.samples), flag("keep", keep)
        )
        _check_progress(progress)
        chain.go_on(plan, progress)
        return self

    def resume(self, *, progress: Progress | None = None) -> Self:
        """Run what is missing of an interrupted `fit`, `sweep` or `add`."""
        _check_progress(progress)
        self._fitted.resume(progress)
        return self

    def add(
        self,
        text: Any,
        *,
        sweeps: int = 30,
        burn_in: int = 10,
        samples: int = 10,
        progress: Progress | None = None,
    ) -> Self:
        """Add text to the training data, and run on from where the sampler stands.

        The old samples, which know nothing of the new text, go. New words join the vocabulary, unless one was
        given. Parameters as in `fit`.

        Raises
        ------
        DataError
            For text that makes no sense; the model stays as it is.
        """
        chain = self._fitted
        plan = SamplePlan.spread(chain.franchise.sweep, sweeps, burn_in, samples)
        _check_progress(progress)
        chain.extend(more_data(text, self.data, self.settings.unknown))
        chain.go_on(plan, progress)
        return self

    def remove(self, first: int, last: int) -> Self:
        """Take sentences first .. last - 1 out of the training data (the vocabulary stays).

        The samples, which know of them, go: call `sweep` before the next prediction.

        Parameters
        ----------
        first, last : int
            Numbers of sentences, from 0; ``last`` is excluded. The sentences after them move up.
        """
        self._fitted.discard(first, last)
        return self

    # ------------------------------------------------------------------ what there is

    @property
    def _fitted(self) -> ModelChain:
        if self._chain is None:
            raise StateError("model", "not fitted", "fitted", "Call model.fit(text).")
        return self._chain

    @property
    def franchise(self) -> Franchise:
        """The franchise in its present state."""
        return self._fitted.franchise

    @property
    def data(self) -> NGrams:
        """The training data."""
        data = self.franchise.data
        assert isinstance(data, NGrams)
        return data

    @property
    def vocabulary(self) -> tuple[Any, ...]:
        """The words, in the order of `distribution`; the end of the sentence is one."""
        return self.data.vocabulary

    @property
    def trace(self) -> Trace:
        """What the sweeps recorded: see `Scheduler.run`."""
        return self._fitted.trace

    @property
    def samples(self) -> list[Snapshot]:
        """The states that are predicted from."""
        return list(self._fitted.samples.values())

    @property
    def concentrations(self) -> Floats:
        """Posterior means of the concentrations by level, the root's first: shape (order,).

        Means over the sweeps after the burn-in; where each restaurant has its own, also over restaurants.
        """
        return self._means("concentration")

    @property
    def discounts(self) -> Floats:
        """Posterior means of the discounts by level: shape (order,). See `concentrations`."""
        return self._means("discount")

    @property
    def expected_tables(self) -> Floats:
        """Posterior means of the number of tables by level, the root's first: shape (order,)."""
        return self._means("n_tables")

    def _means(self, what: str) -> Floats:
        chain = self._fitted
        after = chain.trace["sweep"] > chain.plan.after if chain.trace.n_draws else np.zeros(0, bool)
        if not after.any():
            raise StateError(
                "model", f"sweep {chain.franchise.sweep}", "run beyond its burn-in", "Call sweep()."
            )
        keys = [f"{what}/{declaration.name}" for declaration in chain.franchise.declarations]
        return np.array([np.mean([np.mean(value) for value in chain.trace[key][after]]) for key in keys])

    def restaurant(self, context: Any = ()) -> RestaurantView:
        """Live view of the restaurant of a context that occurs.

        Parameters
        ----------
        context : sequence of symbols
            In reading order, at most order - 1 of them; () is the root.
        """
        franchise = self.franchise
        self.data.symbol_ids(context)
        symbols = context if isinstance(context, tuple | list) else (context,)
        if len(symbols) >= self.order:
            raise DataError(
                "context", context, f"at most {self.order - 1} symbols", "Leave out the farthest."
            )
        name = franchise.declarations[len(symbols)].name
        return franchise.restaurant(name, tuple(symbols) if symbols else None)

    def memory_bytes(self) -> int:
        """Bytes of the franchise, of the samples and of the words' numbers."""
        return int(
            self.franchise.memory_bytes()
            + sum(sample.memory_bytes() for sample in self.samples)
            + self.data.values.nbytes
            + self.data.offsets.nbytes
        )

    # ------------------------------------------------------------------ predictions

    @property
    def _posterior(self) -> Posterior:
        chain = self._fitted
        if not chain.samples:
            raise StateError(
                "model",
                "without samples",
                "one with samples",
                "Call sweep(n), or resume() after an interrupt.",
            )
        return Posterior(chain.franchise, self.samples, self._unknown_id)

    @property
    def _unknown_id(self) -> int:
        return -1 if self.settings.unknown is None else self.data.word_id(self.settings.unknown)

    def probability(self, word: Any, context: Any = ()) -> float:
        """P(word | context), averaged over the samples.

        Parameters
        ----------
        word : hashable
            One outside the vocabulary counts as ``unknown``, if the vocabulary has that; otherwise it has the
            probability that the base measure gives to words without an atom.
        context : sequence of symbols
            In reading order, of any length; the nearest order - 1 count. Nothing is added: write
            ``("<s>", ...)`` at the start of a sentence. A symbol that never occurred ends the context.

        Raises
        ------
        DataError
            If the word can't be predicted: outside the vocabulary, and nothing stands for it.
        """
        return self._posterior.probability(word, context)

    def distribution(self, context: Any = ()) -> Floats:
        """P(. | context) of every word of `vocabulary`, averaged over the samples: shape (V,).

        It sums to 1 but for `remainder`. ``context`` as in `probability`.
        """
        posterior = self._posterior
        return posterior.row(posterior.node(context))[0]

    def remainder(self, context: Any = ()) -> float:
        """Probability of all words outside `vocabulary`; 0 where the base measure has no others."""
        posterior = self._posterior
        return posterior.row(posterior.node(context))[1]

    def log_probability(self, sentence: Any) -> float:
        """Log probability of a sentence, its end included, in nats.

        The sum over tokens of log P(token | context), where each P is an average over the samples.

        Parameters
        ----------
        sentence : sequence of tokens

        Raises
        ------
        DataError
            If a token makes no sense or can't be predicted.
        """
        posterior = self._posterior
        text = held_out(self.data, [sentence], posterior.unknown)
        with np.errstate(divide="ignore"):
            return float(np.log(self._certain(posterior, text)).sum())

    def score(self, text: Any) -> Scores:
        """Score a text token by token.

        Parameters
        ----------
        text : iterable of sequences, path, open file, or NGrams
            As in `fit`. Nothing is added to the vocabulary. Words outside it are scored as in `probability`;
            one that can't be predicted has the log probability NaN and is left out of the perplexity.
        """
        posterior = self._posterior
        held = held_out(self.data, sentences_of(text), posterior.unknown)
        with np.errstate(divide="ignore"):
            log_probability = np.log(posterior.probabilities(held))
        words = np.fromiter((*self.data.vocabulary, *held.outside), dtype=object)
        n_sentences = len(held.offsets) - 1
        return Scores(
            log_probability=log_probability,
            word=words[held.ids],
            sentence=np.repeat(np.arange(n_sentences), np.diff(held.offsets)),
            is_unknown=held.ids >= self.data.n_terms,
            n_sentences=n_sentences,
        )

    def perplexity(self, text: Any) -> float:
        """exp(- mean log P(token | context)) of a text, the ends of its sentences included.

        Parameters
        ----------
        text
            As in `score`.

        Raises
        ------
        DataError
            If a word can't be predicted, which would make the figure look better than it is
            (``score(text).perplexity`` leaves such words out), or the text is empty.
        """
        posterior = self._posterior
        held = held_out(self.data, sentences_of(text), posterior.unknown)
        if len(held) == 0:
            raise DataError("text", "no token", "at least one token", "Check how it was read.")
        with np.errstate(divide="ignore"):
            return float(np.exp(-np.log(self._certain(posterior, held)).mean()))

    def _certain(self, posterior: Posterior, text: HeldOut) -> Floats:
        """Probabilities of all tokens, or a DataError for the first that can't be predicted."""
        probabilities = posterior.probabilities(text)
        missing = np.flatnonzero(np.isnan(probabilities))
        if len(missing):
            sentence = int(np.searchsorted(text.offsets, missing[0], side="right")) - 1
            word = text.outside[text.ids[missing[0]] - self.data.n_terms]
            position = int(missing[0] - text.offsets[sentence])
            raise posterior.unpredicted(f"sentence {sentence}, position {position}", word)
        return probabilities

    def sample(
        self, n: int = 1, *, rng: Seed = None, context: Any = None, max_length: int = 1000
    ) -> list[list[Any]]:
        """Draw sentences from the model.

        Each word is drawn from the distribution that `distribution` averages.

        Parameters
        ----------
        n : int
            Number of sentences.
        rng : seed, Generator or None
        context : sequence of symbols, optional
            What stands before the first word, in reading order; by default the start of a sentence.
        max_length : int
            A sentence that has not ended by then is cut.

        Returns
        -------
        list of lists
            Words without the symbols of start and end. A word outside the vocabulary is drawn from an open
            base; from another one it comes as ``unknown``, and where that is None there are no such words.
        """
        n = whole_number("n", n, 0, remedy="Number of sentences.")
        max_length = whole_number("max_length", max_length, 1, remedy="Number of words.")
        return generate(self._posterior, n, Streams(rng), context, max_length, self.settings.unknown)


def _check_progress(progress: Any) -> None:
    if progress is not None:
        function("progress", progress, remedy="For instance hk.ProgressBar().")
