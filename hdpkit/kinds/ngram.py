"""`NGramModel`: the hierarchical Pitman-Yor language model of any order, and its chain."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import LARGEST, MOST_SAMPLES, absolute_path, flag, function, instance, whole_number
from hdpkit.data import NGrams
from hdpkit.data.files.sentences import write_arpa
from hdpkit.data.ngrams import HeldOut, held_out
from hdpkit.errors import CorruptRunError, DataError, LockedRunError, RunError, StateError
from hdpkit.files import reading
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.sample import SeatingSample
from hdpkit.franchise.view import RestaurantView
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.language import Language, first_data, more_data, sentences_of
from hdpkit.kinds.predict import Posterior, Scores, arpa_rows, generate
from hdpkit.moves import Move
from hdpkit.moves.protocol import check_move
from hdpkit.random import STARTS, RandomStream, Seed, Streams
from hdpkit.run.collect import Checkpoint, check_on_interrupt
from hdpkit.run.run_folder import RUN, RunFolder, check_free, holding
from hdpkit.run.runs import Run, Scheduler, open_run
from hdpkit.run.samples import Samples
from hdpkit.run.sweeps import Progress
from hdpkit.run.trace import Draw, Trace


class NGramModel:
    """A language model of n-grams: the hierarchical Pitman-Yor process of Teh (2006), any order.

    The distribution of the word after a context ``(w_-m, .., w_-1)`` is G ~ PY(discount, concentration, G'),
    where G' is that of the shorter context ``(w_-m+1, .., w_-1)``; the empty context draws from the base
    measure. By default seating is stored as in Blunsom et al. (2009). With ``order=2, discounts=0.0`` it is
    the hierarchical Dirichlet bigram model of Goldwater et al. (2006).

    Predictions are averages over samples of the posterior. Raises a ParameterError or DataError or
    RegistryError if the settings are invalid.

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
            Sentences as lists of tokens; a file with a sentence per line (a path, "-" for standard input, or
            the open file; see `hdpkit.io.read_sentences`); or n-grams, which have their own vocabulary.
        sweeps, burn_in : int
            Sweeps of the sampler, and those of them before the first sample.
        samples : int
            Number of states to keep for predictions, spread evenly over the sweeps after the burn-in.
        rng : seed, SeedSequence, Generator or None
            The same seed gives the same model.
        moves : sequence of Move, optional
            None: `TableGibbs`, and the updates of the hyperparameters that have priors.
        folder : path, optional
            A new folder for the run with its samples: `NGramModel.open` opens the model, also after an
            interrupted fit, and `resume` continues bit for bit.
        checkpoint : Checkpoint, optional
            How often the state is saved in the folder; by default every 60 seconds.
        progress : function, optional
            Called with a `Tick` several times a second (for instance ``hk.ProgressBar()``).
        on_interrupt : "return" or "raise"
            What Ctrl-C does: end the run early and warn (`hk.errors.InterruptedRunWarning`), or raise
            KeyboardInterrupt; the model keeps the completed sweeps.
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

        Warns if samples are missing because their files were removed. Raises a RunError if there is no
        language model in the folder; a CorruptRunError or RunVersionError if a file fails its checks.

        Parameters
        ----------
        folder : path
            The folder that was given to `fit` or `add`.
        allow : iterable of str, class or function
            Code of your own that may be imported: see `open_run`.
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
            Spread evenly over these sweeps. By default as many as the last time, but at most one per sweep.
        keep : bool
            Whether to keep the existing samples. Otherwise they are removed as soon as there is a new one.
        progress, on_interrupt
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
        """Run the remaining sweeps of an interrupted `fit`, `sweep` or `add`; a StateError if there are none.

        Parameters
        ----------
        progress, on_interrupt
            As in `fit`.
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
        unless a vocabulary was given. Raises a DataError for invalid text; the model doesn't change.

        Parameters
        ----------
        text, sweeps, burn_in, samples, checkpoint, progress, on_interrupt
            As in `fit`, for the additional sweeps.
        folder : path, optional
            A new folder for the continued run; None: in memory.
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

        Raises a DataError if the word can't be predicted: it is outside the vocabulary, and there is no
        unknown word.

        Parameters
        ----------
        word : hashable
            A word outside the vocabulary counts as ``unknown`` if that is in the vocabulary; otherwise it has
            the probability that the base measure gives to words without an atom.
        context : sequence of symbols
            In reading order, of any length; only the last order - 1 are used. Nothing is added: write
            ``("<s>", ...)`` at the start of a sentence. A symbol that never occurred ends the context.
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

        The sum over tokens of log P(token | context), where each P is an average over the samples. Raises a
        DataError if a token is invalid or can't be predicted.

        Parameters
        ----------
        sentence : sequence of tokens
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

        Raises a DataError if the text is empty, or a word can't be predicted: to leave it out, as
        ``score(text).perplexity`` does, would make the perplexity too low.

        Parameters
        ----------
        text
            As in `score`.
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
        """Draw sentences from the model, each word from the distribution that `distribution` averages.

        They are lists of words without the symbols of start and end. Words outside the vocabulary are drawn
        as strings with an open base; with another base they appear as ``unknown``, or don't occur if that is
        None.

        Parameters
        ----------
        n : int
            Number of sentences.
        rng : seed, Generator or None
        context : sequence of symbols, optional
            The words before the first one, in reading order; by default the start of a sentence.
        max_length : int
            Longer sentences are cut at this length.
        """
        n = whole_number("n", n, 0, remedy="Number of sentences.")
        max_length = whole_number("max_length", max_length, 1, remedy="Number of words.")
        return generate(self._posterior, n, Streams(rng), context, max_length, self.settings.unknown)

    def export_arpa(self, path: str | os.PathLike[str]) -> None:
        r"""Write the model as a back-off model in ARPA format, for other tools.

        Every n-gram that occurs has its probability, averaged over the samples; back-off weights are such
        that probabilities given a context sum to one. For a single sample this equals the model. An average
        of several samples is not a back-off model: then only the total probability of the words unseen in a
        context is right. Start, end and unknown word are written as ``<s>``, ``</s>`` and ``<unk>``, which
        means all words outside the vocabulary if there is no unknown word. Raises a DataError if the data are
        pairs, or a word isn't a string, contains blanks, or is one of the symbols; a StorageError if the file
        can't be written.

        Parameters
        ----------
        path : path
            Compressed with gzip if the name ends in ".gz".
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


def spread(begun: int, sweeps: Any, burn_in: Any, samples: Any) -> Samples:
    """Samples spread evenly over the sweeps after ``begun`` and the burn-in, including the last one."""
    sweeps = whole_number("sweeps", sweeps, 1, LARGEST - begun, remedy="Say how many to run now.")
    burn_in = whole_number(
        "burn_in", burn_in, 0, sweeps - 1, remedy="At least one sweep must follow the burn-in."
    )
    left = sweeps - burn_in
    samples = whole_number(
        "samples", samples, 1, min(left, MOST_SAMPLES),
        remedy="At most one per sweep after the burn-in: run more sweeps.",
    )  # fmt: skip
    after = begun + burn_in
    return Samples(after, at=[after + (i + 1) * left // samples for i in range(samples)])


class ModelChain:
    """A franchise over n-grams with its schedule, the trace of all sweeps, and samples."""

    def __init__(
        self, franchise: Franchise, moves: Iterable[Move], settings: Language, allow: Any = ()
    ) -> None:
        self.franchise = franchise
        self.scheduler = Scheduler(moves)
        self.trace = Trace()
        self.rule, self.target = Samples(0), 0  # when samples are taken, and the last sweep
        # By sweep; those up to ``rule.after`` are removed when there is a new one.
        self.samples: dict[int, Snapshot] = {}
        self.lost: list[int] = []  # sweeps of samples without files
        self.folder: Path | None = None
        self.changes = 0
        self._settings = settings
        self._allow = allow

    # ------------------------------------------------------------------ sweeps

    def begin(
        self, rule: Samples, target: int, seed: int | None, init: Any, folder: Path | None = None, **how: Any
    ) -> None:
        """Begin a run in memory or in a new folder, up to the target; ``how`` is as in `Scheduler.run`."""
        sweeps = target - (self.franchise.sweep if init is None else 0)
        begun = partial(self.scheduler.run, self.franchise, sweeps, seed, init)
        if folder is None:
            self._run(rule, target, partial(begun, **how))
            return
        with holding(folder, {"model": self._settings.as_data(), "sentences": {"changes": self.changes}}):
            self.folder = folder
            self._run(rule, target, partial(begun, samples=rule, folder=folder, **how))

    def go_on(self, rule: Samples, target: int, **how: Any) -> None:
        """Run more sweeps, in the folder if there is one."""
        if self.folder is None:
            self.begin(rule, target, None, None, **how)
            return
        run = open_run(self.folder, self._allow)
        (stands,) = run.sweeps
        if stands is not None and stands > self.franchise.sweep:
            raise StateError(
                "folder", f"at sweep {stands}", f"at sweep {self.franchise.sweep}, as this model",
                "The run was continued elsewhere: open it again with NGramModel.open(folder).",
            )  # fmt: skip
        left = None if stands in (None, target) else target - stands
        self._run(rule, target, partial(run.resume, left, samples=rule, franchise=self.franchise, **how))
        self.lost = [sweep for sweep in self.lost if sweep > rule.after]

    def resume(self, **how: Any) -> None:
        """Run the remaining sweeps up to the target."""
        here, streams = self.franchise.sweep, self.franchise.streams
        rule, target = self.rule, self.target
        if self.folder is None and here == 0 and streams is not None:  # perhaps nothing is seated yet
            self.begin(rule, target, streams.seed, "sequential", **how)
            return
        if rule.wanted(here) and here not in self.samples:
            # The run was ended between the sweep and the taking of its sample.
            self.samples[here] = self.franchise.snapshot()
        if self.folder is not None or here < target:
            self.go_on(rule, target, **how)
        else:
            self.trace.interrupted = False

    def _run(self, rule: Samples, target: int, sweeps: Callable[..., Any]) -> None:
        before = self.rule, self.target
        self.rule, self.target = rule, target
        try:
            self.trace = joined(self.trace, sweeps(callbacks=[self._swept]))
        except (LockedRunError, StateError):  # before any sweep
            self.rule, self.target = before
            raise
        except (RunError, KeyboardInterrupt) as error:
            if getattr(error, "trace", None) is not None:
                self.trace = joined(self.trace, error.trace)  # type: ignore[union-attr]
            raise

    def _swept(self, draw: Draw) -> None:
        if self.rule.wanted(draw.sweep):
            sample = draw.franchise.snapshot()
            self.samples = {sweep: one for sweep, one in self.samples.items() if sweep > self.rule.after}
            self.samples[draw.sweep] = sample

    # ------------------------------------------------------------------ adding and removing data

    def extend(self, data: NGrams) -> None:
        """Replace the data by longer data that begin with them; samples given the old data are dropped."""
        self.franchise.extend(data, self._source())
        self._changed()

    def discard(self, first: int, last: int) -> None:
        """Remove sentences first .. last - 1; samples given them are dropped."""
        self.franchise.discard(first, last, self._source())
        self._changed()

    def _changed(self) -> None:
        self.samples, self.lost = {}, []
        self.folder = None  # its run is over the old data

    def _source(self) -> RandomStream:
        """A new stream for each change, also for a change that failed and is tried again."""
        streams = self.franchise.streams
        assert streams is not None  # it has been run
        self.changes += 1
        return streams.source(STARTS, self.franchise.sweep, self.changes)


def joined(before: Trace, after: Trace) -> Trace:
    """One trace: the sweeps of the first before the beginning of the second, and then the second."""
    n = before.n_draws
    if n and after.n_draws:
        begun = after.columns()["sweep"][0]
        n = sum(sweep < begun for sweep in before.columns()["sweep"])
    if n:
        last = before.columns()["sweep"][n - 1]
        for key, values in before.columns().items():
            after.columns()[key] = [*values[:n], *after.columns().get(key, [])]
        after.records()[:0] = [record for record in before.records() if record.sweep <= last]
        after.exact = before.exact and after.exact
    return after


def opened(run: Run, settings: Language, changes: int, allow: Any) -> ModelChain:
    """The chain in a folder at its newest checkpoint; `resume` draws samples of later sweeps again."""
    folder, data = run.folder, run.data
    trace: Any = run.trace
    files = RunFolder.open(folder)
    state = files.chain(0).state()
    # Without a state the run ended before its first checkpoint.
    franchise = settings.franchise(data) if state is None else run.franchise()
    of_words = isinstance(data, NGrams) and isinstance(trace, Trace)
    if not (of_words and data.order == len(franchise.declarations) == settings.order):
        raise CorruptRunError(
            str(folder), f"{data!r}, order {settings.order}", "a run of the model in it",
            "Files of several folders were mixed: restore copies of them.",
        )  # fmt: skip
    chain = ModelChain(franchise, run.moves, settings, allow)
    chain.changes, chain.folder, chain.trace = changes, folder, trace
    rule = None if state is None else state.rule
    chain.rule = Samples(**files.settings.samples or {"after": 0}) if rule is None else rule
    chain.target = files.settings.target if state is None else state.target
    for file in files.chain(0).samples(state):
        sample = file.read()
        with reading(file.path):
            if not isinstance(sample, SeatingSample):
                raise ValueError("a sample of latent dishes")
            chain.samples[file.sweep] = Snapshot(franchise, sample.arrays)
    chain.lost = [] if state is None else sorted(set(state.samples).difference(chain.samples))
    if chain.lost:
        warnings.warn(
            f"there are no samples of the sweeps {chain.lost}: their files were removed; sweep() draws new "
            "ones",
            UserWarning,
            stacklevel=4,
        )
    return chain
