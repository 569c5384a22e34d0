"""Fetch files over HTTP with retries and resumption.

A transfer appends to ``NAME.part``. ``NAME.part.json`` has the validator of this version, a strong
ETag or a date, so that a later run resumes the transfer only if the server still has this version
(RFC 9110, If-Range). ``NAME.json`` has size and SHA-256 of the complete file, which is not fetched
again while it has this digest. A new version replaces the file only when it is complete and valid.
"""

import logging
import netrc
import os
import re
import time
from contextlib import closing
from pathlib import Path
from secrets import SystemRandom

import httpx2
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.errors import CorpusError, NmtError, ServerError
from nmt_core.base.progress import bytes_bar
from nmt_core.corpora.fetch.address import (
    BAD_ADDRESS,
    NETRC_ADVICE,
    SCHEMES,
    check_redirect,
    redact_url,
)
from nmt_core.corpora.fetch.source import (
    Fetched,
    HttpConfig,
    Source,
    find_cached,
    quarantine,
    read_record,
    sibling_path,
)

logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs URLs with their secrets

RANDOM = SystemRandom()

MAX_REDIRECTS = 5
"""Maximum number of redirects."""

GROWTH_BYTES = 10_000
"""Received bytes that reset the count of failures."""


def fetch(source: Source, folder: Path, config: HttpConfig) -> Fetched:
    """Return a file from a cache folder; fetch it if necessary, one process at a time.

    Raises:
        CorpusError: if the server refuses or fails permanently, or the file has another digest or
            is unusable. An unusable file is kept as ``NAME.rejected``.
    """
    if cached := find_cached(source, folder):
        return cached
    path = folder / source.name
    with files.locked(sibling_path(path, ".lock")):
        return find_cached(source, folder) or _Transfer(source, path, config).run()


