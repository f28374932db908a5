"""Verification of a run folder (every file, every state, every trace) and of folders of corpora."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np

from hdpkit.allowed import Allowed, NotAllowed
from hdpkit.cli.folders import allow_option, open_language_model
from hdpkit.cli.output import say
from hdpkit.cli.runs import run_argument
from hdpkit.data import Corpus, ShardedCorpus
from hdpkit.data.files.shards import MANIFEST, is_shard, is_sharded_folder, shard_name
from hdpkit.data.sharded import n_customers
from hdpkit.errors import HdpkitError, RunError, printable
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.posterior.topic_labels import LABELS, read_topic_labels
from hdpkit.run.reading import load_reading
from hdpkit.run.run_folder import DATA, RUN, STATE, ChainFolder, Checkpointed, RunFolder
from hdpkit.run.runs import chains_of, open_run
from hdpkit.run.trace import PREFIX, Trace

_COMPARED = ("n_dishes", "n_tables", "log_likelihood", "log_joint")


@attrs.frozen
class Check:
    """The result of one check."""

    name: str  # path of the file within the folder, or name of the chain
    passed: bool
    detail: str  # what was found, what is wrong, or what is needed for the check
    looked: bool = True  # False: needs a user's class that isn't allowed, and counts as passed


def _checked(name: str, what: Callable[[], Any], detail: Callable[[Any], str] = str) -> tuple[Check, Any]:
    """A check, and what was read; None if it can't be."""
    try:
        answer = what()
        return Check(name, True, detail(answer)), answer
    except NotAllowed as error:
        module = str(error.value).partition(":")[0]
        told = f"not looked at: it needs {error.value}; allow {module!r}"
        return Check(name, True, told, looked=False), None
    except HdpkitError as error:
        return Check(name, False, str(error)), None
    except Exception as error:  # damaged content may cause any error
        return Check(name, False, f"{type(error).__name__}: {error}"), None


