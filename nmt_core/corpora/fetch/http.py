"""Fetch one file over HTTP: retried with patience, resumed after a break, whole when it appears.

A transfer grows ``NAME.part``; ``NAME.part.json`` beside it says which version of the file that is,
so a later run continues it only if the server still has the same (RFC 9110, If-Range). When all is
there, ``NAME.json`` records size, SHA-256 and version before the file takes its name; what is
already there and still has that digest is not fetched again.

Another file of the same address never costs the one at hand: that keeps its name until the new one
is whole, and is then ``before-NAME``, until the next.
"""

import logging
import os
import re
from dataclasses import asdict, replace
from pathlib import Path

import httpx2
import tenacity
from rich.console import Console
from rich.progress import Progress, TaskID

from nmt_core.base import files
from nmt_core.base.errors import DownloadError, NmtError, ServerError
from nmt_core.base.progress import bytes_bar
from nmt_core.corpora.fetch.access import check_redirect, find_credentials, parse
from nmt_core.corpora.fetch.address import IN_NETRC, add_secret, redact_url
from nmt_core.corpora.fetch.kept import (
    ServerVersion,
    count_lines,
    cut_lines,
    find_known,
    find_place,
    find_recorded,
    name_before,
    quarantine,
    read_record,
    read_server_version,
    sibling_path,
)
from nmt_core.corpora.fetch.settings import HttpConfig
from nmt_core.corpora.fetch.source import Fetched, Source

logging.getLogger("httpx2").setLevel(
    logging.WARNING
)  # it logs addresses with what is secret in them


MAX_REDIRECTS = 5
"""Number of redirects to follow."""

GROWTH_BYTES = 10_000
"""Bytes by which a file must have grown for a failure to begin a new count."""


def fetch(source: Source, folder: Path, config: HttpConfig) -> Fetched:
    """Fetch a file into ``folder``, where its record and an unfinished part lie, too.

    If several processes want the same file, one fetches it, and the others wait.

    Raises:
        DownloadError: if the server refuses or fails for good, or the digest is not the wanted one;
            the file is then kept as ``NAME.rejected``.
    """
    path = find_place(source, folder)
    if known := find_known(path, source):
        return known
    with files.locked(sibling_path(path, ".lock")):
        return find_known(path, source) or _fetch(source, path, config)


def _fetch(source: Source, path: Path, config: HttpConfig) -> Fetched:
    transfer = _Transfer(source, path, config)
    transfer.complete()
    digest = files.sha256(transfer.part)
    if digest != (source.digest or digest):
        rejected = quarantine(transfer.part)
        remedy = (
            f"if the publisher changed the file, change the checksum beside {source.setting}"
            if source.sha256
            else "the publisher changed the file after that; take it in: make refresh"
        )
        raise DownloadError(
            f"{redact_url(source.url)} has the SHA-256 {digest}, expected was {source.digest}; "
            f"it was kept as {rejected}: {remedy}"
        )
    return transfer.keep(digest)


def renew(source: Source, folder: Path, config: HttpConfig) -> Fetched:
    """Return the server's present file; fetch it if it differs from the one at hand.

    Versions are compared by ETag; without one, by date and length; without a date, the file is
    fetched.

    Raises:
        DownloadError: if the server refuses or fails for good, or sends a wrong file, which is then
            kept as ``NAME.rejected``; the file at hand stays as it is.
    """
    path = find_place(source, folder)
    with files.locked(sibling_path(path, ".lock")):
        return _renew(source, path, config)


def _renew(source: Source, path: Path, config: HttpConfig) -> Fetched:
    known = find_recorded(path, replace(source, sha256="", renewed={}))
    version = read_server_version(sibling_path(path, ".json")) if known else None
    transfer = _Transfer(source, path, config, known=version)
    if not transfer.complete() and known is not None:
        transfer.forget()
        return known
    try:
        if source.check is not None:
            source.check(transfer.part)
    except NmtError as error:
        rejected = quarantine(transfer.part)
        raise DownloadError(
            f"{error}; {redact_url(source.url)} sent it, and it was kept as {rejected}"
        ) from None
    return transfer.keep(files.sha256(transfer.part))


