"""Good arguments for every public name, and values that are wrong nearly everywhere, for `call_trials`.

A good argument is looked for in the table of bad input (`bad_input_rows`), then here by the name of the
parameter, then by its annotation.
"""

import copy
import decimal
import fractions
import functools
import io
import os
import re
import tempfile
import types
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from bad_input_evaluation import NEW, chain_of_states, foldable
from bad_values import another, corpus, tiny

import hdpkit as hk
from hdpkit import moves, shards, signatures, summaries, testing
from hdpkit.allowed import Allowed
from hdpkit.base_measures import (
    DirichletMultinomialReference,
    NormalInverseWishartReference,
    VonMisesFisherReference,
)
from hdpkit.data.files.sentences import read_arpa
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.franchise.state_homes import DishRows, HomeState
from hdpkit.kinds.topics import Topics
from hdpkit.measures.python_bank import PythonBank
from hdpkit.random import Purpose, RandomStream, ScriptedSource, Streams
from hdpkit.registry import Registry
from hdpkit.report import Content, ReportData, Section
from hdpkit.run.run_folder import RunFolder
from hdpkit.run.states import state_of
from hdpkit.stores import ExplicitStore, FrozenSeating, stores

__all__ = ["BY_ANNOTATION", "BY_NAME", "GOOD", "OBJECTS", "bad_values", "place"]

MEASURES = import_module("hdpkit.base_measures")  # hk.base_measures is the registry
FOLDER = tempfile.TemporaryDirectory(prefix="hdpkit-calls-")


def place(name="file"):
    """A new path."""
    return Path(tempfile.mkdtemp(dir=FOLDER.name)) / name


def file(content=b"a,b\n1,2\n", name="file.csv"):
    path = place(name)
    path.write_bytes(content)
    return path


# ------------------------------------------------------------------ objects by class


def franchise():
    return tiny()


def flat():
    return hk.Franchise(hk.Restaurant(hk.DirichletMultinomial()), hk.Groups.from_labels([0, 1]))


def saved_run(chains=None):
    path = place("run")
    hk.Scheduler([moves.TableGibbs()]).run(
        tiny(), sweeps=2, rng=0, folder=path, samples=1, **({} if chains is None else {"chains": chains})
    )
    return path


@functools.cache
def run_folder():
    return saved_run()


def trace():
    return hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()]).run(tiny(), sweeps=3, rng=0, samples=1)


@functools.cache
def recorded():
    return trace()


def aligned():
    return summaries.components(list(recorded().samples))


@functools.cache
def spectra():
    return hk.Corpus.from_counts(
        np.random.default_rng(0).integers(0, 4, size=(5, 96)),
        vocabulary=list(signatures.CHANNELS["SBS96"].names),
    )


@functools.cache
def found_signatures():
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    state = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), spectra())
    made = hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=4, rng=0, init=hk.init.Random(2), samples=2)
    return signatures.extract_signatures(made, spectra(), occurrence=0.0, chains=0.0)


def known_signatures():
    names = tuple(signatures.CHANNELS["SBS96"].names)
    return signatures.KnownSignatures(
        ("one", "two"), names, np.full((2, 96), 1 / 96), signatures.CHANNELS["SBS96"]
    )


def sharded_restaurant():
    root = hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(1.0, 2.0)), concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))


SHARD_MOVES = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration()]


def sharded_franchise():
    franchise = shards.ShardedFranchise(sharded_restaurant(), shards.cut(corpus(), 2))
    hk.Scheduler(SHARD_MOVES).run(franchise, sweeps=1, rng=0, init=hk.init.Random(2))
    return franchise


def topic_model(kind="TopicModel"):
    return copy.deepcopy(fitted(kind))  # a call may change it


@functools.cache
def fitted(kind):
    rng = np.random.default_rng(0)
    return getattr(hk, kind)(sweeps=2, samples=1, random_state=0).fit(rng.integers(0, 3, size=(6, 5)))


@functools.cache
def language_model():
    return hk.NGramModel(2, discounts=0.5).fit([["a", "b"], ["b"]], sweeps=2, burn_in=1, samples=1, rng=0)


