"""Corpora by name: what a name stands for, and what comes of it from a server or a program."""

import hashlib
import os
import stat
import sys
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nmt_core.base import config
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, CorpusError, DownloadError
from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.source import find_cached
from nmt_core.corpora.formats.registered import open_units
from nmt_core.corpora.mtdata import MtdataCorpus
from nmt_core.corpora.named import CORPORA, CorpusConfig, expand_name
from nmt_core.corpora.parallel_text import CorpusReading, cut_rows, read_pairs
from nmt_core.corpora.web import OpusCorpus, OpusEntry, WebCorpus, opus_index, read_opus_index
from tests.support import formats, opus
from tests.support.downloads import QUICK
from tests.support.web_server import serving, status, whole

PAIRS = [("Guten Tag", "Good day"), ("Er sagte „ja“", "He said “yes”"), ("zwei 'a'", 'two "b"')]
BACKWARDS = [pair[::-1] for pair in PAIRS]
GERMAN, ENGLISH = Languages(source="de", target="en"), Languages(source="en", target="de")
VERSION = "v2023-04-12"


class Named(Config):
    """Settings with a corpus."""

    corpus: CorpusConfig
    """It may be a name."""


def build(name):
    return config.build(Named, {"corpus": name}, at="x").corpus


@pytest.fixture
def site():
    with serving() as site:
        yield site


@pytest.fixture
def fetch(tmp_path):
    return partial(http.fetch, folder=tmp_path, config=QUICK)


def read(corpus, languages, fetch):
    """Return the pairs of a corpus, which is asked for where its text comes from first."""
    corpus.check(languages)
    origins = corpus.find_origins(languages, fetch=fetch)
    text = corpus.obtain(languages, fetch=fetch, scratch=None)["train"]
    files = [path for part in text.parts for path in part]
    assert [one["sha256"] for one in origins] == [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    ]
    [part] = text.parts
    if len(part) > 1:
        return list(zip(*(path.read_text().splitlines() for path in part), strict=True))
    return [tuple(row) for row in open_units(part[0], text.languages or languages).rows]


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        (f"opus:Tatoeba/{VERSION}", "opus", {"corpus": "Tatoeba", "version": VERSION}),
        ("mtdata:Statmt-europarl-10-deu-eng", "mtdata", {"dataset": "Statmt-europarl-10-deu-eng"}),
        ("https://host.example/x.tmx.gz", "url", {"url": "https://host.example/x.tmx.gz"}),
        ("http://host.example/x.zip?v=1", "url", {}),
        ("./a:b.tmx", "files", {}),
        ("C.tsv", "files", {}),
    ],
)
def test_a_name_stands_for_settings(name, kind, fields):
    corpus = build(name)
    assert corpus.kind == kind
    assert {field: getattr(corpus, field) for field in fields} == fields


def test_europarl_of_earlier_exports_is_that_of_opus():
    """Their own text is no longer read; another server would be another text."""
    old = {"kind": "europarl", "weight": 0.0, "tag": "eu", "licence": "", "release": "v7"}
    old |= {"url": "https://www.statmt.org/europarl/v7/{pair}.tgz", "sha256": "0" * 64}
    corpus = build(old)
    assert (corpus.kind, corpus.corpus, corpus.version) == ("opus", "Europarl", "v8")
    assert (corpus.weight, corpus.tag, corpus.licence) == (0.0, "eu", "other")
    assert corpus.sha256 == ""


def test_a_name_goes_with_other_settings():
    named = {"name": f"opus:Tatoeba/{VERSION}", "licence": "cc-by-2.0", "weight": 2}
    plain = build(f"opus:Tatoeba/{VERSION}")
    assert build(named) == plain.model_copy(update={"licence": "cc-by-2.0", "weight": 2.0})
    assert build(named | {"version": "v1"}).version == "v1"
    with pytest.raises(ConfigError, match="wieght"):
        build(named | {"wieght": 1})
    with pytest.raises(ConfigError, match="name"):
        build(plain.model_dump() | {"name": "opus:Books/v1"})


