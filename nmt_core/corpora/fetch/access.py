"""Credentials and redirect rules for downloads."""

import netrc
import os

import httpx2

from nmt_core.base.errors import DownloadError
from nmt_core.corpora.fetch.address import BAD_ADDRESS, SCHEMES, is_metadata, is_private, redact_url


def parse(url: str, setting: str) -> httpx2.URL:
    """Return an address of the web.

    Raises:
        DownloadError: if it is none.
    """
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise DownloadError(f"{setting} holds {BAD_ADDRESS}; mend it") from None
    if parsed.scheme not in SCHEMES or not parsed.host:
        raise DownloadError(
            f"{redact_url(url)} cannot be fetched; {setting} must begin with http:// or https://"
        )
    return parsed


def find_credentials() -> httpx2.Auth | None:
    """Return the credentials for each server from ~/.netrc, or from the file that NETRC names.

    Raises:
        DownloadError: if the file cannot be understood, or others may read it.
    """
    named = os.environ.get("NETRC")
    try:
        return httpx2.NetRCAuth(named)
    except FileNotFoundError:
        return None
    except (netrc.NetrcParseError, OSError) as error:
        line = getattr(error, "lineno", None)
        raise DownloadError(
            f"{named or '~/.netrc'}{f' line {line}' if line else ''} cannot be read as lines "
            f"'machine HOST login NAME password WORD'; mend it, and let nobody else read it "
            f"(chmod 600)"
        ) from None


def check_redirect(origin: httpx2.URL, goal: httpx2.URL) -> None:
    """Refuse to be led out of the web, out of encryption or into a private network."""
    if goal.scheme not in SCHEMES:
        reason = f"to {goal.scheme}:, which is not the web"
    elif origin.scheme == "https" and goal.scheme == "http":
        reason = "to an address without encryption"
    elif is_metadata(_name(goal)):
        reason = f"to an address of a cloud's secrets ({goal.host})"
    elif is_private(_name(goal)) and not is_private(_name(origin)):
        reason = f"into a private network ({goal.host})"
    else:
        return
    raise DownloadError(f"{redact_url(str(origin))} redirects {reason}; this was refused")


def _name(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii")