def sentences():
    return hk.NGrams.from_sentences([["a", "b"], []], order=3, vocabulary=["a", "b", "</s>"])


def groups():
    return hk.Groups.from_arrays([[0.5, 1.0], [2.0]])


def sequences():
    return hk.Sequences.from_arrays([[0.5, None], [2.0]])


def comparison():
    return hk.compare_schedules(
        {"a": [moves.TableGibbs()], "b": [moves.TableGibbs(), moves.SplitMerge()]},
        tiny(), seconds=1e-9, chains=1,
    )  # fmt: skip


@functools.cache
def mixing_check():
    return hk.check_mixing(tiny(), [moves.TableGibbs()], sweeps=40, copies=10, inits=["one"])


def drawn(model):
    return next(hk.Scheduler([moves.TableGibbs()]).sample(model, 1, 0))


def tick():
    return hk.Tick(1, 2, 0.5, 3, -1.0, 10.0, 1.0, False)


def toy():
    registry = Registry("toy")
    registry.register("here", dict)
    return registry


def frozen_seating(kind="explicit"):
    return FrozenSeating.of(tiny(store=kind).freeze()["seating"])


def counter():
    return TextCounter(TextOptions()).fit(["aa bb aa", "bb cc"])


@functools.cache
def matched():
    return hk.summaries.match_topics(aligned(), aligned())


def match_field(name):
    """What the constructor of the match of two runs takes."""
    return getattr(matched(), "_words" if name == "words" else name)


def material():
    state = state_of(tiny())
    return ReportData(
        state=state, model=Topics(), components=summaries.components(tiny()), trace=recorded(), run=None,
        chain=None, title="a", command=None, most_topics=5, n_terms=2, n_documents=2,
    )  # fmt: skip


def run_folder_object():
    return RunFolder.open(saved_run())


def exact_model():
    return testing.ExactModel(flat())


def larger(value, parameter):
    """A likelihood of a user, whose errors are the user's."""
    return max(value, parameter)


def home_state():
    class Eaten:
        def dish_of(self, customer):
            return [0, -1][customer]

    rows = DishRows(2)
    rows.born(0, None, [0])
    return HomeState(Eaten(), rows, 1, 1)


