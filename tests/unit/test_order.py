"""Files that take longest begin, and each slow test is in one share."""

from types import SimpleNamespace

from tests.support.order import SHARES, pytest_collection_modifyitems

NAMES = [
    *(f"tests/unit/test_{letter}.py::{letter}" for letter in "badc"),
    *(f"tests/orchestration/test_{letter}.py::{letter}" for letter in "zy"),
]


def collect(*, share, marks):
    """Return the names of tests that run, and of those that do not."""
    items = [SimpleNamespace(nodeid=name, get_closest_marker=marks.get) for name in NAMES]
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda *, items: left_out.extend(items))
    config = SimpleNamespace(getoption={"share": share}.__getitem__, hook=hook)
    pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items], [item.nodeid for item in left_out]


def test_whole_systems_begin_and_files_keep_their_order():
    assert collect(share=None, marks={"slow": True}) == ([*NAMES[4:], *NAMES[:4]], [])


def test_each_slow_test_is_in_one_share():
    runs = [collect(share=str(share + 1), marks={"slow": True}) for share in range(SHARES)]

    assert sorted(name for run, _ in runs for name in run) == sorted(NAMES)
    assert all(sorted(run + left_out) == sorted(NAMES) for run, left_out in runs)


def test_share_leaves_out_slow_tests_alone():
    run, left_out = collect(share="1", marks={})
    assert (sorted(run), left_out) == (sorted(NAMES), [])
