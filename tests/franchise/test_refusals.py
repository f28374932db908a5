"""What doesn't combine, and calls that a state doesn't allow: a typed error, and nothing has changed."""

import contextlib

import numpy as np
import pytest
from test_graphs import years

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream
from hdpkit.stores import ExplicitReference
from hdpkit.testing.cases import tiny_franchise

SOURCE = RandomStream((1, 1))
TERMS = hk.DirichletMultinomial(0.5, n_terms=3)


def tiny(measure=TERMS, shape="2+2", **options):
    return lambda: tiny_franchise(shape, measure, **options)


def counted(**below):
    """Counts by customer, under weights of the root."""
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
    documents = hk.Restaurant(hk.Restaurant(TERMS), each="document", **below)
    made = hk.Franchise(documents, corpus, store="counts", root="weights")
    return run(made, moves.TableGibbs())


def chain(measure=TERMS, values=(0, 1, 1), **options):
    """A hidden Markov model."""
    rows = hk.Restaurant(hk.Restaurant(measure), each=hk.PreviousDish())
    terms = {"n_terms": 3} if measure is TERMS else {}
    made = hk.Franchise(rows, hk.Sequences.from_arrays([list(values)], **terms), **options)
    start(made, "one", SOURCE)
    return made


def graph():
    return run(hk.Franchise(*years()), moves.TableGibbs())


def run(made, *schedule):
    hk.Scheduler(schedule).run(made, sweeps=1, rng=0)
    return made


def proposed(made, change=lambda p: None, source=None):
    with made.proposal(source) as p:
        change(p)


def integrated(made, use):
    with made.parts_integrated(SOURCE):
        use(made)


def observed_elsewhere(p):
    p.unseat(0)
    p.seat(0, dish=2)


def forged(key, change):
    def thaw(made):
        frozen = made.freeze()
        made.thaw({**frozen, key: change(frozen[key])})

    return thaw


def parents_of(components):
    (name,) = components
    return {name: {**components[name], "topics of 2": [1, 1]}}


def held(made):
    made.hold([0])
    made.reseat(0, made.topology.n_customers, SOURCE)


def snapshot_with_a_dish_of_nobody(made):
    with made.transaction():
        made.open_dish(SOURCE)
        made.snapshot()


class Plain(ExplicitReference):
    """A store that takes nothing back."""

    sit = None


class WithoutMarginals(hk.NormalGamma):
    """A measure of a user's that has powers, but can't say how likely they make a dish."""

    log_marginal, log_marginals = hk.BaseMeasure.log_marginal, hk.BaseMeasure.log_marginals

    def tempered(self, power):
        return self


REPLICAS = moves.ReplicaExchange((1.0, 0.6))


def wrong_atoms(logs):
    class Wrong(hk.Uniform):
        def log_probabilities(self):
            return logs

    return lambda made: tiny(Wrong(3), values=[0, 0, 1, 0])()


