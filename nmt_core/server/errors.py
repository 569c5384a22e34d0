"""Why a request is refused."""

from collections.abc import Mapping


class RequestError(Exception):
    """A request is not answered as its sender wished.

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
    """Return that a field of a request is not there, in LibreTranslate's words."""
    return RequestError(400, f"Invalid request: missing {name} parameter")


def beyond_limit(size: int, limit: int) -> RequestError:
    """Return that a request has more texts or characters than it may, as LibreTranslate does."""
    return RequestError(400, f"Invalid request: request ({size}) exceeds text limit ({limit})")


def too_many(message: str, seconds: float) -> RequestError:
    """Return that a client is to come again, not before so many seconds."""
    wait = max(1, round(seconds + 0.5))
    return RequestError(
        429, f"Slowdown: {message}; try again in {wait} seconds", {"Retry-After": str(wait)}
    )
