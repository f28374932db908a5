"""Reads damaged files of every format, in separate processes with limits on time and memory.

``python reader_trials.py COUNT SEED`` prints one JSON line: trials by format and outcome, and the failures.
A trial builds a small healthy file or folder, damages it, and reads it. It passes if that ends in a typed
error whose text is safe to print, or in data that pass their own checks. A Python error of another kind, the
end of the process, more than ten seconds or more than two gigabytes are failures; so is a warning, since it
means that a parser continued with something that it did not understand.
"""

import csv
import gzip
import importlib.util
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
import unicodedata
import warnings
from pathlib import Path

from workers import Worker, limit_memory

SECONDS = 10.0  # of a processor; the machine may have more to do
PATIENCE = 6 * SECONDS
BYTES = 2 * 2**30

NUMBERS = (
    b"0 -1 1 2147483646 2147483647 2147483648 4294967296 999999999 1000000000 9223372036854775807 "
    b"9223372036854775808 123456789012345678901234567890 1e9 1e400 nan inf -0 0.5 1.0 0x10 007 1_000"
).split(b" ")
PIECES = [bytes([one]) for one in b"\0\r\n \t:%\\'\"=\x0c\x85"]
PIECES += [b"\r\n", b"\n\n", b"{}", b"<s>", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[31m", b"\xc2\x9b2J"]
PIECES += [b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xe2\x80\xa8"]
PIECES += [b"[" * 2000, b"0\n" * 500, b"1" * 5000, b"a" * 70_000]


def counts_of(rng):
    n_documents, n_terms = rng.randint(1, 6), rng.randint(1, 8)
    rows = [[rng.choice((0, 0, 1, 1, 2, 7)) for _ in range(n_terms)] for _ in range(n_documents)]
    rows[0][0] = 1
    return rows


def ldac(rng):
    lines = []
    for row in counts_of(rng):
        pairs = [f"{v}:{n}" for v, n in enumerate(row) if n]
        lines.append(" ".join([str(len(pairs)), *pairs]))
    return "".join(f"{line}\n" for line in lines).encode()


def uci(rng):
    rows = counts_of(rng)
    entries = [f"{d} {v} {n}" for d, row in enumerate(rows, 1) for v, n in enumerate(row, 1) if n]
    return "\n".join([str(len(rows)), str(len(rows[0])), str(len(entries)), *entries, ""]).encode()


def matrix_market(rng):
    rows = counts_of(rng)
    field = rng.choice(("integer", "real", "pattern"))
    dense = rng.random() < 0.4 and field != "pattern"

    def text(n):
        return {"integer": str(n), "real": rng.choice((f"{n}.0", f"{n:.4e}", str(n))), "pattern": ""}[field]

    head = [f"%%MatrixMarket matrix {'array' if dense else 'coordinate'} {field} general", "%a comment"]
    shape = f"{len(rows)} {len(rows[0])}"
    if dense:
        body = [shape, *(text(row[v]) for v in range(len(rows[0])) for row in rows)]
    else:
        cells = [(d, v, n) for d, row in enumerate(rows, 1) for v, n in enumerate(row, 1) if n]
        body = [f"{shape} {len(cells)}", *(f"{d} {v} {text(n)}".rstrip() for d, v, n in cells)]
    return "\n".join([*head, *body, ""]).encode()


def records_of(rng):
    words = ("ship", "salt", "été", "the", "sea")
    return [
        {
            "id": i,
            "text": " ".join(rng.choices(words, k=rng.randint(1, 6))),
            "author": rng.choice(("a", None)),
        }
        for i in range(rng.randint(1, 5))
    ]


def table(rng):
    out = io.StringIO()
    rows = csv.DictWriter(
        out, ["id", "text", "author"], quoting=rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL))
    )
    rows.writeheader()
    rows.writerows(records_of(rng))
    return out.getvalue().encode(rng.choice(("utf-8", "utf-16", "cp1252")))


def spectra(rng):
    """Counts of mutations by sample and channel, as one of several programs writes them."""
    from hdpkit.signatures import CHANNELS

    names, letter = CHANNELS[rng.choice(("DBS78", "ID83"))].names, rng.choice("\t,;")
    samples = [f"T{i}" for i in range(rng.randint(1, 3))]
    rows = [["Type", *samples], *([name, *(str(rng.randint(0, 9)) for _ in samples)] for name in names)]
    rows = rows if rng.random() < 0.7 else [list(row) for row in zip(*rows, strict=True)]
    return "\n".join(letter.join(row) for row in rows).encode(rng.choice(("utf-8", "utf-16")))


def json_lines(rng):
    return "".join(json.dumps(record) + "\n" for record in records_of(rng)).encode()


def parquet(rng):
    import pyarrow as pa
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(records_of(rng)), out)
    return out.getvalue()


