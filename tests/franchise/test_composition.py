"""The composition of a franchise: references between its parts, and its public members."""

import gc
import weakref

import pytest

import hdpkit as hk
from hdpkit import errors, moves


def franchise(root="restaurant", store="histogram"):
    base = hk.Restaurant(base=hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    corpus = hk.Corpus.from_documents([[0, 1, 1], [1, 2]], n_terms=3)
    return hk.Franchise(hk.Restaurant(base=base, each="document"), corpus, store=store, root=root)


def used(one):
    schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]
    hk.Scheduler(schedule).run(one, 2, rng=0)
    one.log_joint(), one.root_weights(), one.restaurant("document", 0).probabilities(), one.snapshot()
    one.audit()
    return one


@pytest.mark.parametrize("root", ["restaurant", "weights"])
@pytest.mark.parametrize("make", ["new", "used", "copied"])
def test_a_franchise_gives_its_memory_back_at_once(make, root):
    gc.collect()
    gc.disable()  # what is left to the collector of cycles may stay for long: it counts objects, not bytes
    try:
        one = franchise(root)
        if make != "new":
            used(one)
        if make == "copied":
            one = one.copy()
        gone = weakref.ref(one)
        del one
        assert gone() is None
    finally:
        gc.enable()


def test_a_view_keeps_its_franchise():
    view = used(franchise()).restaurant("document", 0)
    assert view.n_customers == 3


def test_the_root_of_a_franchise_that_is_gone_says_so():
    root = franchise("weights").root
    with pytest.raises(errors.StateError, match="Keep a reference to the franchise"):
        root.kind  # noqa: B018


def test_the_root_and_the_hyperparameters_one_step_below():
    one = used(franchise("weights"))
    assert (one.root.declared, one.root.kind) == ("weights", "weights")
    with one.root.integrated(hk.random.RandomStream((1, 1))):
        assert one.root.kind == "restaurant"
    assert one.root.weights is one.parts["root weights"]
    assert "root weights" not in one.components
    assert one.root.concentration == one.concentration("root")
    theta = one.hyperparameters.concentration
    assert theta[0] == one.root.concentration
    with pytest.raises(ValueError, match="read-only"):
        theta[0] = 2.0
    used(one)
    assert one.root.discount == 0.0
