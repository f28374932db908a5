"""Encodings of texts: detection, and whether an encoding is compatible with ASCII."""

from __future__ import annotations

import codecs
from typing import Any

from hdpkit.errors import MissingExtraError, ParameterError

__all__ = ["SAMPLE", "agrees_with_ascii", "check_encoding", "detect_encoding"]

SAMPLE = 1 << 16
"""Number of bytes used to detect an encoding other than UTF-8."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# The encodings in use other than UTF-8; of two that fit equally well, the more frequent one comes first.
# Without such a list a French text in Latin-1 would be detected as Turkish in an old Macintosh encoding.
_IN_USE = (
    *("cp1252", "cp1250", "cp1251", "koi8_r", "koi8_u", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "mac_roman", "cp866"),
)
_AS_CLEAN = 0.02  # difference in charset-normalizer's "chaos" that counts as zero
_AS_COHERENT = 0.15  # and in its "coherence"


def check_encoding(encoding: Any) -> str:
    """Check and return the name of an encoding of texts, or raise a ParameterError."""
    try:
        if isinstance(encoding, str) and "a".encode(encoding).decode(encoding) == "a":
            return codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError, TypeError):  # not an encoding, or not one of text
        pass
    raise ParameterError(
        "encoding", encoding, "the name of an encoding that Python supports",
        "For instance utf-8, cp1252, latin-1, utf-16, gb18030. Leave it out to have it detected.",
    )  # fmt: skip


def agrees_with_ascii(encoding: str) -> bool:
    """Whether the ASCII bytes have their ASCII meaning in an encoding, so that lines end with one byte."""
    ascii = bytes(range(128))
    try:
        return ascii.decode(encoding) == ascii.decode("ascii")
    except UnicodeError:
        return False


def detect_encoding(content: bytes, *, whole: bool) -> str | None:
    """Detect the encoding of a text: by byte order mark, as UTF-8, or the most probable one found by
    charset-normalizer.

    Parameters
    ----------
    content : bytes
        The text, or its beginning.
    whole : bool
        Whether it is the complete text; a beginning may end inside a character.

    Returns
    -------
    str or None
        None if the content isn't text in any of the encodings, in particular if it has zero bytes.

    Raises
    ------
    MissingExtraError
        If it isn't UTF-8, and charset-normalizer isn't installed.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    if b"\0" in content:
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content, final=whole)
    except UnicodeDecodeError:
        return _guess(content[:SAMPLE])
    return "utf-8"


def _guess(sample: bytes) -> str | None:
    try:
        from charset_normalizer import from_bytes
    except ImportError as error:
        raise MissingExtraError(
            "charset-normalizer", None, "installed, to read text that isn't UTF-8",
            "It is an extra: pip install 'hdpkit[text]'. Or give the encoding.",
        ) from error  # fmt: skip
    found = [match for match in from_bytes(sample, cp_isolation=list(_IN_USE)) if match.encoding in _IN_USE]
    for measure, margin, sign in (("chaos", _AS_CLEAN, 1), ("coherence", _AS_COHERENT, -1)):
        best = min((sign * getattr(match, measure) for match in found), default=0.0)
        found = [match for match in found if sign * getattr(match, measure) <= best + margin]
    return min((match.encoding for match in found), key=_IN_USE.index, default=None)