OBJECTS = {
    "HomeState": home_state,
    "Components": aligned,
    "ArpaModel": lambda: read_arpa(arpa()),
    "ChainTrace": lambda: hk.ChainTrace([trace(), trace()]),
    "Checkpoint": lambda: hk.Checkpoint(sweeps=5),
    "Candidate": lambda: hk.Candidate(tiny(), [moves.TableGibbs()]),
    "Corpus": corpus,
    "CutCorpus": lambda: shards.cut(corpus(), 2),
    "Comparison": functools.cache(comparison),
    "MixingCheck": mixing_check,
    "CheckedChains": lambda: mixing_check().data,
    "StatisticCheck": lambda: hk.StatisticCheck(9.0, 10.0, 0.5, 20),
    "ConvergenceRule": hk.ConvergenceRule,
    "Decomposition": lambda: known_signatures().decompose(np.full((1, 96), 1 / 96)),
    "Detail": lambda: stores["explicit"].thing.DETAIL,
    "Diagnosis": lambda: summaries.diagnose(recorded()),
    "Verdict": lambda: summaries.diagnose(recorded()).quotable,
    "Draw": lambda: drawn(tiny()),
    "ExactModel": exact_model,
    "StateProbabilities": lambda: chain_of_states().state_probabilities(),
    "FoldIn": lambda: foldable().fold_in(NEW, sweeps=2, burn_in=1, rng=1),
    "Forecast": lambda: hk.forecast(chain_of_states(), 2, draws=3),
    "Evaluation": lambda: hk.evaluate(foldable(), NEW, held_out=NEW, rng=1, particles=2, sweeps=2),
    "Purpose": lambda: Purpose.OTHER,
    "Franchise": franchise,
    "GroupLogLikelihood": lambda: hk.GroupLogLikelihood(particles=2),
    "GroupedData": groups,
    "Groups": groups,
    "Sequences": sequences,
    "KnownSignatures": known_signatures,
    "Known": lambda: hk.Known([[0.5, 0.5]], counts=4),
    "KnownValues": lambda: hk.KnownValues([[0.5]]),
    "Allowed": Allowed,
    "RunFolder": run_folder_object,
    "Section": lambda: Section(key="mine", title="Mine", template="overview.html", read=lambda m: Content()),
    "Limits": hk.Limits,
    "Local": shards.Local,
    "ReportData": material,
    "Move": moves.TableGibbs,
    "NGramModel": language_model,
    "NGrams": sentences,
    "Part": hk.Part,
    "IntegrablePart": hk.IntegrablePart,
    "SharedValue": lambda: hk.SharedValue(1.0),
    "ProgressBar": lambda: hk.ProgressBar(io.StringIO()),
    "StatisticsBank": lambda: PythonBank(DirichletMultinomialReference(0.5, n_terms=3), np.array([0, 1, 2])),
    "RandomStream": RandomStream,
    "ChoiceSource": RandomStream,
    "ScriptedSource": lambda: ScriptedSource([0, 0, 0]),
    "Registry": toy,
    "Restaurant": sharded_restaurant,
    "RestaurantView": lambda: tiny().restaurant("document", 0),
    "Run": lambda: hk.open_run(run_folder()),
    "Sample": lambda: tiny().sample(),
    "Samples": lambda: hk.Samples(after=0, every=1),
    "SampledTests": testing.SampledTests,
    "ScheduleResult": lambda: next(iter(OBJECTS["Comparison"]().results.values())),
    "Scheduler": lambda: hk.Scheduler([moves.TableGibbs()]),
    "Scores": lambda: language_model().score([["a"]]),
    "ShardedCorpus": lambda: hk.ShardedCorpus.write(corpus(), place("shards"), 2),
    "ShardedFranchise": sharded_franchise,
    "Snapshot": lambda: tiny().snapshot(),
    "Source": lambda: shards.cut(corpus(), 2),
    "Streams": Streams,
    "TextCounter": counter,
    "TextOptions": TextOptions,
    "Tick": tick,
    "TopicGroups": lambda: summaries.group_topics([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], n_groups=1),
    "TopicLaw": lambda: tiny().sample().topic_law(0),
    "Topology": lambda: tiny().topology,
    "Trace": trace,
    "TopicModel": topic_model,
    "SparseTopicModel": functools.partial(topic_model, "SparseTopicModel"),
    "StoredSamples": lambda: hk.open_run(run_folder()).trace.samples,
    "Channels": lambda: signatures.CHANNELS["SBS96"],
    "ExplicitReference": lambda: stores["explicit reference"].thing(4, 2),
    "FrozenSeating": frozen_seating,
    "FrozenSeats": frozen_seating,
    "FrozenSizes": lambda: frozen_seating("histogram"),
    "FrozenCounts": lambda: frozen_seating("counts"),
    "BaseMeasure": lambda: hk.DirichletMultinomial(0.5, n_terms=3),
    "AtomicMeasure": lambda: hk.Uniform(3),
    "Beta": lambda: hk.Beta(2.0, 1.0),
    "Gamma": lambda: hk.Gamma(2.0, 1.0),
    "Normal": lambda: hk.Normal(0.0, 1.0),
    "Above": lambda: hk.Above(hk.Gamma(2.0, 1.0), 0.5),
    "Finite": lambda: hk.Finite([0.2, 0.7]),
    "Mixture": lambda: hk.Mixture([(moves.TableGibbs(), 1.0)]),
    "Spelling": lambda: hk.Spelling(2, words=["a", "ab"], sweeps=2, samples=1),
    "NonConjugate": lambda: hk.NonConjugate(larger, hk.Finite([1.0, 2.0]), examples=[0.5]),
    "NormalInverseWishart": lambda: hk.NormalInverseWishart([0.0, 1.0], 0.5, 4.0, np.eye(2)),
    "NormalInverseWishartReference": lambda: NormalInverseWishartReference([0.0, 1.0], 0.5, 4.0, np.eye(2)),
    "VonMisesFisher": lambda: hk.VonMisesFisher(2.0, [0.6, 0.8], 0.5),
    "VonMisesFisherReference": lambda: VonMisesFisherReference(2.0, [0.6, 0.8], 0.5),
    "Uniform": lambda: hk.Uniform(3),
    "Categorical": lambda: hk.Categorical([0.5, 0.5]),
    "Scheduled": lambda: moves.Scheduled(moves.TableGibbs()),
    **{
        name: functools.partial(getattr(MEASURES, name), n_terms=3)
        for name in (
            "DirichletMultinomial",
            "DirichletMultinomialReference",
            "SparseDirichletMultinomial",
            "SparseDirichletMultinomialReference",
        )
    },
    **{
        name: getattr(MEASURES, name)
        for kind in ("NormalGamma", "GammaPoisson", "BetaBernoulli")
        for name in (kind, f"{kind}Reference")
    },
}
for entry in stores.values():
    OBJECTS[entry.thing.__name__] = functools.partial(entry.thing, 4, 2)


