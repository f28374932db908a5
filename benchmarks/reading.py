"""Time to read texts and counts, and to fit a table of short texts, from the file to the topics.

    python benchmarks/reading.py corpus.ldac --vocabulary vocab.txt --texts 100000 --sweeps 20

Texts are made from a corpus: each consists of words of one document, drawn with replacement. Reported are the
time of each reader for the same texts (CSV, TSV, JSON lines, Parquet, lines) and for the file of counts, and
the time of the complete command `hdpkit fit texts.csv`, in its own process. `--moves` is passed to that
command.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hdpkit.io import read_corpus


def spelled(number):
    """A word of letters for a term without a word."""
    letters = ""
    while True:
        number, digit = divmod(number, 26)
        letters += chr(ord("a") + digit)
        if not number:
            return "w" + letters


def texts_of(corpus, n_texts, length, seed=0):
    """Texts of ``length`` words, each from one document of the corpus."""
    rng = np.random.default_rng(seed)
    vocabulary = corpus.vocabulary or [spelled(v) for v in range(corpus.n_terms)]
    filled = np.flatnonzero(corpus.document_lengths)
    values = corpus.values
    for d in rng.choice(filled, size=n_texts):
        customers = corpus.document_customers(int(d))
        own = rng.integers(customers.start, customers.stop, size=length)
        yield " ".join(str(vocabulary[v]) for v in values[own])


def write(folder, texts):
    with open(folder / "texts.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows(enumerate(texts))
    with open(folder / "texts.tsv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow(["id", "text"])
        rows.writerows(enumerate(texts))
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))
    (folder / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.table({"id": list(range(len(texts))), "text": texts})
        pyarrow.parquet.write_table(table, folder / "texts.parquet")


def timed(what, *arguments):
    began, worked = time.perf_counter(), time.process_time()
    corpus = read_corpus(*arguments)
    return what, corpus.n_tokens, time.perf_counter() - began, time.process_time() - worked


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--vocabulary", type=Path)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--moves", help="moves of a sweep; by default those of hdpkit fit")
    arguments = parser.parse_args()
    print("| read | tokens | s | s of a processor | tokens/s of a processor |")
    print("| --- | --- | --- | --- | --- |")
    rows = [timed(arguments.corpus.name, arguments.corpus)]
    corpus = read_corpus(arguments.corpus, vocabulary=arguments.vocabulary)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, list(texts_of(corpus, arguments.texts, arguments.length)))
        rows += [timed(path.name, path) for path in sorted(folder.glob("texts.*"))]
        for what, tokens, seconds, worked in rows:
            print(
                f"| {what} | {tokens:,} | {seconds:.2f} | {worked:.2f} | {tokens / max(worked, 1e-9):,.0f} |"
            )
        command = [sys.executable, "-c", "from hdpkit.cli.main import main; main()", "fit"]
        options = ["--id-column", "id", "--sweeps", str(arguments.sweeps), "--out", str(folder / "run")]
        if arguments.moves:
            options += ["--moves", arguments.moves]
        began, before = time.perf_counter(), os.times()
        done = subprocess.run(
            [*command, str(folder / "texts.csv"), *options], capture_output=True, text=True, check=False
        )
        seconds, after = time.perf_counter() - began, os.times()
        worked = after.children_user + after.children_system - before.children_user - before.children_system
        if done.returncode:
            raise SystemExit(done.stderr)
        print(
            f"\nhdpkit fit texts.csv, {arguments.texts:,} texts, {arguments.sweeps} sweeps: {seconds:.1f} s, "
            f"{worked:.1f} s of a processor"
        )
        print(done.stdout)


if __name__ == "__main__":
    main()
