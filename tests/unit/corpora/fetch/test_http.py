import errno
import gzip
import json
import logging
import re
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx2
import pytest

from nmt_core.base.errors import CorpusError, DiskError, DownloadError
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.access import check_redirect
from nmt_core.corpora.fetch.address import VARIABLE
from nmt_core.corpora.fetch.kept import quarantine
from nmt_core.corpora.fetch.source import Source
from tests.support.downloads import CONTENT, DIGEST, QUICK, finals, message
from tests.support.web_server import (
    claiming,
    redirect,
    serving,
    silent,
    status,
    whole,
    without_ranges,
)


def test_a_file_arrives_whole(site, get, tmp_path):
    fetched = get(site.put("/a/de-en.tgz", whole(CONTENT)), sha256=DIGEST.upper())

    assert fetched.path.read_bytes() == CONTENT
    assert (len(CONTENT), DIGEST) == (fetched.size_bytes, fetched.sha256)
    assert fetched.path.name.endswith("-de-en.tgz")
    record = json.loads((tmp_path / f"{fetched.path.name}.json").read_text())
    version = {"etag": '"v1"', "last_modified": "", "length": len(CONTENT)}
    assert {"size_bytes": len(CONTENT), "sha256": DIGEST, **version} == record
    assert not list(tmp_path.glob("*.part*"))


def test_servers_are_asked_not_to_compress(site, get):
    def compress_if_asked(handler):
        asked = "gzip" in handler.headers.get("Accept-Encoding", "gzip")
        content = gzip.compress(CONTENT) if asked else CONTENT
        handler.answer(200, Content_Length=len(content))
        handler.wfile.write(content)

    assert get(site.put("/a", compress_if_asked)).path.read_bytes() == CONTENT


def test_what_is_there_is_not_fetched_again(site, get):
    url = site.put("/a", whole(CONTENT))
    assert get(url) == get(url)
    assert len(site.requests) == 1


def test_two_who_want_the_same_file_do_not_write_into_each_others(site, get):
    begun = Event()

    def slowly(handler):
        handler.answer(200, Content_Length=len(CONTENT))
        handler.wfile.write(CONTENT[:1000])
        begun.set()
        time.sleep(0.2)
        handler.wfile.write(CONTENT[1000:])

    url = site.put("/a", slowly, without_ranges(CONTENT))
    with ThreadPoolExecutor() as threads:
        first = threads.submit(get, url)
        assert begun.wait(10)
        second = get(url)

    assert first.result() == second
    assert second.path.read_bytes() == CONTENT
    assert len(site.requests) == 1


def test_a_file_that_rotted_is_fetched_again(site, get):
    url = site.put("/a", whole(CONTENT))
    get(url).path.write_bytes(b"rot")

    assert get(url).path.read_bytes() == CONTENT


def test_a_quarantined_file_is_fetched_again(site, get):
    url = site.put("/a", whole(CONTENT))
    path = get(url).path

    assert quarantine(path).name == f"{path.name}.rejected"
    assert get(url).path.read_bytes() == CONTENT
    assert len(site.requests) == 2


def test_a_broken_transfer_goes_on_where_it_broke(site, get):
    half = len(CONTENT) // 2
    fetched = get(site.put("/a", whole(CONTENT, send=half), whole(CONTENT)))

    assert fetched.path.read_bytes() == CONTENT
    assert site.requests[1][1]["Range"] == f"bytes={half}-"
    assert site.requests[1][1]["If-Range"] == '"v1"'


def test_a_later_run_goes_on_where_an_earlier_broke(site, get):
    url = site.put("/a", whole(CONTENT, send=1000), status(404))
    assert "404" in message(get, url)
    site.put("/a", whole(CONTENT))

    assert get(url).path.read_bytes() == CONTENT
    assert site.requests[-1][1]["Range"] == "bytes=1000-"


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(site, get):
    other = CONTENT[::-1]
    fetched = get(site.put("/a", whole(CONTENT, send=1000), whole(other, tag='"v2"')))

    assert fetched.path.read_bytes() == other


def test_a_part_of_another_version_is_never_joined(site, get):
    """A server that ignores If-Range gives itself away by its ETag."""
    other = CONTENT[::-1]

    def careless(handler):
        rest = other[1000:]
        range_ = f"bytes 1000-{len(other) - 1}/{len(other)}"
        handler.answer(206, Content_Length=len(rest), Content_Range=range_, ETag='"v2"')
        handler.wfile.write(rest)

    fetched = get(site.put("/a", whole(CONTENT, send=1000), careless, whole(other, tag='"v2"')))
    assert fetched.path.read_bytes() == other


def confused(handler):
    handler.answer(206, Content_Length=5, Content_Range="bytes 5-9/10", ETag='"v1"')


