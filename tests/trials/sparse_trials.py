"""Passes correct and damaged sparse matrices of every format, in separate processes, to all that take them.

``python sparse_trials.py COUNT SEED`` prints one JSON line: trials by format and outcome, and the failures.
A trial builds counts as an array or a matrix of SciPy: indices in any order and of any type, entries that add
up, entries of zero. In two of three trials a part is damaged in place, which SciPy doesn't notice. A correct
matrix passes if it gives the counts, a damaged one if it gives a typed error, or gives something although the
damage changed nothing (it is then healthy by the checks of this program). Another error, or the end of the
process, is a failure.
"""

import json
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from workers import Worker, limit_memory

BYTES = 4 * 2**30
PATIENCE = 120.0
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")
WRONG = (-(2**63), -(2**31) - 1, -1, -7, 1, 3, 100, 10**6, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1)


# ------------------------------------------------------------------ matrices


def counts_of(rng, n_terms=6):
    rows = [[rng.choice((0, 0, 1, 2, 7)) for _ in range(n_terms)] for _ in range(4)]
    return np.array(rows) + np.eye(4, n_terms, dtype=int)


def correct(rng, dense, form):
    """The counts in this format: unsorted, with duplicates and zeros, indices of either size."""
    row, column = (place.tolist() for place in np.nonzero(dense))
    value = dense[row, column].tolist()
    for _ in range(rng.randrange(4)):  # divided between two entries
        i = rng.randrange(len(row))
        part = rng.randint(0, value[i])
        value[i] -= part
        for column_of, new in ((row, row[i]), (column, column[i]), (value, part)):
            column_of.append(new)
    order = rng.sample(range(len(row)), len(row))
    kind, index = (
        rng.choice((np.int64, np.float64, np.int8, np.uint8, np.float32)),
        rng.choice((np.int32, np.int64)),
    )
    row, column, value = (np.array([one[i] for i in order]) for one in (row, column, value))
    value = value.astype(kind)
    arrays = rng.random() < 0.5
    if form in ("csr", "csc"):
        major, minor = (row, column) if form == "csr" else (column, row)
        order = np.argsort(major, kind="stable")
        ends = np.append(0, np.cumsum(np.bincount(major, minlength=dense.shape[form == "csc"])))
        build = getattr(sp, f"{form}_{'array' if arrays else 'matrix'}")
        made = build((value[order], minor[order].astype(index), ends.astype(index)), shape=dense.shape)
        if rng.random() < 0.3:  # more than the last end, which SciPy allows
            made.indices = np.append(made.indices, made.indices[:1])
            made.data = np.append(made.data, made.data[:1])
        return made
    made = (sp.coo_array if arrays else sp.coo_matrix)((value, (row, column)), shape=dense.shape)
    if form == "bsr":
        return made.astype(np.int64).tobsr(blocksize=rng.choice(((1, 1), (2, 3), (4, 2))))
    return made if form == "coo" else made.astype(np.int64).asformat(form)


def damaged(rng, matrix):
    """Damage one part of a matrix in place; what was done."""
    parts = {"csr": ("indptr", "indices", "data"), "lil": ("rows", "data"), "dok": ("_dict",)}
    parts |= {"csc": parts["csr"], "bsr": parts["csr"], "coo": ("coords", "data"), "dia": ("offsets", "data")}
    name = rng.choice((*parts[matrix.format], "_shape"))
    if name == "_shape":
        n, m = matrix.shape
        matrix._shape = rng.choice(
            (
                (n + 1, m),
                (n - 1, m),
                (n, m - 2),
                (m, n),
                (n,),
                (n, m, 1),
                (-n, m),
                (2**62, m),
                (0, m),
                (n, 0),
                None,
            )
        )
        return f"shape {matrix._shape}"
    if name == "_dict":
        key = rng.choice(((-1, 0), (0, -1), (4, 0), (0, 2**40), (0,), (0, 0, 0), "ab", (0.5, 1), None))
        if rng.random() < 0.1:
            matrix._dict = None
        else:
            matrix._dict[key] = 1
        return f"key {key}"
    if matrix.format == "lil":
        lists = getattr(matrix, name)
        i, what = rng.randrange(len(lists)), rng.randrange(5)
        if what == 0:
            lists[i] = rng.choice((None, 5, "ab", (0, 1)))
        elif what == 1:
            lists[i] = [*lists[i], rng.choice((*WRONG, "a", None))]
        elif what == 2:
            lists[i] = [rng.choice((*WRONG, None, "a"))] * max(1, len(lists[i]))
        else:
            setattr(matrix, name, rng.choice((lists[:-1], None, lists.tolist(), lists.reshape(2, 2))))
        return f"{name} {what}"
    axis = rng.randrange(2)
    part = matrix.coords[axis] if name == "coords" else getattr(matrix, name)
    what = rng.randrange(8)
    new = part.copy()
    if what < 3 and new.size:
        values = WRONG if new.dtype.kind in "iu" and new.dtype.itemsize == 8 else WRONG[1:9]
        if name == "data":
            values = (-1, -7, 100) if new.dtype.kind != "f" else (-1, np.nan, np.inf, 1e300)
        place = rng.randrange(new.size)
        with np.errstate(all="ignore"):
            new.flat[place] = np.array([rng.choice(values)]).astype(new.dtype)[0]
    elif what == 3:
        new = new[: rng.randrange(len(new) + 1)]
    elif what == 4:
        new = np.concatenate([new, new[-1:], new[:1]])
    elif what == 5:
        new = new.astype(
            rng.choice((np.float64, object, "S8", np.complex128, np.uint64, np.bool_, ">i8", np.int8))
        )
    elif what == 6:
        new = rng.choice((new[None], None, new.tolist(), np.zeros(0, new.dtype)))
    else:
        new = np.ma.masked_array(new, mask=np.arange(new.size).reshape(new.shape) == 0)
    if name == "coords":
        matrix.coords = tuple(new if place == axis else one for place, one in enumerate(matrix.coords))
    elif matrix.format == "dia" and name == "offsets" and what < 3:
        new[0] = rng.choice(WRONG) if new.dtype.itemsize == 8 else -1
        matrix.offsets = new
    else:
        setattr(matrix, name, new)
    return f"{name} {what}"


