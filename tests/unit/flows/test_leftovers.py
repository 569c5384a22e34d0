"""Leftovers of a killed dvc are removed, those of a running one stay, by DVC's own locks."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from dvc import lock as dvc_lock
from dvc.dvcfile import Lockfile
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.rwlock import rwlock
from dvc_objects.fs.utils import tmp_fname

from flows.dvc_leftovers import CONFLICT
from flows.dvc_program import clear_leftovers, clear_temporary_files
from nmt_core.base.random import make_generator

HELD = {"write": {"/p/data": {"pid": 1, "cmd": "dvc repro"}}, "read": {}}
FREE = '{"write": {}, "read": {}}'
LISTS = (Path(".dvc/tmp/rwlock"), Path(".dvc/tmp/exps/rwlock"))

WAITING = "import sys; print(0, flush=True); sys.stdin.read()"

LOCK_FILE = """\
schema: '2.0'
stages:
  first:
    cmd: python first.py
    params:
      params.yaml:
        first:
          text: 'a: b'
          list: [1, 2]
    outs:
    - path: second
      hash: md5
      md5: 4a8a08f09d37b73795649038408b5f33.dir
      size: 1
      nfiles: 1
"""


@pytest.fixture
def repo(project):
    """An empty DVC project."""
    made = Repo.init(no_scm=True)
    LISTS[1].parent.mkdir(parents=True)
    return made


@pytest.fixture
def impatient(monkeypatch):
    """Do not wait for locks that are taken."""
    monkeypatch.setattr(dvc_lock, "DEFAULT_TIMEOUT", 0.01)


@contextmanager
def working(program, *arguments, folder=None):
    """Start a program that looks like dvc, and kill it in the end."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=folder) as process:
        yield int(process.stdout.readline())
        process.kill()


def clear():
    said = []
    return clear_leftovers(said.append), said


def lockable(repo):
    """Whether dvc can take the locks that it needs."""
    try:
        for path in LISTS:
            with rwlock(str(path.parent), repo.fs, "dvc repro", [], ["/p/data"], False):
                pass
    except (DvcException, UnicodeDecodeError):
        return False
    return True


WHOLE = json.dumps(HELD).encode()
DAMAGED = [
    WHOLE,  # locks of a process that has ended, or whose number another process has now
    *(WHOLE[:end] for end in range(0, len(WHOLE), 25)),
    bytes(len(WHOLE)),  # as after a power cut
    b"\xff\xfe\x00",
    b'{"write": [1]}',
    b"7",
]


@pytest.mark.parametrize("path", LISTS, ids=str)
def test_a_damaged_list_of_locks_is_removed(repo, path):
    for left in DAMAGED:
        path.write_bytes(left)
        assert not lockable(repo), left

        assert (True, [f"removed {path}, which a killed dvc had left"]) == clear()
        assert lockable(repo)
    path.write_text(FREE)
    assert (False, []) == clear()


@pytest.mark.parametrize(
    ("words", "elsewhere", "stays"),
    [
        (["-m", "dvc", "repro"], False, True),  # DVC may have had its locks in the list
        (["dvc"], True, False),
        (["-m", "dvc", "daemon", "updater"], False, False),  # DVC checks for new versions
        (["dvc.yaml"], False, False),  # an editor
    ],
)
def test_leftovers_stay_while_dvc_runs(repo, tmp_path_factory, words, elsewhere, stays):
    LISTS[0].write_text("")
    folder = tmp_path_factory.mktemp("other") if elsewhere else None
    with working(WAITING, *words, folder=folder):
        assert clear()[0] is not stays
        assert not stays or LISTS[0].read_text() == ""
    assert clear()[0] is stays


@pytest.mark.parametrize("name", ["lock", "rwlock.lock"])
def test_nothing_is_read_while_dvc_writes(repo, impatient, name):
    """The file can be half written then; both locks are DVC's own."""
    LISTS[0].write_text("")
    Path("dvc.lock").write_text("")
    with dvc_lock.make_lock(f".dvc/tmp/{name}"):
        assert (False, []) == clear()
    assert ("", "") == (LISTS[0].read_text(), Path("dvc.lock").read_text())
    assert clear()[0]


def readable(repo):
    repo._reset()
    try:
        Lockfile(repo, "dvc.lock").load()
    except DvcException:
        return False
    return True


def test_a_truncated_lock_file_is_repaired_or_moved(repo):
    lock = Path("dvc.lock")
    ends = {0, *map(int, make_generator(1).integers(len(LOCK_FILE), size=60))}
    before = {True: 0, False: 0}
    for end in ends:
        lock.write_text(LOCK_FILE[:end])
        could = readable(repo)
        before[could] += 1
        again, said = clear()

        assert again is not could
        assert readable(repo)
        assert lock.exists() is could
        if not could:
            assert "writes it again" in said[0]
            assert LOCK_FILE[:end] == Path(".dvc/tmp/dvc.lock").read_text()
    assert min(before.values()) > 5


def test_merge_conflicts_are_left_to_people(repo):
    text = f"{CONFLICT} HEAD\n{LOCK_FILE}"
    Path("dvc.lock").write_text(text)
    assert not readable(repo)

    assert (False, []) == clear()
    assert text == Path("dvc.lock").read_text()


FOLDERS = (Path("reports"), Path("metrics"), Path("data/corpus"), Path("models/export/engines"))


@pytest.fixture
def temporary():
    """Return temporary files of a killed dvc, and other files."""
    for folder in FOLDERS:
        folder.mkdir(parents=True)
        (folder / "mine.tmp").write_text("")
        (folder / ".mine.tmp").write_text("")
    return [folder / tmp_fname() for folder in FOLDERS]


def test_only_temporary_files_of_dvc_are_removed(repo, temporary):
    for path in temporary:
        path.write_text("")

    clear_temporary_files()

    left = [path.name for folder in FOLDERS for path in folder.iterdir() if path.is_file()]
    assert sorted([".mine.tmp", "mine.tmp"] * len(FOLDERS)) == sorted(left)


def test_temporary_files_stay_while_dvc_writes(repo, impatient, temporary):
    temporary[0].write_text("")
    with dvc_lock.make_lock(".dvc/tmp/lock"):
        clear_temporary_files()
        assert temporary[0].exists()
    clear_temporary_files()
    assert not temporary[0].exists()
