"""Runs for tests of reports: texts that look like markup, in two chains."""

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.signatures import CHANNELS

HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=2>",
    "<!--<script>",
    "]]>",
    '"><svg onload=window.hacked=3>',
    "{{ 7 * 7 }}{% raw %}",
    "line\u2028separator\u2029",
    "javascript:window.hacked=4",
    "&lt;b&gt;",
    "__proto__",
    "שלום",
    "\x1b[31mred\x00",
    "half\ud800pair",
    "$x^2$ `${window.hacked=5}`",
]


def hostile_corpus():
    rng = np.random.default_rng(3)
    words = [*HOSTILE, *(f"plain{i}" for i in range(26))]
    rows = [rng.integers(0, 10, 30) + 6 * (d % 6) for d in range(40)]
    docs = [[words[v] for v in row] for row in rows]
    names = [f"{HOSTILE[d % len(HOSTILE)]} {d}" for d in range(40)]
    kinds = [[*HOSTILE[:4], "constructor", "__proto__"][d % 6] for d in range(40)]
    days = [None if d == 7 else f"2024-{1 + d % 12:02}-{1 + d % 28:02}" for d in range(40)]
    groups = {"<i>kind</i>": kinds, "<b>day</b>": days}
    return hk.Corpus.from_documents(docs, names=names, groups=groups)


def hostile_run(folder):
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.1), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), hostile_corpus())
    schedule = [moves.TableGibbs(), moves.SplitMerge(), moves.Concentration()]
    scheduler = hk.Scheduler(schedule)
    scheduler.run(franchise, sweeps=20, rng=0, init=np.arange(1200) % 6, chains=2, folder=folder, samples=3)
    return hk.open_run(folder)


def cohort_run(folder):
    """A run over a simulated cohort of two types, with names of samples and types that look like markup."""
    rng = np.random.default_rng(5)
    laws = rng.dirichlet(np.full(96, 0.1), size=3)
    shares = rng.dirichlet([0.4, 0.4, 0.4], size=24)
    counts = np.stack([rng.multinomial(400, share @ laws) for share in shares])
    corpus = hk.Corpus.from_counts(
        counts, vocabulary=CHANNELS["SBS96"].names, names=[f"{HOSTILE[d % 14]} {d}" for d in range(24)],
        groups={"<i>type</i>": [[HOSTILE[1], "__proto__"][d % 2] for d in range(24)]},
    )  # fmt: skip
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus, store="counts", root="weights")
    schedule = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
    hk.Scheduler(schedule).run(
        franchise, sweeps=40, rng=0, init=hk.init.Random(3), chains=2, folder=folder, samples=4
    )
    return hk.open_run(folder)
