"""Hold the lock of a checkout, in which one run at a time works, and keep its params.yaml.

A run that needs another params.yaml puts the present one aside. If it crashes, whoever holds the
checkout next puts the first one back, before anything is read.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nmt_core.base import files
from stages import paths

LOCK = Path(".dvc/tmp/flow.lock")

ASIDE = paths.DOWNLOADS / "params.aside.json"
"""The text that was put aside, and the digest of the text that took its place."""


@contextmanager
def hold_checkout(say: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock of the checkout; the system releases it when this process ends.

    Outside a project of DVC there is no lock.

    Args:
        say: takes a message if another run must be waited for, or has left its params.yaml.
    """
    with ExitStack() as stack:
        if LOCK.parent.parent.is_dir():
            try:
                stack.enter_context(files.locked(LOCK, wait=False))
            except BlockingIOError:
                say(f"another run works in {Path.cwd()}; this one begins when it has ended")
                stack.enter_context(files.locked(LOCK))
            put_back(say)
        yield


def put_aside(replacement: str) -> None:
    """Keep the text of params.yaml, which a replacement is to take the place of."""
    text = paths.PARAMS.read_text(encoding="utf-8")
    files.write_json(ASIDE, {"text": text, "instead": _digest(replacement)})


def put_back(say: Callable[[str], object] = lambda _: None) -> None:
    """Put back the text that was put aside, unless params.yaml was edited since.

    Args:
        say: takes a message if it was put back.
    """
    if not ASIDE.exists():
        return
    aside = files.read_json(ASIDE)
    present = paths.PARAMS.read_text(encoding="utf-8") if paths.PARAMS.exists() else None
    if present is None or _digest(present) == aside["instead"]:
        files.write_text(paths.PARAMS, aside["text"])
        say(f"{paths.PARAMS} is again as it was before a run that needed another one")
    ASIDE.unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