@pytest.mark.parametrize(
    "answers",
    [
        [without_ranges(CONTENT, send=1000), without_ranges(CONTENT)],
        [whole(CONTENT, send=1000), confused, whole(CONTENT)],
        [whole(CONTENT, send=1000), status(416), whole(CONTENT)],
    ],
)
def test_a_server_without_ranges_or_with_confused_ones_begins_again(site, get, answers):
    url = site.put("/a", *answers)

    assert get(url).path.read_bytes() == CONTENT
    assert "Range" not in site.requests[len(answers) - 1][1]


@pytest.mark.parametrize("code", [416, 429, 500, 503])
def test_a_busy_server_is_asked_again(site, get, code):
    assert get(site.put("/a", status(code), status(code), whole(CONTENT))).sha256 == DIGEST


def test_a_server_that_stays_busy_is_given_up(site, get, tmp_path):
    url = site.put("/a", status(503))

    told = message(get, url)
    assert told.startswith(f"{url} could not be fetched in 3 attempts: the server answered 503")
    assert "set download.corpora.europarl.url to a mirror" in told
    assert len(site.requests) == 3
    assert not finals(tmp_path)


def test_retry_after_is_heeded_up_to_the_longest_wait(site, get, capsys):
    config = QUICK.model_copy(update={"max_backoff_seconds": 0.05})
    get(site.put("/a", status(429, Retry_After=3600), whole(CONTENT)), config)

    assert "429 Too Many Requests; trying again in 0 s" in capsys.readouterr().err


@pytest.mark.parametrize(("code", "words"), [(404, "Not Found"), (403, "Forbidden")])
def test_a_refusal_is_not_asked_again(site, get, tmp_path, code, words):
    url = site.put("/a", status(code))

    assert message(get, url).startswith(
        f"{url} answered {code} {words}; set download.corpora.europarl.url"
    )
    assert len(site.requests) == 1
    assert not finals(tmp_path)


def test_a_transfer_shorter_than_its_length_is_refused(site, get, tmp_path):
    url = site.put("/a", claiming(5000, CONTENT[:3000]))

    told = message(get, url)
    assert told.startswith(f"{url} could not be fetched in 3 attempts: the connection failed")
    assert "received 3000 bytes, expected 5000" in told
    assert not finals(tmp_path)


def test_a_rest_that_does_not_complete_the_file_is_refused(site, get, tmp_path):
    """The length of an answer may be right for the answer and wrong for the file."""

    def short(handler):
        start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        range_ = f"bytes {start}-{start + 9}/{len(CONTENT)}"
        handler.answer(206, Content_Length=10, Content_Range=range_, ETag='"v1"')
        handler.wfile.write(CONTENT[start : start + 10])

    told = message(get, site.put("/a", whole(CONTENT, send=1000), short))
    assert f"in 3 attempts: the transfer ended after 1020 of {len(CONTENT)} bytes; check" in told
    assert not finals(tmp_path)


@pytest.mark.parametrize("size", ["5-9/*", "1000-102399/*"])
def test_a_range_of_a_file_of_unknown_size_is_joined_if_it_fits(site, get, size):
    def vague(handler):
        handler.answer(206, Content_Length=len(CONTENT) - 1000, Content_Range=f"bytes {size}")
        handler.wfile.write(CONTENT[1000:])

    url = site.put("/a", whole(CONTENT, send=1000), vague, whole(CONTENT))
    assert get(url).path.read_bytes() == CONTENT


def test_a_weak_tag_names_no_bytes(site, get):
    """RFC 9110: it names what means the same, so the bytes may differ."""
    weak = whole(CONTENT, tag='W/"v1"', send=1000), whole(CONTENT, tag='W/"v1"')

    assert get(site.put("/a", *weak)).path.read_bytes() == CONTENT
    assert "Range" not in site.requests[1][1]


def test_what_is_complete_but_not_named_needs_no_request(site, get):
    """A run may be killed between the last byte and the name."""
    url = site.put("/a", whole(b"a\nb\nc\n"))
    path = get(url, lines=2).path
    path.rename(f"{path}.part")

    assert get(url, lines=2).path.read_bytes() == b"a\nb\n"
    assert len(site.requests) == 1


def test_a_silent_server_is_given_up(site, get):
    url = site.put("/a", silent(1.0))
    config = QUICK.model_copy(update={"attempts": 2, "timeout_seconds": 0.1})

    assert "in 2 attempts: the server was silent for too long" in message(get, url, config)


def test_nobody_listening_is_said(get):
    with serving() as site:
        url = site.put("/gone", whole(CONTENT))

    assert "the connection failed ([Errno 111] Connection refused)" in message(get, url)


def test_progress_earns_new_attempts(site, get):
    """Many breaks are fine as long as each attempt brings something."""
    config = QUICK.model_copy(update={"attempts": 2})

    assert get(site.put("/a", whole(CONTENT, send=20_000)), config).sha256 == DIGEST
    assert len(site.requests) == 6


