"""Compiled code asks for memory through one door."""

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "hdpkit"
CYTHON = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".pyx", ".pxd")]
VECTORS = re.compile(
    r"^\s*(?:cdef (?:readonly |public )?)?vector\[[^=(]*?\]+ ([\w, ]+?)(?:\s*#.*)?$", re.MULTILINE
)
FUNCTION = re.compile(r"^( *)(?:cdef|cpdef) [^\n]*?(?:\n[^\n:]*?)?noexcept[^\n]*:\n", re.MULTILINE)
MAY_THROW = re.compile(r"\.(?:assign|push_back|reserve|resize|shrink_to_fit)\(|copy_into\(|\.at\(")


def test_vectors_are_declared_in_one_place():
    for path in CYTHON:
        text = path.read_text(encoding="utf-8")
        assert "libcpp" not in text, (
            f"{path}: cimport vector from hdpkit.vectors, where every call is guarded"
        )
        assert "libc.stdlib" not in text, path


def test_vectors_are_copied_by_copy_into():
    """Cython guards no assignment, which asks for memory as much as any other call."""
    for path in CYTHON:
        text = path.read_text(encoding="utf-8")
        own = text + "".join(p.read_text("utf-8") for p in CYTHON if p == path.with_suffix(".pxd"))
        names = {name.strip() for found in VECTORS.findall(own) for name in found.split(",")}
        for line, left, right in re.findall(r"^( +(?:\w+\.)*(\w+) = (?:\w+\.)*(\w+))$", text, re.MULTILINE):
            assert not ({left, right} <= names), f"{path.name}: {line.strip()}"


def test_functions_that_cannot_raise_ask_whether_there_is_room():
    for path in CYTHON:
        text = path.read_text(encoding="utf-8")
        for found in FUNCTION.finditer(text):
            body = re.match(rf"(?:{found.group(1)} +.*\n|\n)*", text[found.end() :]).group(0)
            if MAY_THROW.search(body):
                assert "has_room(" in body or "has_place(" in body, f"{path.name}: {found.group(0).strip()}"