def meant(matrix):
    """The counts that a matrix means, by its parts read one by one in Python; None if it means none."""
    try:
        n, m = matrix._shape
        if not (0 < n < 100 and 0 < m < 100):
            return None
        triples = list(_triples(matrix, n, m))
        found = np.zeros((n, m))
        for i, j, value in triples:
            if (
                not (_is_whole(i) and _is_whole(j))
                or not (0 <= i < n and 0 <= j < m)
                or isinstance(value, str | bytes | complex)
            ):
                return None
            if not (value >= 0 and value == int(value) and value < 2**31):
                return None
            found[i, j] += value
        return found
    except Exception:  # anything at all is wrong with it
        return None


def _is_whole(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def _need(*conditions):
    if not all(conditions):
        raise ValueError


def _triples(matrix, n, m):
    form = matrix.format
    if form == "dok":
        yield from ((i, j, value) for (i, j), value in matrix._dict.items())
        return
    names = {"coo": ("data",), "lil": ("rows", "data"), "dia": ("offsets", "data")}
    for name in names.get(form, ("indptr", "indices", "data")):
        part = getattr(matrix, name)
        _need(isinstance(part, np.ndarray) and not np.ma.is_masked(part), part.dtype.kind in "biufO")
    if form == "coo":
        rows, columns = matrix.coords
        for one in (rows, columns):
            _need(isinstance(one, np.ndarray) and one.ndim == 1 and not np.ma.is_masked(one))
            _need(one.dtype.kind in "iu")
        yield from zip(rows, columns, matrix.data, strict=True)
    elif form == "lil":
        for i, (places, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
            _need(type(places) is list, type(values) is list)
            yield from ((i, j, value) for j, value in zip(places, values, strict=True))
        _need(len(matrix.rows) == n)
    elif form == "dia":
        offsets = matrix.offsets
        _need(offsets.ndim == 1, offsets.dtype.kind in "iu", len(set(offsets.tolist())) == len(offsets))
        for offset, diagonal in zip(offsets.tolist(), matrix.data, strict=True):
            for j, value in enumerate(diagonal[:m]):
                if 0 <= j - offset < n and value != 0:
                    yield j - offset, j, value
    else:
        indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
        height, width = data.shape[1:] if form == "bsr" else (1, 1)
        _need(indptr.dtype.kind in "iu", indices.dtype.kind in "iu", indptr.ndim == indices.ndim == 1)
        _need(data.ndim == (3 if form == "bsr" else 1), n % height == m % width == 0)
        n_major, limit = (m, n) if form == "csc" else (n // height, m // width)
        ends = indptr.tolist()
        _need(len(ends) == n_major + 1, ends[0] == 0, ends[-1] <= len(indices) == len(data))
        _need(ends == sorted(ends), all(0 <= one < limit for one in indices.tolist()))
        for major in range(n_major):
            for at in range(ends[major], ends[major + 1]):
                minor = int(indices[at])
                if form == "csr":
                    yield major, minor, data[at]
                elif form == "csc":
                    yield minor, major, data[at]
                else:
                    for r in range(height):
                        for c in range(width):
                            yield major * height + r, minor * width + c, data[at, r, c]


# ------------------------------------------------------------------ what takes matrices


def doors():
    """Function of a matrix for each door; those that return counts return them."""
    import hdpkit as hk
    from hdpkit.posterior.evaluation.completion import completion_perplexity

    dense = counts_of(random.Random(0)) * 3
    options = {
        "purpose": "prediction",
        "sweeps": 6,
        "samples": 2,
        "partial_sweeps": 1,
        "transform_sweeps": 2,
        "random_state": 0,
    }
    model = hk.TopicModel(**options).fit(dense)
    gibbs = hk.TopicModel(**options, transform_method="gibbs").fit(dense)
    joint = hk.TopicModel(**options, score_method="joint").fit(dense)
    sparse = hk.TopicModel(sparse=True, **options)
    found = model.aligned_
    kept = found.selected(found.agreed(occurrence=0.0, chains=0.0))
    topics, prior = np.vstack([model.components_, np.full(6, 1 / 6)]), np.ones(model.n_components_ + 1)

    def shards(matrix):
        with tempfile.TemporaryDirectory() as folder:
            blocks = hk.ShardedCorpus.from_counts([dense, matrix], Path(folder, "shards"), 2)
            return sum((blocks.shard(i).to_counts().toarray()[-4:] for i in range(1, 2)), 0)

    def more(matrix):
        hk.TopicModel(**options).fit(dense).partial_fit(matrix)

    def given(function):
        return lambda matrix: (function(matrix), None)[1]

    return {
        "from_counts": lambda matrix: hk.Corpus.from_counts(matrix).to_counts().toarray(),
        "shards": given(shards),
        "fit": lambda matrix: hk.TopicModel(**options).fit(matrix).franchise_.data.to_counts().toarray(),
        "sparse_fit": lambda matrix: sparse.fit(matrix).franchise_.data.to_counts().toarray(),
        "partial_fit": given(more),
        "transform": given(model.transform),
        "gibbs": given(gibbs.transform),
        "score": given(model.score),
        "joint": given(joint.score),
        "perplexity": given(model.perplexity),
        "held_out": given(lambda matrix: model.perplexity(dense, matrix)),
        "completion": given(lambda matrix: completion_perplexity(topics, prior, matrix, dense)),
        "completed": given(lambda matrix: completion_perplexity(topics, prior, dense, matrix)),
        "consensus": given(lambda matrix: kept.perplexity(matrix, dense)),
    }


def try_one(seed, number, open_doors):
    """Format, outcome and what was done."""
    from hdpkit.errors import HdpkitError

    rng = random.Random(f"{seed} {number}")
    dense, form = counts_of(rng), rng.choice(FORMATS)
    matrix = correct(rng, dense, form)
    done = damaged(rng, matrix) if number % 3 else "correct"
    door = rng.choice(list(open_doors))
    wanted = meant(matrix)
    told = f"{type(matrix).__name__}, {done}, {door}"
    if done == "correct":
        assert np.array_equal(wanted, dense), told
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = open_doors[door](matrix)
    except HdpkitError as error:
        text = str(error)
        if done == "correct":
            return form, "a correct matrix is refused", f"{told}: {text}"
        return form, "typed error", ""
    except BaseException as error:
        return form, "untyped error", f"{told}: {type(error).__name__}: {error}"
    if door == "shards" and matrix.shape[0] == 0:
        return form, "right", ""  # one of two blocks may be empty
    if wanted is None and door != "transform":  # which takes any numbers of at least 0
        return form, "a damaged matrix is taken", told
    if found is not None and wanted is not None and not np.array_equal(found, wanted):
        return form, "wrong counts", told
    return form, "right", ""


# ------------------------------------------------------------------ processes


def worker(seed):
    limit_memory(BYTES)
    open_doors = doors()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(try_one(seed, int(line), open_doors)), flush=True)


def trials(count, seed):
    """Run trials; returns outcomes by format and the failures."""
    found, failures, worker = {}, [], Worker(__file__, seed)
    for number in range(count):
        answer, told = worker.ask(number, PATIENCE)
        form, outcome, text = answer or ("any", told, "")
        by_form = found.setdefault(form, {})
        by_form[outcome] = by_form.get(outcome, 0) + 1
        if outcome not in ("right", "typed error"):
            failures.append({"trial": number, "outcome": outcome, "text": text})
    worker.end()
    return found, failures


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker(sys.argv[2])
    else:
        found, failures = trials(int(sys.argv[1]), int(sys.argv[2]))
        print(json.dumps({"trials": int(sys.argv[1]), "found": found, "failures": failures}, indent=1))
