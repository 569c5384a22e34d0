"""Leftovers of a killed dvc: truncated and temporary files, and locks in its name.

DVC writes ``dvc.lock`` and its lists of locks in place. If it is killed meanwhile, no dvc can read
the truncated file any more, and a lock is held as long as any process has the number of the one
that took it. So after a kill the same command would fail for ever.
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
"""Git's marks of a merge conflict, which a person must resolve."""


def remove_unreadable(say: Callable[[str], None]) -> bool:
    """Remove locks of a killed dvc, and a ``dvc.lock`` that no dvc reads; return whether any were.

    Nothing is removed while another dvc is at work, or where DVC knows nothing of this folder.

    Args:
        say: takes a sentence on each removed file.
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


def remove_unheld(left: Iterable[Path]) -> None:
    """Remove temporary files, unless a dvc is at work."""
    with suppress(LockError, DvcException), Repo().lock:
        for path in left:
            path.unlink(missing_ok=True)


def _clear_locks(repo: Repo) -> Iterator[str]:
    """Remove the lists of locks that a killed dvc holds, or truncated."""
    if _find_others(Path(repo.root_dir)):
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
                yield f"{name} was left by a dvc that was killed; it is removed"


def _holds_locks(path: Path) -> bool:
    """Tell whether a list holds locks, or cannot be read."""
    try:
        locks = SCHEMA(files.read_json(path))
    except (ValueError, RecursionError, Invalid):
        return True
    return any(locks.values())


def _clear_lock_file(repo: Repo) -> Iterator[str]:
    """Put a ``dvc.lock`` aside that dvc cannot read; it is made again, from DVC's cache."""
    try:
        Lockfile(repo, str(paths.LOCK)).load()
    except DvcException:
        if CONFLICT.encode() not in paths.LOCK.read_bytes():
            aside = Path(repo.tmp_dir, paths.LOCK.name)
            paths.LOCK.replace(aside)
            yield (
                f"{paths.LOCK} was left half written by a dvc that was killed; it is made "
                f"again, and the rest of it is {aside.relative_to(repo.root_dir)}"
            )


def _find_others(root: Path) -> list[psutil.Process]:
    """Return the dvc programs at work in a checkout, beside this process.

    Its daemon, which asks for newer versions of DVC, holds no lock.
    """
    others = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            named = any(Path(word).name == "dvc" for word in words) and "daemon" not in words
            if named and process.pid != os.getpid() and Path(process.cwd()).is_relative_to(root):
                others.append(process)
        except psutil.Error:
            continue
    return others
