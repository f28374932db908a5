"""Kinds of models: data, declaration, moves, settings, results and words of one field, in one class.

Estimators, commands, run folders, pages and exports are written once, over kinds.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from hdpkit.allowed import Allowed
from hdpkit.data.files.tables import Columns, rows_of
from hdpkit.errors import ParameterError, RunError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.listing import Listing, Nouns, list_parameters
from hdpkit.kinds.values import NumberOrPrior, Values, Whole
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import BaseMeasureParameters, Concentration, Discount, Move
from hdpkit.posterior.alignment import MIN_COSINE
from hdpkit.posterior.export import export_components, export_trace
from hdpkit.posterior.finding import components
from hdpkit.priors import Gamma
from hdpkit.run.runs import Run
from hdpkit.run.states import ChainState


@attrs.frozen(kw_only=True)
class Setting:
    """A setting: its values, what they mean, and what it is called in commands."""

    name: str = ""  # of the attribute of the kind, and of the parameter of the estimator
    default: Any
    values: Values
    told: str  # what it is; the first sentence is the help of the option; {topics} is that of `Nouns`
    usual: str | None = None  # what None means, as it is written in a command
    option: str | None = None  # None: the name
    of: str = "all"  # or what has it: "commands" or "estimators"
    said: str | None = None  # the type in the documentation of an estimator; None: that of the values
    reads: bool = False  # whether it says what is read of a file, not what the model is
    under: str = "Model"  # the title above it in the help of a command

    @property
    def help(self) -> str:
        """The first sentence as plain text, with the default, for the help of a command."""
        sentence = re.split(r"(?<=\.)\s", self.told, maxsplit=1)[0]
        plain = re.sub(r"\s\[\w+\]|`", "", sentence)
        told = re.search(r"(?:None: |\[default: )((?:[^].]|\.\d)*)[].]$", self.told)
        usual = self.usual or (told[1].replace("`", "") if told else "")
        if not usual and self.default not in (None, False, ()):
            usual = str(self.default)
        return f"{plain}  [default: {usual}]" if usual else plain

    @property
    def documented(self) -> str:
        """The entry of a section "Parameters"."""
        said = self.said or self.values.said + (", optional" if self.default is None else "")
        text = textwrap.fill(self.told.replace("  [default", " [default"), 100)
        return f"{self.name} : {said}\n{textwrap.indent(text, '    ')}"

    @property
    def in_commands(self) -> str:
        """The option without its dashes."""
        return (self.option or self.name).replace("_", "-")


def of_the_data(
    kind: Any, kept: Callable[[Any], Any] = attrs.asdict, back: Callable[[Any], Any] | None = None
) -> Any:
    """Declare what a kind learns from the data of a fit; None if there is nothing."""
    # ``kept`` makes data for run.json, ``back`` what it was; by default ``kind.from_data`` of the attributes.
    made = (lambda tree: kind.from_data(**tree)) if back is None else back
    return attrs.field(default=None, metadata={"of_the_data": (kept, made)})


def setting(default: Any, values: Values, told: str, **more: Any) -> Any:
    """Declare a setting of a kind, with its constraint; ``more`` are attributes of `Setting`."""
    made = Setting(default=default, values=values, told=told, **more)

    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value is not None or default is not None:
            values.check(attribute.name, value)

    def meant(value: Any) -> Any:
        return values.parse("", made.usual) if value is None and made.usual is not None else value

    return attrs.field(default=default, validator=check, converter=meant, metadata={"setting": made})


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Kind:
    """A kind of model. A subclass declares settings, and says how its data become a model."""

    name: ClassVar[str]  # in errors and in the command line
    nouns: ClassVar[Nouns]  # the words of its field
    of_documents: ClassVar[bool] = False  # whether components are over terms, and can be merged and labelled
    # The sections of its page, in order: keys of ``hdpkit.report.SECTIONS``, or sections of one's own.
    sections: ClassVar[tuple[Any, ...]] = ("convergence", "reproduce")
    exports: ClassVar[tuple[str, ...]] = ("arviz",)  # the formats that `export` writes
    argument: ClassVar[str] = "data"  # what the command calls the file of the data
    estimator: ClassVar[str] = ""  # module of this package and base class of estimators, if there is one
    schedule: ClassVar[str] = "that of the model"  # the default one, in the help of the command
    sampling: ClassVar[Mapping[str, Any]] = {}  # defaults of a run that differ from `estimators.SAMPLING`
    spoken: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # inherited setting -> attributes that differ

    @classmethod
    def settings(cls) -> list[Setting]:
        """The settings, those of the base classes last."""
        fields: Iterable[Any] = sorted(attrs.fields(cls), key=lambda field: field.inherited)
        found = [
            attrs.evolve(field.metadata["setting"], name=field.name, **cls.spoken.get(field.name, {}))
            for field in fields
            if "setting" in field.metadata
        ]
        return [attrs.evolve(one, told=cls.nouns.put_into(one.told)) for one in found]

    @classmethod
    def serves(cls, data: Any) -> bool:
        """Whether data can be of this kind."""
        return True

    @classmethod
    def recognises(cls, data: Any) -> bool:
        """Whether data are of this kind where the folder of a run doesn't say."""
        return cls.serves(data)

    def as_data(self) -> dict[str, Any]:
        """The kind for run.json, which `hdpkit.kinds.catalog.kind_of` reads."""
        kept = {one.name: one.values.kept(one.name, getattr(self, one.name)) for one in self.settings()}
        learnt = {
            field.name: field.metadata["of_the_data"][0](value)
            for field in attrs.fields(type(self))
            if "of_the_data" in field.metadata and (value := getattr(self, field.name)) is not None
        }
        module = type(self).__module__
        name = self.name if module.startswith("hdpkit.") else f"{module}:{type(self).__qualname__}"
        return {"kind": name, "settings": kept, "of_the_data": learnt}

    @classmethod
    def from_data(cls, content: Any, allowed: Allowed) -> Self:
        """The kind that `as_data` described."""
        settings = {one.name: one for one in cls.settings()}
        if set(settings) != set(content["settings"]):
            raise ValueError(f"settings {sorted(content['settings'])}")
        given = {
            name: settings[name].values.back(tree, allowed) for name, tree in content["settings"].items()
        }
        fields = {field.name: field for field in attrs.fields(cls)}
        learnt = {
            name: fields[name].metadata["of_the_data"][1](tree)
            for name, tree in content["of_the_data"].items()
        }
        return cls(**given, **learnt)

    def check(self) -> None:
        """Raise a ParameterError for settings that contradict each other, before a table is read."""

    def read(self, table: Any) -> Any:
        """The data of a table."""
        raise NotImplementedError

    def prepared(self, data: Any) -> tuple[Self, Any]:
        """The data that are sampled, and this kind with what new data need to become the same."""
        return self, data

    def same(self, data: Any) -> Any:
        """New data, prepared as those of the fit."""
        return data

    def said(self, data: Any) -> str:
        """Sizes of the data, in words."""
        return ", ".join(f"{n:,} {what}" for what, n in self.sizes(data))

    def sizes(self, data: Any) -> list[tuple[str, int]]:
        """Sizes of the data: what they are of, and the number."""
        if self.of_documents:
            nouns, sizes = self.nouns, (data.n_documents, data.n_tokens, data.n_terms)
            return list(zip((nouns.documents, nouns.tokens, nouns.terms), sizes, strict=True))
        return [(self.nouns.tokens, len(data)), ("dimensions", self.width(data))]

    def declare(self, data: Any) -> Restaurant:
        """The restaurants over data."""
        raise NotImplementedError

    def run_settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """``chains``, ``sweeps`` and ``until`` of a run, of those that are given."""
        return given

    def diagnosed(self, data: Any) -> Any:
        """The data by which a run is judged, beside its samples; None: there are none."""
        return data if self.of_documents else None

    def width(self, data: Any) -> int:
        """Number of columns of X of an estimator over data."""
        return int(np.prod(data.values.shape[1:], dtype=np.int64))

    def of_part(self, data: Any, chain: int | None = None) -> Kind:
        """The kind as which data in shards, or one chain, are shown."""
        return self

    def results(self, run: Run, chain: int | None = None, about: int | None = None) -> Any:
        """What is shown of a run; ``about`` so many, where similar components can be merged."""
        if about is not None and not self.of_documents:
            raise ParameterError(
                "topics", f"about:{about}", f"a number, for {self.nouns.topics}", "Leave it out."
            )
        return components(run, chain=chain).about(about)

    @property
    def least_cosine(self) -> float:
        """The smallest cosine of components of two runs that are the same."""
        return MIN_COSINE

    @property
    def told_by(self) -> str:
        """What tells components from each other in a table, in words."""
        return f"top {self.nouns.terms}" if self.of_documents else "parameters"

    def listing(self, found: Any, n_terms: int, most: int | None = None) -> Listing:
        """What a terminal shows of `results`: ``most`` rows, by default those that are worth one."""
        return list_parameters(found, self.nouns, most)

    def table(self, found: Any, n_terms: int) -> Columns:
        """A table with a row for each of `results`; its first column has their numbers or names."""
        columns: Columns = found.table(n_terms)
        return columns

    def content(self, found: Any, n_terms: int, most: int | None = None) -> dict[str, Any]:
        """`results` as data for JSON: how many, the share of the rest, and the rows of `table`."""
        table = {name: np.asarray(own).tolist() for name, own in self.table(found, n_terms).items()}
        noun = next(iter(table))
        return {
            "of": found.source, f"n_{noun}s": len(found), f"share_of_no_{noun}": found.rest,
            f"{noun}s": rows_of(table)[:most],
        }  # fmt: skip

    def hint(self, state: ChainState, folder: Path | None) -> str | None:
        """What could be better about the data, as a state shows it; None: nothing."""
        return None

    def export(
        self, run: Run, to: str, out: Path, *, chain: int | None = None, about: int | None = None,
        n_terms: int = 100, raw: bool = False, by: str | None = None,
    ) -> tuple[str, list[Path]]:  # fmt: skip
        """Write a run in a format of ``exports``: what was written, in words, and the files."""
        if to not in self.exports:
            raise ParameterError(
                "to", to, f"one of {', '.join(self.exports)} for {self.nouns.topics}", "Choose one of these."
            )
        if to == "arviz":
            return "the trace", [export_trace(run.trace, out)]
        found = self.results(run, chain, about)
        written = self.write(found, to, out, n_terms=n_terms, raw=raw, by=by)
        return f"{len(found)} {self.nouns.dishes} of {found.source}", written

    def write(self, found: Any, to: str, out: Path, *, raw: bool, **options: Any) -> list[Path]:
        """Write `results` in a format."""
        return export_components(found, to, out, raw=raw)

    def infer(self, run: Run, new: Any, tell: Callable[[str], None], **options: Any) -> tuple[str, Columns]:
        """What new data have of the components: in words, and a table; ``tell`` is told more."""
        raise RunError(
            f"run {run.folder}", f"of {self.nouns.dishes}", "a run of topics, or of points",
            "In Python the model predicts: load it, or see hk.open_run(RUN).franchise().",
        )  # fmt: skip

    def above(self) -> str | FixedWeights:
        """The root of the franchise."""
        return "restaurant"

    def moves(self, restaurant: Restaurant) -> list[Move]:
        """The default schedule."""
        raise NotImplementedError

    def start(self, init: Any, moves: Sequence[Move]) -> Any:
        """The start of a run by these moves, where "auto" is what serves this kind best."""
        return init

    def warn(self, restaurant: Restaurant, data: Any, sweeps: int) -> None:
        """Warn of what a run over data may be, before it begins."""

    def franchise(self, data: Any) -> Franchise:
        """The franchise over data."""
        return Franchise(self.declare(data), data, store="counts", root=self.above())


