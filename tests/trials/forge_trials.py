"""Forges run folders with right checksums, and uses them in separate processes.

``python forge_trials.py COUNT SEED FOLDER`` prints one JSON line with counts of outcomes: "error" (a typed
error of the package), "healthy" (the folder was accepted, and the audit passes after the run was continued),
and the failures "raised" (another error), "ended" (the process died), "hung" (over ten seconds).
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from memory_limit import limit_memory

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.io.verification import verify_run
from hdpkit.record import files
from hdpkit.record.encode import from_json, pack, to_json, unpack

SECONDS = 10
BYTES = 3 << 30
NUMBERS = [0, 1, -1, 2, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, 10**9, 10**15, 10**30, 0.5, -0.0, 1e300,
           float("nan"), float("inf"), True, None, "", "0", "move/table-gibbs", [], {}, [1], {"a": 1}, b"x",
           "x" * 10**6]  # fmt: skip


def log_likelihood(value, parameter):
    return -0.5 * float((value - parameter) ** 2)


def sample_prior(generator):
    return float(generator.normal())


# ------------------------------------------------------------------------- healthy folders


def make(place):
    """Small run folders of every kind."""
    documents = np.random.default_rng(0).integers(0, 6, size=(5, 8)).tolist()
    corpus = hk.Corpus.from_documents(documents, n_terms=6, groups={"author": [0, 0, 1, 1, 1]})
    for store in ("histogram", "explicit"):
        declared = hk.Restaurant(
            hk.DirichletMultinomial(hk.Gamma(1.0, 1.0)), concentration=hk.Gamma(2.0, 2.0)
        )
        for depth, label in enumerate([None, "author", "document"], 1):
            if label is not None:
                own = hk.Each(hk.Gamma(1.0, 1.0)) if depth == 3 else 0.7
                declared = hk.Restaurant(declared, concentration=own, discount=0.1, each=label)
            schedule = [moves.TableGibbs(), moves.Concentration(), moves.SplitMerge().until(3)]
            chains = 2 if depth == 2 and store == "histogram" else None
            hk.Scheduler(schedule).run(
                hk.Franchise(declared, corpus, store=store), 4, rng=0, folder=place / f"{store}-{depth}",
                checkpoint=hk.Checkpoint(sweeps=2), chains=chains,
            )  # fmt: skip
        data = hk.Groups.from_labels([0.0, 0.1, 5.0, 5.2, 9.0])
        state = hk.Franchise(hk.Restaurant(hk.NonConjugate(log_likelihood, sample_prior)), data, store=store)
        hk.Scheduler([moves.TableGibbs()]).run(state, 3, rng=0, folder=place / f"{store}-own", init="one")
    text = [["a", "b", "c", "a"], ["b", "a"], ["c"]]
    hk.NGramModel(3).fit(text, sweeps=4, burn_in=1, samples=2, rng=0, folder=place / "words")


# ------------------------------------------------------------------------- forging


def places(tree, path=()):
    """Every place of a tree."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def forged_array(array, draw):
    kind = draw.randrange(9)
    made = array.copy()
    flat = made.reshape(-1)
    if kind == 0 or not flat.size:
        return made[:-1] if made.ndim else np.zeros(3)
    i, j = draw.randrange(flat.size), draw.randrange(flat.size)
    if kind == 1:
        flat[i], flat[j] = flat[j], flat[i]
    elif kind == 2 and made.dtype.kind in "iuf":
        flat[i] += draw.choice([-1, 1])
    elif kind == 3:
        flat[:] = flat[draw.sample(range(flat.size), flat.size)]
    elif kind == 4 and made.dtype.kind == "i":
        flat[i] = draw.choice([0, -1, np.iinfo(made.dtype).max, np.iinfo(made.dtype).min])
    elif kind == 5:
        return np.append(flat, flat[i])
    elif kind == 6 and made.dtype.kind in "iuf":
        return made.astype(draw.choice(["f8", "i8", "u1", "S3", "U2", "c16", "?"]))
    elif kind == 7:
        return np.stack([made, made])
    else:
        flat[i] = flat[j]
    return made


