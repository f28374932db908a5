"""The rows of measures of numbers, counts and bits in the table of bad input."""

from importlib import import_module

import numpy as np
from bad_values import (
    INF,
    NAN,
    NO_SEQUENCE,
    NO_TEXT,
    POSITIVE,
    REAL,
    Row,
    Told,
    optional,
    plain,
    whole,
    without,
)

import hdpkit as hk

# One number per dimension is legal, and an array is shown as it is.
VECTORS = [[], [[1.0]], [1.0, NAN], [1.0, INF], [1.0, None], [True, 1.0], ["1", "2"], [[1.0], [1.0, 2.0]]]
ONE = [value for value in REAL if value != [1.0]]
FAR = 1e101
NUMBERS = [*ONE, *VECTORS, FAR, hk.Gamma, "Gamma"]
POSITIVES = [*(value for value in POSITIVE if value != [1.0]), *VECTORS, [1.0, -1.0], 1e-60, 1e60, hk.Gamma]
SINGLE = [*POSITIVES, [1.0]]
MEAN = [*(value for value in NUMBERS if value is not FAR), 0.0, [FAR, 0.0]]
SCALE = [
    None, 5, 1.0, "scale", [], [1.0, 2.0], [[1.0, 2.0]], [[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]],
    [[-1.0, 0.0], [0.0, 1.0]], [[NAN, 0.0], [0.0, 1.0]], [[1.0], [1.0, 2.0]], [["1", "0"], ["0", "1"]],
    [[True, False], [False, True]], np.eye(2) * 1j,
]  # fmt: skip
SPELLING = hk.Spelling(2, words=["a", "ab"], sweeps=2, samples=1)
DIMS = optional(whole(0, 2**31 - 1))


package = import_module("hdpkit.base_measures")  # hk.base_measures is the registry


def both(name, good, bad):
    """Rows of a measure and of its readable twin."""
    return {kind: Row(plain(getattr(package, kind), **good), bad) for kind in (name, f"{name}Reference")}


