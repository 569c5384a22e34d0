"""Shares of the slow tests, and the order of files: those that start whole systems begin."""

from zlib import crc32

SHARES = 5

FIRST = ("tests/orchestration/", "tests/e2e/", "tests/integration/")
"""Folders whose files take longest, so that no process begins one of them at the end."""


def pytest_addoption(parser):
    """Let a run take a share of the slow tests, and all others."""
    shares = [str(share) for share in range(1, SHARES + 1)]
    parser.addoption("--share", choices=shares, help="of the slow tests")


def pytest_collection_modifyitems(config, items):
    """Begin with files that take longest; pytest-xdist gives out files in this order."""
    if share := config.getoption("share"):
        left_out = [item for item in items if is_slow(item) and find_share(item) != int(share)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def is_slow(item):
    return item.get_closest_marker("slow") is not None


def find_share(item):
    """Return the share of a test; all tests of a file share its fixtures."""
    return crc32(item.nodeid.partition("::")[0].encode()) % SHARES + 1