@pytest.mark.parametrize(
    "name",
    ["", "opus:", "opus:Tatoeba", "opus:/v1", "opus:a b/v1", "opus:a/../v1", "opus:a/v1/x", "x.de",
     "texts/", "texts", "mtdata:x", "mtdata:a-b-c-deu-eng-fra", "mtdata:../a-b-c-deu-eng",
     "ftp://h/x.tmx", "http://h",
     "https://host/x.docx", "https://u:p@host/x.tmx", "https://host/x.tmx?token=1", "C:\\x.tmx",
     "mtdata:-h-b-c-deu-eng"],
)  # fmt: skip
def test_a_name_that_stands_for_nothing_is_refused(name):
    with pytest.raises(ConfigError):
        build(name)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [("ops:T/v1", "opus"), ("mtdat:T/v1", "mtdata"), ("htps:T/v1", "http"), ("T", r"x\.corpus")],
)
def test_refusal_names_the_closest_prefix_or_the_place(wrong, advice):
    with pytest.raises(ConfigError, match=advice):
        build(wrong)


@given(st.one_of(st.text(), st.from_regex(r"(opus|mtdata|https?|\./)?:?.{0,20}(\.tmx|/v1)?")))
def test_any_name_stands_for_a_known_kind_or_is_refused(name):
    try:
        settings = expand_name(name)
    except ValueError:
        return
    assert settings["kind"] in CORPORA


@pytest.mark.parametrize("languages", [GERMAN, ENGLISH])
def test_the_address_of_an_archive_is_that_of_the_index(languages):
    [source] = build(f"opus:Tatoeba/{VERSION}").sources(languages)
    assert source.url == opus.describe_archive("Tatoeba", VERSION)["url"]


@pytest.mark.parametrize(
    ("pair", "target", "settings"),
    [("en-zh_CN", "zh", {"pair": "en-zh_CN"}), ("en-pt_BR", "pt-BR", {})],
)
def test_opus_has_codes_of_its_own(site, fetch, pair, target, settings):
    pairs = [("Good day", "Bom dia")]
    url = site.put(f"/{pair}.zip", whole(opus.archive(pairs, "Books", *pair.split("-"))))
    settings = {"name": "opus:Books/v1", "url": url.replace(pair, "{pair}"), **settings}
    assert read(build(settings), Languages(source="en", target=target), fetch) == pairs


def test_the_index_has_codes_of_its_own():
    languages = Languages(source="en", target="pt-BR")
    assert "source=en&target=pt_BR&" in opus_index(languages).url
    entry = opus.describe_archive("Books", "v1", source="en", target="pt_BR")
    [known] = TypeAdapter(list[OpusEntry]).validate_python([entry])
    backwards = Languages(source="pt-BR", target="en")
    characters = [known.estimate_size(each).target_characters for each in (languages, backwards)]
    assert characters == [10 * 6, 12 * 6]


def test_a_missing_archive_is_refused_with_the_command_that_lists_others(site, fetch):
    url = site.put("/de-en.zip", status(404))
    corpus = build({"name": "opus:Boks/v1", "url": url})
    with pytest.raises(DownloadError, match=r"404.*make corpora LANGUAGES=de-en"):
        read(corpus, GERMAN, fetch)


def test_an_archive_stays_that_of_its_checksum(site, fetch, tmp_path):
    old, new = opus.archive(PAIRS), opus.archive(BACKWARDS)
    url = site.put("/x.zip", whole(old), whole(new, tag='"v2"'))
    corpus = WebCorpus(kind="url", url=url, sha256=hashlib.sha256(old).hexdigest())
    assert read(corpus, GERMAN, fetch) == PAIRS
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(DownloadError, match=corpus.sha256):
        read(corpus, GERMAN, fetch)


@pytest.mark.parametrize("name", ["x.zip", "x.tmx", "x.tsv.gz"])
@pytest.mark.parametrize("damage", ["cut", "page"])
def test_what_cannot_be_read_never_replaces_what_can(site, fetch, tmp_path, name, damage):
    ending = name.removeprefix("x")
    good = {
        ".zip": opus.archive(PAIRS * 50),
        ".tmx": formats.tmx(PAIRS * 50),
        ".tsv.gz": formats.COMPRESSORS[".gz"](formats.tsv(PAIRS * 50)),
    }[ending]
    bad = good[:-40] if damage == "cut" else b"<html>Not found</html>"
    if (ending, damage) == (".tmx", "page"):
        bad = formats.tmx(PAIRS, target="fr")
    url = site.put(f"/{name}", whole(bad), whole(good, tag='"v2"'))
    corpus = WebCorpus(kind="url", url=url)
    with pytest.raises(DownloadError, match="rejected"):
        read(corpus, GERMAN, fetch)
    assert read(corpus, GERMAN, fetch) == PAIRS * 50


