"""A file arrives whole from servers that fail, refuse, redirect or send wrong data."""

import errno
import gzip
import json
import logging
import re
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from nmt_core.base.errors import CorpusError, NmtError, ServerError
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.address import check_redirect
from nmt_core.corpora.fetch.source import Source, quarantine
from tests.support.downloads import CONTENT, DIGEST, QUICK, finals, message
from tests.support.web_server import redirect, serving, silent, status, whole, without_ranges

OTHER = CONTENT[::-1]
LINES = b"".join(b"word%d 1 2\n" % number for number in range(10_000))


def first(lines):
    return b"".join(LINES.splitlines(keepends=True)[:lines])


def test_a_file_arrives_whole_and_once(site, get, tmp_path):
    url = site.put("/a/de-en.tgz", whole(CONTENT))
    fetched = get(url, sha256=DIGEST.upper())

    assert fetched.path.read_bytes() == CONTENT
    assert (len(CONTENT), DIGEST) == (fetched.size_bytes, fetched.sha256)
    assert fetched.path.name.endswith("-de-en.tgz")
    record = json.loads((tmp_path / f"{fetched.path.name}.json").read_text())
    assert {"size_bytes": len(CONTENT), "sha256": DIGEST} == record
    assert not list(tmp_path.glob("*.part*"))
    assert get(url) == fetched
    assert len(site.requests) == 1


def compress_unless_forbidden(handler):
    accepted = "gzip" in handler.headers.get("Accept-Encoding", "gzip")
    content = gzip.compress(CONTENT) if accepted else CONTENT
    handler.answer(200, Content_Length=len(content))
    handler.wfile.write(content)


def careless(handler):
    """Ignore If-Range; the ETag alone shows that this is another version."""
    range_ = f"bytes 1000-{len(OTHER) - 1}/{len(OTHER)}"
    handler.answer(206, Content_Length=len(OTHER) - 1000, Content_Range=range_, ETag='"v2"')
    handler.wfile.write(OTHER[1000:])


def confused(handler):
    handler.answer(206, Content_Length=5, Content_Range="bytes 5-9/10", ETag='"v1"')


def vague(range_):
    def behave(handler):
        handler.answer(206, Content_Length=len(CONTENT) - 1000, Content_Range=f"bytes {range_}")
        handler.wfile.write(CONTENT[1000:])

    return behave


BROKEN = whole(CONTENT, send=1000)
WEAK = whole(CONTENT, tag='W/"v1"', send=1000), whole(CONTENT, tag='W/"v1"')


@pytest.mark.parametrize(
    ("answers", "expected", "last_range"),
    [
        ([compress_unless_forbidden], CONTENT, None),
        ([BROKEN, whole(CONTENT)], CONTENT, "bytes=1000-"),
        ([BROKEN, whole(OTHER, tag='"v2"')], OTHER, "bytes=1000-"),
        ([BROKEN, careless, whole(OTHER, tag='"v2"')], OTHER, None),
        ([without_ranges(CONTENT, send=1000), without_ranges(CONTENT)], CONTENT, None),
        ([BROKEN, confused, whole(CONTENT)], CONTENT, None),
        ([BROKEN, status(416), whole(CONTENT)], CONTENT, None),
        ([BROKEN, vague("5-9/*"), whole(CONTENT)], CONTENT, None),
        ([BROKEN, vague("1000-102399/*")], CONTENT, "bytes=1000-"),
        ([*WEAK], CONTENT, None),
        ([redirect("/b")], OTHER, None),
        *(([status(code)] * 2 + [whole(CONTENT)], CONTENT, None) for code in (416, 429, 500, 503)),
    ],
)
def test_transient_failures_are_overcome(site, get, answers, expected, last_range):
    """A part is joined only with the same version; a weak ETag does not identify bytes."""
    site.put("/b", whole(OTHER))
    fetched = get(site.put("/a", *answers))

    assert fetched.path.read_bytes() == expected
    assert site.requests[-1][1].get("Range") == last_range
    if last_range:
        assert site.requests[-1][1]["If-Range"] == '"v1"'


def short(handler):
    """Answer with the right number of wrong bytes."""
    start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
    range_ = f"bytes {start}-{start + 9}/{len(CONTENT)}"
    handler.answer(206, Content_Length=10, Content_Range=range_, ETag='"v1"')
    handler.wfile.write(CONTENT[start : start + 10])


@pytest.mark.parametrize(
    ("answers", "error", "said", "requests"),
    [
        ([status(503)], ServerError, "in 3 attempts: the server answered 503", 3),
        ([without_ranges(CONTENT[:5000], send=3000)], ServerError, "3000 bytes, expected 5000", 3),
        ([BROKEN, short], ServerError, f"ended after 1020 of {len(CONTENT)} bytes", 3),
        ([silent(1.0)], ServerError, "the server did not respond in time", 3),
        ([status(404)], CorpusError, "answered 404 Not Found; set download.corpora", 1),
        ([status(403)], CorpusError, "answered 403 Forbidden", 1),
        ([status(401)], CorpusError, "machine HOST login NAME password", 1),
        ([redirect("/a")], CorpusError, "redirects more than 5 times", 6),
    ],
)
def test_permanent_failures_are_reported(site, get, tmp_path, answers, error, said, requests):
    config = QUICK.model_copy(update={"timeout_seconds": 0.3})
    url = site.put("/a", *answers)
    with pytest.raises(error, match=re.escape(said)) as caught:
        get(url, config)

    assert str(caught.value).startswith(url)
    assert len(site.requests) == requests
    assert not finals(tmp_path)


