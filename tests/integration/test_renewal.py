"""Retraining sees new files and changed archives, and nothing that failed on the way."""

import hashlib
import logging
import sys
from pathlib import Path

import pytest

from nmt_core.base.errors import CorpusError, DownloadError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.fetch.source import Source
from stages import download, paths
from stages.configure import __main__ as configure
from stages.configure import compose, refresh
from stages.configure.sections import build_all, check_all
from tests.support import opus
from tests.support.projects import PROJECT
from tests.support.web_server import status, whole, without_ranges


@pytest.fixture
def project(project):
    (project / "conf").symlink_to(PROJECT / "conf")
    return project


@pytest.fixture
def type_(monkeypatch):
    """Type the command of a program, and return what params.yaml holds then."""

    def type_(program, *arguments):
        monkeypatch.setattr(sys, "argv", ["", *arguments])
        program.main()
        return check_all()["download"]

    return type_


def sentences(first, last, code="de"):
    return [(f"{code} Satz {number}", f"Sentence {number}") for number in range(first, last)]


OLD, NEW, NEWEST = (opus.archive(sentences(0, last)) for last in (60, 80, 100))


def digest(content):
    return hashlib.sha256(content).hexdigest()


def address(site, name="{pair}.zip"):
    return f"http://127.0.0.1:{site.port}/{name}"


def europarl(site, *, corpus=None, **settings):
    """The sections of a project whose archives lie at the test's server."""
    values = compose.compose_groups(["data=europarl"])
    values["download"]["corpora"]["europarl"] |= {"url": address(site), **(corpus or {})}
    values["download"]["http"] |= {"attempts": 1, "timeout_seconds": 2.0}
    values["download"]["split"] |= {"validation_per_10000": 2500.0, "test_per_10000": 2500.0}
    values["download"] |= settings
    return build_all(values, source="test")


def origins(settings, folder, downloads=paths.DOWNLOADS):
    """The checksums of what the download stage takes."""
    report = download.run(
        settings,
        corpus=folder / "corpus",
        vectors=folder / "vectors",
        downloads=downloads,
        workers=WorkersConfig(),
    )
    return [origin["sha256"] for origin in report.corpora["europarl"].origins]


def test_every_machine_takes_what_was_renewed(site, project):
    url = site.put("/de-en.zip", whole(OLD))
    first, said = refresh.refresh_pins(europarl(site))
    assert [f"{url} had no pin and got one: SHA-256 {digest(OLD)}"] == said
    site.put("/de-en.zip", whole(NEW, tag='"v2"'))
    second, said = refresh.refresh_pins(first)

    assert [f"{url} changed: SHA-256 {digest(NEW)}"] == said
    asked = len(site.requests)
    assert (second, said) == refresh.refresh_pins(first)  # cut off before params.yaml was written
    assert ['"v2"'] == [sent["If-None-Match"] for _, sent in site.requests[asked:]]
    assert origins(second["download"], project) == [digest(NEW)]
    assert origins(second["download"], project, project / "clone") == [digest(NEW)]
    assert origins(first["download"], project) == [digest(OLD)]
    site.put("/de-en.zip", whole(NEWEST, tag='"v3"'))
    with pytest.raises(DownloadError, match="the publisher changed the file after that"):
        origins(second["download"], project, project / "late")
    assert origins(second["download"], project) == [digest(NEW)]


def test_a_renewal_that_finds_nothing_new_changes_nothing(site, project):
    site.put("/de-en.zip", whole(OLD))
    given, _ = refresh.refresh_pins(europarl(site))

    assert (given, []) == refresh.refresh_pins(given)
    assert (given, []) == refresh.refresh_pins(given, downloads=project / "clone")
    assert given["download"].corpora["europarl"].renewed == {
        Source(address(site, "de-en.zip"), "").name: digest(OLD)
    }


def test_a_promise_is_kept_and_nobody_asked(site, project):
    site.put("/de-en.zip", whole(NEW))
    given = europarl(site, corpus={"sha256": digest(OLD)})

    assert (given, []) == refresh.refresh_pins(given)
    assert not site.requests


@pytest.mark.parametrize(
    "now",
    [status(503), status(404), whole(NEW, tag='"v2"', send=100), whole(b"<html>", tag='"v2"')],
    ids=["away", "gone", "broken off", "no archive"],
)
def test_what_fails_is_said_and_costs_nothing(site, project, caplog, now):
    site.put("/de-en.zip", whole(OLD))
    given, _ = refresh.refresh_pins(europarl(site))
    site.put("/de-en.zip", now)

    with caplog.at_level(logging.WARNING, "stages.configure.refresh"):
        assert (given, []) == refresh.refresh_pins(given)
    [told] = caplog.messages
    assert address(site, "de-en.zip") in told
    assert told.endswith("; it stays as it is here")
    assert origins(given["download"], project) == [digest(OLD)]
    assert origins(europarl(site)["download"], project) == [digest(OLD)]


def test_failure_of_one_file_does_not_stop_others(site, project, caplog):
    languages = {"de": "Satz", "fr": "Phrase"}

    def put(last, tag):
        for code, word in languages.items():
            lines = "".join(f"{word} {number}\n" for number in range(last)).encode()
            site.put(f"/{code}.txt", whole(lines, tag=tag))
        return hashlib.sha256(lines).hexdigest()

    two = {"kind": "url", "url": address(site, "de.txt"), "target_url": address(site, "fr.txt")}
    put(60, '"v1"')
    given, said = refresh.refresh_pins(europarl(site, corpora={"europarl": two}))
    assert len(said) == 2
    french = put(80, '"v2"')
    site.put("/de.txt", status(503))
    fresh, said = refresh.refresh_pins(given)

    assert [f"{address(site, 'fr.txt')} changed: SHA-256 {french}"] == said
    assert len(caplog.messages) == 1
    assert french in fresh["download"].corpora["europarl"].renewed.values()


