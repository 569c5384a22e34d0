"""One run at a time works in a checkout, by whatever command it was started."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nmt_core.base import files

LOCK = Path(".dvc/tmp/flow.lock")


@contextmanager
def take_turn(say: Callable[[str], object]) -> Iterator[None]:
    """Hold the checkout that we are in; the system gives it back however this process ends.

    Where DVC knows nothing of the folder, there is nothing to hold.

    Args:
        say: is told if another run must be waited for.
    """
    with ExitStack() as held:
        if LOCK.parent.parent.is_dir():
            try:
                held.enter_context(files.locked(LOCK, wait=False))
            except BlockingIOError:
                say(f"another run works in {Path.cwd()}; this one begins when it has ended")
                held.enter_context(files.locked(LOCK))
        yield
