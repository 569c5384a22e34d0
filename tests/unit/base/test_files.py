"""Files and folders appear whole or not at all."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import files

lines = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))


class FailureError(Exception):
    pass


@pytest.mark.parametrize("writer", [files.whole_file, files.whole_folder])
def test_failure_keeps_the_old_file_and_leaves_nothing(tmp_path, writer):
    path = tmp_path / "a"
    if writer is files.whole_file:
        path.write_text("old")
    else:
        path.mkdir()
        (path / "old").touch()
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(FailureError), writer(path) as part:
        (part if part.is_file() else part / "half").write_text("half")
        raise FailureError

    assert before == sorted(tmp_path.rglob("*"))
    assert path.is_dir() or path.read_text() == "old"


def test_the_working_folder_and_linked_folders_are_replaced(tmp_path, monkeypatch):
    folder = tmp_path / "a"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    for path in (Path(), tmp_path / "link"):
        (folder / "old").touch()
        with files.whole_folder(path) as part:
            (part / "new").touch()

        assert [folder / "new"] == list(folder.iterdir())
    assert ["a", "link"] == names(tmp_path)


def test_an_old_folder_stays_if_renaming_fails(tmp_path, monkeypatch):
    """Nothing of the old folder is removed before the new folder has its name."""
    folder, seen = tmp_path / "a", []
    folder.mkdir()
    (folder / "old").touch()
    rename = Path.rename

    def fail(path, target):
        if target == folder and (path / "new").exists():
            seen.extend(path.name for path in tmp_path.rglob("old"))
            raise FailureError
        rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(FailureError), files.whole_folder(folder) as part:
        (part / "new").touch()

    assert seen == ["old"]
    assert [folder, folder / "old"] == sorted(tmp_path.rglob("*"))


KILLED = """
import os
import signal
import sys
from pathlib import Path
from nmt_core.base import files

folder, rename = Path(sys.argv[1]), Path.rename

def rename_and_die(path, target):
    rename(path, target)
    if folder == (path if sys.argv[2] == "before" else target):
        os.kill(os.getpid(), signal.SIGKILL)

Path.rename = rename_and_die
with files.whole_folder(folder) as part:
    (part / "new").touch()
"""


@pytest.mark.parametrize(("moment", "kept"), [("before", "old"), ("after", "new")])
def test_a_crash_leaves_a_whole_folder(tmp_path, moment, kept):
    """Before the new folder has the name, a sweep gives it back to the old folder."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "old").touch()
    done = subprocess.run([sys.executable, "-c", KILLED, folder, moment], check=False)
    assert done.returncode == -signal.SIGKILL

    files.sweep(tmp_path)

    assert [folder, folder / kept] == sorted(tmp_path.rglob("*"))


def test_written_files_are_readable_by_everybody(tmp_path):
    """A person with a text editor, and another user with read access only."""
    files.write_json(tmp_path / "a.json", {"Größe": [1, "ß"]})
    with files.whole_folder(tmp_path / "b") as part:
        (part / "c").touch(mode=0o600)

    assert "Größe" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert {"Größe": [1, "ß"]} == files.read_json(tmp_path / "a.json")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert {"a.json": 0o644, "b": 0o755, "c": 0o644} == modes


