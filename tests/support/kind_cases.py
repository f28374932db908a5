"""Franchises of every kind, with schedules: what must hold for all is tested over them."""

import attrs
import numpy as np
from parameter_cases import MEASURES, NON_CONJUGATE
from shared_values_checks import DrawShiftOnTheLine, Shifted

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference, SparseDirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams
from hdpkit.testing import TinyShape, tiny_franchise

GAMMA = hk.Gamma(1.0, 1.0)
V = 6
COUNTS = np.random.default_rng(0).poisson(0.8, size=(10, V))
COUNTS[3] = 0  # a document without a customer
GROUPS = {"author": [None, *"aabbb", None, *"cab"]}
TABLES = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge().repeat(2), moves.Concentration()]
CELLS = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
TOPICS = np.random.default_rng(3).dirichlet(np.full(V, 0.5), size=2)
KNOWN = hk.Known(TOPICS, counts=50, frozen=[True, False], names=["a", "b"])
SHAPE = TinyShape({"document": [0] * 8 + [1] * 7 + [2] * 5}, 20)


@attrs.frozen
class Case:
    """A franchise, its schedule, and how it starts."""

    make: object
    schedule: list
    init: object = "sequential"
    held: tuple = ()
    threaded: bool = False


def corpus():
    return hk.Corpus.from_counts(COUNTS, groups=GROUPS, names=[f"d{i}" for i in range(len(COUNTS))])


def of_words(measure=None, of_root=None, of_documents=None, labels=(), **options):
    """Documents over a root, with a level for each label between them."""
    above = hk.Restaurant(
        measure or hk.DirichletMultinomial(0.5), **{"concentration": GAMMA, **(of_root or {})}
    )
    for label in labels:
        above = hk.Restaurant(above, each=label, concentration=GAMMA)
    documents = hk.Restaurant(above, each="document", **{"concentration": GAMMA, **(of_documents or {})})
    return lambda: hk.Franchise(documents, corpus(), **options)


def of_sequences():
    root = hk.Restaurant(hk.DirichletMultinomial(0.4), concentration=1.5)
    rows = hk.Restaurant(root, concentration=0.8, each=hk.PreviousDish(sticky=1.2))
    data = hk.Sequences.from_arrays([[0, 1, 0, 0], [1, 0]], n_terms=2)
    return hk.Franchise(rows, data, store="counts", root="weights")


def of_people():
    """Two people with transition probabilities of their own."""
    data = hk.Sequences.from_arrays([[0, 1, 0, 0, 1], [1, 0, 1]], n_terms=2, groups={"person": ["x", "y"]})
    root = hk.Restaurant(hk.DirichletMultinomial(0.4), concentration=GAMMA)
    rows = hk.Restaurant(root, concentration=GAMMA, each=hk.PreviousDish())
    own = hk.Restaurant(rows, concentration=GAMMA, each="person")
    return hk.Franchise(own, data, store="counts", root="weights")


