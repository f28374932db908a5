"""Forges folders of every kind with right checksums, and uses them in separate processes.

``python forge_trials.py COUNT SEED FOLDER`` prints one JSON line with counts of outcomes: "error" (a typed
error of the package), "healthy" (the folder was accepted, and audits pass), and the failures "audit" (an
AuditError), "raised" (another error), "ended" (the process died), "hung" (over 20 seconds of the processor,
or two minutes without an end). "by file" and "by use" count the trials.

A trial takes a copy of a healthy folder, forges one of its files, makes the checksums right again wherever
the file is listed, and reads the folder by one command or function. A forged file is another tree of values
(other types, huge numbers, deep nesting, NaN, missing keys, wrong lengths, lone surrogates), or something
else in its place (nothing, an empty file, a folder, a link, a pipe, bytes, another folder's file, a file
without end).
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
from click.testing import CliRunner
from npz_files import tree_of, write_tree
from shard_cases import run_shards
from workers import limit_memory

import hdpkit as hk
from hdpkit import errors, moves, shards
from hdpkit.cli.main import main
from hdpkit.cli.verification import verify_run, verify_shards
from hdpkit.files import checksum_of, from_json, npz_of, opened_text, sealed_text, to_json
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.run.reading import load_reading
from hdpkit.signatures import CHANNELS

SECONDS, LONGEST = 20, 120
BYTES = 4 << 30
DEEP = 100_000
NUMBERS = [0, 1, -1, 2, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, 2**63, 10**9, 10**15, 10**30, 0.5, -0.0,
           1e300, float("nan"), float("inf"), True, None, "", "0", "move/table-gibbs", [], {}, [1], {"a": 1},
           b"x", "x" * 10**6, "\ud800", "\x1b[2J\0", "../../etc/passwd", np.zeros(0), np.zeros((2, 2)),
           np.array([np.nan])]  # fmt: skip


def log_likelihood(value, parameter):
    return -0.5 * float((value - parameter) ** 2)


def sample_prior(generator):
    return float(generator.normal())


TEXTS = ["salt bread wine", "ship sail salt", "bread wine salt", "ship sail ship wine"]
ALLOW = [log_likelihood, sample_prior]


def of_shards():
    """The corpus and the declaration of the run over shards."""
    corpus = hk.Corpus.from_documents([text.split() for text in TEXTS])
    root = hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(2.0, 2.0)), concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document"), shards.cut(corpus, 2)


SCHEDULE = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration(), moves.BaseMeasureParameters()]


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def make(place):
    """Small folders of every kind, with all files that they can have."""
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
            init = np.arange(40) % 3 if depth == 3 else "auto"
            hk.Scheduler(schedule).run(
                hk.Franchise(declared, corpus, store=store), 4, rng=0, folder=place / f"{store}-{depth}",
                checkpoint=hk.Checkpoint(sweeps=2), chains=chains, samples=2, init=init,
            )  # fmt: skip
        data = hk.Groups.from_labels([0.0, 0.1, 5.0, 5.2, 9.0])
        state = hk.Franchise(hk.Restaurant(hk.NonConjugate(log_likelihood, sample_prior)), data, store=store)
        hk.Scheduler([moves.TableGibbs()]).run(state, 3, rng=0, folder=place / f"{store}-own", init="one")
        hk.Scheduler([moves.TableGibbs()]).run(state, 1, folder=place / f"{store}-stand", init=None)
    text = [["a", "b", "c", "a"], ["b", "a"], ["c"]]
    hk.NGramModel(3).fit(text, sweeps=4, burn_in=1, samples=2, rng=0, folder=place / "words")
    hk.TopicModel(purpose="prediction", sweeps=4, samples=2, chains=2, random_state=0).fit(TEXTS).save(
        place / "model"
    )
    (place.parent / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    options = ["--sweeps", 4, "--samples", 2, "--quiet"]
    words = ["--min-documents", 1, *options]
    assert call("fit", place.parent / "texts.txt", "--out", place / "fit", *words).exit_code == 0
    names, generator = CHANNELS["SBS96"].names, np.random.default_rng(0)
    counts, law = generator.integers(0, 3, size=(96, 3)), generator.dirichlet(np.ones(96), size=2).T
    for file, head, table in (("matrix.tsv", "A\tB\tC", counts), ("known.tsv", "S1\tS2", law)):
        rows = ["\t".join([name, *map(str, row)]) for name, row in zip(names, table.tolist(), strict=True)]
        (place.parent / file).write_text("\n".join([f"MutationType\t{head}", *rows]))
    done = call(
        "signatures", place.parent / "matrix.tsv", "--out", place / "signatures", "--known",
        place.parent / "known.tsv", "--max-per-sample", 9, "--chains", 1, "--init", "factors:2", *options,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    declared, cut = of_shards()
    run_shards(declared, cut, SCHEDULE, sweeps=2, rng=0, folder=place / "shards-run")
    named = hk.Corpus.from_documents(documents, names=list("vwxyz"), groups={"author": [0, 0, 1, 1, 1]})
    hk.ShardedCorpus.write(named, place / "shards", 2)
    hk.ShardedCorpus.write(hk.Corpus.from_counts(named.to_counts()), place / "shards-cells", 2)
    named.save(place / "corpus")


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
        flat[i] += draw.choice([-1, 1]) if made.dtype.kind != "u" else 1
    elif kind == 3:
        flat[:] = flat[draw.sample(range(flat.size), flat.size)]
    elif kind == 4 and made.dtype.kind in "iuf":
        huge = np.iinfo(made.dtype) if made.dtype.kind != "f" else np.finfo(made.dtype)
        flat[i] = draw.choice([0, huge.min, huge.max, *([] if made.dtype.kind != "f" else [np.nan, np.inf])])
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
            old = {"object": "hdpkit.moves.protocol:Scheduled", "arguments": {"move": old}}
        above[key] = old
    elif kind == 4 and isinstance(old, int | float):
        above[key] = old + draw.choice([-1, 1])
    else:
        above[key] = draw.choice(NUMBERS)


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def forged_tree(file, draw):
    """The bytes of a file with another tree in it, and a right checksum of its own."""
    whole = file.read_bytes()
    if file.suffix == ".npy":
        np.save(file, forged_array(np.load(file), draw))
        return file.read_bytes()
    if file.name == "names.json":
        names = {"names": json.loads(whole)}
        forge(names, draw)
        return json.dumps(names.get("names")).encode()
    if file.suffix == ".json":
        fields, _ = opened_text(whole)
        if file.name == "run.json":
            fields["content"] = from_json(fields["content"])
        forge(fields if draw.random() < 0.2 or "content" not in fields else fields["content"], draw)
        if file.name == "run.json" and "content" in fields:
            fields["content"] = to_json(fields["content"])
        return sealed_text(fields)
    format, tree = tree_of(file)
    for _ in range(draw.choice([1, 1, 2])):
        forge(tree, draw)
    return npz_of(format, tree)


def list_again(folder, file, content):
    """Make the checksum of a file right where another file of the folder lists it."""
    name = str(file.relative_to(folder))
    whole = hashlib.sha256(content).hexdigest()
    if (folder / "run.json").exists() and name != "run.json":
        text, _ = opened_text((folder / "run.json").read_bytes())
        listed = text["content"]["files"]
        if listed.get(name) is not None:
            listed[name] = checksum_of(content)
            (folder / "run.json").write_bytes(sealed_text(text))
    if file.parent.name.startswith("sweep-"):
        state = folder / "chain-000" / "state.npz"
        format, tree = tree_of(state)
        if tree["sweep"] == int(file.parent.name.removeprefix("sweep-")):
            tree["frozen"]["shards"][int(file.stem.removeprefix("shard-"))] = checksum_of(content)
            write_tree(state, format, tree)
    if (folder / "manifest.json").exists() and name != "manifest.json":
        head, _ = opened_text((folder / "manifest.json").read_bytes())
        head["shards"][int(file.parent.name.removeprefix("shard-"))]["sha256"][file.name] = whole
        (folder / "manifest.json").write_bytes(sealed_text(head))


def put_something_else(file, others, draw):
    """Put something else in the place of a file; returns what."""
    whole = file.read_bytes()
    kind = draw.choice(["gone", "empty", "folder", "link", "dangling", "pipe", "cut", "bit", "noise", "other",
                        "endless", "deep"])  # fmt: skip
    file.unlink()
    if kind == "gone":
        pass
    elif kind == "folder":
        file.mkdir()
    elif kind == "link":
        kept = file.with_name("kept-aside")
        kept.write_bytes(whole)
        file.symlink_to(kept)
    elif kind == "dangling":
        file.symlink_to(file.parent / "nothing")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "endless":
        file.write_bytes(whole)
        os.truncate(file, 64 << 30)  # takes no space on the disk
    elif kind == "deep":
        file.write_bytes(b'{"content": ' + b"[" * DEEP)
    else:
        bit = bytearray(whole)
        bit[draw.randrange(len(bit))] ^= 1 << draw.randrange(8)
        other = draw.choice(others).read_bytes()
        file.write_bytes(
            {"empty": b"", "cut": whole[: draw.randrange(len(whole))], "bit": bytes(bit),
             "noise": draw.randbytes(len(whole)), "other": other}[kind]
        )  # fmt: skip
    return kind


def forge_folder(folder, everything, draw):
    """Forge one file of a folder; returns its name and what it now is."""
    found = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "lock"]
    kept = [file for file in found if file.name != "report.html"]
    weights = [3 if file.name == "state.npz" else 2 for file in kept]
    file = draw.choices(kept, weights)[0]
    name = "-".join(file.name.split("-")[:1]) if file.suffix != ".json" else file.name
    if draw.random() < 0.25:
        return name, put_something_else(file, everything, draw)
    content = forged_tree(file, draw)
    file.write_bytes(content)
    list_again(folder, file, content)
    return name, "tree"


def use_verify(folder, draw):
    made = list(verify_shards(folder) if (folder / "manifest.json").exists() else verify_run(folder, ALLOW))
    return all(check.passed for check in made)


def use_run(folder, draw):
    run = hk.open_run(folder, ALLOW)
    _ = run.trace, run.sweeps, run.moves, repr(run)
    for franchise in run.franchises():
        franchise.audit()


def use_trace(folder, draw):
    trace = hk.open_run(folder, ALLOW).trace
    for one in getattr(trace, "chains", [trace]):
        _ = one.moves, repr(one), [one[key] for key in one]
        _ = [sample.shares() for sample in one.samples if isinstance(sample, hk.Sample)]


def use_samples(folder, draw):
    for sample in hk.open_run(folder, ALLOW).samples:
        if isinstance(sample, hk.Sample) and sample.counts is not None:
            _ = sample.topics(), sample.group_weights(), sample.draw_topics(0), sample.draw_group_weights(0)


def use_resume(folder, draw):
    run = hk.open_run(folder, ALLOW)
    if run._files.settings.chains is None or draw.random() < 0.1:
        run.resume(1)
        for franchise in hk.open_run(folder, ALLOW).franchises():
            franchise.audit()


def use_beside(folder, draw):
    _ = kind_of_run(hk.open_run(folder, ALLOW)), load_reading(folder)


def use_model(folder, draw):
    model = hk.NGramModel.open(folder, ALLOW)
    _ = repr(model), model.missing_samples, model.concentrations
    if model.samples:
        model.score([["a", "b"], ["zz"]])
        model.sample(2, rng=0, max_length=9)
    model.sweep(1)
    model.franchise.audit()


def use_estimator(folder, draw):
    model = hk.TopicModel.load(folder)
    _ = repr(model), model.transform(["salt bread"]), model.score(["salt bread wine ship"])
    for franchise in model.franchises_:
        franchise.audit()


def use_state(folder, draw):
    state = hk.open_run(folder).state()
    _ = state.sample.topics(), [block.sample.group_weights() for block in state.documents()]
    _ = hk.evaluate(state.franchise, of_shards()[1].shard(0)).perplexity


def use_shards_run(folder, draw):
    declared, cut = of_shards()
    franchise = run_shards(declared, cut, SCHEDULE, sweeps=3, rng=0, folder=folder).franchise
    _ = franchise.dish_counts(), franchise.document_counts(), franchise.freeze()


def use_corpus(folder, draw):
    verify = draw.random() < 0.7
    corpus = hk.Corpus.open(folder, verify)
    _ = repr(corpus), corpus.names, corpus.vocabulary, corpus.document_labels if verify else None
    if verify:
        state = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5)), corpus)
        hk.Scheduler([moves.TableGibbs()]).run(state, 1, rng=0)
        state.audit()


def use_shards(folder, draw):
    corpus = hk.ShardedCorpus.open(folder)
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        _ = shard.values, shard.names, shard.document_lengths
    _ = repr(corpus), corpus.corpus().to_counts()


def command(*words):
    """Use a folder by a command of the program."""

    def use(folder, draw):
        new = folder.with_name("new.txt")
        new.write_text("salt bread ship\n")
        named = {"FOLDER": folder, "NEW": new, "OUT": folder.with_name("out")}
        result = call(*(named.get(word, word) for word in words))
        out = named["OUT"]
        shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code in (0, 1, 2), result.exit_code
        assert "Traceback" not in result.output
        return result.exit_code == 0

    return use


RUNS = {
    "verify_run": use_verify, "open_run": use_run, "trace": use_trace, "samples": use_samples,
    "resume": use_resume, "beside": use_beside, "hdpkit verify": command("verify", "FOLDER"),
    "hdpkit topics": command("topics", "FOLDER"),
    "hdpkit topics json": command("topics", "FOLDER", "--format", "json"),
    "hdpkit report": command("report", "FOLDER", "--out", "OUT"),
    "hdpkit infer": command("infer", "FOLDER", "NEW", "--sweeps", 2, "--burn-in", 1, "--format", "lines"),
    "hdpkit resume": command("resume", "FOLDER", "--sweeps", 1, "--quiet"),
    **{f"hdpkit export {to}": command("export", "FOLDER", "--to", to, "--out", "OUT")
       for to in ("csv", "json", "pyldavis", "signatures")},
}  # fmt: skip
WORDS = {
    "NGramModel": use_model, "open_run": use_run, "resume": use_resume, "verify_run": use_verify,
    "hdpkit verify": command("verify", "FOLDER"),
    "hdpkit resume": command("resume", "FOLDER", "--sweeps", 1, "--quiet"),
    "hdpkit lm score": command("lm", "score", "FOLDER", "NEW"),
    "hdpkit lm sample": command("lm", "sample", "FOLDER", "-n", 2, "--max-length", 9),
    "hdpkit lm export": command("lm", "export", "FOLDER", "OUT"),
    "hdpkit lm add": command("lm", "add", "FOLDER", "NEW", "--sweeps", 1, "--into", "OUT", "--quiet"),
}  # fmt: skip
CORPORA = {
    "Corpus.open": use_corpus, "ShardedCorpus.open": use_shards, "verify_shards": use_verify,
    "hdpkit verify": command("verify", "FOLDER"),
    "hdpkit fit": command("fit", "FOLDER", "--sweeps", 1, "--quiet", "--out", "OUT"),
}  # fmt: skip
SHARDED = {**RUNS, "Run.state": use_state, "resumed over shards": use_shards_run}
OF = {"words": WORDS, "model": {**RUNS, "TopicModel": use_estimator}, "shards-run": SHARDED,
      "shards": CORPORA, "shards-cells": CORPORA, "corpus": CORPORA}  # fmt: skip
ALL = {**RUNS, **WORDS, **CORPORA, **SHARDED, "TopicModel": use_estimator}


def use(folder, kind, draw):
    """Do one thing with a folder; returns what was done, and "error", "audit" or "healthy"."""
    uses = OF.get(kind, RUNS) if draw.random() < 0.9 else ALL
    name = draw.choice(sorted(uses))
    if name == "TopicModel" or (kind == "model" and draw.random() < 0.3):
        name = "TopicModel"
    try:
        healthy = ALL[name](folder, draw)
    except errors.HdpkitError as error:
        return name, "audit" if isinstance(error, errors.AuditError) else "error"
    except Exception as error:
        error.add_note(name)
        raise
    return name, "error" if healthy is False else "healthy"


def trial(healthy, everything, place, seed):
    """One forged folder: what came of it, the file, what it was replaced by, the use, and an error."""
    draw, forged = random.Random(seed), None
    folder = place / "run"
    while forged is None:
        shutil.rmtree(folder, ignore_errors=True)
        kind = draw.choice(healthy)
        shutil.copytree(kind, folder)
        try:
            forged = forge_folder(folder, everything, draw)
        except (ValueError, TypeError, OverflowError, RecursionError, errors.RunError):
            continue  # what can't be written down can't be forged
    try:
        name, what = use(folder, kind.name, draw)
    except Exception as error:
        told = f"{kind.name}: {type(error).__name__}: {str(error)[:200]}"
        return "raised", *forged, " ".join(getattr(error, "__notes__", [])), told
    return what, *forged, name, kind.name


def worker(healthy, everything, place, seeds, pipe):
    limit_memory(BYTES)
    warnings.simplefilter("ignore")
    with os.fdopen(pipe, "w") as out:
        for seed in seeds:
            out.write(f"{seed}\n")
            out.flush()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # both end the process
            signal.alarm(LONGEST)
            answer = trial(healthy, everything, place, seed)
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            out.write(json.dumps(answer) + "\n")
            out.flush()
    os._exit(0)


def campaign(count, seed, place):
    """Run trials; returns counts and what went wrong."""
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "healthy").exists():
        make(place / "healthy")
    healthy = sorted((place / "healthy").iterdir())
    everything = [path for path in sorted((place / "healthy").rglob("*")) if path.is_file()]
    everything = [path for path in everything if path.stat().st_size]
    counts, by_file, by_use, wrong = Counter(), Counter(), Counter(), []
    left = [seed * 10**6 + number for number in range(count)]
    began = time.monotonic()
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            worker(healthy, everything, place, left, writing)
        os.close(writing)
        with os.fdopen(reading) as answers:
            lines = answers.read().splitlines()
        status = os.waitpid(child, 0)[1]
        for number in range(0, len(lines), 2):
            done = left.pop(0)
            if number + 1 < len(lines):
                what, file, instead, name, told = json.loads(lines[number + 1])
                by_file[f"{file} ({instead})" if instead != "tree" else file] += 1
                by_use[name] += 1
                detail = f"{file} ({instead}), {name}: {told}"
            else:
                signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
                late = signalled in (signal.SIGALRM, signal.SIGPROF)
                what, detail = ("hung" if late else "ended"), f"status {status}"
            counts[what] += 1
            if what not in ("error", "healthy"):
                wrong.append([done, what, detail])
        if not lines:
            break
    return {"trials": sum(counts.values()), **counts, "wrong": wrong, "by file": by_file, "by use": by_use,
            "seconds": time.monotonic() - began}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(campaign(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
