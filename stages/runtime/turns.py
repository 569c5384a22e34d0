"""A lock that lets one run at a time work in a checkout."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nmt_core.base import files
from stages.runtime.settings_aside import put_back

LOCK = Path(".dvc/tmp/flow.lock")


@contextmanager
def take_turn(say: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock of the checkout; the system releases it when this process ends.

    A params.yaml that a run laid aside which died is put back first. Outside a project of DVC there
    is no lock.

    Args:
        say: takes a message if another run must be waited for, or has left its params.yaml.
    """
    with ExitStack() as held:
        if LOCK.parent.parent.is_dir():
            try:
                held.enter_context(files.locked(LOCK, wait=False))
            except BlockingIOError:
                say(f"another run works in {Path.cwd()}; this one begins when it has ended")
                held.enter_context(files.locked(LOCK))
            put_back(say)
        yield
