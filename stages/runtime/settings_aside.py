"""A params.yaml that lies aside while a run needs another in its place.

A crash that nothing can catch leaves the other one there, so whoever works in the checkout next
puts the first one back, before anything is read.
"""

import hashlib
from collections.abc import Callable

from nmt_core.base import files
from stages import paths

ASIDE = paths.DOWNLOADS / "params.aside.json"
"""The text of what lies aside, and the digest of what took its place."""


def put_aside(instead: str) -> None:
    """Keep params.yaml as it is, for another text is to take its place."""
    text = paths.PARAMS.read_text(encoding="utf-8")
    files.write_json(ASIDE, {"text": text, "instead": _digest(instead)})


def put_back(say: Callable[[str], object] = lambda _: None) -> None:
    """Put back what lies aside, unless params.yaml was edited since.

    Args:
        say: takes a sentence where it was put back.
    """
    if not ASIDE.exists():
        return
    kept = files.read_json(ASIDE)
    present = paths.PARAMS.read_text(encoding="utf-8") if paths.PARAMS.exists() else None
    if present is None or _digest(present) == kept["instead"]:
        files.write_text(paths.PARAMS, kept["text"])
        say(f"{paths.PARAMS} is again as it was before a run that needed another one")
    ASIDE.unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
