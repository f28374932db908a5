"""Compile copies of modules in the current folder: `python compile_planted.py CHECKOUT PACKAGE
MODULE ...`.
"""

import os
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup


def main(root, package, *names):
    folders = [package, *(str(Path(root, "hdpkit", place)) for place in ("include", "stores"))]
    flags = ["/O1", "/std:c++17", "/fp:precise"] if sys.platform == "win32" else [
        "-O0", "-g0", "-std=c++17", "-ffp-contract=off", "-pthread",
    ]  # fmt: skip
    macros, linked = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")], []
    if os.environ.get("HDPKIT_SANITIZE", "0") not in ("", "0"):
        # All modules that change a vector must tell the sanitizer where it ends.
        macros += [("_GLIBCXX_ASSERTIONS", "1"), ("_GLIBCXX_SANITIZE_VECTOR", "1")]
        linked = ["-fsanitize=address,undefined"]
        flags += [*linked, "-fno-omit-frame-pointer"]
    common = {
        "include_dirs": [*folders, np.get_include()], "extra_compile_args": flags, "language": "c++",
        "define_macros": macros, "extra_link_args": linked,
    }  # fmt: skip
    pyx = [Extension(f"{package}.{name}", [f"{package}/{name}.pyx"], **common) for name in names]
    module = Extension(f"{package}.isa_baseline", [f"{package}/isa_baseline.cpp"], **common)
    setup(
        name=package,
        packages=[],
        script_args=["-q", "build_ext", "--inplace", "-j2"],
        ext_modules=[module, *cythonize(
            pyx,
            nthreads=2,
            include_path=[root],
            shared_utility_qualified_name="hdpkit._shared_utilities",
            compiler_directives={
                "language_level": 3, "boundscheck": False, "wraparound": False, "initializedcheck": False,
                "cdivision": True, "binding": True, "embedsignature": True, "auto_pickle": False,
                "freethreading_compatible": True,
            },
        )],
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