def forge(tree, draw):
    """Change one place of a tree."""
    paths = [path for path in places(tree) if path]
    # Numbers of the state are many places at once: half of the time one of its arrays.
    arrays = [path for path in paths if isinstance(at(tree, path), np.ndarray)]
    path = draw.choice(arrays) if arrays and draw.random() < 0.6 else draw.choice(paths)
    above, key = at(tree, path[:-1]), path[-1]
    old = above[key]
    kind = draw.randrange(8)
    if isinstance(old, np.ndarray) and kind < 7:
        above[key] = forged_array(old, draw)
    elif kind == 0 and isinstance(above, dict):
        del above[key]
    elif kind == 1 and isinstance(above, dict):
        above[draw.choice(["more", "$dict", "object", "arguments"])] = old
    elif kind == 2:
        above[key] = at(tree, draw.choice(paths))
    elif kind == 3:
        for _ in range(draw.choice([5, 150])):
            old = {"object": "hdpkit.moves.scheduled:Scheduled", "arguments": {"move": old}}
        above[key] = old
    elif kind == 4 and isinstance(old, int | float):
        above[key] = old + draw.choice([-1, 1])
    else:
        above[key] = draw.choice(NUMBERS)


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def forge_folder(folder, draw):
    """Change one file of a folder and seal it again."""
    known = ("state-", "run.json", "data.bin", "model.bin", "sample-")
    kept = [file for file in sorted(folder.rglob("*")) if file.name.startswith(known)]
    weights = [4 if file.name.startswith("state-") else 2 for file in kept]
    file = draw.choices(kept, weights)[0]
    text = json.loads((folder / "run.json").read_text())
    content = from_json(text["content"])
    if file.name == "run.json":
        forge(content, draw)
    else:
        whole = file.read_bytes()
        tree = unpack(whole[24:-32], "file")
        for _ in range(draw.choice([1, 1, 2])):
            forge(tree, draw)
        sealed = files.seal(whole[:8], pack(tree))
        file.write_bytes(sealed)
        if file.name.startswith("state-"):  # both, so that the other one doesn't help out
            for other in ("state-0", "state-1"):
                if (file.parent / other).exists() and other != file.name:
                    (file.parent / other).unlink()
        if file.name == "data.bin":
            content["data"]["digest"] = sealed[-32:].hex()
    node = to_json(content)
    digest = hashlib.sha256(json.dumps(node, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    (folder / "run.json").write_text(json.dumps({**text, "sha256": digest, "content": node}))
    return file.name


# ------------------------------------------------------------------------- using


def use(folder, draw):
    """Do one thing with a folder; returns "error" or "healthy"."""
    allow = [log_likelihood, sample_prior]
    kind = draw.randrange(4)
    try:
        if kind == 0:
            checks = list(verify_run(folder, allow))
            return "healthy" if all(check.passed for check in checks) else "error"
        if (folder / "model").exists():
            model = hk.NGramModel.open(folder, allow)
            model.logp(["a", "b"]) if hasattr(model, "logp") else None
            model.sweep(1)
            model.franchise.audit()
            return "healthy"
        run = hk.open_run(folder, allow)
        _ = run.trace, run.sweeps
        if kind > 1 and run._files.settings.chains is None:
            franchise = run.franchise()
            franchise.audit()
            if kind == 2:
                run.resume(1, franchise=franchise)
                franchise.audit()
        else:
            _ = [one.audit() for one in run.franchises()]
    except errors.HdpkitError as error:
        return "audit" if isinstance(error, errors.AuditError) else "error"
    return "healthy"


def trial(healthy, place, seed):
    """One forged folder; what came of it."""
    draw, name = random.Random(seed), None
    folder = place / "run"
    while name is None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(draw.choice(healthy), folder)
        try:
            name = forge_folder(folder, draw)
        except (ValueError, TypeError, OverflowError, RecursionError, errors.RunError):
            continue  # what can't be written down can't be forged
    try:
        return use(folder, draw), name
    except Exception as error:
        return "raised", f"{name}: {type(error).__name__}: {str(error)[:80]}"


def worker(healthy, place, seeds, pipe):
    limit_memory(BYTES)
    warnings.simplefilter("ignore")
    with os.fdopen(pipe, "w") as out:
        for seed in seeds:
            out.write(f"{seed}\n")
            out.flush()
            signal.alarm(SECONDS)  # ends the process
            what, detail = trial(healthy, place, seed)
            signal.alarm(0)
            out.write(json.dumps([what, detail]) + "\n")
            out.flush()
    os._exit(0)


def campaign(count, seed, place):
    """Run trials; returns counts and what went wrong."""
    place.mkdir(parents=True, exist_ok=True)
    make(place / "healthy")
    healthy = sorted((place / "healthy").iterdir())
    counts, wrong = Counter(), []
    left = [seed * 10**6 + number for number in range(count)]
    began = time.monotonic()
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            worker(healthy, place, left, writing)
        os.close(writing)
        with os.fdopen(reading) as answers:
            lines = answers.read().splitlines()
        status = os.waitpid(child, 0)[1]
        for number in range(0, len(lines), 2):
            done = left.pop(0)
            if number + 1 < len(lines):
                what, detail = json.loads(lines[number + 1])
            else:
                signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
                what, detail = ("hung" if signalled == signal.SIGALRM else "ended"), f"status {status}"
            counts[what] += 1
            if what not in ("error", "healthy"):
                wrong.append([done, what, detail])
        if not lines:
            break
    return {"trials": sum(counts.values()), **counts, "wrong": wrong, "seconds": time.monotonic() - began}


if __name__ == "__main__":
    print(json.dumps(campaign(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