# ------------------------------------------------------------------ good arguments

BY_NAME = {
    "franchise": franchise,
    "state": franchise,
    "corpus": corpus,
    "data": corpus,
    "rng": lambda: 0,
    "source": RandomStream,
    "generator": lambda: np.random.default_rng(0),
    "seed": lambda: 0,
    "sweeps": lambda: 1,
    "sweep": lambda: 1,
    "first": lambda: 0,
    "last": lambda: 1,
    "node": lambda: 1,
    "nodes": lambda: np.array([0, 1]),
    "dish": lambda: 0,
    "slot": lambda: 0,
    "slots": lambda: np.array([0], np.int32),
    "dishes": lambda: np.array([0, 0], np.int32),
    "customer": lambda: 0,
    "customers": lambda: np.array([0]),
    "table": lambda: 0,
    "discount": lambda: 0.1,
    "concentration": lambda: 1.0,
    "value": lambda: 0,
    "values": lambda: [0, 1],
    "name": lambda: "document",
    "path": lambda: place(),
    "folder": lambda: place("folder"),
    "out": lambda: place("out"),
    "vocabulary": lambda: None,
    "topics": lambda: [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]],
    "phi": lambda: [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]],
    "prior": lambda: [0.5, 0.5],
    "counts": lambda: [[1, 2, 1]],
    "observed": lambda: hk.Corpus.from_documents([[0, 1]], n_terms=3),
    "held": lambda: hk.Corpus.from_documents([[0, 1]], n_terms=3),
    "samples": lambda: [tiny().sample()],
    "trace": trace,
    "n": lambda: 2,
    "p": lambda: 0.5,
    "a": lambda: 1.0,
    "b": lambda: 1.0,
    "x": lambda: 0.5,
    "shape": lambda: 1.0,
    "shapes": lambda: [1.0, 2.0],
    "weights": lambda: [1.0, 2.0],
    "log_weights": lambda: [0.0, 1.0],
    "number": lambda: 0,
    "i": lambda: 0,
    "chain": lambda: 0,
    "units": lambda: tiny(store="explicit").units(1),
    "which": lambda: np.array([0]),
    "frozen": lambda: tiny().freeze(),
    "mapping": lambda: np.arange(4, dtype=np.int32),
    "above": lambda: np.ones(2),
    "restaurant": sharded_restaurant,
    "moves": lambda: SHARD_MOVES,
    "move": moves.TableGibbs,
    "components": lambda: np.full((1, 96), 1 / 96),
    "known": known_signatures,
    "signatures": found_signatures,
    "spectra": lambda: np.ones((1, 96), int),
    "run": lambda: hk.open_run(run_folder()),
    "text": lambda: [["a", "b"]],
    "texts": lambda: ["aa bb", "bb"],
    "X": lambda: np.array([[1, 0, 2, 0, 1], [0, 1, 0, 1, 0]]),
    "totals": lambda: np.array([1, 2]),
    "key": lambda: 0,
    "n_customers": lambda: 4,
    "n_nodes": lambda: 2,
    "threads": lambda: 1,
    "init": lambda: hk.init.Random(2),
    "component": lambda: 0,
    "record": lambda: {"mine": len},
    "values_": lambda: [0],
    "many": lambda: [hk.DirichletMultinomial(0.5, n_terms=3).make()],
    "statistics": lambda: hk.DirichletMultinomial(0.5, n_terms=3).make(),
    "purpose": lambda: 0,
    "calls": lambda: 0,
    "measure": lambda: DirichletMultinomialReference(0.5, n_terms=3),
    "method": lambda: "slice",
    "declaration": lambda: 1,
    "store": lambda: ExplicitStore,
    "samples_": lambda: [],
    "arrays": lambda: tiny().freeze()["seating"],
    "n_shards": lambda: 2,
    "label": lambda: "document",
    "model": exact_model,
    "answer": lambda: 1,
}
TABLE = b"Type\ta\tb\n" + b"".join(
    f"{name}\t{i % 3}\t1\n".encode() for i, name in enumerate(signatures.CHANNELS["SBS96"].names)
)
LDAC = b"2 0:2 1:1\n2 1:1 2:1\n"

