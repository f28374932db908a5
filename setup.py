"""Extension modules only; everything else about the build is in pyproject.toml.

``HDPKIT_DEBUG=1 pip install .`` compiles with bounds checks on memory views (by Cython) and on vectors (by
the standard library). ``HDPKIT_SANITIZE=1`` compiles for AddressSanitizer and UndefinedBehaviorSanitizer (GCC
or Clang; `.ci/sanitize` runs tests with it). ``HDPKIT_OPTIMIZE=0`` compiles slow code in a third of the time,
for checks of the package's contents. The fused sweeps are compiled for any processor and for the widest
instruction set of this machine; with ``HDPKIT_WHEEL=1`` for all of them, and with ``HDPKIT_ISA=baseline`` for
any processor only.
"""

import os
import sys
import sysconfig
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from numpy._core._multiarray_umath import __cpu_features__ as cpu_features
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

debug = os.environ.get("HDPKIT_DEBUG", "0") not in ("", "0")
sanitize = os.environ.get("HDPKIT_SANITIZE", "0") not in ("", "0")
optimize = os.environ.get("HDPKIT_OPTIMIZE", "1") not in ("", "0")

macros = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
if sys.platform == "win32":
    compile_args = ["/O2", "/std:c++17", "/fp:precise"]
else:
    # No contraction: a fused multiply-add rounds once where two operations round twice, so that the chain
    # would depend on the processor.
    compile_args = ["-O2", "-std=c++17", "-ffp-contract=off", "-fno-fast-math", "-pthread"]
    if not (debug or sanitize):
        # Python's own flags ask for debugging information: compiling then takes 1.4 to 1.7 times as long.
        compile_args.append("-g0")
if debug:
    macros.append(("_GLIBCXX_ASSERTIONS", "1"))
    compile_args += [] if sys.platform == "win32" else ["-O1", "-g"]
if not optimize:
    compile_args = ["-O0" if flag == "-O2" else "/Od" if flag == "/O2" else flag for flag in compile_args]
# The sweep over observed dishes is compiled for streams and for scripts. GCC would merge functions that are
# the same in both, and so not inline them: 1.4 % more instructions.
compilers = [os.environ.get(name) or sysconfig.get_config_var(name) or "" for name in ("CC", "CXX")]
gcc = all(("gcc" in name or "g++" in name) and "clang" not in name for name in compilers)
own_args = {"fused_observed": ["-fno-ipa-icf"]} if gcc else {}
# Modules with loops over customers, tables or counts. The others are compiled in half the time with -O1.
HOT = """
    bursty_counts conjugate counts counts_walk dense_bank explicit fused_blocks fused_observed fused_topics
    histogram new_groups numerics seating source sparse_dirichlet_multinomial sweeps table_counts
    term_clusters state_sequences term_counts von_mises_fisher walk
"""
hot = set(HOT.split())
# With -O2 in place of -O3 sweeps over documents took a tenth more time, and those of n-grams 7 %.
hottest = {"explicit", "fused_blocks", "fused_observed", "histogram", "seating", "sweeps", "walk"}
fastest = ["-O3"] if "-O2" in compile_args and not (debug or sanitize) else []
link_args = [] if sys.platform == "win32" else ["-pthread"]
if sanitize:
    # The vector macro reports access to memory between a vector's size and its capacity.
    macros += [("_GLIBCXX_ASSERTIONS", "1"), ("_GLIBCXX_SANITIZE_VECTOR", "1")]
    sanitizers = ["-fsanitize=address,undefined"]
    link_args += sanitizers
    # Python's own flags define the overflow of signed numbers, so that it would not be reported. Conversions
    # of floats that no integer can hold are checked only with a flag of their own.
    extra = ["-fno-wrapv", "-fsanitize=float-cast-overflow"]
    compile_args += [*sanitizers, *extra, "-fno-omit-frame-pointer", "-O1", "-g"]

folders = ["hdpkit/include", "hdpkit/stores", "hdpkit/steps/fused"]
shared = ["hdpkit/stores/layout.h", *map(str, sorted(Path("hdpkit/include").rglob("*.h")))]
headers = [*shared, *map(str, sorted(Path("hdpkit/steps/fused").glob("*.h")))]
sources = sorted(Path("hdpkit").rglob("*.pyx"))

extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [str(source)],
        include_dirs=[np.get_include(), *folders],
        define_macros=macros,
        extra_compile_args=[
            *compile_args,
            *own_args.get(source.stem.lstrip("_"), []),
            *(
                ["-O1"] if "-O2" in compile_args and source.stem.lstrip("_") not in hot else []
            ),  # the last option counts
            *(fastest if source.stem.lstrip("_") in hottest else []),
        ],
        extra_link_args=link_args,
        language="c++",
        depends=headers if source.parent.name == "fused" else [*shared, *map(str, source.parent.glob("*.h"))],
    )
    for source in sources
]

# Code that Cython would otherwise generate in every module with memory views is compiled once, in C.
shared_utilities = "hdpkit._shared_utilities"
extensions.append(
    Extension(
        shared_utilities,
        [shared_utilities.replace(".", "/") + ".c"],
        define_macros=macros,
        extra_compile_args=["-O1" if flag == "-O2" else flag for flag in compile_args if "std" not in flag],
        extra_link_args=link_args,
    )
)

# The fused sweeps once for each instruction set, as modules of their own; one is chosen at import, and the
# baseline serves scripts.
# GCC computes loops with choices in all lanes at once only if comparisons may raise no exceptions; results
# are the same.
no_traps = [] if sys.platform == "win32" else ["-fno-trapping-math"]
instruction_sets = {"baseline": []}
wheel = os.environ.get("HDPKIT_WHEEL", "0") not in ("", "0")
if (
    sysconfig.get_platform().rpartition("-")[2] in ("x86_64", "amd64")
    and os.environ.get("HDPKIT_ISA") != "baseline"
):
    if sys.platform == "win32":
        wide = {"avx2": ["/arch:AVX2"], "avx512": ["/arch:AVX512"]}
    else:
        bits = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
        wide = {"avx2": ["-mavx2"], "avx512": ["-mavx2", *bits]}
    widest = "avx512" if cpu_features.get("AVX512_SKX") else "avx2" if cpu_features.get("AVX2") else ""
    instruction_sets |= {name: flags for name, flags in wide.items() if wheel or name == widest}
fused = [
    Extension(
        f"hdpkit.steps.fused.isa_{name}",
        [f"hdpkit/steps/fused/isa_{name}.cpp"],
        include_dirs=folders,
        extra_compile_args=[*compile_args, *fastest, *no_traps, *flags],
        extra_link_args=link_args,
        language="c++",
        depends=headers,
    )
    for name, flags in instruction_sets.items()
]


# What most modules include, compiled once for each level of optimisation: a module takes half a second less.
common_headers = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <algorithm>
#include <cmath>
#include <ios>
#include <new>
#include <stdexcept>
#include <typeinfo>
#include <vector>
"""


class BuildExtensions(build_ext):
    """Cython and the compiler, on all processors: an editable installation loses the option ``parallel``.

    `pip` runs this file three times, and builds once.
    """

    def build_extensions(self):
        """Compile."""
        cythonized = cythonize(
            self.extensions[len(fused) :],
            # On other systems the workers would import this file and start more workers.
            nthreads=(os.cpu_count() or 1) if sys.platform == "linux" else 0,
            shared_utility_qualified_name=shared_utilities,
            compiler_directives={
                "language_level": 3,
                "boundscheck": debug,
                "wraparound": False,
                "initializedcheck": debug,
                "cdivision": True,
                "binding": True,
                "embedsignature": True,
                # Objects are made again from arrays: a pickle could contain any pointer or length.
                "auto_pickle": False,
                # No module changes anything of its own after the import; a franchise is used under its lock.
                "freethreading_compatible": True,
            },
        )
        for extension, found in zip(self.extensions[len(fused) :], cythonized, strict=True):
            extension.sources, extension.depends = found.sources, found.depends
        self.parallel = os.cpu_count() or 1
        if gcc:
            self.precompile_headers(self.extensions[len(fused) : -1])
        super().build_extensions()

    def precompile_headers(self, modules):
        """Precompile headers for modules with common options: GCC ignores those of other options."""
        folder = Path(self.build_temp).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        of_options = {}
        for module in modules:
            of_options.setdefault(tuple(module.extra_compile_args), []).append(module)
        common = [f"-D{name}={value}" for name, value in macros]
        common += [f"-I{path}" for path in self.compiler.include_dirs]
        for number, (options, those) in enumerate(of_options.items()):
            if len(those) > 1:
                header = folder / f"common_{number}.h"
                header.write_text(common_headers)
                command = [*self.compiler.compiler_so_cxx, *common, *options, "-x", "c++-header"]
                self.spawn([*command, str(header), "-o", f"{header}.gch"])
                for module in those:
                    module.extra_compile_args = [*options, "-include", str(header)]


setup(
    cmdclass={"build_ext": BuildExtensions},
    ext_modules=[*fused, *extensions],
)
