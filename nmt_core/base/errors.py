"""Errors that a user can cause and can understand from one sentence.

Each message says what is wrong, where, and what to do. A subclass exists only if a caller catches
it. A wrong argument inside the program is a ``ValueError``; internal invariants are asserted.
"""

import difflib
from collections.abc import Iterable


class NmtError(Exception):
    """Base class of all errors that users see without a traceback."""


class ConfigError(NmtError):
    """A setting is unknown, missing or invalid, or requires a package that is not installed."""


class CorpusError(NmtError):
    """Text cannot be fetched or used: wrong digest, undecodable, misaligned or empty."""


class ServerError(CorpusError):
    """A file could not be fetched: the server or the network failed in every attempt."""


class DocumentError(NmtError):
    """A document cannot be read, or its format is not supported."""


class BundleError(NmtError):
    """A stored model, checkpoint, tokenizer or shard is missing, incomplete or altered."""


def is_out_of_memory(error: Exception) -> bool:
    """Return whether memory ran out, on a CPU or GPU; does not import torch."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool({"MemoryError", "OutOfMemoryError"} & names) or "allocate memory" in str(error)


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return advice for an unknown name: the closest candidate, or else all of them."""
    names = list(candidates)
    matches = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {matches[0]!r}?" if matches else f"valid here: {', '.join(names)}"
