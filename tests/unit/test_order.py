"""Files with the longest tests start first, and each slow test is in one share."""

from types import SimpleNamespace

from tests.support.order import SHARES, pytest_collection_modifyitems

UNIT = [f"tests/unit/test_{letter}.py::{letter}" for letter in "badc"]
SYSTEM = [f"tests/orchestration/test_{letter}.py::{letter}" for letter in "zy"]


def make_item(name, marks):
    own = dict.fromkeys(marks, True)
    item = SimpleNamespace(nodeid=name, get_closest_marker=own.get)
    item.add_marker = lambda mark: own.update({mark.name: True})
    return item


def collect(share, marks=()):
    """Return the names of tests that run."""
    items = [make_item(name, marks) for name in [*UNIT, *SYSTEM]]
    hook = SimpleNamespace(pytest_deselected=lambda *, items: None)
    config = SimpleNamespace(getoption={"share": share}.__getitem__, hook=hook)
    pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items]


def test_each_slow_test_is_in_one_share():
    shares = [str(share + 1) for share in range(SHARES)]
    assert collect(None) == [*SYSTEM, *UNIT]
    for marks, always in ((["slow"], []), ([], UNIT)):
        runs = [name for share in shares for name in collect(share, marks)]
        assert sorted(runs) == sorted([*SYSTEM, *(set(UNIT) - set(always)), *always * SHARES])