# "name.parameter", where it isn't what the name says.
GOOD = {
    "signatures.read_signatures.path": lambda: file(TABLE, "known.txt"),
    "signatures.read_spectra.path": lambda: file(TABLE, "spectra.txt"),
    "signatures.extract_signatures.corpus": spectra,
    "signatures.extract_signatures.samples": lambda: found_signatures().samples,
    "signatures.extract_signatures.names": lambda: None,
    "signatures.choose_rank.corpus": spectra,
    "signatures.choose_rank.sample": sharded_restaurant,
    "signatures.choose_rank.known": lambda: None,
    "signatures.choose_rank.most": lambda: 2,
    "signatures.choose_rank.paths": lambda: 1,
    "signatures.RankChoice": None,
    "signatures.channels_of.names": lambda: list(signatures.CHANNELS["SBS96"].names),
    "signatures.channels_of.known": lambda: ("SBS96",),
    "signatures.write_signatures.known": lambda: None,
    "signatures.write_pages.known": lambda: None,
    "signatures.plot_activity.signature": lambda: 0,
    "signatures.plot_activity.level": lambda: None,
    "signatures.plot_decomposition.signature": lambda: 0,
    "signatures.Channels.order_of.names": lambda: list(signatures.CHANNELS["SBS96"].names),
    "signatures.Channels.find.name": lambda: "A[C>A]A",
    "signatures.Channels": None,
    "signatures.KnownSignatures.names": lambda: ("a",),
    "signatures.KnownSignatures.vocabulary": lambda: ("x", "y"),
    "signatures.KnownSignatures.matrix": lambda: np.array([[0.5, 0.5]]),
    "signatures.KnownSignatures.chosen.names": lambda: ["one"],
    **{
        f"summaries.TopicMatch.{name}": functools.partial(match_field, name)
        for name in ("sources", "names", "shares", "cosines", "pairs", "min_cosine", "n_columns", "words")
    },
    "summaries.TopicMatch.words.side": lambda: 0,
    "summaries.TopicMatch.words.topic": lambda: 0,
    "summaries.TopicMatch.words.n": lambda: 2,
    "summaries.Components.samples": lambda: aligned().samples,
    "summaries.Components.labels": lambda: aligned()._of_dishes,
    "summaries.Components.vectors": lambda: aligned()._vectors,
    "summaries.Components.level": lambda: 0.9,
    "summaries.Components.selected.which": lambda: [0],
    "summaries.Components.to_pandas.table": lambda: "topics",
    "summaries.Components.which.sample": lambda: recorded().samples[0],
    "TopicModel.fit.y": lambda: None,
    "io.corpora.read_corpus.path": lambda: file(LDAC, "c.ldac"),
    "io.corpora.convert_corpus.path": lambda: file(LDAC, "c.ldac"),
    "io.corpora.detect_format.path": lambda: file(LDAC, "c.ldac"),
    "io.corpora.read_any.path": lambda: file(LDAC, "c.ldac"),
    "io.shards.convert_shards.path": lambda: file(LDAC, "c.ldac"),
    "io.shards.convert_shards.shards": lambda: 2,
    "io.sentences.read_sentences.source": lambda: file(b"a b\nb\n", "t.txt"),
    "io.arpa.read_arpa.path": lambda: arpa(),
    "io.arpa.write_arpa.path": lambda: place("m.arpa"),
    "io.labels.read_labels.path": lambda: file(b"id,g\na,x\n", "l.csv"),
    "io.labels.read_labels.names": lambda: ["a"],
    "io.labels.check_nested.groups": lambda: {"a": ["x", "y"]},
    "io.text_options.TextCounter.load.path": lambda: saved_counter(),
    "io.text_options.TextCounter.from_data.data": lambda: counter().as_data(),
    "io.text_options.TextCounter.words.text": lambda: "aa bb",
    "cli.verification.verify_run.folder": run_folder,
    "cli.verification.verify_shards.folder": lambda: OBJECTS["ShardedCorpus"]().folder,
    "io.reading.load_reading.folder": run_folder,
    "report.write_report.path": lambda: place("report.html"),
    "report.write_report.sections": lambda: (),
    "evaluation.fit_proportions.counts": lambda: [1, 2, 1],
    "evaluation.completion_perplexity.observed": lambda: [[1, 2, 1]],
    "evaluation.completion_perplexity.held": lambda: [[1, 0, 1]],
    "shards.ShardedFranchise.corpus": lambda: shards.cut(corpus(), 2),
    "ChainTrace.chains": lambda: [trace(), trace()],
    "ChainTrace.get.key": lambda: "n_dishes",
    "Trace.get.key": lambda: "n_dishes",
    "Sample.group_weights.groups": lambda: slice(0, 1),
    "Sample.draw_group_weights.groups": lambda: slice(0, 1),
    "models.estimator.name": lambda: "TopicModel",
    "testing.tiny_franchise.shape": lambda: "2+2",
    "testing.step_matrices.move": moves.TableGibbs,
    "franchise.Topology.node.key": lambda: 0,
    "franchise.start.init": lambda: "sequential",
    "franchise.check_start.init": lambda: "sequential",
    "random.Streams.source.place": lambda: 1,
    "record.RunFolder": None,
}