@pytest.mark.parametrize("name", [*formats.WRITERS, "tmx.gz", "csv.xz"])
def test_any_format_is_read_by_its_address(site, fetch, name):
    suffix, _, compression = name.partition(".")
    content = formats.WRITERS[suffix](PAIRS, "de", "en")
    if compression:
        content = formats.COMPRESSORS[f".{compression}"](content)
    url = site.put(f"/a%20b.{name}", whole(content))
    assert read(WebCorpus(kind="url", url=url + "?x=1"), GERMAN, fetch) == PAIRS


ENTRIES = (
    opus.describe_archive("Books", "v1", alignment_pairs=51_467, size=10),
    opus.describe_archive("Tatoeba", VERSION, alignment_pairs=341_018, latest="False"),
    opus.describe_archive("Old", "v1", source_tokens="", target_tokens=""),
)


@pytest.fixture
def keep(tmp_path, site):
    """Keep an index of OPUS, as ``make corpora`` does, and return how to find it."""

    def keep(content):
        url = site.put("/opusapi/", whole(content))
        mirrored = opus_index(GERMAN, f"{url}?s={{source}}&t={{target}}")
        http.fetch(mirrored, tmp_path, QUICK)
        assert site.queries[-1] == "s=de&t=en"
        known = opus_index(GERMAN).url
        return lambda source: find_cached(mirrored, tmp_path) if source.url == known else None

    return keep


def test_the_index_counts_pairs(keep):
    find = keep(opus.index(*ENTRIES))

    def estimate(name, languages=GERMAN):
        return build(name).estimate_size(languages, find_cached=find)

    forwards, backwards = (estimate(f"opus:Tatoeba/{VERSION}", each) for each in (GERMAN, ENGLISH))
    assert forwards.pairs == backwards.pairs == 341_018
    assert backwards.target_characters / forwards.target_characters == 12 / 10
    entries = read_opus_index(find(opus_index(ENGLISH)).path)
    assert [entry.corpus for entry in entries] == ["Tatoeba", "Books", "Old"]
    assert estimate({"name": "opus:Old/v1", "pairs": 1000}) == (1000, 150_000)
    assert estimate("opus:Old/v1") is estimate("opus:Books/v2") is None
    assert build("opus:Books/v1").estimate_size(GERMAN) is None


def test_what_was_fetched_is_counted(site, fetch, tmp_path):
    """By whoever asks for a choice of the model, once the text is there."""
    find = partial(find_cached, folder=tmp_path)
    targets = "".join(target for _, target in PAIRS)
    table = site.put("/x.tmx", whole(formats.tmx(PAIRS)))
    archive = site.put("/x.zip", whole(opus.archive(PAIRS)))
    for corpus in (
        WebCorpus(kind="url", url=table),
        OpusCorpus(kind="opus", corpus="Old", version="v1", url=archive),
    ):
        assert corpus.estimate_size(GERMAN, find_cached=find) is None
        read(corpus, GERMAN, fetch)
        size = corpus.estimate_size(GERMAN, find_cached=find)
        assert size.pairs == len(PAIRS)
        assert len(targets) <= size.target_characters <= len(targets.encode())
        assert corpus.estimate_size(GERMAN) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b"[]", b"{}", b'{"corpora": 1}', b'{"corpora": [{"corpus": "Books"}]}',
     b"\xff", opus.index(opus.describe_archive("Books", "v1", alignment_pairs="many"))],
)  # fmt: skip
def test_what_is_no_index_is_refused(tmp_path, content):
    path = tmp_path / "index"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="index"):
        read_opus_index(path)


DATASET = "Statmt-europarl-9-deu-eng"
REVERSED = "Statmt-europarl-9-eng_GB-deu"
"""The same text, under a name that says otherwise."""