def test_later_runs_resume(site, get):
    url = site.put("/a", BROKEN, status(404))
    assert "404" in message(get, url)
    site.put("/a", whole(CONTENT))

    assert get(url).path.read_bytes() == CONTENT
    assert site.requests[-1][1]["Range"] == "bytes=1000-"


def test_one_process_fetches_and_others_wait(site, get):
    begun = Event()

    def slowly(handler):
        handler.answer(200, Content_Length=len(CONTENT))
        handler.wfile.write(CONTENT[:1000])
        begun.set()
        time.sleep(0.2)
        handler.wfile.write(CONTENT[1000:])

    url = site.put("/a", slowly, without_ranges(CONTENT))
    with ThreadPoolExecutor() as threads:
        first_call = threads.submit(get, url)
        assert begun.wait(10)
        second = get(url)

    assert first_call.result() == second
    assert second.path.read_bytes() == CONTENT
    assert len(site.requests) == 1


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"rot"), quarantine, Path.unlink])
def test_damaged_rejected_and_deleted_files_are_fetched_again(site, get, spoil):
    url = site.put("/a", whole(CONTENT))
    spoil(get(url).path)

    assert get(url).path.read_bytes() == CONTENT
    assert len(site.requests) == 2


def test_waits_double_and_honour_retry_after(site, get, monkeypatch):
    pauses, limits = [], []
    monkeypatch.setattr(http.time, "sleep", pauses.append)
    monkeypatch.setattr(http.RANDOM, "uniform", lambda low, high: limits.append(high) or high)
    config = QUICK.model_copy(update={"attempts": 5, "max_backoff_seconds": 9.0})
    busy = [status(503), status(429, Retry_After=7), status(503, Retry_After=3600), status(503)]
    get(site.put("/a", *busy, whole(CONTENT)), config)

    assert limits == [2, 4, 8, 9]
    assert pauses == [2, 7, 9, 9]


def test_progress_resets_the_count_of_failures(site, get):
    config = QUICK.model_copy(update={"attempts": 2})

    assert get(site.put("/a", whole(CONTENT, send=20_000)), config).sha256 == DIGEST
    assert len(site.requests) == 6


def test_refused_connections_are_reported(get):
    with serving() as site:
        url = site.put("/gone", whole(CONTENT))

    assert "the connection failed ([Errno 111] Connection refused)" in message(get, url)


def test_files_with_another_digest_are_rejected(site, get, tmp_path):
    url, wanted = site.put("/de-en.tgz", whole(CONTENT)), "0" * 64
    said = message(get, url, sha256=wanted)
    [rejected] = tmp_path.glob("*.rejected")
    assert f"has the SHA-256 {DIGEST} instead of {wanted}; the file was kept as {rejected}" in said
    assert "change the checksum next to download.corpora.europarl.url" in said
    assert rejected.name.endswith("-de-en.tgz.rejected")
    assert rejected.read_bytes() == CONTENT


def must_be_whole(path):
    if path.read_bytes() != CONTENT:
        raise CorpusError(f"{path.name} is damaged")


@pytest.mark.parametrize("with_length", [True, False])
def test_unusable_files_are_rejected(site, get, tmp_path, with_length):
    """Without a length, a closed connection looks like the end of the file."""

    def cut(handler):
        handler.answer(200, **({"Content_Length": 5000} if with_length else {}))
        handler.wfile.write(CONTENT[:5000])

    url = site.put("/a", cut, whole(CONTENT))
    assert "is damaged; the file is from http://" in message(get, url, check=must_be_whole)
    assert not finals(tmp_path)
    assert get(url, check=must_be_whole).sha256 == DIGEST


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ("http://example.org/a", "to an address without encryption"),
        ("https://169.254.169.254/a", "into a private network (169.254.169.254)"),
        ("https://[64:ff9b::7f00:1]/a", "into a private network (64:ff9b::7f00:1)"),
        ("https://localhost/a", "into a private network (localhost)"),
        ("https://10.0.0.1/a", "into a private network (10.0.0.1)"),
        ("https://[::1]/a", "into a private network (::1)"),
        ("ftp://example.org/a", "to ftp:, which is not http or https"),
        ("file:///etc/passwd", "to file:, which is not http or https"),
    ],
)
def test_redirects_to_unsafe_places_are_refused(goal, reason):
    with pytest.raises(CorpusError, match=re.escape(f"https://example.com/x redirects {reason}")):
        check_redirect("https://example.com/x", goal)


