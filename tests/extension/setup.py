"""Builds the test's extension against the installed header."""

from setuptools import Extension, setup

import hdpkit

setup(name="hooked", ext_modules=[Extension("_hooked", ["_hooked.c"], include_dirs=[hdpkit.get_include()])])
