"""Checks an installed copy from another folder: ``python -I installed.py`` (no test runner needed)."""

import importlib.resources
import sys
from pathlib import Path

import hdpkit as hk
from hdpkit import moves


def main() -> None:
    root = Path(str(importlib.resources.files("hdpkit")))
    assert not (root.parent / "pyproject.toml").exists(), "this is the checkout, not an installed copy"
    assert (root / "py.typed").is_file()
    for name in (
        "measures/_measure.pxd",
        "stores/layout.h",
        "include/hdpkit/measure.h",
        "include/hdpkit/philox.h",
        "stores/_seating.pxd",
        "random/_source.pxd",
        "random/sources.pxd",
        "random/philox.pxd",
    ):
        assert (root / name).is_file(), name
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    root_restaurant = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=root_restaurant, concentration=0.7, each="document")
    schedule = hk.Scheduler(
        [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]
    )
    for store in ("explicit", "histogram"):
        franchise = hk.Franchise(document, corpus, store=store)
        trace = schedule.run(franchise, sweeps=50, rng=0)
        assert trace.n_draws == 50
        assert franchise.kernel("reseat") == "fused"
        franchise.audit()
    python = sys.version.split()[0]
    print(f"hdpkit {hk.__version__} works from {root} on Python {python}, {hk.instruction_set()}")


if __name__ == "__main__":
    main()
