"""Errors that refuse a request."""

from collections.abc import Mapping

CLOSE = {"Connection": "close"}


class RequestError(Exception):
    """A request that is refused or has failed.

    Args:
        status: of HTTP.
        message: one sentence: what is wrong, what was got, what to do.
        headers: further ones of the answer.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


def missing(name: str) -> RequestError:
    """Return the error of a missing field, in LibreTranslate's words."""
    return RequestError(400, f"Invalid request: missing {name} parameter")


def beyond_limit(size: int, limit: int) -> RequestError:
    """Return the error of too many texts or characters, in LibreTranslate's words."""
    return RequestError(400, f"Invalid request: request ({size}) exceeds text limit ({limit})")


def too_many(message: str, seconds: float) -> RequestError:
    """Return the error that tells a client to wait some seconds."""
    wait = max(1, round(seconds + 0.5))
    return RequestError(
        429, f"Slowdown: {message}; try again in {wait} seconds", {"Retry-After": str(wait)}
    )
