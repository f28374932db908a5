"""Cases of a test, some of which run only with ``-m long``."""

import pytest


def some_long(cases, is_long):
    """All cases, as parameters of a test; those of which ``is_long`` is true are marked."""
    return [pytest.param(case, marks=pytest.mark.long) if is_long(case) else case for case in cases]
