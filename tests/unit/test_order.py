"""Files with the longest tests start first, and each slow test is in one share."""

from types import SimpleNamespace

from tests.support.order import SHARES, pytest_collection_modifyitems

NAMES = [
    *(f"tests/unit/test_{letter}.py::{letter}" for letter in "badc"),
    *(f"tests/orchestration/test_{letter}.py::{letter}" for letter in "zy"),
]


def collect(share, *, marks):
    """Return the names of tests that run."""
    items = [SimpleNamespace(nodeid=name, get_closest_marker=marks.get) for name in NAMES]
    hook = SimpleNamespace(pytest_deselected=lambda *, items: None)
    config = SimpleNamespace(getoption={"share": share}.__getitem__, hook=hook)
    pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items]


def test_each_slow_test_is_in_one_share():
    assert collect(None, marks={"slow": True}) == [*NAMES[4:], *NAMES[:4]]
    runs = [collect(str(share + 1), marks={"slow": True}) for share in range(SHARES)]
    assert sorted(name for run in runs for name in run) == sorted(NAMES)
    assert sorted(collect("1", marks={})) == sorted(NAMES)
