"""The machine of a measurement, as a block of Markdown: processor, caches, versions, commit.

    python benchmarks/machine.py

Every script here prints it above its results.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path

import hdpkit as hk

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("numpy", "scipy", "tomotopy", "gensim", "hmmlearn")


def resident():
    """Bytes of this process in memory; nan if the system doesn't report it."""
    return _status("VmRSS")


def peak():
    """Peak memory of this process so far, in bytes; nan if the system doesn't report it."""
    return _status("VmHWM")


def _status(field):
    status = Path("/proc/self/status")
    found = re.search(rf"^{field}:\s*(\d+) kB", status.read_text(), re.M) if status.exists() else None
    return int(found[1]) * 1024 if found else float("nan")


def processor():
    """Name of the processor, from the operating system."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = [line.partition(":") for line in cpuinfo.read_text().splitlines()]
        known = {name.strip(): value.strip() for name, _, value in reversed(fields)}
        name = known.get("model name", platform.machine())
        return f"{name} at {float(known['cpu MHz']):.0f} MHz" if "cpu MHz" in known else name
    return platform.processor() or platform.machine()


def caches():
    """Sizes of the first processor's caches, if the system reports them."""
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        found.append(f"L{level}{'' if kind == 'Unified' else kind[0].lower()} {size}")
    return ", ".join(found) or "unknown"


def commit():
    """The commit of this working copy, and whether files differ from it."""

    def git(*arguments):
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short", "HEAD") + (", and uncommitted changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "not a checkout"


def version(package):
    """Version of a package, or None if it isn't installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def block():
    """Return the lines that describe the machine and the versions."""
    versions = [f"{name} {version(name) or 'not installed'}" for name in PACKAGES]
    load = f"; load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return "\n".join(
        [
            "| | |",
            "| --- | --- |",
            f"| processor | {processor()}, {os.cpu_count()} cores; {caches()} |",
            f"| instruction set | {hk.instruction_set()} |",
            f"| system | {platform.system()} {platform.release()} {platform.machine()}{load} |",
            f"| versions | Python {platform.python_version()}, {', '.join(versions)} |",
            f"| hdpkit | {hk.__version__}, commit {commit()} |",
            "",
        ]
    )


if __name__ == "__main__":
    print(block())
