"""Bytes per token of each program: as reported, and as growth of its process."""

import gc

from contest.contestants import Gensim, Ours, Tomotopy
from machine import peak, resident

SYSTEMS = {
    "explicit": lambda corpus, dishes, kernel: Ours(corpus, "explicit", kernel, f"Random({dishes})"),
    "histogram": lambda corpus, dishes, kernel: Ours(corpus, "histogram", kernel, f"Random({dishes})"),
    "tomotopy": lambda corpus, dishes, kernel: Tomotopy(corpus, dishes),
    "gensim": lambda corpus, dishes, kernel: Gensim(corpus),
}


def measure(corpus, system, dishes, sweeps, kernel):
    """Bytes per token of one system after some sweeps, in a process that has done nothing else.

    The corpus is already loaded: the growth of the process includes the copy of it that another program
    makes, but not that of hdpkit (whose size is given separately).
    """
    gc.collect()
    before = resident()
    one = SYSTEMS[system](corpus, dishes, kernel)
    one.sweep(sweeps)
    gc.collect()
    n = len(corpus)
    row = {"name": one.name, "process": (resident() - before) / n, "peak": (peak() - before) / n}
    row["topics"] = one.n_topics
    if isinstance(one, Ours):
        whole, counts = one.franchise.memory_bytes(), one.franchise.bank.memory_bytes()
        row |= {"all": whole / n, "beyond": (whole - counts) / n, "corpus": corpus_bytes(corpus) / n}
    return row


def corpus_bytes(corpus):
    """Bytes of the arrays of a corpus."""
    codes = [codes for codes, _ in (corpus.labels[name] for name in corpus.labels)]
    return corpus.terms.nbytes + corpus.document_lengths.nbytes + sum(array.nbytes for array in codes)


def print_rows(rows):
    """A table of them."""
    print("| system | K | franchise | without topic-term counts | process grew by | at most | corpus |")
    print("|" + " --- |" * 7)
    for row in rows:
        own = [f"{row[key]:.1f}" if key in row else "" for key in ("all", "beyond")]
        grew = [f"{row[key]:.1f}" for key in ("process", "peak")]
        corpus = f"{row['corpus']:.1f}" if "corpus" in row else "(in it)"
        print(f"| {row['name']} | {row['topics']} | " + " | ".join([*own, *grew, corpus]) + " |")
    print()
