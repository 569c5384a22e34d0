"""What begins first is there."""

from tests.support.order import FILES, arrange
from tests.support.projects import PROJECT


class Item:
    """As much of a test as has to be known to arrange it."""

    def __init__(self, nodeid):
        self.nodeid = nodeid

    def add_marker(self, marker):
        [self.group] = marker.args


def test_files_that_begin_exist():
    assert [] == [file for file in FILES if not (PROJECT / file).exists()]


def test_the_longest_begin_and_who_shares_servers_is_one_group():
    names = ("unit/test_a.py::b", "orchestration/test_servers.py::b", "unit/test_a.py::a")
    names += ("orchestration/test_ways.py::a", "orchestration/test_faults.py::a")
    items = [Item(f"tests/{name}") for name in names]

    arrange(items)

    assert [item.nodeid.removeprefix("tests/") for item in items] == [
        "orchestration/test_faults.py::a",
        "orchestration/test_ways.py::a",
        "orchestration/test_servers.py::b",
        "unit/test_a.py::b",
        "unit/test_a.py::a",
    ]
    assert len({item.group for item in items}) == 3
