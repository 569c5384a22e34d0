"""Remove leftovers of a killed dvc: truncated and temporary files, and its locks.

DVC writes ``dvc.lock`` and its lists of locks in place. If dvc is killed during a write, no dvc can
read the truncated file. Its locks count as long as any process has its process id. So the same
command could fail forever.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from dvc.dvcfile import Lockfile
from dvc.exceptions import DvcException
from dvc.lock import LockError, make_lock
from dvc.repo import Repo
from dvc.repo.experiments.utils import EXEC_TMP_DIR
from dvc.rwlock import RWLOCK_FILE, RWLOCK_LOCK, SCHEMA
from voluptuous import Invalid

from nmt_core.base import files
from stages import paths

CONFLICT = "<<<<<<<"
"""Git's marker of a merge conflict, which the user must resolve."""


def remove_unreadable(say: Callable[[str], None]) -> bool:
    """Remove locks of a killed dvc and an unreadable ``dvc.lock``; return whether there were any.

    Nothing is removed while another dvc runs, or outside a project of DVC. ``say`` receives a
    message about each removed file.
    """
    try:
        repo = Repo()
        with repo.lock:
            removed = [*_clear_locks(repo), *_clear_lock_file(repo)]
    except (LockError, DvcException):
        return False
    for sentence in removed:
        say(sentence)
    return bool(removed)


def remove_temporary(files_left: Iterable[Path]) -> None:
    """Remove temporary files, unless a dvc runs."""
    with suppress(LockError, DvcException), Repo().lock:
        for path in files_left:
            path.unlink(missing_ok=True)


def _clear_locks(repo: Repo) -> Iterator[str]:
    """Remove lists of locks of a killed dvc; yield a message for each."""
    if _find_running(Path(repo.root_dir)):
        return
    hard_links = repo.config["core"].get("hardlink_lock", False)
    for folder in (Path(repo.tmp_dir), Path(repo.tmp_dir, EXEC_TMP_DIR)):
        path = folder / RWLOCK_FILE
        if not path.is_file():
            continue
        with make_lock(str(folder / RWLOCK_LOCK), tmp_dir=str(folder), hardlink_lock=hard_links):
            if _holds_locks(path):
                path.unlink()
                name = path.relative_to(repo.root_dir)
                yield f"removed {name}, which a killed dvc had left"


def _holds_locks(path: Path) -> bool:
    """Tell whether a list of locks is not empty, or cannot be read."""
    try:
        locks = SCHEMA(files.read_json(path))
    except (ValueError, RecursionError, Invalid):
        return True
    return any(locks.values())


def _clear_lock_file(repo: Repo) -> Iterator[str]:
    """Move away a ``dvc.lock`` that dvc cannot read; DVC recreates it from its cache."""
    try:
        Lockfile(repo, str(paths.LOCK)).load()
    except DvcException:
        if CONFLICT.encode() not in paths.LOCK.read_bytes():
            backup = Path(repo.tmp_dir, paths.LOCK.name)
            paths.LOCK.replace(backup)
            yield (
                f"moved {paths.LOCK}, which a killed dvc had truncated, to "
                f"{backup.relative_to(repo.root_dir)}; DVC writes it again"
            )


def _find_running(root: Path) -> list[psutil.Process]:
    """Return the dvc programs that run in a checkout, except this process.

    DVC's daemon, which checks for newer versions, holds no lock.
    """
    running = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            is_dvc = any(Path(word).name == "dvc" for word in words) and "daemon" not in words
            if is_dvc and process.pid != os.getpid() and Path(process.cwd()).is_relative_to(root):
                running.append(process)
        except psutil.Error:
            continue
    return running
