"""What takes longest begins."""

from types import SimpleNamespace

from tests.support.order import FILES, pytest_collection_modifyitems
from tests.support.projects import PROJECT


def test_files_that_begin_exist():
    assert [] == [file for file in FILES if not (PROJECT / file).exists()]


def test_the_longest_begin_and_others_keep_their_order():
    names = ("unit/test_b.py::b", "orchestration/test_servers.py::b", "unit/test_b.py::a")
    names += ("orchestration/test_servers.py::a", "unit/test_a.py::a")
    names += ("orchestration/test_faults.py::a",)
    items = [SimpleNamespace(nodeid=f"tests/{name}") for name in names]

    pytest_collection_modifyitems(items)

    assert [item.nodeid.removeprefix("tests/") for item in items] == [
        "orchestration/test_faults.py::a",
        "orchestration/test_servers.py::b",
        "orchestration/test_servers.py::a",
        "unit/test_b.py::b",
        "unit/test_b.py::a",
        "unit/test_a.py::a",
    ]
