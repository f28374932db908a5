"""Topic models of documents with an inferred number of topics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from hdpkit.allowed import Allowed
from hdpkit.data.files.tables import Columns, rows_of
from hdpkit.data.files.text_options import Named, TextOptions
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.kind import FiniteOrNot, setting, updates_of
from hdpkit.kinds.listing import TERMS_OF_A_GROUP, Listing, Nouns, list_topics
from hdpkit.kinds.values import Between, Flag, NumberOrPrior, OneOf, Placed, Stores, Values, Whole, read_prior
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.sparse_dirichlet_multinomial import SparseDirichletMultinomial
from hdpkit.moves import DishGibbs, Move, SelectorCounts, Smoothing, SplitMerge, TableGibbs
from hdpkit.posterior.export import EXPORTS, export_topics, share_columns
from hdpkit.posterior.finding import components
from hdpkit.posterior.repetition import boilerplate_hint
from hdpkit.priors import Beta, Each, Gamma
from hdpkit.run.runs import Run
from hdpkit.run.samples import Samples
from hdpkit.run.states import ChainState


class Bursts(Flag):
    """Whether topics differ by document, or the concentration by which they do."""

    said = "bool, float or prior"
    place = "hyperparameter"

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, bool):
            try:
                if not topic_measure(0.5, False, value).conjugate:
                    raise ParameterError(name, value, "one for all topics", "Leave hk.Each out.")
            except ParameterError as error:
                raise ParameterError(
                    name, value, "None, False, True, a positive number, or a prior of such numbers",
                    "True is the usual prior of the concentration.",
                ) from error  # fmt: skip
        return value


@attrs.frozen
class PartOfAMeasure(Values):
    """Parameters of a base measure, which checks them; in a command what ``serves``."""

    metavar: str
    serves: Callable[[Any], bool]
    allowed: str
    remedy: str
    said = "float, array or prior"
    place = "part of a base measure"

    def parse(self, name: str, given: str) -> Any:
        return read_prior(name, given, self.serves, self.allowed, self.remedy)


def _positive(given: Any) -> bool:
    return isinstance(given, Gamma) or (isinstance(given, float) and given > 0.0)


_ETA = PartOfAMeasure(
    "number|gamma(a,b)", _positive, "a number above 0, or gamma(shape, rate)",
    "A number is fixed; a prior is resampled, for instance gamma(1, 1).",
)  # fmt: skip
_SMOOTHING = PartOfAMeasure(
    "number|gamma(a,b)|each(gamma(a,b))",
    lambda given: _positive(given.prior if isinstance(given, Each) else given),
    "a number above 0, gamma(shape, rate), or each(gamma(shape, rate)), if each topic has its own",
    "For one number for all topics, leave each out.",
)  # fmt: skip
_SELECTION = PartOfAMeasure(
    "beta(r,s)|share",
    lambda given: isinstance(given, Beta) or (isinstance(given, float) and 0.0 < given < 1.0),
    "beta(r, s) of positive numbers, or a number above 0 and below 1",
    "For instance beta(1, 1), the uniform prior.",
)  # fmt: skip


class Text(Values):
    """How raw texts become counts."""

    said = "TextOptions or TextCounter"

    def kept(self, name: str, value: Any) -> Any:
        """Options as data; a counter is kept with what it counted."""
        return value.as_data() if isinstance(value, TextOptions) else None

    def back(self, tree: Any, allowed: Allowed) -> Any:
        if tree is None:
            return None
        given = dict(tree)
        if given.get("tokenizer") is not None:
            given["tokenizer"] = allowed.function(given["tokenizer"])
        if given.get("segmenter") is not None:
            given["segmenter"] = Named(given["segmenter"], allowed.called(given["segmenter"]))
        return TextOptions(**given)


PURPOSES: dict[str, dict[str, Any]] = {
    "reading": {"eta": 0.2, "bursty": True, "chains": 2, "sweeps": 500, "until": "readable"},
    "prediction": {"eta": 0.05, "bursty": False, "chains": 1, "sweeps": 500, "until": None},
}
"""Settings of a topic model that aren't given, by what it is for (docs/documents.md)."""


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Topics(FiniteOrNot):
    """Documents over topics."""

    name = "topics"
    nouns = Nouns("Topics", "topic", "topic", "token", "document", "term")
    of_documents = True
    sections = (
        "overview", "groups", "topics", "samples", "map", "trends", "labels", "documents", "convergence",
        "reproduce",
    )  # fmt: skip
    exports = EXPORTS
    sampling: ClassVar[Mapping[str, Any]] = {"sweeps": None, "chains": None}
    spoken: ClassVar[Mapping[str, Any]] = {
        "concentration": {
            "option": "document_concentration",
            "told": "Concentration of documents over topics (alpha).",
        },
        "n_components": {
            "option": "topics",
            "told": "A finite model with this many topics of equal weight: latent Dirichlet allocation.",
        },
    }

    purpose: str = setting(
        "reading", OneOf(("reading", "prediction"), "What the model is for."),
        "Chooses what isn't given: for reading two chains of topics with bursts and eta = 0.2, run until "
        "they can be read; for prediction one chain of more and narrower topics, with eta = 0.05, without "
        "bursts. See docs/documents.md.", option="for",
    )  # fmt: skip
    eta: Any = setting(
        None, _ETA,
        "Dirichlet parameter of topics over terms. A smaller value gives more and narrower topics. None: "
        "0.2; for prediction 0.05.",
    )  # fmt: skip
    sparse: bool = setting(
        False, Flag(), "Each topic selects its own terms (Wang & Blei 2009); eta is not used then."
    )
    smoothing: Any = setting(
        None,
        _SMOOTHING,
        "Dirichlet parameter of the terms that a topic of the sparse model selects. ``hk.Each(prior)``: one "
        "per topic. None: 0.1.",
    )  # fmt: skip
    selection: Any = setting(
        None, _SELECTION,
        "Prior of the share of terms that a topic of the sparse model selects, or a fixed share. None: "
        "Beta(1, 1).",
    )  # fmt: skip
    proportions: str | None = setting(
        None, OneOf(("integrated", "stored"), "Leave it out."),
        "With --sparse: whether each topic's share is part of the state.  [default: integrated]",
        of="commands",
    )  # fmt: skip
    bursty: Any = setting(
        None, Bursts(),
        "Topics differ by document: a term that has occurred in one is likelier to come again there, so that "
        "what one document repeats counts little in a topic. See `Bursty`. A number or a prior is the "
        "concentration: the larger it is, the less terms repeat. True: that with the prior Gamma(1, 0.01). "
        "None: bursty; for prediction and with ``sparse`` not.",
    )  # fmt: skip
    store: Any = setting("histogram", Stores(), "How seating is stored. See `Franchise`.")
    root: Any = setting(
        "restaurant", OneOf(("restaurant", "weights"), "Leave it out."),
        "Root shared by all documents: a restaurant, or sampled weights, which `moves.SliceGibbs` needs.",
    )  # fmt: skip
    kernel: str = setting(
        "auto", OneOf(("auto", "fused", "generic", "reference"), "Leave it out."),
        'Which code runs: "auto" uses the fastest for each step; "fused", "generic" or "reference" forces '
        "one.", of="commands",
    )  # fmt: skip
    group_concentration: Any = setting(
        None, NumberOrPrior(),
        "Makes the groups of --group-column levels of the model, with this concentration, such as "
        "gamma(1,1); sweeps take 3 to 5 times as long.", of="commands",
    )  # fmt: skip
    known: Any = setting(
        None, Placed("known components", "Known"),
        "Topics that are known in advance, with the terms in the order of the columns: see `Known`.",
        of="estimators",
    )  # fmt: skip
    text: Any = setting(
        None, Text(),
        "How raw texts become counts; by default without the function words of their language, which "
        "``counter_.function_words`` names.", of="estimators",
    )  # fmt: skip
    partial_sweeps: int = setting(50, Whole(1), "Sweeps of each further `partial_fit`.", of="estimators")
    transform_method: str = setting(
        "em", OneOf(("em", "gibbs"), "Leave it out."),
        "How proportions of new documents are computed: the fixed point of EM, or posterior means by "
        "collapsed Gibbs sampling, which takes about ten times as long.", of="estimators",
    )  # fmt: skip
    transform_tolerance: float = setting(
        1e-4,
        Between(0.0, None, ends=False),
        "EM stops when no proportion changes by more than this in one step.",
        of="estimators",
    )
    transform_sweeps: int = setting(
        50, Whole(1), "Sweeps that Gibbs sampling averages, after half as many for burn-in.", of="estimators"
    )
    score_method: str = setting(
        "learned", OneOf(("learned", "fixed", "joint"), "Leave it out."),
        'Topics in `score` and `perplexity`: "learned" adds the observed words of a document to the counts '
        'of the topics, separately for each document; "fixed" doesn\'t change the topics, as in '
        '`hdpkit.evaluate`; "joint" adds the observed halves of all documents to a copy of the model, as '
        "`partial_fit` does.", of="estimators",
    )  # fmt: skip
    levels: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.sparse and self.eta is not None:
            raise ParameterError(
                "eta", self.eta, "left out with sparse topics",
                "The Dirichlet parameter of the selected terms is smoothing.",
            )  # fmt: skip
        for name in () if self.sparse else ("smoothing", "selection", "proportions"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    name,
                    getattr(self, name),
                    "left out without sparse topics",
                    "Add --sparse, or leave it out.",
                )
        if self.n_components is not None and self.root != "restaurant":
            raise ParameterError(
                "root", self.root, "left out with a number of topics",
                "Topics of a finite model have fixed weights.",
            )  # fmt: skip
        if isinstance(self.concentration, Each):
            raise ParameterError(
                "concentration", self.concentration, "one for all documents: a number or a prior",
                "New documents have none of their own.",
            )  # fmt: skip

    @classmethod
    def serves(cls, data: Any) -> bool:
        return hasattr(data, "n_documents")

    def usual(self, name: str) -> Any:
        """A setting, or what the purpose says if it isn't given."""
        given = getattr(self, name)
        if given is None and name == "bursty" and self.sparse:
            return False  # Wang & Blei (2009), unless they are asked to differ by document
        return PURPOSES[self.purpose][name] if given is None else given

    def run_settings(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """``chains``, ``sweeps`` and ``until``: those of the purpose, but sweeps that are given are run."""
        usual = dict(PURPOSES[self.purpose])
        if given.get("sweeps") is not None or isinstance(given.get("samples"), Samples):
            usual["until"] = None
        return {
            name: usual[name] if given.get(name) is None else given[name]
            for name in ("chains", "sweeps", "until")
        }

    def declare(self, data: Any) -> Restaurant:
        """Documents, groups of documents (the widest first) if they are levels, and the root above them."""
        of_sparse = {name: getattr(self, name) for name in ("smoothing", "selection", "proportions")}
        measure = topic_measure(
            None if self.sparse else self.usual("eta"), self.sparse, self.usual("bursty"),
            **(of_sparse if self.sparse else {}),
        )  # fmt: skip
        between = self.group_concentration
        return self.restaurants(
            measure, *(self.levels if between is not None else ()), "document", between=between
        )

    def above(self) -> str | FixedWeights:
        """The root above the documents: fixed weights if a number of topics is given."""
        return self.root if self.n_components is None else FixedWeights(self.n_components)

    def franchise(self, data: Any) -> Franchise:
        if self.sparse and data.n_terms == 1:
            raise DataError(
                "X", "n_features = 1", "two terms or more for topics that select terms", "Use TopicModel."
            )
        return Franchise(
            self.declare(data), data, store=self.store, root=self.above(), kernel=self.kernel,
            known=self.known,
        )  # fmt: skip

    def moves(self, restaurant: Restaurant) -> list[Move]:
        return default_moves(restaurant)

    def width(self, data: Any) -> int:
        return int(data.n_terms)

    def listing(self, found: Any, n_terms: int, most: int | None = None) -> Listing:
        return list_topics(found, self.nouns, n_terms, most)

    def content(self, found: Any, n_terms: int, most: int | None = None) -> dict[str, Any]:
        content = super().content(found, n_terms, most)
        key = "topics" if "topics" in content else "components"  # of a mixture without groups
        for row, (_, terms, _) in zip(content[key], found.top_terms(n_terms), strict=False):
            row["terms"] = list(map(str, found.words(terms)))
        groups = found.usual_groups
        if groups is None:
            return content
        table = groups.table(TERMS_OF_A_GROUP)
        table = {name: np.asarray(own).tolist() for name, own in table.items()} | {"topics": groups.members}
        return content | {"groups": rows_of(table)}

    def hint(self, state: ChainState, folder: Path | None) -> str | None:
        """Terms of most documents, if they lead topics."""
        return boilerplate_hint(state, folder, self.nouns)

    def write(self, found: Any, to: str, out: Path, *, raw: bool, **options: Any) -> list[Path]:
        return export_topics(found, to, out, options["n_terms"], raw=raw, by=options["by"])

    def infer(self, run: Run, new: Any, tell: Callable[[str], None], **options: Any) -> tuple[str, Columns]:
        read = new.corpus()
        corpus = read.corpus
        unknown = f"{read.n_unknown:,} words that the run doesn't know are left out"
        tell(f"{corpus.n_documents:,} documents, {corpus.n_tokens:,} tokens; {unknown}")
        topics = components(run, chain=options["chain"])
        tell(f"topics: {topics.source}")
        folded = [
            state.franchise.fold_in(
                corpus, options["sweeps"], burn_in=options["burn_in"], rng=options["seed"]
            )
            for state in topics.states
        ]
        table = share_columns(folded[0].names, topics.gather([each.proportions for each in folded]))
        lengths = {"words": read.n_words, "unknown": read.n_words - corpus.document_lengths}
        return f"shares of {len(topics)} topics", {"document": table.pop("document"), **lengths, **table}


@attrs.frozen(kw_only=True, eq=False, slots=False)
class SparseTopics(Topics):
    """Documents over topics that select their terms."""

    name = "sparse topics"
    sparse: bool = attrs.field(default=True, init=False)
    eta: None = attrs.field(default=None, init=False)
    known: None = attrs.field(default=None, init=False)


def topic_measure(eta: Any, sparse: bool, bursty: Any = False, **of_sparse: Any) -> BaseMeasure:
    """The base measure of topics; they differ by document if ``bursty`` is True or a concentration."""
    given = {name: value for name, value in of_sparse.items() if value is not None}
    measure = SparseDirichletMultinomial(**given) if sparse else DirichletMultinomial(eta=eta)
    if bursty is False or bursty == math.inf:  # the same chain as without
        return measure
    return Bursty(measure) if bursty is True else Bursty(measure, bursty)


def default_moves(restaurant: Restaurant) -> list[Move]:
    """The sweep of a fit: moves for topics with this measure, and updates of hyperparameters with a prior."""
    # DishGibbs brings the number of topics up in the first 20 sweeps; later every fifth is enough
    # (benchmarks/results/starts.md). Where topics differ by document, SplitMerge has no fused code.
    measure = restaurant.measure
    dishes = [DishGibbs().until(20), DishGibbs().after(20).every(5)]
    proposals = [SplitMerge().until(50)] if measure.conjugate and not measure.seats_values else []
    return [TableGibbs(), *dishes, *proposals, *topic_updates(restaurant)]


def topic_updates(restaurant: Restaurant) -> list[Move]:
    """Moves of parameters with a prior: concentrations, parameters of the base measure and of dishes."""
    measure = restaurant.measure
    # Without conjugacy each dish has a smoothing, unless values are seated in documents.
    own: list[Move] = [] if measure.conjugate or measure.seats_values else [Smoothing()]
    if getattr(measure, "proportions", None) == "stored":
        own.append(SelectorCounts())
    return [*updates_of(restaurant), *own]