def workbook(rng):
    import openpyxl

    out, book = io.BytesIO(), openpyxl.Workbook()
    book.active.append(["x", "y"])
    for _ in range(rng.randint(1, 5)):
        book.active.append([rng.random(), rng.randint(0, 9)])
    book.save(out)
    return out.getvalue()


def array(rng):
    import numpy as np

    out = io.BytesIO()
    np.save(out, np.arange(rng.randint(1, 9), dtype=rng.choice(("<f8", ">i4", "u1"))).reshape(1, -1))
    return out.getvalue()


def sentences(rng):
    words = ("the", "lord", "said", "été", "\u00a0x", "and")
    return "".join(" ".join(rng.choices(words, k=rng.randint(0, 6))) + "\n" for _ in range(5)).encode()


def arpa(rng):
    words = ["<s>", "</s>", "the", "lord"][: rng.randint(3, 4)]
    pairs = [f"-0.5\t{a} {b}" for a in words[:2] for b in words[1:]]
    ones = [f"-{i}.25\t{word}\t-0.3" for i, word in enumerate(words)]
    return "\n".join(["\\data\\", f"ngram 1={len(ones)}", f"ngram 2={len(pairs)}", "", "\\1-grams:", *ones,
                      "", "\\2-grams:", *pairs, "", "\\end\\", ""]).encode()  # fmt: skip


def vocabulary(rng):
    return "".join(
        f"{word}{i}\n" for i, word in enumerate(rng.choices(("ship", "salt", "été"), k=5))
    ).encode()


def settings(rng):
    lines = ['eta = "gamma(1, 10)"', "sweeps = 20", "root-concentration = 1.5", 'moves = ["table-gibbs"]',
             "quiet = true", 'init = "random:3"', "max-document-share = 0.5", "seed = 3"]  # fmt: skip
    return "".join(f"{line}\n" for line in rng.sample(lines, 4)).encode()


def text_folder(rng, place):
    for i in range(3):
        (place / f"{i}.txt").write_bytes(b"the ship of salt " * rng.randint(0, 4) + "été\n".encode())


def corpus_folder(rng, place):
    import hdpkit as hk

    rows = counts_of(rng)
    words = [f"w{v}" for v in range(len(rows[0]))] if rng.random() < 0.7 else None
    groups = {"year": [rng.choice((1990, 1991, None)) for _ in rows]} if rng.random() < 0.5 else None
    hk.Corpus.from_counts(rows, vocabulary=words, groups=groups).save(place)


def run_data(rng):
    """The data of a run, as a tree of values that was changed, under a checksum that is right."""
    from hdpkit.files import npz_of
    from hdpkit.run.data_file import tree_of_data

    data = {0: small_corpus, 1: small_ngrams, 2: small_groups}[rng.randrange(3)](rng)
    tree = tree_of_data(data)
    for _ in range(rng.choice((1, 1, 2))):
        _change(rng, tree)
    return npz_of("hdpkit data", tree)


def small_corpus(rng):
    import hdpkit as hk

    rows = counts_of(rng)
    words = [f"w{v}" for v in range(len(rows[0]))] if rng.random() < 0.5 else None
    groups = {"year": [rng.choice((1990, 1991, None)) for _ in rows]} if rng.random() < 0.5 else None
    return hk.Corpus.from_counts(rows, vocabulary=words, groups=groups)


def small_ngrams(rng):
    import hdpkit as hk

    if rng.random() < 0.5:
        return hk.NGrams.from_sentences([["a", "b", "a"], ["b"], []], order=rng.randint(1, 3))
    return hk.NGrams.from_pairs(["a", "b", "a"], [("a", "b"), ("b",), ("x", "a")])


def small_groups(rng):
    import hdpkit as hk

    return hk.Groups.from_arrays([[0.5, 1.5], [2.5]], names=["x", "y"])


def _change(rng, tree):
    import numpy as np

    key = rng.choice(list(tree))
    value = tree[key]
    if isinstance(value, list) and value and isinstance(value[0], list):  # a label
        value = value[0]
        key, tree = rng.randrange(3), value
        value = tree[key]
    what = rng.randrange(6)
    if isinstance(value, np.ndarray) and value.size and what < 4:
        value = value.copy()
        if what == 0:
            value.flat[rng.randrange(value.size)] = rng.choice((-1, -2, 5, 100, 2**31 - 1, -(2**31)))
        elif what == 1:
            value = value[: rng.randrange(len(value))]
        elif what == 2:
            value = value.astype(rng.choice(("<i4", "<i8", "<f8", "<u1", "<U3")))
        else:
            value = rng.choice((value[None], np.concatenate([value, value]), value[::-1].copy()))
        tree[key] = value
    elif isinstance(value, list) and value and what < 4:
        at = rng.randrange(len(value))
        value[at : at + 1] = rng.choice(([], [value[0]], [5], [None], [["x"]], ["x", "y"]))
    else:
        tree[key] = rng.choice(
            (None, -1, 0, 1, 2, 10**6, 2**31 - 1, 2**63, 10**30, 0.5, "x", [], [1], {}, True, [["x", 1, 2]])
        )


