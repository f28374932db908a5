"""A disk that is full from the n-th call on that writes to a run folder."""

import errno
import io
import os

from hdpkit import files


class FullDisk:
    """Calls that write find the disk full, from this one on (from 0); half of its bytes are written."""

    def __init__(self, patch, at):
        self.found = False
        self._left = at
        for name in ("fsync", "replace", "mkdir", "open"):
            patch.setattr(os, name, self._counting(name, getattr(os, name)))
        patch.setattr(files, "open", self._open, raising=False)

    def _called(self):
        self._left -= 1
        if self._left < 0:
            self.found = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _counting(self, name, function):
        def call(*arguments, **more):
            if name != "open" or arguments[1] & os.O_CREAT:
                self._called()
            return function(*arguments, **more)

        return call

    def _open(self, file, mode, **more):
        called = self._called

        class File(io.FileIO):
            def write(self, data):
                try:
                    called()
                except OSError:
                    super().write(memoryview(data)[: len(data) // 2])
                    raise
                return super().write(data)

        return File(file, mode.replace("b", "")) if mode != "rb" else open(file, mode, **more)
