"""Error responses, and logs without text of users."""

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any

from fastapi import Response
from typing_extensions import override

RECORD_FIELDS = {
    *vars(logging.makeLogRecord({})),
    "message",
    "asctime",
    "taskName",
    "color_message",
}
"""Standard fields of log records; other fields come from ``extra``."""

LOGGERS = ("nmt_core.server", "nmt_core.translation.memory", "stages.registry", "uvicorn.error")
"""Loggers whose messages contain no text of users; other loggers write only the format string."""


class RequestError(Exception):
    """An error response: an HTTP status, and one sentence for the client."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})

    def render(self) -> Response:
        """Return the JSON response, with unpaired surrogates escaped."""
        body = json.dumps({"error": self.message})
        return Response(body, self.status, self.headers, "application/json")


def missing_parameter(name: str) -> RequestError:
    """Return LibreTranslate's error for a missing field."""
    return RequestError(400, f"Invalid request: missing {name} parameter")


def text_limit_exceeded(size: int, limit: int) -> RequestError:
    """Return LibreTranslate's error for too many texts or characters."""
    return RequestError(400, f"Invalid request: request ({size}) exceeds text limit ({limit})")


def slow_down(message: str, seconds: float) -> RequestError:
    """Return the 429 error that asks a client to wait some seconds."""
    wait = max(1, round(seconds + 0.5))
    return RequestError(
        429, f"Slowdown: {message}; try again in {wait} seconds", {"Retry-After": str(wait)}
    )


def describe_failure(error: BaseException) -> str:
    """Return type and traceback of an error without its message, which may contain user text."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    return " > ".join([*places, type(error).__name__])


class LogFormatter(logging.Formatter):
    """Formats a record as one JSON object, or as a short line for people."""

    for_people = False

    @override
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        is_ours = record.name.startswith(LOGGERS)
        fields: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if is_ours else str(record.msg),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in RECORD_FIELDS}
        if record.exc_info and record.exc_info[1]:
            fields["failure"] = describe_failure(record.exc_info[1])
        if not self.for_people:
            return json.dumps(fields, ensure_ascii=False, default=str)
        details = [str(fields[name]) for name in ("route", "status", "failure") if name in fields]
        level = "" if record.levelno <= logging.INFO else f"{fields['level']}: "
        time = moment.astimezone().strftime("%H:%M:%S")
        return " ".join([time, f"{level}{fields['message']}", *details])


def set_up_logs(stream: IO[str] | None = None) -> None:
    """Send all logs of this process to a stream, standard error by default.

    A terminal shows lines for people; other streams get one JSON object per line.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter := LogFormatter())
    formatter.for_people = handler.stream.isatty()
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("uvicorn.access", "httpx2"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