class _TransientError(Exception):
    """A failure after which another attempt may succeed."""

    def __init__(self, message: str, *, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class _Transfer:
    """The transfer of a file in several attempts."""

    def __init__(self, source: Source, path: Path, config: HttpConfig) -> None:
        self._source = source
        self._path = path
        self._part = sibling_path(path, ".part")
        self._version = sibling_path(path, ".part.json")
        self._config = config
        self._console = Console(stderr=True)
        self._progress = bytes_bar(self._console)
        self._task = self._progress.add_task(path.name, total=None)

    def run(self) -> Fetched:
        """Fetch and check the file, and rename it to its final name; return it."""
        source = self._source
        self._complete()
        digest = files.sha256(self._part)
        if digest != (source.sha256.lower() or digest):
            raise CorpusError(
                f"{redact_url(source.url)} has the SHA-256 {digest} instead of {source.sha256}; "
                f"the file was kept as {quarantine(self._part)}: if the publisher changed it, "
                f"change the checksum next to {source.setting}"
            )
        try:
            if source.check and not source.sha256:
                source.check(self._part)
        except NmtError as error:
            raise CorpusError(
                f"{error}; the file is from {redact_url(source.url)} and was kept as "
                f"{quarantine(self._part)}: run again, or set {source.setting} to a mirror"
            ) from None
        return self._keep(digest)

    def _complete(self) -> None:
        """Fetch the missing part of the file."""
        timeout = httpx2.Timeout(self._config.timeout_seconds)
        try:
            with httpx2.Client(timeout=timeout) as client, self._progress:
                self._retry(client)
        except OSError as error:
            message = f"{self._part} cannot be written: {error.strerror}"
            raise files.disk_error(error, self._part) or CorpusError(message) from None

    def _retry(self, client: httpx2.Client) -> None:
        """Attempt the transfer until it succeeds; progress resets the count of failures."""
        failures = max_size = 0
        while True:
            try:
                self._attempt(client)
            except _TransientError as error:
                failures += 1
                if self._size() > max_size + GROWTH_BYTES:
                    max_size, failures = self._size(), 1
                if failures >= self._config.attempts:
                    raise ServerError(
                        f"{redact_url(self._source.url)} could not be fetched in {failures} "
                        f"attempts: {error}; check the network, or set {self._source.setting} to a "
                        f"mirror"
                    ) from None
                longest = self._config.max_backoff_seconds
                backoff = RANDOM.uniform(0, min(2.0**failures, longest))
                pause = min(max(backoff, error.wait_seconds), longest)
                self._console.print(
                    f"{redact_url(self._source.url)}: {error}; trying again in {pause:.0f} s",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
            else:
                return
            time.sleep(pause)

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _keep(self, digest: str) -> Fetched:
        """Record the new file, and rename it to its final name."""
        size = self._size()
        record = {"size_bytes": size, "sha256": digest}
        files.write_json(sibling_path(self._path, ".json"), record)
        self._part.replace(self._path)
        self._version.unlink(missing_ok=True)
        return Fetched(self._path, redact_url(self._source.url), size, digest)

    def _attempt(self, client: httpx2.Client) -> None:
        offset, headers = self._resume()
        try:
            with closing(self._open(client, headers)) as response:
                if response.status_code == httpx2.codes.PARTIAL_CONTENT:
                    total = self._check_range(response, offset)
                else:
                    length = response.headers.get("Content-Length", "")
                    offset, total = 0, int(length) if length.isdecimal() else None
                if total is not None and not self._source.lines:
                    self._check_size(total)
                self._progress.update(self._task, completed=offset, total=total)
                self._receive(response, offset, total)
        except httpx2.TimeoutException as error:
            message = f"the server did not respond in time ({type(error).__name__})"
            raise _TransientError(message) from None
        except httpx2.TransportError as error:
            message = f"the connection failed ({error or type(error).__name__})"
            raise _TransientError(message) from None

    def _resume(self) -> tuple[int, dict[str, str]]:
        """Return the number of received bytes, and the headers that request the missing ones."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "nmt"}
        offset = self._size()
        validator = read_record(self._version).get("validator")
        if not offset or not validator or not isinstance(validator, str):
            return 0, headers
        return offset, headers | {"Range": f"bytes={offset}-", "If-Range": validator}

    def _open(self, client: httpx2.Client, headers: dict[str, str]) -> httpx2.Response:
        """Follow redirects and return the response; raise an error for a bad status."""
        source, auth = self._source, find_credentials()
        try:
            request = client.build_request("GET", source.url, headers=headers)
        except httpx2.InvalidURL:
            raise CorpusError(f"{source.setting} is {BAD_ADDRESS}; correct it") from None
        if request.url.scheme not in SCHEMES or not request.url.host:
            raise CorpusError(f"{source.setting} must begin with http:// or https://")
        for _ in range(MAX_REDIRECTS + 1):
            response = client.send(request, stream=True, auth=auth)
            if response.next_request is None:
                self._check_status(response)
                return response
            response.close()
            check_redirect(str(request.url), str(response.next_request.url))
            request = response.next_request
        raise CorpusError(
            f"{redact_url(source.url)} redirects more than {MAX_REDIRECTS} times; "
            f"set {source.setting} to the final address"
        )

    def _check_status(self, response: httpx2.Response) -> None:
        code, codes = response.status_code, httpx2.codes
        if code in (codes.OK, codes.PARTIAL_CONTENT):
            return
        response.close()
        answer = f"answered {code} {codes.get_reason_phrase(code)}".strip()
        if code == codes.RANGE_NOT_SATISFIABLE:
            self._part.unlink(missing_ok=True)
            raise _TransientError(f"the server {answer}")
        if code == codes.TOO_MANY_REQUESTS or code >= codes.INTERNAL_SERVER_ERROR:
            pause = response.headers.get("Retry-After", "")
            seconds = float(pause) if pause.isdecimal() else 0
            raise _TransientError(f"the server {answer}", wait_seconds=seconds)
        advice = f"set {self._source.setting} to a mirror that has it"
        if code == codes.UNAUTHORIZED:
            advice = f"{NETRC_ADVICE}, or {advice}"
        elif code == codes.NOT_FOUND and self._source.missing:
            advice = f"{self._source.missing}, or {advice}"
        raise CorpusError(f"{redact_url(self._source.url)} {answer}; {advice}")

    def _check_range(self, response: httpx2.Response, offset: int) -> int | None:
        """Check that the range is as requested; return the size of the whole file, if known."""
        header = response.headers.get("Content-Range", "")
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header)
        if match is None or int(match[1]) != offset:
            self._part.unlink(missing_ok=True)
            raise _TransientError(f"the server sent {header!r} instead of bytes from {offset}")
        expected = read_record(self._version).get("validator")
        if offset and _find_validator(response) not in ("", expected):
            self._part.unlink(missing_ok=True)
            raise _TransientError("the file has changed since its first part was fetched")
        return None if match[2] == "*" else int(match[2])

    def _receive(self, response: httpx2.Response, offset: int, total: int | None) -> None:
        lines = self._source.lines
        newlines = _count_lines(self._part) if lines and offset else 0
        with self._part.open("ab" if offset else "wb") as file:
            if not offset:  # the empty file belongs to no older version
                files.write_json(self._version, {"validator": _find_validator(response)})
            size = file.tell()
            for chunk in response.iter_raw():
                size += len(chunk)
                self._check_size(size)
                file.write(chunk)
                self._progress.advance(self._task, len(chunk))
                newlines += chunk.count(b"\n") if lines else 0
                if lines and newlines >= lines:
                    break
            file.flush()
            os.fsync(file.fileno())
        size = self._size()
        if lines and newlines >= lines:
            _cut_lines(self._part, lines)
        elif total is not None and size != total:
            raise _TransientError(f"the transfer ended after {size} of {total} bytes")

    def _check_size(self, size: int) -> None:
        if size > self._config.max_bytes:
            self._part.unlink(missing_ok=True)
            self._version.unlink(missing_ok=True)
            raise CorpusError(
                f"{redact_url(self._source.url)} is larger than download.http.max_bytes "
                f"({self._config.max_bytes:,} bytes); raise this limit if you trust the file"
            )


def find_credentials() -> httpx2.Auth | None:
    """Return the credentials of each host from ~/.netrc, or from the file that NETRC names.

    Raises:
        CorpusError: if the file is malformed or readable by others.
    """
    path = os.environ.get("NETRC")
    try:
        return httpx2.NetRCAuth(path)
    except FileNotFoundError:
        return None
    except (netrc.NetrcParseError, OSError) as error:
        line = getattr(error, "lineno", None)
        raise CorpusError(
            f"{path or '~/.netrc'}{f' line {line}' if line else ''} cannot be read; write lines "
            f"like 'machine HOST login NAME password WORD', and make the file private (chmod 600)"
        ) from None


def _find_validator(response: httpx2.Response) -> str:
    """Return the strong ETag of a response, or else its date; may be empty."""
    etag: str = response.headers.get("ETag", "")
    date: str = response.headers.get("Last-Modified", "")
    return etag if etag and not etag.startswith("W/") else date


def _count_lines(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def _cut_lines(path: Path, lines: int) -> None:
    with path.open("rb+") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())
