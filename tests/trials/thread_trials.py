"""Trials of threads: every public member is read from other threads during a run.

    python tests/trials/thread_trials.py [count] [seed]

A read may succeed or raise a BusyError; the run must equal the run without readers, bit for bit. Prints the
numbers of reads by outcome.
"""

import sys
import threading
import time
from collections import Counter

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import BusyError, StateError
from hdpkit.franchise.freezing import Snapshot
from hdpkit.random import RandomStream

WEIGHTS = ", weights"
STORES = ("histogram", "explicit", "explicit" + WEIGHTS, "histogram" + WEIGHTS, "counts", "counts" + WEIGHTS)
SCHEDULE = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]
BLOCKS = ("lock", "reserved", "root_integrated", "parts_integrated", "labelled_seating", "at_power")


def corpus(n_documents=40, length=60, n_terms=30):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(n_terms, 0.2), size=6)
    docs = [rng.choice(n_terms, size=length, p=topics[rng.integers(6)]).tolist() for _ in range(n_documents)]
    return hk.Corpus.from_documents(docs, n_terms=n_terms)


def franchise(store, kernel="auto", data=None):
    """Over this store, "explicit, weights" for one whose root has weights."""
    store, weights = store.removesuffix(WEIGHTS), store.endswith(WEIGHTS)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(
        hk.Restaurant(base=root, concentration=1.0, each="document"),
        data or corpus(),
        store=store,
        kernel=kernel,
        root="weights" if weights else "restaurant",
    )


def members(f):
    """Uses by name: members of a franchise and of a view."""
    source = RandomStream((1, 1))
    frozen = f.freeze()
    view = f.restaurant("document", 0)
    arguments = {
        "add_units": None, "concentration": ("root",),
        "draw_sequences": None, "state_probabilities": None,  # of hidden Markov models only
        "discard": (0, 1), "discount": ("root",), "enter": (0, 0, source), "extend": (f.data,),
        "fold_in": (hk.Corpus.from_documents([[0, 1]], n_terms=f.data.n_terms), 1),
        "enter_given": (np.zeros(len(f.data), np.int32), 0, 0, source), "group_weights": ("document",),
        "in_chunks": (0, 0, print), "kernel": ("reseat",), "keys": ("document",), "leave": (0, 0, source),
        "free_ranges": (0, 1), "free_units": None, "hold": ([],),
        "look": (5.0,), "move_units": None, "resample_dish": None, "register": None, "reseat": (0, 3, source),
        "reseat_groups": None, "reserved": (1,), "restaurant": ("document", 1), "scan_units": None,
        "root_integrated": (source,), "parts_integrated": (source,), "labelled_seating": (source,),
        "at_power": (0.5,), "set_base_parameters": (),
        "set_concentration": ("document", 1.0),
        "set_discount": ("document", 0.0), "simulate": (1,), "size_counts": ([0],), "tables_of": ("root",),
        "thaw": (frozen,), "lock": (), "unit_dishes": None, "units": (1,),
        "with_documents": None, "on_pulse": None,
    }  # fmt: skip
    found = {}
    for name in sorted(set(dir(f)) | set(vars(f))):
        if name.startswith("_") or arguments.get(name, ()) is None:
            continue

        def use(name=name):
            thing = getattr(f, name)
            if name in BLOCKS:
                with thing(*arguments[name]):
                    return None
            return (
                thing(*arguments.get(name, ())) if callable(thing) and not isinstance(thing, type) else thing
            )

        found[name] = use
    for name in (name for name in dir(view) if not name.startswith("_")):
        given = {"customers_of": (0,), "tables_of": (0,), "unseat": (0, 1), "seat": (0, None, 1)}.get(
            name, ()
        )
        found[f"view.{name}"] = lambda name=name, given=given: (
            getattr(view, name)(*given) if callable(getattr(view, name)) else getattr(view, name)
        )
    found["Snapshot"] = lambda: Snapshot(f)
    found["Scheduler.run"] = lambda: hk.Scheduler(SCHEDULE).run(f, 1, rng=1, init=None)
    found["Scheduler.sample"] = lambda: next(hk.Scheduler(SCHEDULE).sample(f, 1, rng=1, init=None))
    found["repr"] = lambda: repr(f)
    return found


def trial(store, n_reads, seed, n_threads=3, sweeps_at_once=3):
    """Reads by threads while a run goes on and on; returns counts of (member, end), and if all is well."""
    f = franchise(store)
    expected = franchise(store)
    scheduler = hk.Scheduler(SCHEDULE)
    scheduler.run(f, 2, rng=seed)
    scheduler.run(expected, 2, rng=seed)
    readers = members(f)
    ends, over, done = Counter(), threading.Event(), [0]
    names = list(readers)

    def read(number):
        rng = np.random.default_rng([seed, number])
        while not over.is_set():
            name = names[rng.integers(len(names))]
            try:
                readers[name]()
                end = "answer"
            except BusyError:
                end = "BusyError"
            except StateError as error:
                # A store of counts can't answer what is asked of sizes.
                sizes = store.startswith("counts") and "sizes of tables" in str(error)
                end = "answer" if sizes else f"StateError: {error}"
            except BaseException as error:
                end = f"{type(error).__name__}: {error}"
            ends[name, end] += 1
            done[0] += 1
            time.sleep(0.0005 * rng.random())

    threads = [threading.Thread(target=read, args=(number,)) for number in range(n_threads)]
    total = []

    def enough(draw):
        """Readers come after the first sweep and are gone before the run is over."""
        if not total:
            for thread in threads:
                thread.start()
        total.append(draw.sweep)
        if done[0] < n_reads or len(total) < sweeps_at_once:
            return False
        over.set()
        for thread in threads:
            thread.join()
        return True

    scheduler.run(f, 10**6, init=None, callbacks=[enough])
    scheduler.run(expected, len(total), init=None)
    f.audit()
    well = f.sweep == expected.sweep and np.array_equal(f.dishes, expected.dishes)
    return ends, well


def main(count=1000, seed=0):
    """Trials over every store, with and without weights of the root."""
    for store in STORES:
        began = time.monotonic()
        ends, well = trial(store, count, seed)
        by_end = Counter()
        for (_, end), n in ends.items():
            by_end[end] += n
        print(f"{store}: {sum(ends.values())} uses of {len({name for name, _ in ends})} members")
        for end, n in by_end.most_common():
            print(f"  {n:6d} {end}")
        for (name, end), _ in sorted(ends.items()):
            if end not in ("answer", "BusyError"):
                print(f"    {name}: {end}")
        print(
            f"  the run is {'' if well else 'NOT '}the run without readers; {time.monotonic() - began:.1f} s"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