def test_a_wrong_digest_is_refused_and_kept_aside(site, get, tmp_path):
    url = site.put("/de-en.tgz", whole(CONTENT))
    wanted = "0" * 64

    told = message(get, url, sha256=wanted)
    [rejected] = tmp_path.glob("*.rejected")
    assert f"has the SHA-256 {DIGEST}, expected was {wanted}; it was kept as {rejected}" in told
    assert "change the checksum beside download.corpora.europarl.url" in told
    assert rejected.name.endswith("-de-en.tgz.rejected")
    assert rejected.read_bytes() == CONTENT


def test_redirects_are_followed(site, get):
    site.put("/b", whole(CONTENT))
    assert get(site.put("/a", redirect("/b"))).sha256 == DIGEST


def test_a_redirect_loop_ends(site, get):
    url = site.put("/a", redirect("/a"))

    assert message(get, url).startswith(f"{url} redirects more than 5 times;")
    assert len(site.requests) == 6


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ("http://example.org/a", "to an address without encryption"),
        ("https://169.254.169.254/a", "to an address of a cloud's secrets (169.254.169.254)"),
        ("https://[64:ff9b::7f00:1]/a", "into a private network (64:ff9b::7f00:1)"),
        ("https://localhost/a", "into a private network (localhost)"),
        ("https://10.0.0.1/a", "into a private network (10.0.0.1)"),
        ("https://[::1]/a", "into a private network (::1)"),
        ("ftp://example.org/a", "to ftp:, which is not the web"),
        ("file:///etc/passwd", "to file:, which is not the web"),
    ],
)
def test_a_redirect_to_a_worse_place_is_refused(goal, reason):
    with pytest.raises(DownloadError, match=re.escape(f"redirects {reason}")):
        check_redirect(httpx2.URL("https://example.com/x"), httpx2.URL(goal))


@pytest.mark.parametrize("origin", ["10.0.0.1", "127.0.0.1", "169.254.0.1"])
@pytest.mark.parametrize("goal", ["169.254.169.254", "[fe80::1]", "[2002:a9fe:a9fe::]"])
def test_nobody_may_lead_us_to_our_own_link(origin, goal):
    """A server of the same private network neither; between two of its machines we follow."""
    with pytest.raises(
        DownloadError, match=f"to an address of a cloud.s secrets .*{goal.strip('[]')}"
    ):
        check_redirect(httpx2.URL(f"http://{origin}/x"), httpx2.URL(f"http://{goal}/latest"))
    check_redirect(httpx2.URL("http://10.0.0.1/x"), httpx2.URL("http://10.0.0.2/y"))


@pytest.mark.parametrize(
    "place", ["{}", "{}.json", "{}.part", "{}.part.json", "before-{}", "before-{}.json", "{}.lock"]
)
def test_a_folder_in_the_place_of_a_file_is_named(site, get, again, tmp_path, place):
    url = site.put("/de-en.tgz", whole(CONTENT))
    place = tmp_path / place.format(get(url).path.name)
    place.unlink(missing_ok=True)
    place.mkdir()

    for ask in (get, again):
        assert message(ask, url).startswith(f"{place} is a folder")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/a", "de-en.tgz"])
def test_only_the_web_is_fetched(get, url):
    assert "download.corpora.europarl.url must begin with http:// or https://" in message(get, url)


def test_no_address_is_said(get):
    told = message(get, "http://a:canary")
    assert told.startswith("download.corpora.europarl.url holds an address that cannot be read")


@pytest.fixture
def netrc(tmp_path_factory, monkeypatch):
    """Write the file that says who we are."""
    path = tmp_path_factory.mktemp("home") / ".netrc"
    monkeypatch.setenv("HOME", str(path.parent))

    def netrc(text, *, mode=0o600):
        path.write_text(text)
        path.chmod(mode)

    return netrc


def test_secrets_are_sent_but_never_shown(site, get, netrc, monkeypatch, tmp_path, capsys, caplog):
    caplog.set_level(logging.INFO)
    netrc("machine 127.0.0.1 login anna password canary")
    monkeypatch.setenv(VARIABLE, "canary & co")
    site.put("/a", status(503), status(404))
    url = f"http://127.0.0.1:{site.port}/a?token={{secret}}"

    told = message(get, url)
    assert f"http://127.0.0.1:{site.port}/a?... answered 404" in told
    assert site.requests[0][1]["Authorization"] == "Basic " + b64encode(b"anna:canary").decode()
    assert site.queries[0] == "token=canary%20%26%20co"
    site.put("/a", whole(CONTENT))
    fetched = get(url)
    shown_places = [told, caplog.text, *capsys.readouterr(), fetched.url, fetched.path.name]
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
    ("text", "mode"),
    [("machine a login b password canary", 0o644), ("\ncanary", 0o600)],
)
def test_a_netrc_that_cannot_be_used_is_said_without_what_it_holds(site, get, netrc, text, mode):
    netrc(text, mode=mode)
    told = message(get, site.put("/a", whole(CONTENT)))

    assert told.startswith("~/.netrc")
    assert told.endswith("let nobody else read it (chmod 600)")
    assert "canary" not in told
    assert not site.requests


