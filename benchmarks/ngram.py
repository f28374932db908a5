"""Pitman-Yor n-gram models compared with modified Kneser-Ney, in one run on the same text.

    python benchmarks/ngram.py TRAIN TEST [--orders 2 3 5] [--sweeps 30] [--burn-in 10] [--samples 10]
                                          [--timed-sweeps 3] [--calibrate CORPUS] [--seed 0] [--json FILE]

TRAIN and TEST are files of sentences, one per line, plain or compressed. The sentence end is predicted,
`<unk>` is a word like any other. The vocabulary of both models is that of both texts, so that they predict
the same tokens. Perplexities are those of the test text:

- `KN`: interpolated modified Kneser-Ney (benchmarks/kneser_ney.py);
- `first`: the Pitman-Yor model after one sweep; `average`: averaged over samples spread over the sweeps after
  the burn-in. Discounts (Beta(1, 1)) and concentrations (Gamma(1, 1)) are resampled, one of each per level.

`tokens/s` is for TableGibbs alone, which reseats every token: the median of the timed sweeps, for each store
in turn. With a topic model corpus for calibration (LDA-C, and tomotopy installed), `tokens/reference s` is
the same in the unit of benchmarks/reference_second.py, measured between the sweeps. `bytes/token` is the
franchise's memory divided by the number of training tokens.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import kneser_ney
from machine import block
from reference_second import ReferenceClock

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import read_sentences

STORES = ("explicit", "histogram")


def speed(model, store, sweeps, seed):
    """Tokens per second of TableGibbs from the model's state, and bytes per token, on one store."""
    franchise = hk.Franchise(model.franchise.declarations[-1], model.data, store=store)
    gibbs = hk.Scheduler([moves.TableGibbs()])
    trace = gibbs.run(franchise, sweeps=1 + sweeps, rng=seed, init=model.franchise)
    rates = len(model.data) / trace.moves["seconds"][1:]
    return statistics.median(rates.tolist()), franchise.memory_bytes() / len(model.data)


def compare(train, test, vocabulary, order, options, clock):
    """One row of the table."""
    began = time.perf_counter()
    bar = kneser_ney.ModifiedKneserNey(order, vocabulary=vocabulary).fit(train)
    row = {"order": order, "kn": bar.perplexity(test), "kn_seconds": time.perf_counter() - began}

    began = time.perf_counter()
    model = hk.NGramModel(order=order, vocabulary=[*vocabulary, "</s>"])
    model.fit(train, sweeps=1, burn_in=0, samples=1, rng=options.seed)
    row["first"] = model.perplexity(test)
    model = hk.NGramModel(order=order, vocabulary=[*vocabulary, "</s>"])
    model.fit(
        train, sweeps=options.sweeps, burn_in=options.burn_in, samples=options.samples, rng=options.seed
    )
    row["average"] = model.perplexity(test)
    row["seconds"] = time.perf_counter() - began
    row["restaurants"] = model.franchise.topology.n_nodes
    for store in STORES:
        if clock:
            clock.tick()
        row[f"rate_{store}"], row[f"bytes_{store}"] = speed(model, store, options.timed_sweeps, options.seed)
    if clock:
        clock.tick()
        for store in STORES:
            row[f"reference_rate_{store}"] = row[f"rate_{store}"] / clock.seconds
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", help="sentences, one a line, plain or packed")
    parser.add_argument("test", help="the same")
    parser.add_argument("--orders", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--sweeps", type=int, default=30)
    parser.add_argument("--burn-in", type=int, default=10)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--timed-sweeps", type=int, default=3)
    parser.add_argument("--calibrate", help="LDA-C file that reference seconds are measured on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args()

    train, test = (list(read_sentences(path)) for path in (options.train, options.test))
    vocabulary = sorted({word for sentence in [*train, *test] for word in sentence})
    n_train, n_test = (sum(len(sentence) + 1 for sentence in text) for text in (train, test))
    print(block())
    clock = ReferenceClock(hk.Corpus.from_ldac(options.calibrate)) if options.calibrate else None
    print(f"{n_train:,} training tokens, {n_test:,} test tokens, {len(vocabulary):,} words")
    print(f"sweeps {options.sweeps}, burn-in {options.burn_in}, samples {options.samples}\n")
    names = ("order", "KN", "first", "average", "restaurants")
    figures = {"rate": "tokens/s", "reference_rate": "tokens/reference s", "bytes": "bytes/token"}
    if clock is None:
        del figures["reference_rate"]
    names += tuple(f"{figure}, {store}" for figure in figures.values() for store in STORES)
    print("| " + " | ".join((*names, "s KN", "s")) + " |")
    print("|" + " --- |" * (len(names) + 2))
    rows = []
    for order in options.orders:
        row = compare(train, test, vocabulary, order, options, clock)
        rows.append(row)
        cells = [f"{row[name]:.2f}" for name in ("kn", "first", "average")] + [f"{row['restaurants']:,}"]
        for name in figures:
            form = ".1f" if name == "bytes" else ",.0f"
            cells += [f"{row[f'{name}_{store}']:{form}}" for store in STORES]
        cells += [f"{row['kn_seconds']:.1f}", f"{row['seconds']:.1f}"]
        print(f"| {order} | " + " | ".join(cells) + " |", flush=True)
    if clock:
        print(f"\n{clock}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