def arpa():
    path = place("m.arpa")
    language_model().export_arpa(path)
    return path


def saved_counter():
    path = place("counter.json")
    counter().save(path)
    return path


BY_ANNOTATION = {
    "int": lambda: 1,
    "float": lambda: 0.5,
    "bool": lambda: True,
    "str": lambda: "a",
    "Path": place,
    "Int32s": lambda: np.array([0, 1], np.int32),
    "Int64s": lambda: np.array([0, 1], np.int64),
    "AnyInts": lambda: np.array([0, 1], np.int32),
    "IntsOrList": lambda: np.array([0, 1], np.int32),
    "Floats": lambda: np.array([0.5, 0.5]),
    "Sequence": lambda: [0, 1],
    "Iterable": lambda: [0, 1],
    "Mapping": dict,
    "dict": dict,
    "tuple": tuple,
    "Seed": lambda: 0,
}


# ------------------------------------------------------------------ bad values


def nested(depth=20_000):
    made = []
    for _ in range(depth):
        made = [made]
    return made


def itself():
    made = [1.0]
    made.append(made)
    return made


def its_own_value():
    made = {"a": 1}
    made["b"] = made
    return made


class Unshown:
    """An object whose text fails."""

    def __repr__(self):
        raise RuntimeError("no text")


class Unequal:
    """An object that is compared with nothing."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no comparison")


def uninitialised(kind):
    return kind.__new__(kind)


def link():
    path = place("link")
    path.symlink_to(path)
    return path


def without_rights():
    """A path that can't be read, also not by root."""
    return "/proc/self/mem" if os.path.exists("/proc/self/mem") else "/nowhere"


