"""Searches the project's text for patterns that it must not contain."""

import re
import subprocess

import pytest

from tests.support.projects import PROJECT

ROOMS = ("nmt_core", "stages", "flows", "infra", "benchmarks")
CODE = [path for room in ROOMS for path in (PROJECT / room).rglob("*.py")]
BANNED = [
    r"(?<![.\w])eval\(",
    r"(?<![.\w])exec\(",
    r"\bimport pickle|\bpickle\.|\bjoblib\.|\bdill\.",
    r"torch\.load\(",
    r"allow_pickle=True",
    r"shell=True",
    r"os\.system\(|os\.popen\(",
    r"yaml\.load\(|yaml\.unsafe_load",
    r"\.extractall\(|\btar\w*\.extract\(|unpack_archive",
    r"0\.0\.0\.0",
    r"verify=False",
    r"mktemp\(",
]


@pytest.mark.parametrize("pattern", BANNED)
def test_code_has_no_forbidden_pattern(pattern):
    found = [
        f"{path.relative_to(PROJECT)}:{number}: {line.strip()}"
        for path in CODE
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]

    assert [] == found


def test_there_is_code_to_search():
    assert len(CODE) > 50


def test_no_large_file_or_model_is_committed():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name and (PROJECT / name).is_file()]

    written = [name for name in names if name != "requirements/dev.txt"]
    assert [] == [name for name in written if (PROJECT / name).stat().st_size > 500_000]
    models = [name for name in names if name.endswith((".safetensors", ".bin", ".vec", ".db"))]
    assert [] == [name for name in models if not name.startswith("tests/earlier/")]
