"""Logs without the text of users: one JSON object a line, or on a terminal lines for people."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import IO, Any

from typing_extensions import override

RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}
"""Fields of every record; callers add all others."""

LOGGERS = ("nmt_core.server", "nmt_core.translation.memory", "stages.registry", "uvicorn.error")
"""Loggers whose messages hold nothing that a user has sent."""


class LogFormatter(logging.Formatter):
    """Writes a record as one JSON object, or as a line for people with few of its fields.

    Args:
        for_people: whether people read it.
    """

    def __init__(self, *, for_people: bool = False) -> None:
        super().__init__()
        self._for_people = for_people

    @override
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        fields: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if is_ours(record.name) else str(record.msg),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in RECORD_FIELDS}
        if record.exc_info and record.exc_info[1]:
            fields["failure"] = describe_failure(record.exc_info[1])
        if not self._for_people:
            return json.dumps(fields, ensure_ascii=False, default=str)
        details = [str(fields[name]) for name in ("route", "status", "failure") if name in fields]
        level = "" if record.levelno <= logging.INFO else f"{fields['level']}: "
        time = moment.astimezone().strftime("%H:%M:%S")
        return " ".join([time, f"{level}{fields['message']}", *details])


def is_ours(logger: str) -> bool:
    """Tell whether a logger's messages hold no text of users; of others patterns are written."""
    return logger.startswith(LOGGERS)


def describe_failure(error: BaseException) -> str:
    """Return the type and the place of an error without its message, which may hold user text."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    return " > ".join([*places, type(error).__name__])


def set_up_logs(stream: IO[str] | None = None) -> None:
    """Send all logs of this process to a stream, standard error by default.

    They are lines for people on a terminal, and one JSON object a line elsewhere.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LogFormatter(for_people=handler.stream.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("uvicorn.access", "httpx2"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
