"""Shares of the slow tests, and the order of files: those that start whole systems come first."""

from zlib import crc32

import pytest

SHARES = 10

SYSTEMS = ("tests/orchestration/", "tests/e2e/")
"""Folders of tests that start whole systems, which are all slow; `make test-fast` skips them."""

FIRST = (*SYSTEMS, "tests/integration/")
"""Folders with the slowest files, so that no process starts one of them at the end."""


def pytest_addoption(parser):
    """Add an option for a share of the slow tests; other tests always run."""
    shares = [str(share) for share in range(1, SHARES + 1)]
    parser.addoption("--share", choices=shares, help="of the slow tests")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by mark
def pytest_collection_modifyitems(config, items):
    """Start with the slowest files; pytest-xdist distributes files in this order."""
    for item in items:
        if item.nodeid.startswith(SYSTEMS):
            item.add_marker(pytest.mark.slow)
    if share := config.getoption("share"):
        left_out = [item for item in items if is_slow(item) and find_share(item) != int(share)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def is_slow(item):
    return item.get_closest_marker("slow") is not None


def find_share(item):
    """Return the share of a test; tests of a file share fixtures, so they are in one share."""
    return crc32(item.nodeid.partition("::")[0].encode()) % SHARES + 1