MEASURES = {
    **both(
        "NormalGamma",
        {
            "mean": [0.0, 1.0], "strength": 0.5, "shape": [1.5, 2.0], "rate": 1.0, "multiplier": 2.0,
            "n_dims": 2,
        },
        {
            "mean": NUMBERS, "strength": POSITIVES, "shape": POSITIVES, "rate": POSITIVES,
            "multiplier": POSITIVES, "n_dims": DIMS,
        },
    ),
    **both(
        "NormalInverseWishart",
        {
            "mean": [0.0, 1.0], "strength": 0.5, "dof": 4.0, "scale": np.eye(2), "multiplier": 2.0,
            "n_dims": 2,
        },
        {
            "mean": MEAN, "strength": SINGLE, "dof": [*SINGLE, 1.0], "scale": SCALE, "multiplier": SINGLE,
            "n_dims": DIMS,
        },
    ),
    **both(
        "VonMisesFisher",
        {"concentration": 2.0, "prior_direction": [0.6, 0.8], "prior_concentration": 0.5, "n_dims": 2},
        {
            "concentration": [*SINGLE, 1e11],
            "prior_direction": [5, "x", [], [1.0], [1.0, 1.0], [NAN, 1.0], [[1.0, 0.0]]],
            "prior_concentration": [None, "x", -1.0, NAN, [1.0], 1e11],
            "n_dims": DIMS,
        },
    ),
    **{
        f"NormalGamma.{name}": Row(
            plain(getattr(hk.NormalGamma, name), values=[[1.0, 0.0], [0.5, 2.0]], n_dishes=5.0),
            {
                "values": [
                    None, 5, "values", [], [1.0], [[1.0, 2.0]], [[[1.0]]], [[1.0], [1.0, 2.0]],
                    Told([[1.0, 2.0], [1.0, 3.0]], "column 0 is constant"),
                    np.full((5, 2), NAN), [["1", "2"], ["3", "4"]],
                ],
                "n_dishes": SINGLE,
                **more,
            },
        )
        for name, more in (
            ("weakly_informative", {}),
            ("hierarchical", {"variances": [5.0, "x", [], [1.0], [1.0, 0.0], [1.0, NAN], [[1.0, 1.0]]]}),
        )
    },
    "VonMisesFisher.weakly_informative": Row(
        plain(
            hk.VonMisesFisher.weakly_informative,
            values=[[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]],
            n_dishes=5.0,
        ),
        {
            "values": [
                None, 5, "values", [], [1.0, 0.0], [[1.0, 0.0]], [[1.0], [1.0]],
                Told([[1.0, 0.0], [1.0, 1.0]], "a vector of length 1.41421"),
                Told([[1.0, 0.0], [1.0, 0.0]], "2 vectors"),
                np.full((5, 2), NAN), [[1.0], [1.0, 2.0]], [["1", "2"], ["3", "4"]],
            ],
            "n_dishes": SINGLE,
        },
    ),
    **{
        f"NormalInverseWishart.{name}": Row(
            plain(
                getattr(hk.NormalInverseWishart, name),
                values=np.random.default_rng(0).normal(size=(9, 2)),
                n_dishes=5.0,
            ),
            {
                "values": [
                    None, 5, "values", [], [1.0, 2.0], [[1.0, 2.0]],
                    Told(np.ones((5, 2)), "5 vectors of 2 numbers"),
                    np.full((5, 2), NAN), [[1.0], [1.0, 2.0]], [["1", "2"], ["3", "4"]],
                ],
                "n_dishes": SINGLE,
                **more,
            },
        )
        for name, more in (
            ("weakly_informative", {}),
            ("hierarchical", {"covariance": [5.0, "x", [], np.eye(3), -np.eye(2), [[1.0, 2.0], [0.0, 1.0]]]}),
        )
    },
    **both(
        "GammaPoisson",
        {"shape": [1.5, 2.0], "rate": 1.0, "n_dims": 2},
        {"shape": POSITIVES, "rate": POSITIVES, "n_dims": DIMS},
    ),
    **{
        name: Row(
            plain(
                getattr(package, name), smoothing=0.5, selection=hk.Beta(1.0, 1.0),
                proportions="stored", n_terms=3,
            ),
            {
                "smoothing": [
                    *POSITIVE, 1e-7, 1e7, hk.Gamma, "Gamma", hk.Each(hk.Normal(1.0, 1.0)),
                    hk.Each(hk.Shifted(hk.Gamma(1.0, 1.0))), Told(hk.Each(hk.Gamma(1.0, 1e9)), "1e-09"),
                ],
                "selection": [
                    *REAL, 0, 1, 0.0, 1.0, -0.5, 1.5, hk.Beta, hk.Gamma(1.0, 1.0), hk.Each(hk.Beta(1.0, 1.0)),
                    Told(hk.Beta(1e-7, 1.0), "1e-07"), Told(hk.Beta(1.0, 1e7), "10000000.0"),
                    Told(hk.Beta(1.0, hk.Gamma(1.0, 1e9)), "1e-09"),
                ],
                "proportions": [None, 5, True, "", "both", b"stored", ["stored"]],
                "n_terms": optional(whole(2, 2**31 - 1)),
            },
        )
        for name in ("SparseDirichletMultinomial", "SparseDirichletMultinomialReference")
    },
    "Bursty": Row(
        plain(
            hk.Bursty, measure=hk.DirichletMultinomial(0.5), concentration=1.0, discount=0.0, each="document"
        ),
        {
            "measure": [
                None, 5, "words", hk.DirichletMultinomial, hk.NormalGamma(), hk.Gamma(1.0, 1.0),
                hk.Bursty(hk.DirichletMultinomial(0.5)),
                hk.SparseDirichletMultinomial(hk.Each(hk.Gamma(1.0, 1.0))),
                hk.SparseDirichletMultinomial(0.3, proportions="stored"),
            ],
            "concentration": [
                None, NAN, -INF, 0.0, -1.0, 1e101, "1", [1.0], hk.Gamma, hk.Normal(1.0, 1.0),
                hk.Shifted(hk.Gamma(1.0, 1.0)), hk.Each(hk.Normal(1.0, 1.0)),
                hk.Each(hk.Shifted(hk.Gamma(1.0, 1.0))),
            ],
            "discount": [
                None, NAN, INF, -0.1, 1.0, "0", [0.5], hk.Beta, hk.Normal(0.5, 1.0), hk.Gamma(1.0, 2.0),
                hk.Each(hk.Beta(1.0, 1.0)),
            ],
            "each": [None, 5, "", b"document", ["document"]],
        },
    ),
    "Uniform": Row(plain(hk.Uniform, n_terms=3), {"n_terms": optional(whole(1, 2**31 - 2))}),
    "Categorical": Row(
        plain(hk.Categorical, probabilities=[0.5, 0.0, 0.5]),
        {
            "probabilities": [
                None, 5, 1.0, "1", [], [[1.0]], [1.0, NAN], [0.5, INF], [0.5, None], [True, False],
                ["0.5", "0.5"], [[1.0], [0.5, 0.5]], [0.5, 0.4], [1.5, -0.5], [1.0, 1e-6], np.array([1j]),
                {0: 1.0}, hk.Gamma, {0.5},
            ]
        },
    ),
    "Spelling": Row(
        plain(
            hk.Spelling, order=2, alphabet="ab", concentrations=[1.0, hk.Gamma(1.0, 1.0)],
            discounts=(0.0, hk.Beta(1.0, 1.0)), words=["a", "ab"], sweeps=2, samples=1, seed=0,
            store="explicit",
        ),
        {
            "order": whole(1, 100),
            "concentrations": [
                NAN, INF, -1.0, 0.0, "1", b"1", {}, hk.Gamma, True, (1.0,), (1.0, None), (1.0, -1.0),
            ],
            "discounts": [
                NAN, 1.0, -0.1, "0.5", {}, hk.Beta, (0.5,), (0.5, 0.5, 0.5), (0.5, None), (0.5, 1.0),
            ],
            "alphabet": ["", 5, b"ab", ["a", "b"], "aba"],
            "words": [*without(NO_SEQUENCE, None), [], ["a", "a"], ["a", 1], ["a", None], [b"a"], [["a"]]],
            "sweeps": whole(1),
            "samples": [*whole(1), 3],
            "store": [None, 5, "", "nothing", b"explicit", ["explicit"], hk.SeatingStore],
        },
    ),
    "Spelling.log_probability_of": Row(
        lambda franchise: (SPELLING.log_probability_of, {"word": ""}),
        {"word": without(NO_TEXT, "")},
    ),
    "Spelling.sample": Row(
        lambda franchise: (SPELLING.sample, {"n": 2, "rng": 0}), {"n": whole(0)}
    ),
    **both(
        "BetaBernoulli",
        {"a": [1.5, 2.0], "b": 1.0, "n_dims": 2},
        {"a": POSITIVES, "b": POSITIVES, "n_dims": DIMS},
    ),
}  # fmt: skip
