"""Faults of compiled code: copies of its modules with all of them, compiled once with a switch, take the
place of production while one is planted. They are kept in ``build/planted`` by a digest of all sources.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from filelock import FileLock

from bugs import ALL_FAULTS, FAULTS_IN, PlantedFault

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "hdpkit" / "steps" / "fused"
PRODUCTION, PACKAGE = "hdpkit.steps.fused", "planted_sweeps"
FUSED = ("_fused_topics", "_fused_blocks", "_fused_observed", "_fused_documents", "_state_sequences")
MODULES = {  # and where they are
    **dict.fromkeys(FUSED, PRODUCTION), "_new_groups": "hdpkit.steps", "_labelled_seating": "hdpkit.stores",
}  # fmt: skip
OTHERS = ("instruction_set",)  # that they import
SWITCH = """\
#ifndef HDPKIT_SWITCH_H
#define HDPKIT_SWITCH_H
#ifdef _WIN32
#define HDPKIT_EXPORT __declspec(dllexport)
#else
#define HDPKIT_EXPORT __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
extern "C" {
#endif
HDPKIT_EXPORT extern int hdpkit_fault;
HDPKIT_EXPORT int hdpkit_fault = 0;
#ifdef __cplusplus
}
#endif
#endif
"""
DECLARED = '\ncdef extern from "switch.h":\n    int hdpkit_fault\n'
OF_DOCUMENTS = """
from cpython.pycapsule cimport PyCapsule_GetPointer
from hdpkit.steps.fused._document_workspace cimport HDPKIT_DOCUMENT_CAPSULE, hdpkit_document_functions
from planted_sweeps.instruction_set import chosen

cdef const hdpkit_document_functions *functions = (
    <const hdpkit_document_functions *>PyCapsule_GetPointer(chosen.documents, HDPKIT_DOCUMENT_CAPSULE))
cdef const hdpkit_document_functions *of_scripts = functions
"""


def paths() -> list[Path]:
    """The modules that are copied."""
    return [ROOT.joinpath(*package.split("."), f"{name}.pyx") for name, package in MODULES.items()]


def patched() -> dict[str, str]:
    """The sources by name, with all faults; raises an AssertionError if a patch no longer applies."""
    found = {path.name: path.read_text(encoding="utf-8") for path in SOURCES.glob("*.h")}
    found |= {path.name: path.read_text(encoding="utf-8") for path in paths()}
    for number, fault in enumerate(ALL_FAULTS, start=1):
        for patch in fault.patches:
            times = found[patch.file].count(patch.old)
            assert times == 1, f"{fault.name}: {times} times in {patch.file}:\n{patch.old}"
            new = patch.new.replace("FAULT", f"(hdpkit_fault == {number})")
            found[patch.file] = found[patch.file].replace(patch.old, new)
    return found


def sources() -> dict[str, str]:
    """All files of the copies by name."""
    found = patched()
    copied = "|".join((*FUSED, *OTHERS))
    for name in [name for name in found if name.endswith((".pyx", ".pxd"))]:
        text = re.sub(rf"{re.escape(PRODUCTION)}\.({copied})\b", rf"{PACKAGE}.\1", found[name])
        found[name] = text + DECLARED
    documents = found["_fused_documents.pyx"]
    begin = documents.index("\nfrom")
    for name in ("functions", "of_scripts"):
        assert f" {name}," in documents
        documents = documents.replace(f" {name},", "", 1)
    found["_fused_documents.pyx"] = documents[:begin] + OF_DOCUMENTS + documents[begin:]
    module = (SOURCES / "isa_baseline.cpp").read_text(encoding="utf-8")
    found |= {
        "isa_baseline.cpp": '#include "switch.h"\n' + module,
        "switch.h": SWITCH,
        "__init__.py": "",
        "__init__.pxd": "",
        "instruction_set.py": f"import {PACKAGE}.isa_baseline as chosen\n\nscripts = chosen\n",
    }
    return found


def digest() -> str:
    """Of everything on which the compiled copies depend."""
    told = hashlib.sha256(f"{sys.version} {sysconfig.get_platform()}".encode())
    told.update(importlib.metadata.version("cython").encode())
    told.update(os.environ.get("HDPKIT_SANITIZE", "0").encode())
    read = [path for kind in ("pxd", "h") for path in (ROOT / "hdpkit").rglob(f"*.{kind}")]
    read += paths()  # what others compile is not in the copies
    for path in sorted([*read, *FAULTS_IN.glob("*.txt"), *Path(__file__).parent.glob("*plant*.py")]):
        told.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return told.hexdigest()[:20]


def compile_in(folder: Path) -> None:
    """Write the copies and compile them."""
    package = folder / PACKAGE
    package.mkdir(parents=True)
    for name, text in sources().items():
        (package / name).write_text(text, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("compile_planted.py")), str(ROOT), PACKAGE, *MODULES],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, f"{told.stdout[-2000:]}\n{told.stderr[-4000:]}"


def compiler() -> str | None:
    """The C++ compiler, None if there is none."""
    if sys.platform == "win32":
        return "cl"
    return shutil.which((os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0])


@cache
def planted_modules() -> dict[str, ModuleType]:
    """The compiled copies by name; they are compiled if that hasn't been done."""
    if compiler() is None:
        pytest.skip("no C++ compiler")
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    kept = ROOT / "build" if os.access(ROOT, os.W_OK) else Path(tempfile.gettempdir())
    folder = kept / "planted" / digest()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as new:
                compile_in(Path(new) / "made")
                os.replace(Path(new) / "made", folder)
    sys.path.insert(0, str(folder))
    try:
        return {name: importlib.import_module(f"{PACKAGE}.{name}") for name in ("isa_baseline", *MODULES)}
    finally:
        sys.path.remove(str(folder))


def switch(number: int) -> None:
    """Set the number of the fault in all copies; 0: none."""
    for module in planted_modules().values():
        ctypes.c_int.in_dll(ctypes.CDLL(module.__file__), "hdpkit_fault").value = number


@cache
def places() -> list[tuple[dict[str, Any], str, Any, Any]]:
    """Where functions of production are kept: dictionary, key, function, and its copy."""
    copies = planted_modules()
    found = []
    frozen = gc.get_freeze_count() > 0
    if frozen:  # else the collector doesn't know who refers to them
        gc.unfreeze()
    for name, package in MODULES.items():
        own = vars(importlib.import_module(f"{package}.{name}"))
        for key, function in list(own.items()):
            if callable(function) and getattr(function, "__module__", None) == own["__name__"]:
                holders = [holder for holder in gc.get_referrers(function) if isinstance(holder, dict)]
                for holder in holders:
                    places = [place for place, held in holder.items() if held is function]
                    found += [(holder, place, function, getattr(copies[name], key)) for place in places]
    if frozen:
        gc.freeze()
    return found


@contextmanager
def planted_fault(fault: PlantedFault) -> Iterator[None]:
    """Plant a fault within a block, for all franchises."""
    try:
        for holder, place, _, copy in places():
            holder[place] = copy
        switch(1 + ALL_FAULTS.index(fault))
        yield
    finally:
        for holder, place, function, _ in places():
            holder[place] = function
        switch(0)
