"""Shares of the slow tests, and which files of tests begin: those that take longest."""

from itertools import zip_longest

SHARES = (
    (
        "orchestration/test_readme.py",
        "orchestration/test_kills.py",
    ),
    (
        "e2e/test_demo.py",
        "orchestration/test_retrain.py",
        "integration/test_flow.py",
        "integration/test_planning.py",
    ),
    (
        "orchestration/test_faults.py",
        "orchestration/test_ways.py",
        "integration/test_compare.py",
        "integration/test_torchrun.py",
    ),
    (
        "e2e/test_pipeline.py",
        "e2e/test_corpora.py",
        "orchestration/test_operations.py",
        "orchestration/test_serving.py",
        "orchestration/test_servers.py",
        "orchestration/test_worker.py",
        "orchestration/test_databases.py",
    ),
)
"""Files whose slow tests start whole systems, in shares that take about as long, the longest first;
so does another share, which is the slow tests of all other files."""

FILES = [f"tests/{file}" for row in zip_longest(*SHARES) for file in row if file]
"""Files that begin: of every share the first, then the second."""


def pytest_addoption(parser):
    """Let a run take a share of the slow tests, and all others."""
    shares = [str(share) for share in range(1, len(SHARES) + 2)]
    parser.addoption("--share", choices=shares, help="of the slow tests")


def pytest_report_header(config):
    """Say what is left out."""
    share = config.getoption("share")
    return f"of the slow tests: share {share} of {len(SHARES) + 1}" if share else None


def pytest_collection_modifyitems(config, items):
    """Begin with what takes longest; pytest-xdist gives out files in this order."""
    share = config.getoption("share")
    if share:
        left_out = [item for item in items if is_slow(item) and find_share(item) != int(share)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if not is_slow(i) or find_share(i) == int(share)]
    items.sort(key=lambda item: rank(find_file(item)))


def is_slow(item):
    return item.get_closest_marker("slow") is not None


def find_share(item):
    file = find_file(item).removeprefix("tests/")
    own = (share for share, files in enumerate(SHARES, start=1) if file in files)
    return next(own, len(SHARES) + 1)


def find_file(item):
    return item.nodeid.partition("::")[0]


def rank(file):
    return FILES.index(file) if file in FILES else len(FILES)
