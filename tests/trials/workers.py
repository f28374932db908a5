"""Processes that answer questions, and may end at any of them; a limit on their memory."""

import json
import os
import resource
import select
import subprocess
import sys


def limit_memory(n_bytes):
    """Limit the addresses of this process. AddressSanitizer needs terabytes, and has a limit of its own."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))


class Worker:
    """A script's process, which answers each line of JSON by one; it is begun anew after it has ended."""

    def __init__(self, script, *arguments):
        self.words = [sys.executable, "-X", "faulthandler", script, "--worker", *map(str, arguments)]
        self.process = None

    def begin(self):
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            bufsize=1, env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()

    def ask(self, question, patience):
        """The answer; or None, and how the process ended."""
        if self.process is None:
            self.begin()
        self.process.stdin.write(json.dumps(question) + "\n")
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line), ""
        told = "no answer in time"
        if ready:
            told = f"the process ended: {self.process.wait()} {self.process.stderr.read()[:600]}"
        self.end()
        return None, told

    def end(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process = None
