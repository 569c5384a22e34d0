"""Errors that a user can cause and should understand from one sentence.

Each message says what is wrong, what was got and what to do. A wrong argument inside the program is
a ``ValueError``; what only we can break is an ``assert``.
"""

import difflib
from collections.abc import Iterable


class NmtError(Exception):
    """Base of all errors that are shown to the user without a traceback."""


class ConfigError(NmtError):
    """A parameter is unknown, missing or of the wrong type."""


class CorpusError(NmtError):
    """Text cannot be trusted: undecodable, misaligned or empty."""


class DocumentError(NmtError):
    """A document cannot be read, or is of no kind that is translated."""


class DownloadError(NmtError):
    """A file could not be fetched, or differs from the expected one."""


class ServerError(DownloadError):
    """A file could not be fetched for now: the server or the network failed, again and again."""


class WorkersError(NmtError):
    """Processes that share the work died, or cannot be reached."""


class TokenizerError(NmtError):
    """A tokenizer cannot be trained or loaded."""


class ShardError(NmtError):
    """A data shard is missing or altered."""


class CheckpointError(NmtError):
    """No checkpoint can be read, or it belongs to another training."""


class TrainingError(NmtError):
    """Training cannot go on."""


class BundleError(NmtError):
    """An exported model is incomplete or altered."""


class DiskError(NmtError):
    """A file could not be written: the disk is full, or must not be written."""


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether memory ran out, on a processor or on a GPU; torch need not be imported."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool({"MemoryError", "OutOfMemoryError"} & names) or "allocate memory" in str(error)


def suggest(name: str, known: Iterable[str]) -> str:
    """Suggest the closest known names for ``name``."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(names)}"
