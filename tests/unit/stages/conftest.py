"""What tests of stages are given."""

from tests.support.compositions import _remembered  # noqa: F401 - a fixture