BINOMIAL = moves.TableCounts("binomial")
REFUSED = {
    "discounts over counts": (counted, lambda f: f.set_discount("document", 0.2), "histogram"),
    "frozen discounts over counts": (counted, forged("discount", lambda d: d + 0.1), "histogram"),
    "one binomial draw": (
        lambda: counted(concentration=hk.Each(hk.Gamma(1, 1))), lambda f: run(f, BINOMIAL), "bernoulli"
    ),
    "steps over integrated weights": (
        counted, lambda f: integrated(f, lambda f: f.reseat(0, 5, SOURCE)), "root_integrated"
    ),
    "an observed dish is opened": (tiny(hk.Uniform(3)), lambda f: f.open_dish(), "observed"),
    "observed dishes are given": (
        tiny(hk.Uniform(3)), lambda f: f.enter_given(np.full(4, 2, np.int32), 0, 4, SOURCE), "values"
    ),
    "another observed dish": (
        tiny(hk.Uniform(3)), lambda f: f.restaurant("document", 0).seat(0, 2), "seated|unseated"
    ),
    "held customers": (tiny(), held, "release"),
    "terms that a frozen component lacks": (
        tiny(values=[0, 1, 2, 2], known=hk.Known([[0.5, 0.5, 0.0]], frozen=True)),
        lambda f: hk.Scheduler([moves.TableGibbs()]).run(f, 1, init=np.zeros(4, int)), "frozen"
    ),
    "data that join a graph": (graph, lambda f: f.extend(f.data), "n-grams"),
    "groups of a graph": (graph, lambda f: f.hold([0]), "held"),
    "weights of a graph": (graph, forged("components", parents_of), "sum of one"),
    "blocks over a graph": (graph, lambda f: run(f, moves.SplitMerge()), "moves"),
    "proposals over a graph": (graph, proposed, "labelled_seating"),
    "proposals that set what is integrated": (
        tiny(root="weights", store="explicit"),
        lambda f: integrated(
            f, lambda f: proposed(f, lambda p: p.set_part("root weights", {"weights": [1.0, 0.0]}))
        ),
        "integrated",
    ),
    "births without a source": (
        tiny(root="weights", store="explicit"),
        lambda f: proposed(f, lambda p: p.move_units(f.units(1), [0])),
        "weight of the dish",
    ),
    "customers outside": (
        tiny(store="explicit"), lambda f: proposed(f, lambda p: (p.unseat(0), p.accept())), "customers"
    ),
    "stores that take nothing back": (tiny(store=Plain), proposed, "TakesBack"),
    "proposals over states": (lambda: chain(store="explicit"), proposed, "hidden Markov"),
    "parameters in proposals": (tiny(hk.Bursty(TERMS, discount=0.3), store="explicit"), proposed, "measure"),
    "no unused dish": (
        tiny(shape="flat 4", root=hk.FixedWeights(1), store="explicit"),
        lambda f: proposed(f, lambda p: p.move_units(f.units(1, with_customers=True), [0])),
        "unused",
    ),
    "another observed dish in proposals": (
        tiny(hk.Uniform(3), store="explicit"), lambda f: proposed(f, observed_elsewhere), "dish"
    ),
    "powers without a marginal": (
        tiny(hk.Bursty(TERMS, discount=0.3)), lambda f: f.at_power(0.5).__enter__(), "has_powers"
    ),
    "powers without parameters": (
        lambda: chain(hk.GammaPoisson(1.0, 1.0), store="counts", root="weights"),
        lambda f: run(f, moves.BeamSampler(), moves.ReplicaExchange((1.0, 0.5))),
        "draw_parameters",
    ),
    "powers without marginals": (
        tiny(WithoutMarginals(), values=[0.1, 0.2, 0.3, 0.4]), lambda f: run(f, moves.TableGibbs(), REPLICAS),
        "log_marginal",
    ),
    "powers of known components": (
        tiny(known=hk.Known(np.full((1, 3), 1 / 3), counts=[10.0])),
        lambda f: run(f, moves.TableGibbs(), REPLICAS), "known components",
    ),
    "powers in a mixture of moves": (tiny(), lambda f: hk.Mixture([(REPLICAS, 1.0)]), "one franchise"),
    "states that come before others": (chain, lambda f: f.leave(0, 1, SOURCE), "customer"),
    "sizes of rows": (chain, lambda f: f.topology.sizes(), "homes|depend"),
    "blocks of states": (chain, lambda f: run(f, moves.SplitMerge()), "moves"),
    "documents of states": (
        lambda: chain(store="counts", root="weights"), lambda f: run(f, moves.CountGibbs()), "moves"
    ),
    "atoms that are no law": (tiny(), wrong_atoms(np.log([0.5, 0.2, 0.2])), "a sum of 1"),
    "atoms of another number": (tiny(), wrong_atoms(np.log([0.5, 0.5])), "shape"),
    "a dish of nobody": (tiny(), snapshot_with_a_dish_of_nobody, "open_dish"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_changes_nothing(what):
    make, use, words = REFUSED[what]
    made = make()
    before = made.dishes.tolist()
    with pytest.raises(errors.HdpkitError, match=words):
        use(made)
    with contextlib.suppress(errors.ClosedError):
        assert made.dishes.tolist() == before