def test_other_languages_are_not_held_to_the_pins_of_these(site, project):
    french = opus.archive(sentences(0, 60, "fr"), "Europarl", "fr", "en")
    site.put("/de-en.zip", whole(OLD))
    site.put("/en-fr.zip", whole(french))
    german, _ = refresh.refresh_pins(europarl(site))
    pins = german["download"].corpora["europarl"].renewed
    languages = {"source": "fr", "target": "en"}
    given = europarl(site, languages=languages, corpus={"renewed": pins})

    assert origins(given["download"], project) == [digest(french)]
    both = pins | {Source(address(site, "en-fr.zip"), "").name: digest(french)}
    at_rest = europarl(site, languages=languages, corpus={"renewed": both})
    assert (at_rest, []) == refresh.refresh_pins(at_rest)
    fresh, _ = refresh.refresh_pins(given)
    assert [digest(french)] == [*fresh["download"].corpora["europarl"].renewed.values()]


def test_vectors_are_renewed(site, project):
    def put(rows, tag):
        for code in ("de", "en"):
            lines = "".join(f"{code}{row} 1 2\n" for row in rows)
            site.put(f"/{code}.vec", whole(f"{len(rows)} 2\n{lines}".encode(), tag=tag))

    site.put("/de-en.zip", whole(OLD))
    vectors = {"kind": "download", "url": address(site, "{language}.vec"), "rows": 3}
    put(range(9), '"v1"')
    given, _ = refresh.refresh_pins(europarl(site, vectors=vectors))
    put(range(1, 9), '"v2"')
    fresh, said = refresh.refresh_pins(given)

    assert [sentence.split(" changed")[0] for sentence in said] == [
        address(site, f"{code}.vec") for code in ("de", "en")
    ]
    origins(fresh["download"], project)
    content = (project / "vectors" / "source.vec").read_text()
    assert content == "3 2\nde1 1 2\nde2 1 2\nde3 1 2\n"
    put([], '"v3"')
    site.put("/de.vec", whole(b"<html>"))
    site.put("/en.vec", whole(b"3 0\n"))
    assert (fresh, []) == refresh.refresh_pins(fresh)


def test_files_are_pinned_again(project):
    settings = [f"download.corpora.files.{split}=null" for split in ("validation", "test")]
    settings += [
        f"download.corpora.files.train.{side}=text/*.{code}"
        for side, code in (("source", "de"), ("target", "en"))
    ]
    given = build_all(compose.compose_groups(["data=files", *settings]), source="test")
    (project / "text").mkdir()

    def put(name):
        for code in ("de", "en"):
            (project / "text" / f"{name}.{code}").write_text(f"{name}\n")

    put("may")
    pinned, said = refresh.refresh_pins(given)
    assert said == ["text/*.de and text/*.en had no pin and got one"]
    assert pinned == compose.pin_all(given)
    put("june")
    fresh, said = refresh.refresh_pins(pinned)
    assert said == ["text/*.de and text/*.en changed"]
    assert fresh == compose.pin_all(given) != pinned
    assert (fresh, []) == refresh.refresh_pins(fresh)
    (project / "text" / "june.en").unlink()
    with pytest.raises(CorpusError, match=r"june\.de exists but text/june\.en does not"):
        refresh.refresh_pins(fresh)


def test_the_demo_has_nothing_to_renew(project):
    given = build_all(compose.compose_groups(["data=demo"]), source="test")

    assert (given, []) == refresh.refresh_pins(given)


def test_the_commands_take_new_text_from_the_web_to_the_corpus(site, project, type_, capsys):
    url = site.put("/de-en.zip", without_ranges(OLD))
    compose.write_params(europarl(site))
    unpinned = Path("params.yaml").read_bytes()
    settings = type_(configure)
    assert unpinned == Path("params.yaml").read_bytes()
    assert origins(settings, project) == [digest(OLD)]
    site.put("/de-en.zip", without_ranges(NEW))
    settings = type_(refresh)

    assert capsys.readouterr().out == f"{url} had no pin and got one: SHA-256 {digest(NEW)}\n"
    assert origins(settings, project) == [digest(NEW)]
    written = Path("params.yaml").read_bytes()
    assert written != unpinned
    assert settings == type_(refresh) == type_(configure)
    assert capsys.readouterr().out == "nothing has changed\n"
    assert written == Path("params.yaml").read_bytes()


def test_the_commands_take_new_files_from_a_folder_to_the_corpus(project, type_, capsys):
    (project / "text").mkdir()

    def put(name, first, last):
        for side, code in enumerate(("de", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in sentences(first, last))
            (project / "text" / f"{name}.{code}").write_text(lines)

    def kept(settings):
        folders = {name: project / "out" / name for name in ("corpus", "vectors", "downloads")}
        done = download.run(settings, **folders, workers=WorkersConfig())
        return sum(done.pairs.values())

    put("may", 0, 60)
    given = type_(
        configure,
        "data=files",
        "download.corpora.files.train.source=text/*.de",
        "download.corpora.files.train.target=text/*.en",
        "download.corpora.files.validation=null",
        "download.corpora.files.test=null",
        "download.split.validation_per_10000=2500.0",
        "download.split.test_per_10000=2500.0",
    )
    assert kept(given) == 60
    put("june", 60, 80)
    with pytest.raises(CorpusError, match=r"changed since params\.yaml was written"):
        kept(given)
    fresh = type_(refresh)

    assert capsys.readouterr().out == "text/*.de and text/*.en changed\n"
    assert kept(fresh) == 80
