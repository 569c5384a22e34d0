"""Which tests begin, and which run in one process."""

import pytest

LONGEST = (
    ("orchestration/test_faults.py", "orchestration/test_worker.py"),
    ("e2e/test_pipeline.py",),
    (
        "orchestration/test_ways.py",
        "orchestration/test_retrain.py",
        "orchestration/test_servers.py",
    ),
    ("orchestration/test_readme.py",),
    ("orchestration/test_operations.py",),
    ("integration/test_compare.py",),
    ("integration/test_torchrun.py",),
)
"""Files that take minutes, the longest first; those that share servers stand together."""

FILES = [f"tests/{file}" for together in LONGEST for file in together]
GROUPS = {f"tests/{file}": together[0] for together in LONGEST for file in together}


def arrange(items):
    """Begin with what takes longest; every file, or all that share servers, are one group."""
    items.sort(
        key=lambda item: FILES.index(file_of(item)) if file_of(item) in FILES else len(FILES)
    )
    for item in items:
        group = GROUPS.get(file_of(item), file_of(item))
        item.add_marker(pytest.mark.xdist_group(group.replace("/", "-")))


def file_of(item):
    return item.nodeid.partition("::")[0]