PROGRAM = """#!{python}
import os, sys
print("reading the index", file=sys.stderr)
if sys.argv[1] == "echo" and sys.argv[2] in {datasets!r}:
    for pair in {pairs!r}:
        print("\\t".join(pair))
elif sys.argv[1:] == ["list", "--id", "--langs", "de-en", "--not-groups", "OPUS"]:
    print("Statmt-b-1-eng-deu\\nStatmt-a-1-deu-eng")
else:
    print("  AssertionError at http://u:word@host/  ", file=sys.stderr)
    sys.exit(1)
with open("{told}", "a") as file:
    file.write("\\n".join(os.environ) + "\\n")
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Install a program that answers as mtdata 0.5.1 does; return what it was told."""
    told, path = tmp_path / "told", tmp_path / "bin/mtdata"
    path.parent.mkdir()
    rows = [(*pair, '{"score": 1}') for pair in PAIRS]
    values = {"python": sys.executable, "datasets": (DATASET, REVERSED), "pairs": rows}
    path.write_text(PROGRAM.format(**values, told=told), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MTDATA", str(tmp_path / "home"))
    return lambda: told.read_text().split()


@pytest.mark.parametrize("languages", [GERMAN, ENGLISH, Languages(source="de-AT", target="en")])
def test_mtdata_gives_its_text_once(program, languages, monkeypatch):
    corpus = build(f"mtdata:{DATASET}")
    assert corpus.estimate_size(languages) is None
    for _ in range(2):
        found = read(corpus, languages, None)
        assert corpus.estimate_size(languages).pairs == len(PAIRS)
        assert found == (BACKWARDS if languages is ENGLISH else PAIRS)
    assert program().count("PATH") == 1


def test_the_name_of_a_dataset_says_which_side_comes_first(program):
    assert read(build(f"mtdata:{REVERSED}"), GERMAN, None) == BACKWARDS


def test_mtdata_is_told_nothing_of_ours(program, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word")
    monkeypatch.setenv("https_proxy", "http://proxy")
    read(build(f"mtdata:{DATASET}"), GERMAN, None)
    told = {*program()}
    assert {"MTDATA", "https_proxy", "PATH"} <= told
    assert "AWS_SECRET_ACCESS_KEY" not in told


def test_another_text_of_mtdata_is_refused(program):
    corpus = MtdataCorpus(kind="mtdata", dataset=DATASET, sha256="0" * 64)
    with pytest.raises(DownloadError, match="0" * 64):
        read(corpus, GERMAN, None)


def test_a_failure_of_mtdata_is_told_without_secrets_and_leaves_nothing(program, tmp_path):
    with pytest.raises(DownloadError, match="AssertionError") as caught:
        read(build("mtdata:Statmt-nothing-9-deu-eng"), GERMAN, None)
    assert "word" not in str(caught.value)
    assert not [*tmp_path.glob("home/nmt/*.tsv")]


@pytest.fixture
def odd_program(program, tmp_path):
    """Let the program print some bytes."""

    def replace(content):
        (tmp_path / "odd").write_bytes(content)
        printing = f"#!/bin/sh\nexec cat {tmp_path / 'odd'}\n"
        (tmp_path / "bin/mtdata").write_text(printing, encoding="utf-8")

    return replace


def test_what_mtdata_gives_that_is_no_sentence_costs_that_pair_alone(odd_program, tmp_path):
    """Nobody can repair the text of a program, in which on_bad_line drops what is no text."""
    long = b"x" * 150_000 + b"\ty\n" + b"x" * 3_000_000 + b"\ty\t{}\n"
    odd_program(b"a\tb\n" + long + b"a\xff\tb\nonly one\n\nc\rc\td\t{}\r\n" + b'"e\tf\r\ng\th\n')
    corpus = build(f"mtdata:{DATASET}")
    text = corpus.obtain(GERMAN, fetch=None, scratch=None)["train"]
    reading = CorpusReading()
    pairs = [
        tuple(pair)
        for rows in cut_rows(text, 100, scratch=tmp_path)
        for _, pair in read_pairs(rows, drop=text.drop, reading=reading)
    ]
    assert pairs == [("a", "b"), ("c c", "d"), ('"e', "f"), ("g", "h")]
    assert reading.dropped == {"line_too_long": 2, "invalid_utf8": 1, "wrong_columns": 2}


def test_no_line_of_mtdata_is_no_corpus(odd_program, tmp_path):
    """Which would be kept, and be empty for ever."""
    odd_program(b"")
    with pytest.raises(DownloadError, match=f"{DATASET} printed no line"):
        read(build(f"mtdata:{DATASET}"), GERMAN, None)
    assert not [*tmp_path.glob("home/nmt/*.tsv")]


def test_a_missing_mtdata_is_told_with_what_installs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MTDATA", str(tmp_path))
    with pytest.raises(DownloadError, match="uv tool install mtdata"):
        read(build(f"mtdata:{DATASET}"), GERMAN, None)


@pytest.mark.parametrize("codes", ["deu-eng", "eng-deu_AT"])
def test_a_dataset_has_both_languages(codes):
    build(f"mtdata:Statmt-a-1-{codes}").check(GERMAN)


@pytest.mark.parametrize("codes", ["deu-fra", "eng-eng"])
def test_a_dataset_of_another_language_is_refused(codes):
    with pytest.raises(ValueError, match="dataset"):
        build(f"mtdata:Statmt-a-1-{codes}").check(GERMAN)
