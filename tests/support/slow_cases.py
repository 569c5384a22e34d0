"""A test of many cases, of which only a few fast ones always run."""

from collections.abc import Iterable
from typing import Any

import pytest


def mark_slow(cases: Iterable[Any], *, but: Iterable[Any] = ()) -> list[Any]:
    """Return the cases as parameters; all except some are marked slow."""
    fast = list(but)
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
