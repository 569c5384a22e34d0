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
"""Fields of every record; the caller has added all others."""

LOGGERS = ("nmt_core.server", "nmt_core.translation.memory", "stages.registry", "uvicorn.error")
"""Loggers whose messages hold nothing that a user has sent."""


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if is_ours(record.name) else str(record.msg),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in RECORD_FIELDS}
        if record.exc_info and record.exc_info[1]:
            fields["failure"] = describe_failure(record.exc_info[1])
        return json.dumps(fields, ensure_ascii=False, default=str)


class LineFormatter(logging.Formatter):
    """Writes a record as a line for people, with few of its fields."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields = json.loads(JsonFormatter().format(record))
        details = [str(fields[name]) for name in ("route", "status", "failure") if name in fields]
        moment = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = "" if record.levelno <= logging.INFO else f"{fields['level']}: "
        return " ".join([moment, f"{level}{fields['message']}", *details])


def is_ours(logger: str) -> bool:
    """Tell whether a logger's messages hold nothing of users; of others the pattern is written."""
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
    handler.setFormatter(LineFormatter() if handler.stream.isatty() else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("uvicorn.access", "httpx2"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
