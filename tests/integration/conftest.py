"""Compositions of settings are remembered."""

from tests.support.compositions import _remembered  # noqa: F401 - a fixture
