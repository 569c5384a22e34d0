"""Leftovers of a killed dvc: truncated and temporary files, and locks in its name.

DVC writes ``dvc.lock`` and its list of locks in place. Killed meanwhile, it leaves a part of them,
often nothing, which no dvc reads any more; and it takes a lock for held while any process has the
number of the one that took it. So after a kill the same command would fail for ever. Beside what it
writes whole, it leaves the temporary files that it wrote first, and nobody else removes them.
"""

import re
from collections.abc import Callable
from pathlib import Path

from stages import paths

TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp", re.ASCII)
"""Names of DVC's temporary files (``dvc_objects.fs.utils.tmp_fname``)."""

OUTPUTS = (Path("data"), Path("models"), paths.METRICS, paths.REPORTS)
"""Folders of what the stages make."""


def clear_leftovers(say: Callable[[str], None]) -> bool:
    """Remove leftovers of killed ones; return whether there were any, so that dvc can be retried.

    The locks of a living dvc stay. DVC's own locks are held meanwhile, so that no other process
    writes these files.

    Args:
        say: takes a sentence on each removed file.
    """
    from flows.dvc_leftovers import remove_unreadable  # imports DVC

    return remove_unreadable(say)


def clear_temporary_files() -> None:
    """Remove temporary files of killed ones among the outputs of stages.

    DVC writes them under its own lock: they stay while another process holds it.
    """
    left = [
        path
        for folder in OUTPUTS
        for path in folder.rglob(".*.tmp")
        if TEMPORARY.fullmatch(path.name)
    ]
    if left:
        from flows.dvc_leftovers import remove_unheld  # imports DVC

        remove_unheld(left)