def bad_values():
    """Makers of values that are wrong nearly everywhere, by name; each makes a new value."""
    inf, nan = float("inf"), float("nan")
    plain = [
        None, True, -1, -5, 7, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, nan, inf, -inf, 1e308, 5e-324, 1j,
        "", "a", "a" * 5000, b"", b"ab", (), int, len, Ellipsis, NotImplemented, frozenset({1}), range(3),
        slice(0, 10**30), decimal.Decimal("nan"), fractions.Fraction(1, 3), np.float32("nan"),
        np.datetime64("now"), np.uint64(2**64 - 1), hk.Corpus,
    ]  # fmt: skip
    made = {f"{type(value).__name__} {str(value)[:20]!r}": (lambda value=value: value) for value in plain}
    made |= {
        "lone surrogate": lambda: "a\ud800",
        "NUL in a text": lambda: "a\0b",
        "missing path": lambda: f"{__file__}/at/all",  # nobody can create it
        "folder": lambda: str(place("folder").parent),
        "file": lambda: str(file()),
        "path through a file": lambda: file() / "more",
        "path that can't be read": without_rights,
        "link to itself": link,
        "binary file": lambda: file(b"\xff\xfe\x00\x80" * 9, "file.bin"),
        "empty file": lambda: file(b"", "empty.txt"),
        "surrogate path": lambda: Path("/nowhere/\ud800"),
        "list": list,
        "dict": dict,
        "set": lambda: {1, "a"},
        "bytearray": lambda: bytearray(b"ab"),
        "[None]": lambda: [None],
        "[[]]": lambda: [[]],
        "[-1]": lambda: [-1],
        "[2**63]": lambda: [2**63],
        "[10**400]": lambda: [10**400],
        "[nan]": lambda: [nan],
        "['a']": lambda: ["a"],
        "[surrogate]": lambda: ["\ud800"],
        "[object]": lambda: [object()],
        "ragged": lambda: [[0], [1, 2]],
        "nested": nested,
        "itself": itself,
        "dict of itself": its_own_value,
        "{'a': None}": lambda: {"a": None},
        "{None: 1}": lambda: {None: 1},
        "{1: [2]}": lambda: {1: [2]},
        "generator": lambda: iter([1, "a"]),
        "object": object,
        "unshown": Unshown,
        "unequal": Unequal,
        "closed file": closed,
        "namespace": types.SimpleNamespace,
        "empty array": lambda: np.array([]),
        "number array": lambda: np.array(3.0),
        "3-d array": lambda: np.zeros((2, 2, 2)),
        "negative array": lambda: np.array([-1, 5], np.int64),
        "huge array": lambda: np.array([2**62, 1], np.int64),
        "nan matrix": lambda: np.full((2, 3), nan),
        "text array": lambda: np.array(["a", "b"]),
        "object array": lambda: np.array([None, 1], object),
        "complex array": lambda: np.array([1j, 2]),
        "bool array": lambda: np.array([True, False]),
        "masked array": lambda: np.ma.MaskedArray([1, 2], [True, False]),
        "structured array": lambda: np.zeros(2, dtype=[("a", int)]),
        "strided array": lambda: np.arange(6, dtype=np.int32)[::2],
        "read-only array": read_only,
        "sparse": lambda: sp.csr_array(np.array([[1.0, -0.5, 0.0]])),
        "empty sparse": lambda: sp.csr_array((0, 0)),
        "generator of NumPy": lambda: np.random.default_rng(0),
        "franchise": franchise,
        "another franchise": another,
        "view of another": lambda: another().restaurant("document", 0),
        "sample of another": lambda: another().sample(),
        "corpus": corpus,
        "another corpus": lambda: hk.Corpus.from_documents([["x"], []]),
        "groups": groups,
        "n-grams": sentences,
        "empty trace": hk.Trace,
        "measure": hk.NormalGamma,
        "move": moves.SplitMerge,
        "prior": lambda: hk.Gamma(1.0, 1.0),
        "script at its end": lambda: ScriptedSource([]),
        **{
            f"uninitialised {kind.__name__}": functools.partial(uninitialised, kind)
            for kind in (
                hk.Corpus, hk.Franchise, hk.Trace, hk.Sample, hk.DirichletMultinomial, hk.Restaurant,
                hk.Gamma, moves.TableGibbs, summaries.Components, RandomStream, ExplicitStore,
            )
        },
    }  # fmt: skip
    return made


def closed():
    made = io.StringIO()
    made.close()
    return made


def read_only():
    made = np.arange(3, dtype=np.int64)
    made.setflags(write=False)
    return made


def annotated(annotation):
    """The first name of an annotation for which there is a maker."""
    for word in re.findall(r"\w+", str(annotation)):
        if word in OBJECTS:
            return OBJECTS[word]
        if word in BY_ANNOTATION:
            return BY_ANNOTATION[word]
    return None
