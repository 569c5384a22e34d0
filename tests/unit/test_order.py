"""What takes longest begins, and of the slow tests a share can be had."""

from types import MappingProxyType, SimpleNamespace

import pytest

from tests.support.order import SHARES, pytest_collection_modifyitems
from tests.support.projects import PROJECT


def make_test(name, marks):
    return SimpleNamespace(nodeid=f"tests/{name}", get_closest_marker=marks.get)


def collect(names, *, share, marks=MappingProxyType({"slow": pytest.mark.slow})):
    """Return the tests that run, and those that do not."""
    items, left_out = [make_test(name, marks) for name in names], []
    hook = SimpleNamespace(pytest_deselected=lambda *, items: left_out.extend(items))
    config = SimpleNamespace(getoption={"share": share}.__getitem__, hook=hook)
    pytest_collection_modifyitems(config, items)
    return items, left_out


def test_the_longest_begin_and_others_keep_their_order():
    names = ("unit/test_b.py::b", "orchestration/test_servers.py::b", "unit/test_b.py::a")
    names += ("orchestration/test_servers.py::a", "unit/test_a.py::a")
    names += ("orchestration/test_faults.py::a",)
    items, left_out = collect(names, share=None)

    assert [] == left_out
    assert [item.nodeid.removeprefix("tests/") for item in items] == [
        "orchestration/test_faults.py::a",
        "orchestration/test_servers.py::b",
        "orchestration/test_servers.py::a",
        "unit/test_b.py::b",
        "unit/test_b.py::a",
        "unit/test_a.py::a",
    ]


def test_every_test_of_whole_systems_is_in_one_share():
    tests = PROJECT / "tests"
    files = [
        path for folder in ("e2e", "orchestration") for path in (tests / folder).glob("test_*")
    ]
    shared = [file for files in SHARES for file in files]
    assert len(shared) == len({*shared})
    assert {str(path.relative_to(tests)) for path in files} <= {*shared}
    assert all((tests / file).exists() for file in shared)


OTHERS = ("unit/test_b.py", "orchestration/page/test_page_looks.py")


@pytest.mark.parametrize("share", range(1, len(SHARES) + 2))
def test_a_share_runs_its_own_files_and_the_last_all_that_are_in_none(share):
    names = {share: {f"{file}::a" for file in files} for share, files in enumerate(SHARES, start=1)}
    names[len(SHARES) + 1] = {f"{file}::a" for file in OTHERS}
    run, left_out = (
        {item.nodeid.removeprefix("tests/") for item in items}
        for items in collect(sorted(set.union(*names.values())), share=str(share))
    )
    assert run == names.pop(share)
    assert left_out == set.union(*names.values())


def test_a_share_leaves_out_slow_tests_alone():
    names = [f"{file}::a" for files in (*SHARES, OTHERS) for file in files]
    items, left_out = collect(names, share="1", marks={})
    assert len(items) == len(names)
    assert [] == left_out
