"""The clone that a flow works in: one flow at a time, at a commit, with a params.yaml."""

import fcntl
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from nmt_core import files
from nmt_core.errors import NmtError
from stages import configure, paths
from stages.commit import changed, git, head
from stages.params import build_all
from stages.renewal import renewed

LOCK = Path(".dvc/tmp/flow.lock")

POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Order:
    """What a flow works on, the same in every clone."""

    revision: str
    """Full name of a commit."""
    params: str
    """Text of params.yaml."""


@contextmanager
def alone(say: Callable[[str], None]) -> Iterator[None]:
    """Hold the clone; the system gives it back however we end.

    Args:
        say: is told if another flow must be waited for.
    """
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as file:
        if not _taken(file):
            say(f"another flow works in {Path.cwd()}; this one begins when it has ended")
            while not _taken(file):
                time.sleep(POLL_SECONDS)
        yield


def _taken(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def order(
    revision: str | None, settings: Sequence[str], *, renew: bool, say: Callable[[str], None]
) -> Order:
    """Put the clone in order for a flow, and return what other clones need for the same.

    Args:
        revision: a commit, a tag or origin/BRANCH, whose params.yaml counts; without one, all is
            taken as it lies.
        settings: what to change in params.yaml, as ``python -m stages.configure`` takes it.
        renew: look for new text where it was fetched from, not only on this machine.
        say: is told what is new.

    Raises:
        NmtError: if there is no such commit, or work that is not committed would be lost.
        ConfigError: if a setting is wrong.
    """
    if revision:
        check_out(revision)
    sections = build_all(configure.configured(list(settings)), source="settings")
    if renew:
        sections, changes = renewed(sections)
        for sentence in changes:
            say(sentence)
    else:
        sections = configure.pinned(sections)
    return write(Order(head(), configure.document(sections)))


def write(order: Order) -> Order:
    """Check out what an order names, and write its params.yaml."""
    if head() != order.revision:
        check_out(order.revision)
    if paths.PARAMS.read_text(encoding="utf-8") != order.params:
        files.write_text(paths.PARAMS, order.params)
    return order


def check_shared() -> None:
    """Make sure that other clones can have the code that is here.

    Raises:
        NmtError: if it is in no commit.
    """
    if changes := changed():
        raise NmtError(
            f"other clones cannot have {changes[0]}, which is changed but not committed; run: "
            f"git commit -a && git push"
        )


def check_out(revision: str) -> None:
    """Bring the clone to a commit, and params.yaml to what it is there.

    Raises:
        NmtError: if there is no such commit, or work that is not committed would be lost.
    """
    if changes := changed():
        raise NmtError(
            f"{Path.cwd()} has changes that are not committed ({', '.join(changes)}), which "
            f"checking out {revision} would lose; commit them, or run the flow with revision null"
        )
    if not _is_here(revision):
        git("fetch", "--quiet", "--tags", "origin")
    git("checkout", "--quiet", "--force", "--detach", revision)


def _is_here(revision: str) -> bool:
    """Tell whether a full name is that of a commit at hand; other names may mean newer ones."""
    if not re.fullmatch("[0-9a-f]{40}", revision):
        return False
    try:
        git("cat-file", "-e", f"{revision}^{{commit}}")
    except NmtError:
        return False
    return True
