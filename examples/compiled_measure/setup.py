"""The extension is compiled against the header of the hdpkit that is installed."""

from setuptools import Extension, setup

import hdpkit

setup(
    ext_modules=[
        Extension(
            "polya_urn._urn",
            ["polya_urn/_urn.c"],
            include_dirs=[hdpkit.get_include()],
            extra_compile_args=["-O3"],
        )
    ]
)