class _TransientError(Exception):
    """A failure that may not happen again."""

    def __init__(self, message: str, *, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class _Transfer:
    """The transfer of one file, over several attempts."""

    def __init__(
        self, source: Source, path: Path, config: HttpConfig, *, known: ServerVersion | None = None
    ) -> None:
        self.part = sibling_path(path, ".part")
        self._version = sibling_path(path, ".part.json")
        self._path = path
        self._url = source.url
        self._config = config
        self._setting = source.setting
        self._lines = source.lines
        self._check = source.check
        self._missing = source.missing
        self._known = known or ServerVersion()
        self._failures = 0
        self._most_bytes = 0
        self._console = Console(stderr=True)

    def complete(self) -> bool:
        """Fetch the rest of ``part``; return False if the server has the known version."""
        if self._lines is not None and count_lines(self.part) >= self._lines:
            return True
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            stop=self._stop,
            wait=self._wait,
            before_sleep=self._tell,
            reraise=True,
        )
        timeout = httpx2.Timeout(self._config.timeout_seconds)
        try:
            with httpx2.Client(timeout=timeout) as client, bytes_bar(self._console) as progress:
                task = progress.add_task(self.part.name.removesuffix(".part"), total=None)
                return retrying(self._attempt, client, progress, task)
        except _TransientError as error:
            raise ServerError(
                f"{redact_url(self._url)} could not be fetched in {self._failures} attempts: "
                f"{error}; check the network, or set {self._setting} to a mirror"
            ) from None
        except OSError as error:
            message = f"{self.part} cannot be written: {error.strerror}"
            raise files.disk_error(error, self.part) or DownloadError(message) from None

    def keep(self, digest: str) -> Fetched:
        """Give ``part`` the file's name; another file of that name is kept beside it.

        If this is interrupted, the old file or the new one is there with its own record.
        """
        record, before = sibling_path(self._path, ".json"), name_before(self._path)
        if self._path.exists() and record.exists():
            old = read_record(record)
            if old.get("sha256", digest) != digest:
                files.write_json(sibling_path(before, ".json"), old)
                self._path.replace(before)
        size = self.part.stat().st_size
        version = asdict(read_server_version(self._version))
        files.write_json(record, {"size_bytes": size, "sha256": digest, **version})
        self.part.replace(self._path)
        self._version.unlink(missing_ok=True)
        return Fetched(self._path, redact_url(self._url), size, digest)

    def forget(self) -> None:
        """Remove the part of a version that the server no longer has."""
        self.part.unlink(missing_ok=True)
        self._version.unlink(missing_ok=True)

    def _attempt(self, client: httpx2.Client, progress: Progress, task: TaskID) -> bool:
        """Return False if the server has the known version, True when all of another one came."""
        offset, headers = self._resumption()
        if self._known.etag:
            headers["If-None-Match"] = self._known.etag
        try:
            response = self._open(client, headers)
            try:
                if self._is_known(response):
                    return False
                if response.status_code == httpx2.codes.PARTIAL_CONTENT:
                    total = self._check_range(response, offset)
                else:
                    offset, total = 0, _content_length(response)
                if total is not None and total > self._config.max_bytes and not self._lines:
                    raise self._too_large()
                self._receive(response, offset, total, progress, task)
            finally:
                response.close()
        except httpx2.TransportError as error:
            raise _TransientError(_in_words(error)) from None
        return True

    def _is_known(self, response: httpx2.Response) -> bool:
        if response.status_code == httpx2.codes.OK:
            named = self._known.etag or self._known.last_modified
            return bool(named) and _version(response) == self._known
        return response.status_code == httpx2.codes.NOT_MODIFIED

    def _resumption(self) -> tuple[int, dict[str, str]]:
        """Return the bytes there are and the headers that ask for the others."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "nmt"}
        offset = self.part.stat().st_size if self.part.exists() else 0
        validator = read_server_version(self._version).validator
        if not offset or not validator:
            return 0, headers
        return offset, headers | {"Range": f"bytes={offset}-", "If-Range": validator}

    def _open(self, client: httpx2.Client, headers: dict[str, str]) -> httpx2.Response:
        """Follow redirects to the answer; raise an error for a bad status."""
        url, auth = parse(add_secret(self._url), self._setting), find_credentials()
        request = client.build_request("GET", url, headers=headers)
        for _ in range(MAX_REDIRECTS + 1):
            response = client.send(request, stream=True, auth=auth)
            if response.next_request is None:
                self._check_status(response)
                return response
            response.close()
            check_redirect(request.url, response.next_request.url)
            request = response.next_request
        raise DownloadError(
            f"{redact_url(self._url)} redirects more than {MAX_REDIRECTS} times; "
            f"set {self._setting} to the final address"
        )

    def _check_status(self, response: httpx2.Response) -> None:
        code = response.status_code
        asked = code == httpx2.codes.NOT_MODIFIED and self._known.etag
        if code in (httpx2.codes.OK, httpx2.codes.PARTIAL_CONTENT) or asked:
            return
        response.close()
        answer = f"{code} {httpx2.codes.get_reason_phrase(code)}".strip()
        if code == httpx2.codes.RANGE_NOT_SATISFIABLE:
            self.part.unlink(missing_ok=True)
            raise _TransientError(f"the server answered {answer}")
        if code == httpx2.codes.TOO_MANY_REQUESTS or code >= httpx2.codes.INTERNAL_SERVER_ERROR:
            pause = response.headers.get("Retry-After", "")
            raise _TransientError(
                f"the server answered {answer}",
                wait_seconds=float(pause) if pause.isdecimal() else 0,
            )
        remedy = f"set {self._setting} to a mirror that has it"
        if code == httpx2.codes.UNAUTHORIZED:
            remedy = f"{IN_NETRC}, or {remedy}"
        elif code == httpx2.codes.NOT_FOUND and self._missing:
            remedy = f"{self._missing}, or {remedy}"
        raise DownloadError(f"{redact_url(self._url)} answered {answer}; {remedy}")

    def _check_range(self, response: httpx2.Response, offset: int) -> int | None:
        """Return the size of the whole file, if the answer is the requested rest."""
        header = response.headers.get("Content-Range", "")
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header)
        if match is None or int(match[1]) != offset:
            self.part.unlink(missing_ok=True)
            raise _TransientError(
                f"the server sent the range {header!r}, not from byte {offset} on"
            )
        expected = read_server_version(self._version).validator
        if offset and _version(response).validator not in ("", expected):
            self.part.unlink(missing_ok=True)
            raise _TransientError("the file has changed since its first part was fetched")
        return None if match[2] == "*" else int(match[2])

    def _receive(
        self,
        response: httpx2.Response,
        offset: int,
        total: int | None,
        progress: Progress,
        task: TaskID,
    ) -> None:
        progress.update(task, completed=offset, total=None if self._lines else total)
        newlines = count_lines(self.part) if self._lines and offset else 0
        with self.part.open("ab" if offset else "wb") as file:
            if not offset:  # the file is empty by now, so the version can only be its own
                files.write_json(self._version, asdict(_version(response)))
            size = file.tell()
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > self._config.max_bytes:
                    self.forget()
                    raise self._too_large()
                file.write(chunk)
                progress.advance(task, len(chunk))
                newlines += chunk.count(b"\n") if self._lines else 0
                if self._lines and newlines >= self._lines:
                    break
            file.flush()
            os.fsync(file.fileno())
        size = self.part.stat().st_size
        if self._lines and newlines >= self._lines:
            cut_lines(self.part, self._lines)
        elif total is not None and size != total:
            raise _TransientError(f"the transfer ended after {size} of {total} bytes")
        elif total is None and "Transfer-Encoding" not in response.headers:
            self._check_whole()

    def _check_whole(self) -> None:
        """Make sure that a file of unknown length is whole."""
        try:
            if self._check is not None:
                self._check(self.part)
        except NmtError as error:
            self.forget()
            raise _TransientError(
                f"the server told no length, and what came is not whole: {error}"
            ) from None

    def _too_large(self) -> DownloadError:
        return DownloadError(
            f"{redact_url(self._url)} is larger than download.http.max_bytes "
            f"({self._config.max_bytes:,} bytes); raise that if the file is right"
        )

    def _stop(self, _: tenacity.RetryCallState) -> bool:
        size = self.part.stat().st_size if self.part.exists() else 0
        self._failures += 1
        if size > self._most_bytes + GROWTH_BYTES:
            self._most_bytes, self._failures = size, 1
        return self._failures >= self._config.attempts

    def _wait(self, state: tenacity.RetryCallState) -> float:
        longest = self._config.max_backoff_seconds
        chance = tenacity.wait_random_exponential(max=longest)
        return min(max(chance(state), _error(state).wait_seconds), longest)

    def _tell(self, state: tenacity.RetryCallState) -> None:
        self._console.print(
            f"{redact_url(self._url)}: {_error(state)}; "
            f"trying again in {state.upcoming_sleep:.0f} s",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _error(state: tenacity.RetryCallState) -> _TransientError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, _TransientError)
    return error


def _version(response: httpx2.Response) -> ServerVersion:
    headers = response.headers
    return ServerVersion(
        headers.get("ETag", ""), headers.get("Last-Modified", ""), _content_length(response)
    )


def _content_length(response: httpx2.Response) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _in_words(error: httpx2.TransportError) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return f"the server was silent for too long ({type(error).__name__})"
    return f"the connection failed ({error or type(error).__name__})"
