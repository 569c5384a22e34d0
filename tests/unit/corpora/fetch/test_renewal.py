"""A renewed file replaces the cached one only when it is whole and usable."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.errors import CorpusError, DownloadError
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.http import fetch, renew
from nmt_core.corpora.fetch.source import Source
from tests.support.downloads import CONTENT, DIGEST, QUICK, message
from tests.support.web_server import (
    status,
    whole,
    without_ranges,
)

OTHER = CONTENT[::-1] + b"more"
OTHER_DIGEST = hashlib.sha256(OTHER).hexdigest()
MONDAY, TUESDAY = "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"


def test_a_file_that_changed_is_fetched_and_the_one_before_stays_at_hand(site, get, again):
    url = site.put("/a", whole(CONTENT))
    before = get(url)
    site.put("/a", whole(OTHER, tag='"v2"'))

    assert OTHER == again(url).path.read_bytes()
    asked = len(site.requests)
    assert get(url).sha256 == get(url, sha256=OTHER_DIGEST).sha256 == OTHER_DIGEST
    kept = get(url, renewed={before.path.name: DIGEST})
    assert kept.path.read_bytes() == CONTENT
    assert len(site.requests) == asked


SAME, NEW = CONTENT, CONTENT[::-1]


def tagless(content, date=MONDAY):
    return without_ranges(content, Last_Modified=date)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (whole(SAME), whole(SAME), SAME),
        (whole(SAME), whole(SAME, tag='"v2"'), SAME),
        (whole(SAME, tag='W/"v1"'), whole(SAME, tag='W/"v1"'), SAME),
        (tagless(SAME), tagless(OTHER, TUESDAY), OTHER),
        (tagless(SAME), tagless(OTHER), OTHER),
        (tagless(SAME), tagless(NEW, TUESDAY), NEW),
        (tagless(SAME), tagless(NEW), SAME),
        (
            without_ranges(SAME, Last_Modified=MONDAY, ETag='"v1"'),
            without_ranges(NEW, Last_Modified=MONDAY, ETag='"v2"'),
            NEW,
        ),
        (without_ranges(SAME), without_ranges(SAME), SAME),
        (without_ranges(SAME), without_ranges(NEW), NEW),
    ],
    ids=["tag", "other tag", "weak tag", "date and length", "length", "date", "neither",
         "tag before date", "no version, same", "no version, other"],
)  # fmt: skip
def test_versions_are_compared_by_tag_or_date_and_length(
    site, get, again, tmp_path, before, now, expected
):
    """Without these, the server has to send the file."""
    url = site.put("/a", before)
    cached = get(url)
    site.put("/a", now)
    renewed = again(url)

    assert renewed.path.read_bytes() == expected
    assert get(url) == renewed
    assert bool([*tmp_path.glob("before-*")]) == (expected != SAME)
    assert (renewed == cached) == (expected == SAME)


def test_the_tag_is_sent_and_recorded(site, get, again):
    url = site.put("/a", whole(CONTENT))
    get(url)
    site.put("/a", whole(CONTENT, tag='"v2"'))
    again(url)
    again(url)
    assert [sent.get("If-None-Match") for _, sent in site.requests] == [None, '"v1"', '"v2"']


def test_a_record_without_version_is_asked_for(site, get, again):
    url = site.put("/a", whole(CONTENT))
    cached = get(url)
    record = cached.path.with_name(f"{cached.path.name}.json")
    record.write_text(json.dumps({"size_bytes": len(CONTENT), "sha256": DIGEST}))

    assert cached == again(url)
    assert "If-None-Match" not in site.requests[-1][1]


def test_an_answer_nobody_asked_for_is_refused(site, again):
    url = site.put("/a", status(304))

    with pytest.raises(DownloadError, match="answered 304 Not Modified"):
        again(url)


@pytest.mark.parametrize("now", [status(503), status(404)])
def test_a_server_that_is_away_takes_nothing_with_it(site, get, again, tmp_path, now):
    url = site.put("/a", whole(CONTENT))
    at_hand = get(url)
    lying = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    site.put("/a", now)

    with pytest.raises(DownloadError, match=r"answered (503|404)"):
        again(url)
    assert lying == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert at_hand == get(url)


def test_a_break_costs_nothing_and_is_resumed(site, get, again):
    url = site.put("/a", whole(CONTENT))
    at_hand = get(url)
    site.put("/a", whole(OTHER, tag='"v2"', send=1000), status(404))
    with pytest.raises(DownloadError):
        again(url)

    assert at_hand == get(url) == get(url, sha256=DIGEST)
    site.put("/a", whole(OTHER, tag='"v2"'))
    assert again(url).sha256 == OTHER_DIGEST
    sent = site.requests[-1][1]
    expected = {"If-None-Match": '"v1"', "If-Range": '"v2"', "Range": "bytes=1000-"}
    assert expected == {name: sent[name] for name in expected}


def test_a_part_of_what_was_taken_back_is_removed(site, get, again, tmp_path):
    url = site.put("/a", whole(CONTENT))
    at_hand = get(url)
    site.put("/a", whole(OTHER, tag='"v2"', send=1000), status(404))
    with pytest.raises(DownloadError):
        again(url)
    site.put("/a", whole(CONTENT))

    assert at_hand == again(url)
    assert not list(tmp_path.glob("*.part*"))


def test_what_cannot_be_the_file_does_not_take_its_place(site, get, again, tmp_path):
    def check(path):
        raise CorpusError(f"{path.name} is no archive")

    url = site.put("/a", whole(CONTENT))
    at_hand = get(url)
    site.put("/a", whole(b"<html>maintenance</html>", tag='"v2"'))

    with pytest.raises(DownloadError) as told:
        again(url, check=check)
    rejected = at_hand.path.with_name(f"{at_hand.path.name}.rejected")
    assert f"is no archive; {url} sent it, and it was kept as {rejected}" in str(told.value)
    assert at_hand == get(url)
    assert not list(tmp_path.glob("*.part*"))


def test_only_the_first_lines_are_renewed(site, get, again):
    lines = [b"word%d 1 2\n" % number for number in range(1000)]
    url = site.put("/wiki.de.vec", whole(b"".join(lines)))
    at_hand = get(url, lines=10)
    site.put("/wiki.de.vec", whole(b"".join([*lines, b"new 1 2\n"]), tag='"v2"'))
    assert at_hand == again(url, lines=10)

    site.put("/wiki.de.vec", whole(b"".join([b"new 1 2\n", *lines]), tag='"v3"'))
    assert b"".join([b"new 1 2\n", *lines[:9]]) == again(url, lines=10).path.read_bytes()


@pytest.mark.parametrize("step", range(6))
def test_a_renewal_that_is_cut_off_leaves_the_old_file_or_the_new(
    site, get, again, monkeypatch, step
):
    """After each thing that is done to the disk once the new file is there."""

    class CutOffError(Exception):
        pass

    def cut_off(done):
        def may_stop(*arguments):
            if len(steps) == step:
                raise CutOffError
            steps.append(done)
            return done(*arguments)

        return may_stop

    url = site.put("/a", whole(CONTENT))
    get(url)
    site.put("/a", whole(OTHER, tag='"v2"'))
    steps = []
    with monkeypatch.context() as patched:
        transfer = http._Transfer
        keep = transfer._keep

        def interrupted(*arguments):
            patched.setattr(http.files, "write_json", cut_off(files.write_json))
            patched.setattr(http.Path, "replace", cut_off(http.Path.replace))
            return keep(*arguments)

        patched.setattr(transfer, "_keep", interrupted)
        with pytest.raises(CutOffError):
            again(url)
    asked = len(site.requests)

    assert get(url, sha256=DIGEST).path.read_bytes() == CONTENT
    assert len(site.requests) == asked
    assert again(url).sha256 == OTHER_DIGEST
    assert get(url, sha256=DIGEST).path.read_bytes() == CONTENT


def test_a_wrong_digest_does_not_cost_the_file_at_hand(site, get):
    url = site.put("/a", whole(CONTENT))
    at_hand = get(url)
    assert "expected was" in message(get, url, sha256="0" * 64)

    asked = len(site.requests)
    assert at_hand == get(url)
    assert asked == len(site.requests)


def test_another_machine_fetches_what_was_renewed_or_says_that_it_cannot(site, get, tmp_path):
    url = site.put("/a", whole(CONTENT))
    name = Source(url, "a").name
    assert get(url, renewed={name: DIGEST}).sha256 == DIGEST

    wanted = "0" * 64
    told = message(get, url, renewed={name: wanted, "other": DIGEST})
    assert f"has the SHA-256 {DIGEST}, expected was {wanted}; it was kept as" in told
    assert "make refresh" in told


def test_a_promise_counts_more_than_what_was_renewed(site, get):
    url = site.put("/a", whole(CONTENT))
    name = Source(url, "a").name

    assert get(url, sha256=DIGEST, renewed={name: "0" * 64}).sha256 == DIGEST


@settings(max_examples=10)
@given(
    history=st.lists(
        st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from([None, 0, 30_000])), max_size=5
    ),
    known=st.booleans(),
)
def test_a_renewal_brings_what_the_server_has_or_leaves_what_was_there(
    web_server, tmp_path_factory, history, known
):
    """Whatever was there before, if anything, and wherever transfers broke."""
    versions = [CONTENT, OTHER, b"".join([CONTENT, OTHER])]
    folder = tmp_path_factory.mktemp("downloads")
    source = Source(web_server.put("/law", whole(CONTENT)), "download.corpora.europarl.url")
    at_hand = (fetch if known else renew)(source, folder, QUICK)
    for number, tagged, broken_at in history:
        content = versions[number]
        full = whole(content, tag=f'"{number}"') if tagged else without_ranges(content)
        broken = whole(content, tag=f'"{number}"', send=broken_at)
        web_server.put("/law", *([full] if broken_at is None else [broken, status(404)]))
        try:
            at_hand = renew(source, folder, QUICK)
        except DownloadError:
            assert broken_at is not None
        else:
            assert content == at_hand.path.read_bytes()
        assert at_hand == fetch(source, folder, QUICK)


def test_a_file_that_rotted_is_renewed_whatever_its_record_says(site, get, again):
    url = site.put("/a", whole(CONTENT))
    get(url).path.write_bytes(b"rot")

    assert again(url).path.read_bytes() == CONTENT


@pytest.mark.parametrize("suffix", [".json", ".part.json"])
@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"etag": 7}', b'{"sha256": []}', b"[" * 100_000],
)
def test_a_damaged_record_is_none(site, get, again, tmp_path, suffix, damage):
    """A failing disk costs one more transfer, and not every run until a person comes."""
    url = site.put("/a", whole(CONTENT, send=1000), status(404))
    message(get, url)
    site.put("/a", whole(CONTENT))
    name = Source(url, "a").name
    if suffix == ".json":
        get(url)
    (tmp_path / f"{name}{suffix}").write_bytes(damage)

    assert get(url).path.read_bytes() == CONTENT
    (tmp_path / f"{name}{suffix}").write_bytes(damage)
    assert again(url).path.read_bytes() == CONTENT
    assert json.loads((tmp_path / f"{name}.json").read_text())["sha256"] == DIGEST
    assert not list(tmp_path.glob("before-*"))