FILES = {"ldac": ldac, "uci": uci, "matrix-market": matrix_market, "sentences": sentences, "arpa": arpa,
         "vocabulary": vocabulary, "settings": settings, "data": run_data, "csv": table,
         "jsonl": json_lines, "lines": sentences, "spectra": spectra,
         "npy": array}  # fmt: skip
if importlib.util.find_spec("pyarrow") is not None:
    FILES["parquet"] = parquet
if importlib.util.find_spec("openpyxl") is not None:
    FILES["xlsx"] = workbook
FOLDERS = {"text": text_folder, "shards": corpus_folder}
KINDS = (*FILES, *FOLDERS)


def damaged(rng, data):
    """Some bytes with one to three faults."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = _fault(rng, data)
    return data


def _fault(rng, data):
    at, other = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    low, high = min(at, other), max(at, other)
    kind = rng.randrange(10)
    if kind == 0 and data:  # a bit
        at = min(at, len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:  # cut off
        return data[:at]
    if kind == 2:  # an insertion
        return data[:at] + rng.choice(PIECES) + data[at:]
    if kind == 3:  # a part twice, or many times
        return data[:high] + data[low:high] * rng.choice((1, 1, 50)) + data[high:]
    if kind == 4:  # a part elsewhere
        part, rest = data[low:high], data[:low] + data[high:]
        to = rng.randrange(len(rest) + 1)
        return rest[:to] + part + rest[to:]
    if kind == 5:  # a part gone
        return data[:low] + data[high:]
    if kind == 6:  # random bytes
        return data[:at] + rng.randbytes(rng.choice((1, 2, 8, 64))) + data[at:]
    if kind in (7, 8):  # a number
        places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
        if places:
            first = last = rng.choice(places)
            while first and 48 <= data[first - 1] <= 57:
                first -= 1
            while last < len(data) and 48 <= data[last] <= 57:
                last += 1
            return data[:first] + rng.choice(NUMBERS) + data[last:]
        return data
    end = rng.choice((b"\n ", b" ", b"\n\0", b"\0", b"\r", b"\n\n", b"\n%", b"\n1"))  # an end without newline
    return data.rstrip(b"\n") + end


def build(rng, place):
    """Make one damaged file or folder at `place`; returns its kind."""
    kind = rng.choice(KINDS)
    if kind in FOLDERS:
        place.mkdir()
        FOLDERS[kind](rng, place) if kind == "text" else FOLDERS[kind](rng, place / "made")
        if kind == "shards":
            for file in (place / "made").iterdir():
                file.rename(place / file.name)
            (place / "made").rmdir()
        files = sorted(path for path in place.rglob("*") if path.is_file())
        for file in rng.sample(files, rng.choice((1, 1, min(2, len(files))))):
            _damage_file(rng, file)
        return kind
    data = FILES[kind](rng)
    if kind == "data":
        place.write_bytes(data)
        return kind
    packed = kind != "settings" and rng.random() < 0.35
    if packed and rng.random() < 0.5:
        place.write_bytes(damaged(rng, gzip.compress(data, mtime=0)))
    elif packed and rng.random() < 0.1:  # much of little
        part = rng.choice((b" ", b"0\n", b"\n", b"1", data, b"%", b"0:1 ", b"1 0:1\n", b"a\n"))
        most = 3 * 10**7 if kind in ("ldac", "uci", "matrix-market") else 3 * 10**6
        place.write_bytes(gzip.compress(data + part * (rng.choice((10**5, most)) // len(part)), 1, mtime=0))
    else:
        data = damaged(rng, data)
        place.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    return kind


def _damage_file(rng, file):
    what = rng.randrange(12)
    if what == 0:
        file.unlink()
    elif what == 1:
        file.unlink()
        os.mkfifo(file)
    elif what == 2:
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(damaged(rng, file.read_bytes()))


def read(kind, place):
    """Read it and check what comes of it; whatever is wrong with that is an AssertionError."""
    import click
    import numpy as np

    from hdpkit.cli.fit import fit
    from hdpkit.cli.options import read_config
    from hdpkit.data.files.corpora import read_corpus
    from hdpkit.data.files.count_files import read_vocabulary
    from hdpkit.data.files.sentences import read_arpa, read_sentences, write_arpa
    from hdpkit.data.files.text_files import Layout

    if kind == "sentences":
        for words in read_sentences(place):
            assert all(type(word) is str and word for word in words)
            assert not set("".join(words)) & set(" \t\n\0")
    elif kind == "arpa":
        model = read_arpa(place)
        write_arpa(place.with_name("again"), model.rows())
    elif kind == "vocabulary":
        words = read_vocabulary(place)
        assert len(set(words)) == len(words)
        assert all(words)
    elif kind == "spectra":
        from hdpkit.signatures import read_spectra

        corpus = read_spectra(place)
        counts = corpus.to_counts()
        assert counts.shape == (len(corpus.names), len(corpus.vocabulary))
        assert (np.asarray(counts.sum(axis=1)) > 0).all()
    elif kind in ("xlsx", "npy"):
        from hdpkit.data.files.tables import Table
        from hdpkit.kinds.points import Mixture

        named = place.with_name(f"table.{kind}")
        shutil.copy(place, named)
        assert np.isfinite(Mixture().read(Table(named)).values).all()
    elif kind == "data":
        from data_files import read_data

        sweep_over(read_data(place))
    elif kind == "settings":
        values = read_config(place, fit, click.Context(fit))
        assert all(type(value) is str for value in values.values())
    else:
        # Damage to the first bytes makes another format of a file: as what it is meant and as what it seems.
        texts = kind in ("csv", "jsonl", "parquet", "lines")
        given = kind if texts or (kind in FILES and place.stat().st_size % 2) else None
        layout = Layout(group_columns=["author"]) if kind in ("csv", "jsonl", "parquet") else None
        corpus = read_corpus(place, given, layout=layout)
        assert corpus.values.min() >= 0
        assert corpus.values.max() < corpus.n_terms
        assert corpus.document_lengths.sum() == corpus.n_tokens == len(corpus)
        assert corpus.vocabulary is None or len(set(corpus.vocabulary)) == corpus.n_terms
        assert (np.diff(corpus.document) >= 0).all()
        assert corpus.document.max() < corpus.n_documents
        assert corpus.to_counts().sum() == corpus.n_tokens


def sweep_over(data):
    import hdpkit as hk
    from hdpkit import moves

    if isinstance(data, hk.NGrams):
        restaurant = hk.Restaurant(hk.Uniform(), concentration=1.0, discount=0.5)
        for k in range(1, min(data.order, 5)):
            restaurant = hk.Restaurant(restaurant, concentration=1.0, discount=0.5, each=f"context {k}")
    else:
        measure = hk.DirichletMultinomial(0.5) if isinstance(data, hk.Corpus) else hk.NormalGamma()
        restaurant = hk.Restaurant(measure, concentration=1.0)
        for name in sorted(data.label_names)[:1]:
            restaurant = hk.Restaurant(restaurant, concentration=1.0, each=name)
    franchise = hk.Franchise(restaurant, data)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 2, rng=0, init="sequential")
    franchise.audit()


def worker():
    limit_memory(BYTES)
    from hdpkit.errors import HdpkitError, SkippedFilesWarning

    print("ready", flush=True)
    for line in sys.stdin:
        kind, place = json.loads(line)
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", SkippedFilesWarning)  # said on purpose
                read(kind, Path(place))
            outcome = ["read", ""]
        except HdpkitError as error:
            text = str(error)
            raw = [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c == "\u202e"]
            outcome = ["raw text in an error", ascii(text)] if raw else ["typed error", ascii(text)]
        except BaseException as error:
            outcome = [type(error).__name__, ascii(str(error))[:300]]
        if time.process_time() - began > SECONDS:
            outcome = ["over ten seconds", ""]
        print(json.dumps(outcome), flush=True)


def trials(count, seed):
    """Run trials; returns outcomes by format and the failures."""
    found, failures, reader = {}, [], Worker(__file__)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            place = Path(folder, "input")
            kind = build(rng, place)
            answer, told = reader.ask([kind, str(place)], PATIENCE)
            outcome, text = answer or (told, "")
            by_kind = found.setdefault(kind, {})
            by_kind[outcome] = by_kind.get(outcome, 0) + 1
            if outcome not in ("read", "typed error"):
                failures.append({"trial": number, "kind": kind, "outcome": outcome, "text": text})
            for left in Path(folder).iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    reader.end()
    return found, failures


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker()
    else:
        found, failures = trials(int(sys.argv[1]), int(sys.argv[2]))
        print(json.dumps({"trials": int(sys.argv[1]), "found": found, "failures": failures}, indent=1))
