"""Checks of held groups and known components, by enumeration, also used by the tests of planted bugs."""

import numpy as np
from marginals import dirichlet_multinomial_log_marginal, law_of_tables
from slice_model import ALPHA, WEIGHTS, Model, holding

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams
from hdpkit.testing.cases import TinyShape, served_franchises, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact, law_of
from hdpkit.testing.move_contract import check_further

MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
READABLE = DirichletMultinomialReference(0.5, n_terms=3)
WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)
TOPICS = [[0.7, 0.3, 0.0], [0.2, 0.2, 0.6]]
KNOWN = hk.Known(TOPICS, counts=5, frozen=[True, False])
ONE_EACH = TinyShape({"document": [0, 1]}, 2)
# Of each shape: groups that are held, and the customers below them.
HELD = {
    "2+2": ([0], [0, 1]),
    "2+1 with one at the root": ([0], [0, 1]),
    "three levels of three": (["a"], [0, 1]),
    "three levels": ([1], [2]),
}


def held(shape, dishes=None, **options):
    """A tiny franchise whose held customers eat one dish, or those given."""
    franchise = tiny_franchise(shape, MEASURE, corner="discounts", **options)
    groups, customers = HELD[shape]
    if dishes is not None:
        given = np.zeros(franchise.topology.n_customers, dtype=np.int64)
        given[customers] = dishes
        start(franchise, given, Streams(0).source(STARTS))
    franchise.hold(groups, "author" if groups == ["a"] else None)
    return franchise


def known(shape, components=KNOWN, measure=MEASURE, **options):
    """A tiny franchise with a frozen component and one with pseudo-counts."""
    return tiny_franchise(shape, measure, corner="discounts", known=components, **options)


def check_held_customers():
    """Table Gibbs beside a document that is held."""
    model = ExactModel(held("2+2", [0, 1], store="explicit", kernel="generic"), WITNESS)
    check_exact(model, moves.TableGibbs())


def check_held_tables():
    """Dish Gibbs beside an author who is held."""
    model = ExactModel(held("three levels of three", [0, 1], store="explicit"), WITNESS)
    check_exact(model, moves.DishGibbs())


def check_held_units():
    """Steps that change the dish of units refuse those of held customers."""
    franchise, source = held("2+2", [0, 1], store="explicit"), Streams(0).source(STARTS)
    units = franchise.units(1)
    (first, last), *_ = franchise.free_units(units, 1, 0, len(units))
    free = np.arange(first, last)
    franchise.resample_dish(units, first, last, source)
    dish = int(franchise.unit_dishes(units)[0])
    franchise.move_units(units, free, dish, source)
    others = np.setdiff1d(np.arange(len(units)), free)
    for which in (others, np.arange(len(units)), others[:1]):
        for move in (
            lambda which=which: franchise.move_units(units, which, dish, source),
            lambda which=which: franchise.resample_dish(units, int(which[0]), int(which[-1]) + 1, source),
        ):
            before = franchise.dishes.tolist()
            try:
                move()
            except hk.errors.StateError:
                assert franchise.dishes.tolist() == before
            else:
                raise AssertionError("units of held customers were moved")


def check_served_models():
    """Split-merge over all that it declares: other roots, known components, held groups."""
    for franchise in served_franchises(moves.SplitMerge(), MEASURE, ["2+2"]):
        if type(franchise.store).__name__ == "ExplicitStore":
            assert check_further(moves.SplitMerge(), franchise, reversible=False)


def check_held_dishes():
    """Split-merge beside a document that is held."""
    check_exact(ExactModel(held("2+2", [0, 1], store="explicit"), WITNESS), moves.SplitMerge())


def check_known_components():
    """Table Gibbs by readable code over a frozen component and one with pseudo-counts."""
    franchise = known(ONE_EACH, measure=READABLE, store="histogram", kernel="reference")
    check_exact(ExactModel(franchise, WITNESS), moves.TableGibbs())


def check_known_dishes_stay_whole():
    """Split-merge beside known components."""
    check_exact(ExactModel(known("2+1", store="explicit"), WITNESS), moves.SplitMerge(), reversible=True)


def check_tables_of_held_documents(kernel="reference", integrated=False):
    """A sweep over documents draws the tables of a held one, too, all given the weights of the sweep."""
    model = holding(Model([[0, 0, 1], [2, 2]], kernel, integrated), 0)

    def swept(source):
        slot, dishes = model.swept((0, 0, 0, 1, 1), source)
        assert dishes[:3] == [slot[0]] * 3
        model.check()
        free = [k for k in slot if dishes[3:] == [slot[k]] * 2]  # a new dish, or one that was there
        seating = model.franchise.seating
        return seating.tables(1, slot[0]), *free, *(seating.tables(2, slot[k]) for k in free)

    found = law_of(swept)
    own = [sum(p for (tables, *_), p in found.items() if tables == t) for t in range(4)]
    assert np.abs(own - law_of_tables(3, ALPHA * WEIGHTS[0])).max() < 1e-12
    for k, weight in enumerate(WEIGHTS):
        own = np.array([sum(p for key, p in found.items() if key[1:] == (k, t)) for t in range(3)])
        assert np.abs(own / own.sum() - law_of_tables(2, ALPHA * weight)).max() < 1e-12
