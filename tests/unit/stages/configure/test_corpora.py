"""Corpora for two languages: the index of OPUS is stored, compared and listed."""

import re

import pytest

from nmt_core.base.errors import ConfigError, CorpusError, ServerError
from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch.source import HttpConfig
from stages.configure import corpora
from stages.configure.request import compose_settings
from stages.configure.sections import build_all
from tests.support import opus
from tests.support.projects import PROJECT
from tests.support.web_server import serving, status, whole

LANGUAGES = Languages(source="de", target="en")
BOOKS, SMALL, OLD = (
    opus.describe_archive("Books", "v1", alignment_pairs=51_467, size=3000),
    opus.describe_archive("Small", "v2", alignment_pairs=10),
    opus.describe_archive("Books", "v0", latest="False"),
)
QUERY = "?source={source}&target={target}"
AWAY = status(503)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(corpora, "HTTP", HttpConfig(attempts=1))
    with serving() as site:
        yield site


@pytest.fixture
def renew(site):
    def renew(*behaviours):
        url = site.put("/opusapi/", *behaviours) + QUERY
        return corpora.renew_index(LANGUAGES, url)

    return renew


def serve(*entries):
    return whole(opus.index(*entries), tag=f'"{len(entries)} {entries[0]}"')


def test_a_newer_index_is_fetched_and_stored(renew, caplog):
    with pytest.raises(ServerError):
        renew(AWAY)
    assert [entry.corpus for entry in renew(serve(BOOKS, OLD))] == ["Books", "Books"]
    newer = renew(serve(BOOKS, SMALL, OLD))
    assert [entry.corpus for entry in newer] == ["Books", "Small", "Books"]
    assert renew(AWAY) == newer
    assert "last download" in caplog.text
    with pytest.raises((CorpusError, CorpusError)):
        renew(whole(b"<html>", tag='"page"'))
    assert renew(AWAY) == newer


def test_corpora_are_listed_by_their_setting_names(site, capsys):
    url = site.put("/opusapi/", serve(SMALL, BOOKS, OLD)) + QUERY
    corpora.main("de-en", index=url)
    output = capsys.readouterr().out
    rows = [line.split() for line in output.splitlines()]
    assert rows[1:3] == [["opus:Books/v1", "51,467", "3.1"], ["opus:Small/v2", "10", "0.3"]]
    assert ["opus:Books/v0"] not in [row[:1] for row in rows]
    assert site.queries == ["source=de&target=en"]
    assert "/Books/de&en/v1/Books" in output
    [setting] = re.findall('SET="(.*)"', output)
    assert setting == "download.corpora.NAME={name:opus:Books/v1,licence:LICENCE}"
    values = compose_settings(["data=demo", setting.replace("NAME", "x")], conf=PROJECT / "conf")
    assert build_all(values, source="test")["download"].corpora["x"].licence == "LICENCE"


def test_languages_default_to_those_of_the_settings(site, tmp_path):
    url = site.put("/opusapi/", serve(SMALL)) + QUERY
    (tmp_path / "params.yaml").write_text("download: {languages: {source: fr, target: de}}")
    corpora.main(index=url)
    (tmp_path / "params.yaml").write_text("download: {corpora: {x: 'opus:NoVersion'}}")
    with pytest.raises(ConfigError, match=r"download\.languages"):
        corpora.main(index=url)
    corpora.main("en-de", index=url)
    assert site.queries == ["source=de&target=fr", "source=de&target=en"]


def test_no_corpora_are_no_error(site, capsys):
    url = site.put("/opusapi/", whole(opus.index())) + QUERY
    corpora.main("de-tlh", index=url)
    told = capsys.readouterr().out
    assert "opus:" not in told
    assert "SET=" not in told
    assert "no corpora for de and tlh" in told