_PRIOR = NumberOrPrior()


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Hierarchy(Kind):
    """Kinds whose components have weights of their own in each group, below those of all groups."""

    concentration: Any = setting(
        None, _PRIOR,
        "Concentration of the weights of each group. A number is fixed, a prior is resampled.",
        usual="gamma(1,1)",
    )  # fmt: skip
    root_concentration: Any = setting(
        None, _PRIOR, "Concentration of the {topics} of all {documents} (gamma). None: gamma(1,1)."
    )

    def restaurants(self, measure: BaseMeasure, *each: Any, between: Any = None) -> Restaurant:
        """A root, and restaurants of each label below it, the widest first; ``between``: inner levels."""
        self.check_root(bool(each))
        if not each:
            return Restaurant(measure, concentration=self.concentration, name="root")
        given = self.root_concentration
        usual = 1.0 if self.finite else Gamma(1.0, 1.0)  # of a finite model it is not used
        above = Restaurant(measure, concentration=usual if given is None else given, name="root")
        for label in each[:-1]:
            above = Restaurant(above, concentration=between, each=label)
        return Restaurant(above, concentration=self.concentration, each=each[-1])

    def check(self) -> None:
        self.check_root(True)

    def check_root(self, grouped: bool) -> None:
        """Raise a ParameterError for a concentration above all groups where none is used."""
        given = self.root_concentration
        if given is not None and (self.finite or not grouped):
            known = "with a number of components" if grouped else "without groups"
            remedy = (
                "Components of a finite model weigh the same." if grouped else "Give concentration alone."
            )
            raise ParameterError("root_concentration", given, f"left out {known}", remedy)

    @property
    def finite(self) -> int | None:
        """The number of components of a finite model."""
        return None


@attrs.frozen(kw_only=True, eq=False, slots=False)
class FiniteOrNot(Hierarchy):
    """Kinds whose number of components can be given."""

    n_components: int | None = setting(
        None, Whole(1, 2**30), "A finite model with this many components of equal weight. None: inferred."
    )

    @property
    def finite(self) -> int | None:
        """The number of components of a finite model."""
        return self.n_components


def updates_of(restaurant: Restaurant) -> list[Move]:
    """Updates of the hyperparameters of restaurants, and of parameters of their measure, that have priors."""
    measure = restaurant.measure
    concentration, discount = (
        any(one.hyperparameters[i].prior is not None for one in restaurant.chain()) for i in (0, 1)
    )
    moves: list[Move] = []
    in_documents = measure.seats_values and not measure.conjugate
    if concentration or "concentration/bursts" in measure.priors or in_documents:
        moves.append(Concentration())
    if discount or "discount/bursts" in measure.priors:
        moves.append(Discount())
    if any("/" not in name for name in measure.priors):
        moves.append(BaseMeasureParameters())
    return moves