def test_redirects_are_checked(site, get):
    check_redirect("http://10.0.0.1/x", "http://10.0.0.2/y")
    url = site.put("/a", redirect("ftp://example.org/a"))
    assert "which is not http or https" in message(get, url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        *((url, "must begin with http") for url in ("file:///etc/passwd", "ftp://h/a", "a.tgz")),
        ("http://a:canary", "is an address that cannot be read"),
    ],
)
def test_only_the_web_is_fetched(get, url, said):
    assert f"download.corpora.europarl.url {said}" in message(get, url)


@pytest.fixture
def netrc(tmp_path_factory, monkeypatch):
    """Write the file of credentials."""
    path = tmp_path_factory.mktemp("home") / ".netrc"
    monkeypatch.setenv("HOME", str(path.parent))

    def netrc(text, *, mode=0o600):
        path.write_text(text)
        path.chmod(mode)

    return netrc


def test_passwords_are_sent_but_never_shown(site, get, netrc, tmp_path, capsys, caplog):
    caplog.set_level(logging.INFO)
    netrc("machine 127.0.0.1 login anna password canary")
    url = site.put("/a", status(503), status(404))

    said = message(get, url)
    assert f"{url} answered 404" in said
    assert site.requests[0][1]["Authorization"] == "Basic " + b64encode(b"anna:canary").decode()
    site.put("/a", whole(CONTENT))
    fetched = get(url)
    shown_places = [said, caplog.text, *capsys.readouterr(), fetched.url, fetched.path.name]
    shown_places += [path.read_text("latin-1") for path in tmp_path.iterdir()]
    assert not [place for place in shown_places if "canary" in place]


def test_a_password_goes_to_its_own_host_alone(site, get, netrc):
    netrc("machine localhost login anna password canary")
    site.put("/b", whole(CONTENT))
    there = f"http://127.0.0.1:{site.port}/b"
    url = site.put("/a", redirect(there)).replace("127.0.0.1", "localhost")

    assert get(url).sha256 == DIGEST
    assert ["Authorization" in sent for _, sent in site.requests] == [True, False]


@pytest.mark.parametrize(
    ("text", "mode"), [("machine a login b password canary", 0o644), ("\ncanary", 0o600)]
)
def test_an_unusable_netrc_is_reported_without_its_content(site, get, netrc, text, mode):
    netrc(text, mode=mode)
    said = message(get, site.put("/a", whole(CONTENT)))

    assert said.startswith("~/.netrc")
    assert "chmod 600" in said
    assert "canary" not in said
    assert not site.requests


@pytest.mark.parametrize(
    ("answers", "lines", "expected"),
    [
        ([whole(LINES)], 100, first(100)),
        ([whole(LINES, send=5005), whole(LINES)], 1000, first(1000)),
        ([whole(b"a\nb")], 10, b"a\nb"),
    ],
)
def test_the_first_lines_are_fetched(site, get, answers, lines, expected):
    fetched = get(site.put("/wiki.de.vec", *answers), lines=lines)

    assert fetched.path.read_bytes() == expected
    assert fetched.path.name.startswith(f"{lines}-lines-")
    ranges = [sent.get("Range") for _, sent in site.requests]
    assert ranges == [None, "bytes=5005-"][: len(answers)]


@pytest.mark.parametrize(
    "url",
    ["http://h/" + "x" * 300, "http://h/a%0Ab", "http://h/..%2f..%2fetc", "http://h/;rm -rf $(x)"],
)
def test_names_are_safe(url):
    name = Source(url, "a").name
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,120}", name)
    assert name != Source(url + "/", "a").name


def test_a_full_disk_is_reported(site, get, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(http, "_find_validator", full)  # called as it writes
    with pytest.raises(NmtError, match=r"a\.part could not be written \(No space"):
        get(site.put("/a", whole(CONTENT)))


def endless(handler):
    """Send at most a hundred megabytes, because a test must end."""
    handler.answer(200)
    for _ in range(1000):
        handler.wfile.write(b"x" * 100_000)


@pytest.mark.parametrize(
    ("behaviour", "lines"), [(endless, None), (whole(CONTENT), None), (endless, 9)]
)
def test_too_large_files_are_refused(site, get, tmp_path, behaviour, lines):
    config = QUICK.model_copy(update={"max_bytes": 50_000})
    url = site.put("/a", behaviour)

    said = message(get, url, config, lines=lines)
    assert said.startswith(f"{url} is larger than download.http.max_bytes (50,000 bytes)")
    assert len(site.requests) == 1
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_files_of_the_largest_size_are_fetched(site, get):
    config = QUICK.model_copy(update={"max_bytes": len(CONTENT)})
    assert get(site.put("/a", BROKEN, whole(CONTENT)), config).sha256 == DIGEST
    config = QUICK.model_copy(update={"max_bytes": 200_000})
    assert get(site.put("/b", whole(b"word 1 2\n" * 100_000)), config, lines=10).size_bytes == 90
