"""Fixtures for tests of stages."""

from tests.support.compositions import _remembered  # noqa: F401 - a fixture
