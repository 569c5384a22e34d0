"""Which tests run a line: measured for each file of tests, kept until what it runs has changed."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutation.drawing import SOURCES, Mutant

LONGEST = 8.0
"""A test that takes longer, in seconds of a processor, does not try mutants."""
PATIENCE = 60
"""A test that takes longer, in seconds, is not measured."""
ALL_TESTS = 60.0
"""What the tests of one mutant may take together, in seconds of a processor."""
OPTIONS = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""How tests run here; what they rewrite has been imported before."""

BEGIN = 1.0
"""What each file of tests takes before its first test, in seconds of a processor."""

Record = dict[str, Any]


class Measurement:
    """A plugin of pytest that notes which lines each test runs, and what it takes."""

    def __init__(self, watch: coverage.Coverage) -> None:
        self._watch = watch
        self.seconds: dict[str, float] = {}
        self._passed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._watch.switch_context(item.nodeid)
        begin, self._passed = sum(os.times()[:4]), True
        try:
            return (yield)
        finally:
            if self._passed:
                self.seconds[item.nodeid] = round(sum(os.times()[:4]) - begin, 3)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed &= report.passed


def measure(top: Path, file: str) -> Record:
    """Run a file of tests; return what those that pass take, and the lines that they run."""
    watch = coverage.Coverage(
        data_file=None, config_file=False, source=[str(top / room) for room in SOURCES]
    )
    plugin = Measurement(watch)
    watch.start()
    marks = "not slow and not gpu"
    pytest.main([file, "-m", marks, f"--timeout={PATIENCE}", *OPTIONS], plugins=[plugin])
    watch.stop()
    tests = list(plugin.seconds)
    data = watch.get_data()
    numbers = {name: number for number, name in enumerate(tests)}
    lines = {
        str(Path(measured).relative_to(top)): {
            str(line): [numbers[name] for name in names if name in numbers]  # as in JSON
            for line, names in contexts.items()
            if any(names)
        }
        for measured in sorted(data.measured_files())
        if (contexts := data.contexts_by_lineno(measured))
    }
    digests = {name: digest(top / name) for name in [file, *lines]}
    return {"digests": digests, "seconds": plugin.seconds, "lines": lines}


def digest(path: Path) -> str:
    """Return what a file is known by; nothing if there is none."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest() if path.exists() else ""


class Records:
    """What was measured of each file of tests, in a folder that git ignores."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._folder = top / ".mutants_cache"
        self._records: dict[str, Record] = {}

    def list_missing(self) -> list[str]:
        """List the files of tests whose record is missing or old, and read the others."""
        kinds = ("unit", "laws", "integration")
        paths = (path for kind in kinds for path in (self._top / "tests" / kind).rglob("test_*.py"))
        files = sorted(str(path.relative_to(self._top)) for path in paths)
        self._records = {file: record for file in files if (record := self._read(file))}
        return [file for file in files if file not in self._records]

    def keep(self, file: str, record: Record) -> None:
        """Keep what was measured."""
        self._folder.mkdir(exist_ok=True)
        self._records[file] = record
        part = self._path(file).with_suffix(".part")
        part.write_text(json.dumps(record), encoding="utf-8")
        part.replace(self._path(file))

    def choose(self, mutant: Mutant) -> list[tuple[str, dict[str, float]]]:
        """Choose the tests that run a mutant's lines, those of its room first, then the fastest.

        What runs while a file is imported, by whichever test is the first that needs it, or in
        programs that tests start, is seen by the tests that run anything of the file, and by the
        files of tests that name it.
        """
        found = {}
        for file, record in self._records.items():
            lines = record["lines"].get(mutant.file, {})
            span = {str(line) for line in range(mutant.first, mutant.last + 1)}
            numbers = {number for line in span & lines.keys() for number in lines[line]}
            if tests := self._take(record, numbers):
                found[file] = tests
        if not found or mutant.is_imported:
            for file, record in self._records.items():
                lines = record["lines"].get(mutant.file, {}).values()
                if tests := self._take(record, {number for line in lines for number in line}):
                    found[file] = tests
            found |= self._name(mutant)
        room = f"tests/unit/{mutant.room.removeprefix('nmt_core/')}/"
        order = sorted(
            found, key=lambda file: (not file.startswith(room), sum(found[file].values()))
        )
        return list(limit((file, found[file]) for file in order))

    def _name(self, mutant: Mutant) -> dict[str, dict[str, float]]:
        module = mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__main__")
        package, _, name = module.rpartition(".")
        file_name = mutant.file.rpartition("/")[2]
        names = (f'"{file_name}"', module, f"from {package} import {name}\n")
        found = {}
        for file, record in self._records.items():
            text = (self._top / file).read_text(encoding="utf-8")
            if any(name in text for name in names):
                found[file] = self._take(record, set(range(len(record["seconds"]))))
        return {file: tests for file, tests in found.items() if tests}

    def _take(self, record: Record, numbers: set[int]) -> dict[str, float]:
        seconds = record["seconds"]
        names = [name for at, name in enumerate(seconds) if at in numbers]
        return {name: seconds[name] for name in names if seconds[name] <= LONGEST}

    def _read(self, file: str) -> Record | None:
        path = self._path(file)
        if not path.exists():
            return None
        record: Record = json.loads(path.read_text(encoding="utf-8"))
        same = all(digest(self._top / name) == old for name, old in record["digests"].items())
        return record if same else None

    def _path(self, file: str) -> Path:
        return self._folder / f"{file.replace('/', '.')}.json"


def limit(
    files: Iterator[tuple[str, dict[str, float]]],
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield tests until they take too long together, the fastest of a file first."""
    left = ALL_TESTS
    for file, tests in files:
        taken = {}
        left -= BEGIN
        for name in sorted(tests, key=tests.__getitem__):
            left -= tests[name]
            if left < 0:
                break
            taken[name] = tests[name]
        if taken:
            yield file, taken
