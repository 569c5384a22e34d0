"""Which files of tests begin: those that take longest, so that none is left over at the end."""

LONGEST = (
    "orchestration/test_retrain.py",
    "orchestration/test_faults.py",
    "e2e/test_demo.py",
    "orchestration/test_ways.py",
    "e2e/test_pipeline.py",
    "orchestration/test_readme.py",
    "orchestration/test_operations.py",
    "orchestration/test_worker.py",
    "orchestration/test_kills.py",
    "integration/test_compare.py",
    "integration/test_flow.py",
    "e2e/test_corpora.py",
    "laws/test_learning_laws.py",
    "laws/test_context_laws.py",
    "integration/test_planning.py",
    "integration/test_registry.py",
    "orchestration/test_servers.py",
    "laws/test_date_laws.py",
    "integration/test_torchrun.py",
    "orchestration/test_serving.py",
)
"""Files that take minutes, the longest first; each of four processes begins with two of them, the
first and the fifth, and so on, and the fourth uses its servers twice."""

FILES = [f"tests/{file}" for file in LONGEST]


def pytest_collection_modifyitems(items):
    """Begin with what takes longest; pytest-xdist gives out files in this order."""
    items.sort(key=lambda item: rank(item.nodeid.partition("::")[0]))


def rank(file):
    return FILES.index(file) if file in FILES else len(FILES)
