"""Topics that differ by document: every state with its numbers of tables, enumerated.

Posterior and states come from `ExactBurstyModel`, which seats terms one by one, with no code of the measure.
"""

import functools

import pytest
from marginals import dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import check_exact, check_irreducible
from hdpkit.testing.exact_bursts import ExactBurstyModel

CORNER = Corner(0.9, 0.7, 0.3, 0.6)
TERMS = [0, 0, 1, 0, 1]
LAWS = [(0.1, 0.0), (1.0, 0.3), (100.0, 0.0), (0.4, 0.3)]
READABLE = DirichletMultinomialReference


def tiny(shape, b, a, each="document", inner=READABLE, terms=TERMS, **options):
    measure = hk.Bursty(inner(0.5, n_terms=3), b, a, each=each)
    n = {"2+2": 4, "2+1": 3, "3+2": 5, "three levels": 4, "3": 3, "4": 4}.get(shape, 4)
    return tiny_franchise(shape, measure, corner=CORNER, values=terms[:n], **options)


@functools.lru_cache(maxsize=16)
def model_of(
    shape, b, a, each="document", inner=READABLE, store="explicit", root="restaurant", terms=tuple(TERMS)
):
    franchise = tiny(shape, b, a, each, inner, list(terms), store=store, root=root)
    return ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=repr)
@pytest.mark.parametrize(("b", "a"), LAWS)
@pytest.mark.parametrize(
    ("shape", "each"), [("2+2", "document"), ("three levels", "document"), ("three levels", "author")]
)
def test_moves_leave_the_posterior_invariant(shape, each, b, a, move, store):
    model = model_of(shape, b, a, each, store=store)
    whole = check_exact(model, move)
    if isinstance(move, moves.TableGibbs):
        check_irreducible(model, whole, "a sweep of table Gibbs")