def of_graph(store):
    """Restaurants with two parents, whose weights are drawn."""
    root = hk.Restaurant(hk.DirichletMultinomial(0.5, n_terms=3), concentration=GAMMA)
    a, b = (hk.Restaurant(root, each=each, concentration=GAMMA) for each in "ab")
    leaf = hk.Restaurant(hk.MixtureOf(a, b), each="c", concentration=hk.Each(GAMMA))
    places = np.repeat(np.arange(6), 2)
    labels = {"a": (places % 2).tolist(), "b": (places // 3).tolist(), "c": places.tolist()}
    return lambda: hk.Franchise(leaf, hk.Groups.from_labels(np.arange(12) % 3, labels), store=store)


def of_contexts():
    restaurant = hk.Restaurant(hk.Uniform(), concentration=GAMMA, discount=0.3)
    for level in (1, 2):
        restaurant = hk.Restaurant(
            restaurant, each=f"context {level}", concentration=GAMMA, discount=hk.Beta(1.0, 1.0)
        )
    sentences = [["a", "b", "a"], ["b", "c"], ["a", "b"]]
    return hk.Franchise(restaurant, hk.NGrams.from_sentences(sentences, order=3))


def of_measure(measure):
    return lambda: tiny_franchise(SHAPE, measure)


def started(name):
    """A franchise, and the start that a run of it is given."""
    case = CASES[name]
    franchise = case.make()
    if case.held:
        start(franchise, case.init, Streams(1).source(STARTS))
        franchise.hold(case.held)
        franchise.streams = Streams(3)
        return franchise, None
    return franchise, case.init


DISCOUNTS = {"discount": hk.Beta(1.0, 1.0)}
EACH = {"concentration": hk.Each(GAMMA), "discount": hk.Each(hk.Beta(1.0, 3.0))}
SHIFTED = {"concentration": hk.Shifted(GAMMA), "discount": 0.3}
WEIGHTS = {"store": "counts", "root": "weights"}
SPARSE = hk.SparseDirichletMultinomial
OWN_SMOOTHING = (hk.Each(hk.Gamma(2.0, 4.0)), hk.Beta(1.3, hk.Gamma(2.0, 2.0)))
BURSTS = hk.Bursty(hk.DirichletMultinomial(0.5), hk.Gamma(2.0, 0.1), hk.Beta(1.0, 2.0))
PARAMETERS = [*TABLES, moves.Discount(), moves.BaseMeasureParameters()]
SMOOTHINGS = [moves.TableGibbs(), moves.DishGibbs(), moves.Smoothing(), moves.BaseMeasureParameters()]
GRAPHS = [*TABLES[:2], moves.Concentration(), moves.ParentWeights()]
ONE_ROOT = {"concentration": 1.0}
CASES = {
    "histogram": Case(of_words(), TABLES),
    "explicit": Case(of_words(of_documents=DISCOUNTS, store="explicit"), [*TABLES, moves.Discount()], "one"),
    "readable": Case(of_words(store="histogram-reference", kernel="reference"), TABLES),
    "generic": Case(of_words(kernel="generic"), [*TABLES, moves.ReseatGroups()], hk.init.Random(3)),
    "all declarations": Case(
        of_words(hk.DirichletMultinomial(GAMMA), SHIFTED, EACH, ["author"]),
        PARAMETERS,
        hk.init.TermClusters(4),
    ),
    "indicators": Case(
        of_words(of_documents=DISCOUNTS, store="counts"), [moves.TableGibbs(), moves.Discount()]
    ),
    "weights": Case(of_words(root="weights"), [*TABLES[:3], moves.RootWeights(), moves.Concentration()]),
    "slices": Case(of_words(**WEIGHTS), [moves.SliceGibbs(), *CELLS[1:]], hk.init.Random(4), threaded=True),
    "cells": Case(of_words(**WEIGHTS), CELLS, hk.init.Random(4), threaded=True),
    "levels of cells": Case(
        of_words(labels=["author"], **WEIGHTS), [CELLS[0], *CELLS[2:]], hk.init.Random(4), threaded=True
    ),
    "bursts of cells": Case(
        of_words(hk.Bursty(hk.DirichletMultinomial(0.5), hk.Gamma(1.0, 0.01)), **WEIGHTS), CELLS,
        hk.init.Random(4), threaded=True,
    ),
    "finite": Case(
        of_words(of_root=ONE_ROOT, store="counts", root=hk.FixedWeights(4)), [CELLS[0], CELLS[3]], "auto"
    ),
    "known": Case(of_words(known=KNOWN, **WEIGHTS), CELLS),
    "known, held": Case(of_words(known=KNOWN), TABLES, held=(1, 4)),
    "held cells": Case(of_words(**WEIGHTS), CELLS, hk.init.Random(4), held=(1, 4)),
    "bursts": Case(of_words(BURSTS), TABLES),
    "bursts of dishes": Case(
        of_words(hk.Bursty(hk.DirichletMultinomial(0.5), hk.Each(hk.Gamma(2.0, 0.1)), 0.2)),
        [*TABLES[:2], moves.Concentration()],
    ),
    "sparse": Case(of_words(SPARSE(0.5, hk.Beta(1.0, 1.5))), TABLES[:2]),
    "sparse, stored": Case(
        of_words(SPARSE(0.5, hk.Beta(1.0, 1.5), "stored")), [*TABLES[:2], moves.SelectorCounts()]
    ),
    "smoothings": Case(of_words(SPARSE(*OWN_SMOOTHING)), SMOOTHINGS),
    "smoothings, stored": Case(
        of_words(SPARSE(*OWN_SMOOTHING, "stored")), [*SMOOTHINGS, moves.SelectorCounts()]
    ),
    "smoothings, readable": Case(
        of_words(SparseDirichletMultinomialReference(*OWN_SMOOTHING), kernel="reference"), SMOOTHINGS
    ),
    "states": Case(
        of_sequences, [moves.BeamSampler(), moves.TableGibbs().every(2), moves.RootWeights()], "auto"
    ),
    "copies of rows": Case(of_people, [TABLES[0], moves.Concentration(), moves.RootWeights()]),
    **{f"several parents, {store}": Case(of_graph(store), GRAPHS) for store in ("explicit", "counts")},
    "shared value": Case(of_measure(Shifted()), [*TABLES[:3], DrawShiftOnTheLine()]),
    "contexts": Case(of_contexts, [moves.TableGibbs(), moves.Discount(), moves.Concentration()]),
    "an own measure": Case(of_words(DirichletMultinomialReference(0.5), store="explicit"), TABLES),
    **{
        name: Case(
            of_measure(measure),
            [
                moves.TableGibbs(), moves.DishGibbs(),
                *([moves.BaseMeasureParameters()] if measure.priors else [moves.DishParameters()]),
            ],
        )
        for name, measure in {**MEASURES, **NON_CONJUGATE}.items()
    },
    **{
        name: Case(of_measure(measure), [moves.TableGibbs(), moves.DishGibbs()])
        for name, measure in (("uniform", hk.Uniform(3)), ("categorical", hk.Categorical([0.7, 0.1, 0.2])))
    },
}  # fmt: skip
