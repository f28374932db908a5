"""JSON files that end with a checksum of all bytes before it: run.json, corpus.json, manifest.json, others.

The last key of the object, on a line of its own, is ``"checksum"``: the SHA-256 (hex) of the bytes before the
comma that precedes it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["opened_text", "sealed_text"]

_END = re.compile(rb',\n"checksum": "([0-9a-f]{64})"\}\n\Z')


def sealed_text(fields: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return fields as JSON in UTF-8 with a checksum at its end."""
    text = json.dumps(dict(fields), ensure_ascii=False, indent=indent)
    body = text[:-1].rstrip("\n").encode("utf-8", "surrogatepass")  # which the reader of JSON accepts
    return body + f',\n"checksum": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def opened_text(content: bytes) -> tuple[Any, str | None]:
    """Return what the JSON says without its checksum, and the checksum; None if the checksum isn't right.

    The caller checks format and version before it refuses a wrong checksum. Raises a ValueError or a
    RecursionError if it isn't JSON.
    """
    found = json.loads(content)
    if isinstance(found, dict):
        found.pop("checksum", None)
    end = _END.search(content[-128:])
    if end is None:
        return found, None
    said = end[1].decode()
    body = memoryview(content)[: len(content) - len(end[0])]
    return found, said if hashlib.sha256(body).hexdigest() == said else None
