"""The process of one chain. Begun by `hdpkit.run.chains` as ``python -m hdpkit.run.worker``.

The process reads the number of the chain and the job from standard input. A later byte asks it to end after
the current sweep. The end of the stream means that the parent has ended; the process then ends at once.
Answers are written to the original standard output; output of moves and callbacks goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from typing import Any, BinaryIO

import attrs
import cloudpickle

from hdpkit.random import Streams
from hdpkit.run.collect import collect
from hdpkit.run.runs import run_in_folder
from hdpkit.run.sweeps import OneProcess
from hdpkit.run.trace import Trace


def work(job: dict[str, Any], number: int) -> tuple[Trace, dict[str, Any]]:
    """Do a job; returns the trace and the final state."""
    franchise, plan = job["make"](), job["plan"]
    chain = OneProcess(job["moves"], franchise, job["threads"])
    chain.streams = Streams(job["seed"], number)
    if "folder" in job:
        return run_in_folder(job["folder"], number, chain, plan, job["target"]), franchise.freeze()
    if job["frozen"] is not None:
        chain.thaw(job["frozen"])
    return collect(chain, job["sweeps"], job["init"], plan, Trace()), franchise.freeze()


def main() -> None:
    """Read a job, do it, and send the result."""
    answers: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C, and sends a message
    requests = sys.stdin.buffer
    try:
        number, chains, ticking, text = pickle.load(requests)
    except (EOFError, pickle.UnpicklingError):
        os._exit(1)
    sending, asked = threading.Lock(), threading.Event()

    def tell(kind: str, value: Any) -> None:
        data = pickle.dumps((kind, value), protocol=5)  # first: what can't be pickled sends nothing
        with sending:
            answers.write(data)
            answers.flush()

    def listen() -> None:
        while requests.read(1):
            asked.set()
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    try:
        job = pickle.loads(text)

        def tick(value: Any) -> None:
            tell("tick", attrs.evolve(value, chain=number, chains=chains))

        job["plan"] = attrs.evolve(job["plan"], progress=tick if ticking else None, stop=asked.is_set)
        result = work(job, number)
        tell("done", result)
    except BaseException as error:
        text_of_error = traceback.format_exc()
        try:
            carried: bytes | None = cloudpickle.dumps(error)
            pickle.loads(carried or b"")
        except Exception:  # if the error can't be pickled, its text is sent
            carried = None
        tell("failed", (repr(error), text_of_error, carried))
    os._exit(0)  # a normal exit would wait for the thread that still reads


if __name__ == "__main__":
    main()