def verify_run(folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Iterator[Check]:
    """Check a run folder: the checksum of every file, the digest of the data, every state, every trace."""
    allowed, path = Allowed(allow), Path(folder)
    if not os.path.lexists(path / RUN):
        raise RunError(
            f"folder {path}", "no run and no corpus", f"with a {RUN} or a {MANIFEST}", "Check the path."
        )
    check, files = _checked(RUN, lambda: RunFolder.open(path), lambda _: "checksum, version")
    yield check
    if files is None:
        return
    check, data = _checked(
        DATA, files.data, lambda data: f"checksum, digest of the run; {n_customers(data):,} observations"
    )
    yield check
    yield _checked("start", files.start, lambda _: "can be read")[0]
    moves = _checked("moves", lambda: files.moves(allowed), lambda moves: f"{len(moves)}, which can be built")
    yield moves[0]
    chains = None if data is None else chains_of(files, data, allowed)
    for number in range(files.n_chains):
        yield from _check_chain(files, number, chains)


def _sizes(corpus: Any) -> str:
    sizes = f"{corpus.n_documents:,} documents, {corpus.n_tokens:,} tokens"
    return f"checksums, ranges; {sizes}"


def verify_corpus(folder: str | os.PathLike[str]) -> Iterator[Check]:
    """Check one shard: checksums and ranges of every file."""
    yield _checked(
        "corpus", lambda: Corpus.open(folder), lambda corpus: f"{_sizes(corpus)}, {corpus.n_terms:,} terms"
    )[0]


def verify_shards(folder: str | os.PathLike[str]) -> Iterator[Check]:
    """Check a corpus in shards: the manifest, and every file of the shards that are on this machine."""
    check, found = _checked("manifest.json", lambda: ShardedCorpus.open(folder), repr)
    yield check
    for info in () if found is None else found.shards:
        name = shard_name(info.number)
        if found.is_present(info.number):
            yield _checked(name, partial(found.verify, info.number), lambda _, info=info: _sizes(info))[0]  # type: ignore[misc]
        else:
            yield Check(name, True, "not on this disk", looked=False)


def _check_chain(files: RunFolder, number: int, chains: Any) -> Iterator[Check]:
    """Check the files of a chain; ``chains`` are those of the run, None if its data can't be read."""
    chain = files.chain(number)
    name = chain.path.name
    if not os.path.lexists(chain.path / STATE):
        yield _checked(name, chain.state, lambda _: "no checkpoint yet: hdpkit resume begins it")[0]
        return
    check, state = _checked(
        f"{name}/{STATE}", chain.state, lambda state: f"checksum; the state after sweep {state.sweep}"
    )
    yield check
    if state is None:
        return
    if chains is not None:
        try:
            others = list(chains.files_of(state))
        except HdpkitError as error:
            yield Check(f"{name}/{STATE}", False, str(error))
        else:
            for file, look in others:
                yield _checked(f"{name}/{file}", look)[0]
    check, trace = _checked(
        f"{name}/{PREFIX}-*.npz",
        lambda: chain.begun()[1],
        lambda trace: f"checksums; {trace.n_draws} draws; goes on after sweep {state.sweep}",
    )
    yield check
    if files.settings.samples is not None or state.samples:
        yield _checked(f"{name}/samples", lambda: _check_samples(chain, state))[0]
    if chains is not None:
        yield _checked(name, lambda: _check_state(chains, number, state, trace))[0]


def _check_samples(chain: ChainFolder, loaded: Checkpointed) -> str:
    """Read every sample of the checkpoint."""
    there = chain.samples(loaded)
    if missing := chain.missing_samples(loaded):
        raise chain.without_samples(missing)
    for file in there:
        file.read()
    late = sum(sweep > loaded.sweep for sweep in chain.numbers("sample"))
    behind = f"; {late} after the checkpoint, which resuming writes again" if late else ""
    return f"{len(there)} samples, checksums{behind}"


def _check_state(chains: Any, number: int, loaded: Checkpointed, trace: Trace | None) -> str:
    detail, values = chains.audit(number, loaded)
    rows = np.flatnonzero(trace["sweep"] == loaded.sweep) if trace is not None and trace.n_draws else None
    if trace is not None and rows is not None and len(rows) and values:  # thinning leaves sweeps out
        for key in _COMPARED:
            then, now = float(trace[key][rows[-1]]), float(values[key])
            if not np.isclose(then, now, rtol=1e-9, atol=1e-9):
                raise RunError(
                    key, now, f"{then}, as the trace says", "State and trace are of different runs."
                )
        detail += ", and is the one of the trace"
    return detail


def _checks(folder: Path, allow: tuple[str, ...]) -> Iterator[Check]:
    """The checks of a run, and of what commands and models have put into its folder."""
    failed = set()
    for check in verify_run(folder, allow):
        failed.update([] if check.passed else [check.name])
        yield check
    if RUN in failed:
        return
    about = RunFolder.open(folder).about
    readers: dict[str, Callable[[], str]] = {
        "reading": lambda: f"of a corpus: {load_reading(folder, allow).format}",
        "model": lambda: f"a model of the kind {kind_of_run(open_run(folder, allow)).name}",
        "sentences": lambda: _check_model(folder, allow),
    }
    asked = {name: read for name, read in readers.items() if name in about}
    if os.path.lexists(folder / LABELS):
        asked[LABELS] = lambda: _check_labels(folder, allow)
    for name, read in asked.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about missing samples, which are reported here
            check = _checked(name, read)[0]
        yield check


def _check_labels(folder: Path, allow: tuple[str, ...]) -> str:
    data: Any = open_run(folder, allow).data
    rows = read_topic_labels(folder / LABELS, data.n_terms)
    n = sum(bool(row.label) for row in rows)
    return f"can be read; it has no checksum, since people edit it: {n} labels"


def _check_model(folder: Path, allow: tuple[str, ...]) -> str:
    model = open_language_model(folder, allow, ready=False)
    return f"a language model with {len(model.samples)} samples"


@click.command()
@run_argument
@allow_option
def verify(run: Path, allow: tuple[str, ...]) -> None:
    """Check a run or a language model: checksums of every file, the states, the trace, the samples.

    RUN can also be a corpus that hdpkit convert wrote: checksums of every file, and the ranges of all
    numbers. Of a corpus in shards the shards on this disk are checked. Prints one line per check. Exit code 1
    means that a check failed.

    \b
    Examples:
      hdpkit verify run
      hdpkit verify run && rsync -a run/ archive/run/
      hdpkit verify corpus-folder
    """
    failed = unseen = 0
    in_shards = is_sharded_folder(run) or (run / shard_name(0)).is_dir()
    checks = verify_shards(run) if in_shards else verify_corpus(run) if is_shard(run) else _checks(run, allow)
    for check in checks:
        failed += not check.passed
        unseen += not check.looked
        mark = "FAILED" if not check.passed else "ok    " if check.looked else "--    "
        say(f"{mark}  {printable(check.name)}: {printable(check.detail)}")
    if failed:
        say(f"{failed} of the checks failed", err=True)
        raise click.exceptions.Exit(1)
    if unseen:
        left = "shards are on other disks" if in_shards else "of the checks need --allow MODULE"
        say(f"all is well that could be looked at; {unseen} {left}")
    else:
        say("all is well")
