"""Errors that a user can cause and should understand from one sentence.

Each message says what is wrong, what was got and what to do. A subclass exists where a caller
catches it alone. A wrong argument inside the program is a ``ValueError``; what only we can break is
an ``assert``.
"""

import difflib
from collections.abc import Iterable


class NmtError(Exception):
    """Base of all errors that are shown to the user without a traceback."""


class ConfigError(NmtError):
    """A setting is unknown, missing or wrong, or requires what is not installed."""


class CorpusError(NmtError):
    """Text cannot be fetched or trusted: another digest, undecodable, misaligned or empty."""


class ServerError(CorpusError):
    """A file could not be fetched for now: the server or the network failed, again and again."""


class DocumentError(NmtError):
    """A document cannot be read, or is of no kind that is translated."""


class BundleError(NmtError):
    """A stored model, checkpoint, tokenizer or shard is missing, incomplete or altered."""


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether memory ran out, on a processor or on a GPU; torch need not be imported."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool({"MemoryError", "OutOfMemoryError"} & names) or "allocate memory" in str(error)


def suggest(name: str, known: Iterable[str]) -> str:
    """Suggest the closest known names for ``name``."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(names)}"
