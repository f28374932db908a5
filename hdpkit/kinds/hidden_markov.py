"""Hidden Markov models of sequences with an inferred number of states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from hdpkit.data import Sequences
from hdpkit.data.files.tables import Table, missing
from hdpkit.data.files.text_files import place_of
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.state_homes import PreviousDish, read_start
from hdpkit.kinds.kind import FiniteOrNot, setting
from hdpkit.kinds.listing import Nouns
from hdpkit.kinds.numbers import Numbers, as_counts
from hdpkit.kinds.values import Name, Names, NumberOrPrior, OneOf
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.gamma_poisson import GammaPoisson
from hdpkit.measures.non_conjugate import NonConjugate
from hdpkit.measures.normal_gamma import NormalGamma
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.vectors import central
from hdpkit.moves import (
    BaseMeasureParameters,
    BeamSampler,
    Concentration,
    DishParameters,
    ForwardBackward,
    Move,
    RootWeights,
    SplitMergeStates,
    Sticky,
    TableGibbs,
)

EMISSIONS = ("normal", "words", "poisson")
DECODERS = ("viterbi", "posterior")
_STRENGTH, _SHAPE, _SHARE = 0.05, 2.0, 0.25  # of the prior of normal emissions, as in `measure_of`
_TERMS = 1 << 24  # of words: states have a probability of each


@attrs.frozen(kw_only=True, eq=False, slots=False)
class HiddenMarkov(FiniteOrNot, Numbers):
    """Find the states of sequences in a table and save the run in a folder.

    DATA is a table (CSV, TSV or similar, plain or compressed) with a header and a row for each observation,
    in order. Columns without a name, such as an index, are left out.
    An empty cell, NA or NaN is a missing observation; with several columns either all cells of a row are
    missing or none. Rows of a sequence need not be next to each other, but must be in order.

    With numbers and counts the prior of the states has the scale of the data. --sticky favours staying in a
    state: with gamma(10,1) about ten steps are expected before the data are seen, and how long states last is
    inferred. The number of states is inferred, unless --states K is given.

    Ctrl-C stops the run, and hdpkit resume RUN continues it. hdpkit report RUN shows the states over time,
    transitions, and the parameters of the states. In Python hk.open_run(RUN) has the states, and
    hk.HiddenMarkovModel is the same model as an estimator.

    \b
    Examples:
      hdpkit hmm fit data.csv --column speed --sequence trip --out run
      hdpkit hmm fit data.csv --column x --column y --chains 4 --until readable --out run
      hdpkit hmm fit words.csv --column word --sequence line --emission words --out run
    """

    name = "hmm"
    nouns = Nouns("States", "state", "state", "observation", "sequence", "term")
    sections = (
        "mixture", "states", "transitions", "components", "weights", "together", "convergence",
        "reproduce",
    )  # fmt: skip
    argument = "data"
    schedule = "beam-sampler, table-gibbs:every=10, and updates of parameters"
    sampling: ClassVar[Mapping[str, Any]] = {"chains": 2}
    spoken: ClassVar[Mapping[str, Any]] = {
        "concentration": {"told": "Of the transitions of each state."},
        "n_components": {
            "option": "states",
            "told": "A finite model with this many states of equal weight. None: the number is inferred.",
        },
    }

    columns: tuple[str, ...] = setting(
        (), Names("NAME"), "Column of observations; several times for rows of numbers.  "
        "[default: all but the sequence]", option="column", of="commands", reads=True,
    )  # fmt: skip
    sequence: str | None = setting(
        None, Name(), "Column that says which sequence a row belongs to. None: all rows are one.",
        of="commands", reads=True,
    )  # fmt: skip
    emission: Any = setting(
        "normal",
        OneOf(EMISSIONS, "Or a base measure, for instance hk.GammaPoisson.", BaseMeasure, "base measure"),
        "What observations are: numbers, words (one column), or counts. "
        '"normal": independent normal distributions of the columns; their prior has the mean of the data '
        "without outliers, and guesses a quarter of their variance within a state. Columns that are constant "
        'or linear functions of others are left out with a warning, also of forecasts. "words": one column '
        "of terms, whole numbers from 0; their distribution in a state is Dirichlet(0.5). "
        '"poisson": counts, whose rates have the prior Gamma(1, 1 / mean). A measure, for instance '
        "`NormalInverseWishart`, is used as it is; a `DirichletMultinomial` takes one column of terms.",
    )  # fmt: skip
    sticky: Any = setting(
        None, NumberOrPrior(zero=True),
        "kappa, by which states favour themselves; 0: none. A number is fixed, a prior is resampled.",
        usual="gamma(10,1)",
    )  # fmt: skip
    start_concentration: Any = setting(
        None, NumberOrPrior(), "Of the first states of sequences. None: that of the transitions."
    )
    decoder: str = setting(
        "viterbi", OneOf(DECODERS, "Leave it out for the most probable path."),
        "What `predict` returns: the most probable path of a sequence, which is the standard, or the most "
        "probable state of each observation by itself.", of="estimators",
    )  # fmt: skip

    @classmethod
    def serves(cls, data: Any) -> bool:
        return isinstance(data, Sequences)

    @property
    def by_default(self) -> bool:
        return isinstance(self.emission, str) and self.emission == "normal"

    @property
    def of_terms(self) -> bool:
        """Whether observations are terms."""
        return self.emission == "words" or isinstance(self.emission, DirichletMultinomial)

    def sizes(self, data: Any) -> list[tuple[str, int]]:
        return [*super().sizes(data), (self.nouns.documents, data.n_sequences)]

    def said(self, data: Any) -> str:
        absent = int(data.missing.sum())
        gaps = f", {absent:,} of them missing" if absent else ""
        return f"{data.n_sequences:,} sequences, {len(data):,} observations{gaps}"

    def declare(self, data: Any) -> Restaurant:
        homes = PreviousDish(self.sticky, start_concentration=self.start_concentration)
        return self.restaurants(measure_of(self.emission, data), homes)

    def above(self) -> str | FixedWeights:
        """Sampled weights, or those of a finite model."""
        return "weights" if self.n_components is None else FixedWeights(self.n_components)

    def moves(self, restaurant: Restaurant) -> list[Move]:
        """Whole sequences, splits and merges, single sites now and then, parameters."""
        measure, rule = restaurant.measure, restaurant.each
        kept = isinstance(measure, NonConjugate)
        draws = (
            measure.conjugate and measure.supports("draw_parameters") and measure.supports("log_likelihood")
        )
        moves: list[Move] = [TableGibbs()]
        if draws or kept:
            moves = [
                BeamSampler() if self.n_components is None else ForwardBackward(),
                TableGibbs().every(10),
            ]
        if draws:
            moves.insert(1, SplitMergeStates().repeat(3))
        if not measure.conjugate:
            moves.append(DishParameters())
        if self.n_components is None:
            moves.append(RootWeights())
        start = read_start(getattr(rule, "start_concentration", None))
        priors = [one.hyperparameters[0].prior for one in restaurant.chain()] + [start[1] if start else None]
        if any(prior is not None for prior in priors):
            moves.append(Concentration())
        if not isinstance(getattr(rule, "sticky", 0.0), float | int):
            moves.append(Sticky())
        if any("/" not in name for name in measure.priors):
            moves.append(BaseMeasureParameters())
        return moves

    def start(self, init: Any, moves: Sequence[Move]) -> Any:
        """Of numbers one state, which splits divide: chains lose states of a random start only slowly."""
        # Of terms, which tell less each, a split is rarely accepted: 15,000 letters stayed in one state.
        splits = any(isinstance(getattr(one, "move", one), SplitMergeStates) for one in moves)
        is_auto = isinstance(init, str) and init == "auto"
        return "one" if is_auto and splits and self.n_components is None and not self.of_terms else init

    def sequences(self, arrays: Any, n_terms: int | None = None) -> Sequences:
        """Rows of numbers of each sequence as this emission takes them; ``n_terms`` are those of the fit."""
        width = arrays[0].shape[1]
        if self.of_terms:
            if width != 1:
                raise DataError("X", f"{width} columns", "one column of terms", "Give whole numbers.")
            last = max((float(np.nanmax(one, initial=0.0)) for one in arrays), default=0.0)
            found = getattr(self.emission, "n_terms", None) or int(max(last, 0.0)) + 1
            if found > _TERMS:
                raise DataError(
                    "X", f"term {found - 1}", f"terms numbered from 0 to {_TERMS - 1:,}",
                    "Number the terms without gaps, or give Sequences.from_arrays words.",
                )  # fmt: skip
            return Sequences.from_arrays([one[:, 0] for one in arrays], n_terms=n_terms or found)
        # A given measure over one column may take numbers, not vectors of length 1.
        mean = getattr(self.emission, "mean", getattr(self.emission, "shape", 0.0))
        if width == 1 and (isinstance(self.emission, str) or np.ndim(mean) == 0):
            arrays = [one[:, 0] for one in arrays]
        data = Sequences.from_arrays(arrays)
        counts = self.emission == "poisson" or isinstance(self.emission, GammaPoisson)
        return data.with_values(as_counts(data.values)) if counts else data

    def read(self, table: Table) -> Sequences:
        """The sequences of a table; an error names the line and the column of a cell that is none."""
        names, emission = table.names, self.emission
        key = None if self.sequence is None else table.column("sequence", self.sequence)
        chosen = table.columns("column", self.columns, key)
        if emission == "words" and len(chosen) != 1:
            raise ParameterError(
                "column", [names[i] for i in chosen], "one column of words", "Give --column."
            )
        found: dict[str, list[Any]] = {}
        for number, row in table.rows(chosen if key is None else [*chosen, key]):
            cells = [_value(table, number, i, cell, emission) for i, cell in zip(chosen, row, strict=False)]
            absent = [cell is None for cell in cells]
            if any(absent) and not all(absent):
                raise DataError(
                    table.place(number), f"no {names[chosen[absent.index(True)]]}",
                    "rows with all columns, or with none", "Fill the cell, or empty the others.",
                )  # fmt: skip
            value = None if absent[0] else cells[0] if len(cells) == 1 else cells
            found.setdefault("" if key is None else str(row[-1]).strip(), []).append(value)
        if not found:
            raise DataError(place_of(table.path), "no rows", "a row for each observation", "Check the path.")
        keys = list(found) if key is not None else None
        made = Sequences.from_arrays(list(found.values()), names=keys, label=self.sequence or "sequence")
        if made.values.ndim == 2:
            made = attrs.evolve(made, columns=tuple(names[i] for i in chosen))
        return made


def measure_of(emission: str | BaseMeasure, data: Sequences) -> BaseMeasure:
    """The base measure of states, as the setting ``emission`` says; data give the prior its scale."""
    if isinstance(emission, BaseMeasure):
        return emission
    if emission == "words":
        return DirichletMultinomial(0.5)
    there = np.asarray(data.values[~data.missing], dtype=np.float64)
    if emission == "poisson":
        mean = there.mean(axis=0)
        return GammaPoisson(1.0, 1.0 / np.where(mean > 0.0, mean, 1.0))
    there = central(there)
    variance = there.var(axis=0)
    variance = np.where((variance > 0.0) & np.isfinite(variance), variance, 1.0)
    return NormalGamma(there.mean(axis=0), _STRENGTH, _SHAPE, _SHAPE * _SHARE * variance)


def _value(table: Table, number: int, column: int, cell: Any, emission: str) -> Any:
    """An observation, None if it is missing."""
    if missing(cell):
        return None
    if emission == "words":
        return str(cell).strip()
    value = table.number(cell)
    whole = emission != "poisson" or (value >= 0 and value == np.floor(value))
    if math.isfinite(value) and whole:
        return int(value) if emission == "poisson" else value
    wanted = "a finite number" if emission == "normal" else "a count, a whole number from 0"
    remedy = "Correct the cell, leave it empty if it is missing, or choose other columns."
    raise table.refused(number, column, cell, wanted, remedy)