def test_a_server_that_wants_a_password_is_told_with_the_way_to_give_one(site, get):
    told = message(get, site.put("/a", status(401)))

    assert "answered 401 Unauthorized; write a line 'machine HOST login NAME password" in told


def test_a_secret_that_is_not_there_is_said(site, get, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    url = site.put("/a", whole(CONTENT))

    told = message(get, f"{url}?key={{secret}}")
    assert told.startswith(f"{url}?... asks for a secret")
    assert VARIABLE in told
    assert not site.requests


def test_only_the_first_lines_are_fetched(site, get):
    lines = b"".join(b"word%d 1 2\n" % number for number in range(10_000))
    url = site.put("/wiki.de.vec", whole(lines))

    fetched = get(url, lines=100)
    assert b"".join(lines.splitlines(keepends=True)[:100]) == fetched.path.read_bytes()
    assert fetched.path.name.startswith("100-lines-")


def test_the_first_lines_are_resumed(site, get):
    lines = b"".join(b"word%d 1 2\n" % number for number in range(10_000))
    url = site.put("/wiki.de.vec", whole(lines, send=5005), whole(lines))

    assert (
        b"".join(lines.splitlines(keepends=True)[:1000]) == get(url, lines=1000).path.read_bytes()
    )
    assert site.requests[1][1]["Range"] == "bytes=5005-"


def test_a_file_of_fewer_lines_comes_whole(site, get):
    assert get(site.put("/a", whole(b"a\nb")), lines=10).path.read_bytes() == b"a\nb"


@pytest.mark.parametrize(
    "url",
    ["http://h/" + "x" * 300, "http://h/a%0Ab", "http://h/..%2f..%2fetc", "http://h/;rm -rf $(x)"],
)
def test_names_are_safe(url):
    name = Source(url, "a").name
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,120}", name)
    assert name != Source(url + "/", "a").name


def test_a_full_disk_is_said(site, get, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(http, "asdict", full)  # as it writes, so that nothing else is hit
    with pytest.raises(DiskError, match=r"a\.part could not be written \(No space"):
        get(site.put("/a", whole(CONTENT)))


def endless(handler):
    """Send a hundred megabytes, for who takes them: a test must end."""
    handler.answer(200)
    for _ in range(1000):
        handler.wfile.write(b"x" * 100_000)


@pytest.mark.parametrize(
    ("behaviour", "lines"), [(endless, None), (whole(CONTENT), None), (endless, 9)]
)
def test_a_file_that_is_too_large_is_refused(site, get, tmp_path, behaviour, lines):
    config = QUICK.model_copy(update={"max_bytes": 50_000})
    url = site.put("/a", behaviour)

    told = message(get, url, config, lines=lines)
    assert told.startswith(f"{url} is larger than download.http.max_bytes (50,000 bytes)")
    assert len(site.requests) == 1
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_a_file_may_be_as_large_as_is_allowed(site, get):
    config = QUICK.model_copy(update={"max_bytes": len(CONTENT)})
    url = site.put("/a", whole(CONTENT, send=1000), whole(CONTENT))

    assert get(url, config).sha256 == DIGEST


def test_the_first_lines_of_a_large_file_may_be_fetched(site, get):
    config = QUICK.model_copy(update={"max_bytes": 200_000})
    lines = b"word 1 2\n" * 100_000

    assert get(site.put("/a", whole(lines)), config, lines=10).size_bytes == 90


def unmeasured(content):
    """Answer without a length: the end of the connection is the end of the file."""

    def behave(handler):
        handler.answer(200)
        handler.wfile.write(content)

    return behave


def must_be_whole(path):
    if path.read_bytes() != CONTENT:
        raise CorpusError(f"{path.name} is damaged")


def test_a_transfer_cut_off_without_a_length_is_noticed(site, get):
    url = site.put("/a", unmeasured(CONTENT[:5000]), unmeasured(CONTENT))

    assert get(url, check=must_be_whole).sha256 == DIGEST
    assert len(site.requests) == 2


def test_a_file_without_a_length_that_is_never_whole_is_given_up(site, get, tmp_path):
    url = site.put("/a", unmeasured(CONTENT[:5000]))

    told = message(get, url, check=must_be_whole)
    assert "in 3 attempts: the server told no length, and what came is not whole: " in told
    assert not finals(tmp_path)
