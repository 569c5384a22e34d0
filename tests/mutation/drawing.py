"""Which mutants are tried: drawn from all that operators make; faults that none of them makes."""

import ast
import random
import runpy
from collections import defaultdict
from itertools import groupby, islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.mutation.operators import Change, find_changes

SOURCES = ("nmt_core", "stages", "flows", "infra")
FEWEST = 8
"""As many are drawn in each room, however small it is, if there are so many."""


class Mutant(NamedTuple):
    """A file with a fault in it; the lines whose tests see it, the first and the last."""

    file: str
    fault: str
    code: str
    first: int
    last: int

    @property
    def room(self) -> str:
        """The folder that the fault is in: nmt_core/text, stages, infra."""
        return find_room(self.file)

    @property
    def is_imported(self) -> bool:
        """Whether its lines run while the file is imported: they are of no function."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        functions = [node for node in ast.walk(ast.parse(self.code)) if isinstance(node, kinds)]
        return not any(node.lineno <= self.first <= node.end_lineno for node in functions)


def find_room(file: str) -> str:
    """Return the folder that a file's room is."""
    return "/".join(PurePosixPath(file).parts[:-1][:2])


def draw(top: Path, count: int, seed: str, room: str = "") -> list[Mutant]:
    """Draw mutants of a project, of each room by its lines of code, of a line at most one.

    Raises:
        ValueError: if no room has that name.
    """
    rooms = defaultdict(list)
    for file in list_sources(top):
        source = Source(file, (top / file).read_text(encoding="utf-8"))
        if source.room.startswith(room):
            rooms[source.room] += [(source, line) for line in source.list_changes()]
    if not rooms:
        raise ValueError(f"no room of the project is called {room!r}")
    total = sum(map(len, rooms.values()))
    drawn = []
    for name, lines in sorted(rooms.items()):
        chance = random.Random(f"{seed} {name}")
        chance.shuffle(lines)
        mutants = (source.mutate(changes, chance) for source, changes in lines)
        share = max(FEWEST, round(count * len(lines) / total))
        drawn += islice(filter(None, mutants), share)
    return drawn


def list_sources(top: Path) -> list[str]:
    """List the project's own files of Python."""
    files = (file for room in SOURCES for file in (top / room).rglob("*.py"))
    return sorted(str(file.relative_to(top)) for file in files)


class Source:
    """A file of Python and the places in it that can be changed."""

    def __init__(self, file: str, code: str) -> None:
        self.file = file
        self.code = code
        self.room = find_room(file)
        self._starts = [0]
        for line in code.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def list_changes(self) -> list[list[Change]]:
        """List what operators make of the file, by lines."""
        changes = sorted(find_changes(ast.parse(self.code)), key=lambda change: change.first)
        return [list(group) for _, group in groupby(changes, key=lambda change: change.first)]

    def mutate(self, changes: list[Change], chance: random.Random) -> Mutant | None:
        """Make a mutant by one of these changes; None if none is Python and not the same."""
        for change in chance.sample(changes, len(changes)):
            code = self.apply(change)
            fault = show_fault(self.code, code)
            if fault and is_another(self.code, code):
                return Mutant(self.file, fault, code, change.first, change.last)
        return None

    def apply(self, change: Change) -> str:
        """Return the code with a change in it."""
        node = change.node
        begin = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        code = self.code.encode()
        return (code[:begin] + change.new.encode() + code[end:]).decode()


def is_another(code: str, changed: str) -> bool:
    """Whether Python would read a file, and read another one than before."""
    try:
        return ast.dump(ast.parse(changed)) != ast.dump(ast.parse(code))
    except SyntaxError:
        return False


def show_fault(old: str, new: str) -> str:
    """Return what stood there and what stands there now; nothing if only blanks differ."""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    was, now = (" ".join(line.strip() for line in lines) for lines in (before, after))
    return f"- {was}\n+ {now}" if was != now else ""


def list_faults(top: Path, room: str = "") -> list[Mutant]:
    """List the faults that no operator makes: FAULTS in faults.py beside the tests of a room.

    Raises:
        ValueError: if a file does not hold what a fault would change exactly once.
    """
    files = sorted((top / "tests").rglob("faults.py"))
    faults = [
        make_fault(top, *fault) for file in files for fault in runpy.run_path(str(file))["FAULTS"]
    ]
    return [fault for fault in faults if fault.room.startswith(room)]


def make_fault(top: Path, name: str, file: str, old: str, new: str) -> Mutant:
    """Return a fault of the list.

    Raises:
        ValueError: if the file does not hold what the fault would change exactly once.
    """
    code = (top / file).read_text(encoding="utf-8")
    if code.count(old) != 1:
        raise ValueError(f"{name}: {file} holds {old!r} {code.count(old)} times, not once")
    first = code[: code.index(old)].count("\n") + 1
    return Mutant(
        file, f"{name}: {old} -> {new}", code.replace(old, new), first, first + old.count("\n")
    )