WRITER = """
import sys
from pathlib import Path
from nmt_core.base import files

path = Path(sys.argv[1])
with files.whole_file(path / "file") as file, files.whole_folder(path / "folder") as folder:
    (folder / "inner").mkdir()
    for half in (file, folder / "inner" / "half"):
        half.write_text("half")
    print("writing", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writing(folder):
    """Another process that is writing in a folder, and is killed in the end."""
    command = [sys.executable, "-c", WRITER, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        yield
        process.kill()


def write(folder):
    files.write_text(folder / "file", "new")
    with files.whole_folder(folder / "folder") as part:
        (part / "new").touch()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_only_leftovers_of_killed_processes_are_removed(tmp_path):
    kept = [".file.abc.part", ".file.abcdefgh.parts", ".other.abcdefgh.part", "file.abcdefgh.part"]
    for name in kept:
        (tmp_path / name).write_text("not ours to take")
    with writing(tmp_path):
        write(tmp_path)
        parts = [name for name in names(tmp_path) if name not in {"file", "folder", *kept}]
        assert len(parts) == 2
    assert {*parts} < {*names(tmp_path)}
    write(tmp_path)

    assert sorted(["file", "folder", *kept]) == names(tmp_path)


@contextmanager
def recorded(monkeypatch):
    """Record writes that reach the disk and renames, by names without their random parts."""
    seen, sync, rename, replace = [], os.fsync, Path.rename, Path.replace

    def known(path):
        return re.sub(r"\.(\w+)\.\w{8}(\.part|\.old\.part)", r"\1\2", str(path))

    def note_sync(handle):
        seen.append(known(Path(f"/proc/self/fd/{handle}").readlink()))
        sync(handle)

    def note(change):
        def changed(path, goal):
            seen.append((known(path), known(goal)))
            return change(path, goal)

        return changed

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", note_sync)
        patch.setattr(Path, "rename", note(rename))
        patch.setattr(Path, "replace", note(replace))
        yield seen


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what a handle is of")
def test_bytes_reach_the_disk_before_the_name(tmp_path, monkeypatch):
    """Otherwise a power cut could leave an empty file under the name, or no file."""
    with recorded(monkeypatch) as seen:
        files.write_text(tmp_path / "a", "new")

    part, path = str(tmp_path / "a.part"), str(tmp_path / "a")
    assert [part, (part, path), str(tmp_path)] == seen


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what a handle is of")
@pytest.mark.parametrize("old", [True, False])
def test_files_of_a_folder_reach_the_disk_first(tmp_path, monkeypatch, old):
    path, part = tmp_path / "a", str(tmp_path / "a.part")
    if old:
        path.mkdir()
    with recorded(monkeypatch) as seen, files.whole_folder(path) as made:
        (made / "inner").mkdir()
        for name in ("b", "inner/c"):
            (made / name).write_text("new")

    aside = [(str(path), str(tmp_path / "a.old.part"))] if old else []
    before, after = seen[:5], seen[5:]
    assert {part, *(f"{part}/{name}" for name in ("b", "inner", "inner/c"))} == {*before[:4]}
    assert [*aside, (part, str(path)), str(tmp_path)] == [*before[4:], *after]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_no_json_that_others_cannot_read(tmp_path, number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "a.json", {"loss": [number]})

    assert names(tmp_path) == []


def test_parallel_writers_of_one_name_do_not_interfere(tmp_path):
    """Each writer sweeps before it writes; all of them succeed."""
    failures = []

    def work(number):
        try:
            for _ in range(50):
                files.write_text(tmp_path / "file", str(number))
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert names(tmp_path) == ["file"]


@given(lines)
def test_lines_come_back(tmp_path_factory, lines):
    """Lines are split at newlines alone, not at U+2028 or carriage returns."""
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    files.write_lines(path, lines)

    assert lines == list(files.read_lines(path))


def test_names_are_no_patterns(tmp_path):
    files.write_text(tmp_path / "a+(b", "new")

    assert names(tmp_path) == ["a+(b"]


FULL = "No space left on device"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        *(
            (OSError(number, "", "a"), f"a could not be written ({os.strerror(number)}); ")
            for number in files.DISK_ERRNOS
        ),
        *((OSError(number, "", "a"), None) for number in (errno.EACCES, errno.ENOENT, errno.EIO)),
        (Exception(f"{FULL} (os error 28)"), f"a file could not be written ({FULL}); "),
        (Exception("No such file or directory (os error 2)"), None),
        (OSError("80 requested and 5 written"), "a file could not be written (80 requested and 5"),
        (ValueError("28"), None),
    ],
)
def test_only_full_and_read_only_disks_are_explained(error, said):
    assert str(files.disk_error(error))[: len(said or "None")] == str(said)
    assert (said is None) == (files.disk_error(error, Path("b")) is None)
