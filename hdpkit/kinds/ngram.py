"""`NGramModel`: the hierarchical Pitman-Yor language model of any order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import absolute_path, flag, function, instance, whole_number
from hdpkit.data import NGrams
from hdpkit.data.files.arpa import write_arpa
from hdpkit.data.ngrams import HeldOut, held_out
from hdpkit.errors import DataError, RunError, StateError
from hdpkit.files import reading
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.view import RestaurantView
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.chain import ModelChain, opened, spread
from hdpkit.kinds.language import Language, first_data, more_data, sentences_of
from hdpkit.kinds.predict import Posterior, Scores, arpa_rows, generate
from hdpkit.moves.protocol import check_move
from hdpkit.random import Seed, Streams
from hdpkit.run.collect import Checkpoint
from hdpkit.run.interrupt import check_on_interrupt
from hdpkit.run.run_folder import RUN, check_free
from hdpkit.run.runs import open_run
from hdpkit.run.scheduler import Scheduler
from hdpkit.run.sweeps import Progress
from hdpkit.run.trace import Trace


class NGramModel:
    """A language model of n-grams: the hierarchical Pitman-Yor process of Teh (2006), any order.

    The distribution of the word after a context ``(w_-m, .., w_-1)`` is G ~ PY(discount, concentration, G'),
    where G' is that of the shorter context ``(w_-m+1, .., w_-1)``; the empty context draws from the base
    measure. By default seating is stored as in Blunsom et al. (2009). With ``order=2, discounts=0.0`` it is
    the hierarchical Dirichlet bigram model of Goldwater et al. (2006).

    Predictions are averages over samples of the posterior.

    Parameters
    ----------
    order : int
        Length of an n-gram, 1 to 100: at most order - 1 symbols of context and a word.
    discounts, concentrations : value, or sequence of ``order`` values, the root's (unigrams) first
        A value is a number (fixed), a prior (resampled; one hyperparameter for all restaurants of a level)
        or ``hk.Each(prior)`` (one for each restaurant). None: ``hk.Beta(1, 1)`` and ``hk.Gamma(1, 1)``.
    base : AtomicMeasure, optional
        The distribution that the empty context draws words from. None: ``hk.Uniform()``, the words that occur
        (the end of the sentence is one). With more atoms than words (``hk.Uniform(V)``) or an open
        vocabulary, words that never occurred have a probability too.
    store : str or type
        How seating is stored: "histogram", "explicit", or a SeatingStore class.
    start, end : hashable or None
        Symbols for the start of a sentence (in contexts only) and its end (predicted as a word); None: no
        symbol.
    unknown : hashable or None
        A word that replaces words outside the vocabulary, if it is itself in the vocabulary: because it
        occurs in the training text, or because ``vocabulary`` contains it.
    vocabulary : sequence, optional
        The possible words; the end of the sentence is added. Other words of a training text become
        ``unknown``, or raise an error if the vocabulary doesn't include it.
    kernel : str
        As in `Franchise`.

    Raises
    ------
    ParameterError, DataError, RegistryError
        If the settings are invalid.
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
        self.settings = Language.of(
            order=order, discounts=discounts, concentrations=concentrations, base=base, store=store,
            start=start, end=end, unknown=unknown, vocabulary=vocabulary, kernel=kernel,
        )  # fmt: skip
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
        folder: str | os.PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
        on_interrupt: str = "return",
    ) -> Self:
        """Fit the model to a text. Ctrl-C ends the run and keeps the completed sweeps; `resume` continues.

        Parameters
        ----------
        text : iterable of sequences, path, open file, or NGrams
            Sentences as lists of tokens; a file with a sentence per line (its path, "-" for standard input,
            or the open file; see `hdpkit.io.read_sentences`); or n-grams, which have their own
            vocabulary and symbols of start and end.
        sweeps : int
            Sweeps of the sampler, including burn-in.
        burn_in : int
            Sweeps before the first sample.
        samples : int
            Number of states to keep for predictions, spread evenly over the sweeps after the burn-in.
        rng : seed, SeedSequence, Generator or None
            The same seed gives the same model.
        moves : sequence of Move, optional
            The schedule. None: `TableGibbs`, and the updates of the hyperparameters that have priors.
        folder : path, optional
            Save the run with its samples in this folder. `NGramModel.open` opens the model, also after an
            interrupted fit, and `resume` continues bit for bit. The folder must not contain a run.
        checkpoint : Checkpoint, optional
            How often the state is saved in the folder; by default every 60 seconds.
        progress : function, optional
            Called with a `Tick` several times a second (for instance ``hk.ProgressBar()``).
        on_interrupt : "return" or "raise"
            What Ctrl-C does: "return" ends the run early and warns (`hk.errors.InterruptedRunWarning`);
            "raise" raises KeyboardInterrupt, and the model keeps the completed sweeps.
        """
        rule = spread(0, sweeps, burn_in, samples)
        seed = Streams(rng).seed
        schedule = Scheduler(self.settings.moves(self.settings.declare()) if moves is None else moves).moves
        how = _how(progress, on_interrupt, folder, checkpoint)
        data = first_data(text, self.settings)
        franchise = self.settings.franchise(data)
        for move in schedule:
            check_move(move, franchise)
        before, chain = self._chain, ModelChain(franchise, schedule, self.settings)
        self._chain = chain
        try:
            chain.begin(rule, sweeps, seed, "sequential", **how)
        except BaseException:
            if chain.franchise.sweep == 0:  # nothing to keep
                self._chain = before
            raise
        return self

    @classmethod
    def open(cls, folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Self:
        """Open the folder of a model in the state of its newest checkpoint, including samples.

        Parameters
        ----------
        folder : path
            The folder that was given to `fit` or `add`.
        allow : iterable of str, class or function
            Code of your own that may be imported: see `open_run`.

        Raises
        ------
        RunError
            If there is no language model in the folder.
        CorruptRunError, RunVersionError
            If a file fails its checks.

        Warns
        -----
        UserWarning
            If samples are missing because their files were removed.
        """
        where = absolute_path("folder", folder, remedy="What was given to fit as folder.")
        run = open_run(where, allow)
        kind = kind_of_run(run)
        if not isinstance(kind, Language) or "model" not in run.about:
            raise RunError(
                "folder", str(where), "the run folder of an NGramModel",
                "hk.open_run opens runs that were begun by a Scheduler.",
            )  # fmt: skip
        with reading(where / RUN):
            settings = attrs.asdict(kind, recurse=False)
            fixed = settings.pop("vocabulary") is not None
            model = cls(**settings, vocabulary=run.data.vocabulary if fixed else None)
            changes = whole_number("changes", run.about["sentences"]["changes"])
        model._chain = opened(run, model.settings, changes, run.allowed)
        return model

    def sweep(
        self,
        sweeps: int,
        *,
        samples: int | None = None,
        keep: bool = False,
        progress: Progress | None = None,
        on_interrupt: str = "return",
    ) -> Self:
        """Run more sweeps, and take new samples from them.

        Parameters
        ----------
        sweeps : int
            Number of additional sweeps.
        samples : int, optional
            Number of samples, spread evenly over these sweeps. By default the same as the last time, but at
            most one per sweep.
        keep : bool
            Whether to keep the existing samples. Otherwise they are removed as soon as there is a new one.
        progress : function, optional
            As in `fit`.
        on_interrupt : "return" or "raise"
            As in `fit`.
        """
        chain = self._fitted
        sweeps = whole_number("sweeps", sweeps, 1, remedy="Say how many more to run.")
        begun = chain.franchise.sweep
        number = min(len(chain.rule.sweeps(chain.target)), sweeps) if samples is None else samples
        rule = spread(begun, sweeps, 0, number)
        if flag("keep", keep):
            rule = attrs.evolve(rule, after=chain.rule.after)
        chain.go_on(rule, begun + sweeps, **_how(progress, on_interrupt))
        return self

    def resume(self, *, progress: Progress | None = None, on_interrupt: str = "return") -> Self:
        """Run the remaining sweeps of an interrupted `fit`, `sweep` or `add`.

        Parameters
        ----------
        progress : Progress, optional
            Called with the progress.
        on_interrupt : str
            "return" keeps the completed sweeps after Ctrl-C; "raise" raises KeyboardInterrupt.

        Raises
        ------
        StateError
            If no sweeps remain.
        """
        self._fitted.resume(**_how(progress, on_interrupt))
        return self

    def add(
        self,
        text: Any,
        *,
        sweeps: int = 30,
        burn_in: int = 10,
        samples: int = 10,
        folder: str | os.PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
        on_interrupt: str = "return",
    ) -> Self:
        """Add text to the training data, and continue sampling from the current state.

        The old samples don't include the new text and are removed. New words are added to the vocabulary,
        unless a vocabulary was given.

        Parameters
        ----------
        text : iterable of sequences, path, open file, or NGrams
            As in `fit`.
        sweeps, burn_in, samples, checkpoint, progress, on_interrupt
            As in `fit`, for the additional sweeps.
        folder : path, optional
            A new folder for the continued run; None: in memory.

        Raises
        ------
        DataError
            For invalid text; the model doesn't change.
        """
        chain = self._fitted
        begun = chain.franchise.sweep
        rule = spread(begun, sweeps, burn_in, samples)
        how = _how(progress, on_interrupt, folder, checkpoint)
        chain.extend(more_data(text, self.data, self.settings.unknown))
        chain.begin(rule, begun + sweeps, None, None, **how)
        return self

    def remove(self, first: int, last: int) -> Self:
        """Remove sentences first .. last - 1 from the training data (not from the vocabulary).

        The samples include these sentences and are removed: call `sweep` before the next prediction. The
        folder doesn't change, and the model is no longer saved in it.

        Parameters
        ----------
        first, last : int
            Numbers of sentences, from 0; ``last`` is excluded. Later sentences get lower numbers.
        """
        self._fitted.discard(first, last)
        return self

    # ------------------------------------------------------------------ attributes

    @property
    def _fitted(self) -> ModelChain:
        if self._chain is None:
            raise StateError("model", "not fitted", "fitted", "Call model.fit(text).")
        return self._chain

    @property
    def franchise(self) -> Franchise:
        """The franchise in its current state."""
        return self._fitted.franchise

    @property
    def data(self) -> NGrams:
        """The training data."""
        data = self.franchise.data
        assert isinstance(data, NGrams)
        return data

    @property
    def folder(self) -> Path | None:
        """The folder with the run of the current data, if any."""
        return self._fitted.folder

    @property
    def vocabulary(self) -> tuple[Any, ...]:
        """The words, in the order of `distribution`; the end of the sentence is one."""
        return self.data.vocabulary

    @property
    def trace(self) -> Trace:
        """The trace of the sweeps: see `Scheduler.run`."""
        return self._fitted.trace

    @property
    def samples(self) -> list[Snapshot]:
        """The states that predictions average."""
        return list(self._fitted.samples.values())

    @property
    def missing_samples(self) -> list[int]:
        """Sweeps whose samples are missing because their files are no longer in the folder."""
        return list(self._fitted.lost)

    @property
    def concentrations(self) -> Floats:
        """Posterior means of the concentrations by level, the root's first: shape (order,).

        Means over the sweeps after the burn-in and, if each restaurant has its own, over restaurants.
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
        after = chain.trace["sweep"] > chain.rule.after if chain.trace.n_draws else np.zeros(0, bool)
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
            A word outside the vocabulary counts as ``unknown`` if that is in the vocabulary; otherwise it has
            the probability that the base measure gives to words without an atom.
        context : sequence of symbols
            In reading order, of any length; only the last order - 1 are used. Nothing is added: write
            ``("<s>", ...)`` at the start of a sentence. A symbol that never occurred ends the context.

        Raises
        ------
        DataError
            If the word can't be predicted: it is outside the vocabulary, and there is no unknown word.
        """
        return self._posterior.probability(word, context)

    def distribution(self, context: Any = ()) -> Floats:
        """P(. | context) of every word of `vocabulary`, averaged over the samples: shape (V,).

        The sum is 1 - `remainder`. ``context`` as in `probability`.
        """
        posterior = self._posterior
        return posterior.row(posterior.node(context))[0]

    def remainder(self, context: Any = ()) -> float:
        """Probability of all words outside `vocabulary`; 0 if the base measure has no others."""
        posterior = self._posterior
        return posterior.row(posterior.node(context))[1]

    def log_probability(self, sentence: Any) -> float:
        """Log probability of a sentence including its end, in nats.

        The sum over tokens of log P(token | context), where each P is an average over the samples.

        Parameters
        ----------
        sentence : sequence of tokens

        Raises
        ------
        DataError
            If a token is invalid or can't be predicted.
        """
        posterior = self._posterior
        text = held_out(self.data, [sentence], posterior.unknown)
        return float(self._certain(posterior, text).sum())

    def score(self, text: Any) -> Scores:
        """Score a text token by token.

        Parameters
        ----------
        text : iterable of sequences, path, open file, or NGrams
            As in `fit`. The vocabulary doesn't change. Words outside it are scored as in `probability`; a
            word that can't be predicted has log probability NaN and is left out of the perplexity.
        """
        posterior = self._posterior
        held = held_out(self.data, sentences_of(text), posterior.unknown)
        log_probability = posterior.log_probabilities(held)
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
        """exp(- mean log P(token | context)) of a text, including the ends of its sentences.

        Parameters
        ----------
        text
            As in `score`.

        Raises
        ------
        DataError
            If a word can't be predicted, since leaving it out would make the perplexity too low
            (``score(text).perplexity`` leaves such words out), or the text is empty.
        """
        posterior = self._posterior
        held = held_out(self.data, sentences_of(text), posterior.unknown)
        if len(held) == 0:
            raise DataError("text", "no token", "at least one token", "Check how it was read.")
        with np.errstate(over="ignore"):
            return float(np.exp(-self._certain(posterior, held).mean()))

    def _certain(self, posterior: Posterior, text: HeldOut) -> Floats:
        """Log probabilities of all tokens; raises a DataError for the first that can't be predicted."""
        log_probabilities = posterior.log_probabilities(text)
        missing = np.flatnonzero(np.isnan(log_probabilities))
        if len(missing):
            sentence = int(np.searchsorted(text.offsets, missing[0], side="right")) - 1
            word = text.outside[text.ids[missing[0]] - self.data.n_terms]
            position = int(missing[0] - text.offsets[sentence])
            raise posterior.unpredicted(f"sentence {sentence}, position {position}", word)
        return log_probabilities

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
            The words before the first one, in reading order; by default the start of a sentence.
        max_length : int
            Longer sentences are cut at this length.

        Returns
        -------
        list of lists
            Words without the symbols of start and end. With an open base, words outside the vocabulary are
            drawn as strings. With another base they appear as ``unknown``; if that is None, they don't
            occur.
        """
        n = whole_number("n", n, 0, remedy="Number of sentences.")
        max_length = whole_number("max_length", max_length, 1, remedy="Number of words.")
        return generate(self._posterior, n, Streams(rng), context, max_length, self.settings.unknown)

    def export_arpa(self, path: str | os.PathLike[str]) -> None:
        r"""Write the model as a back-off model in ARPA format, for other tools.

        Every n-gram that occurs has its probability, averaged over the samples, and back-off weights are
        such that probabilities given a context sum to one. For a single sample this equals the model. An
        average of several samples is not a back-off model: then only the total probability of the words
        unseen in a context is right, not that of each word. Start, end and unknown word are written as
        ``<s>``, ``</s>`` and ``<unk>``. If the base measure has words outside the vocabulary and there is no
        unknown word, ``<unk>`` means all of them.

        Parameters
        ----------
        path : path
            Compressed with gzip if the name ends in ".gz".

        Raises
        ------
        DataError
            If the training data are pairs, or a word isn't a string, contains blanks, or is one of the
            symbols.
        StorageError
            If the file can't be written.
        """
        write_arpa(path, arpa_rows(self._posterior, self.settings.unknown))


def _how(progress: Any, on_interrupt: Any, folder: Any = None, checkpoint: Any = None) -> dict[str, Any]:
    """How sweeps are run, checked before any input is read."""
    if progress is not None:
        function("progress", progress, remedy="For instance hk.ProgressBar().")
    how = {"progress": progress, "on_interrupt": on_interrupt}
    check_on_interrupt(on_interrupt)
    if checkpoint is not None:
        remedy = "hk.Checkpoint(seconds=60.0)."
        instance("checkpoint", checkpoint, Checkpoint, "an hk.Checkpoint", remedy=remedy)
        how["checkpoint"] = checkpoint
    if folder is not None:
        how["folder"] = absolute_path("folder", folder, remedy="Name a new folder.")
        check_free(how["folder"])
    return how
