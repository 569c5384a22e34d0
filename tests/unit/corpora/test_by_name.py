"""Corpora by name: the settings that a name means, and the text from a server."""

import hashlib
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import config
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.source import find_cached
from nmt_core.corpora.formats.opening import open_units
from nmt_core.corpora.named import CORPORA, CorpusConfig, expand_name
from nmt_core.corpora.web import OpusCorpus, WebCorpus, opus_index, read_opus_index
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
    """The corpus can be a name."""


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
    """Return the pairs of a corpus after its address has been looked up."""
    corpus.check(languages)
    origins = corpus.find_origins(languages, fetch=fetch)
    text = corpus.obtain(languages, fetch=fetch, scratch=None)["train"]
    files = [path for part in text.parts for path in part]
    assert [one["sha256"] for one in origins] == [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    ]
    [[path]] = text.parts
    return [tuple(row) for row in open_units(path, text.languages).rows]


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        (f"opus:Tatoeba/{VERSION}", "opus", {"corpus": "Tatoeba", "version": VERSION}),
        ("https://host.example/x.tmx.gz", "url", {"url": "https://host.example/x.tmx.gz"}),
        ("http://host.example/x.zip?v=1", "url", {}),
        ("./a:b.tmx", "files", {}),
        ("C.tsv", "files", {}),
    ],
)
def test_name_means_settings(name, kind, fields):
    corpus = build(name)
    assert corpus.kind == kind
    assert {field: getattr(corpus, field) for field in fields} == fields


def test_name_is_combined_with_settings():
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
     "texts/", "texts", "mtdata:Statmt-europarl-10-deu-eng", "ftp://h/x.tmx", "http://h",
     "https://host/x.docx", "https://u:p@host/x.tmx", "https://host/x.tmx?token=1", "C:\\x.tmx"],
)  # fmt: skip
def test_unknown_name_is_refused(name):
    with pytest.raises(ConfigError):
        build(name)


@pytest.mark.parametrize(
    ("wrong", "advice"), [("ops:T/v1", "opus"), ("htps:T/v1", "http"), ("T", r"x\.corpus")]
)
def test_refusal_names_the_closest_prefix_or_the_place(wrong, advice):
    with pytest.raises(ConfigError, match=advice):
        build(wrong)


@given(st.one_of(st.text(), st.from_regex(r"(opus|https?|\./)?:?.{0,20}(\.tmx|/v1)?")))
def test_any_name_is_recognised_or_refused(name):
    try:
        settings = expand_name(name)
    except ValueError:
        return
    assert settings["kind"] in CORPORA


@pytest.mark.parametrize(
    ("languages", "settings", "pair"),
    [
        (("de", "en"), {}, "de-en"),
        (("en", "de"), {}, "de-en"),
        (("en", "pt-BR"), {}, "en-pt_BR"),
        (("en", "zh"), {"pair": "en-zh_CN"}, "en-zh_CN"),
    ],
)
def test_archive_serves_both_directions_in_codes_of_opus(languages, settings, pair):
    source, target = languages
    corpus = build({"name": f"opus:Tatoeba/{VERSION}", **settings})
    [archive] = corpus.sources(Languages(source=source, target=target))
    known = opus.describe_archive("Tatoeba", VERSION)["url"]
    assert archive.url == known.replace("de-en", pair)


def test_index_has_codes_of_opus():
    assert "source=en&target=pt_BR&" in opus_index(Languages(source="pt-BR", target="en")).url


def test_a_missing_archive_is_refused_with_a_command(site, fetch):
    url = site.put("/de-en.zip", status(404))
    corpus = build({"name": "opus:Boks/v1", "url": url})
    with pytest.raises(CorpusError, match=r"404.*make corpora LANGUAGES=de-en"):
        read(corpus, GERMAN, fetch)


def test_an_archive_keeps_its_checksum(site, fetch, tmp_path):
    old, new = opus.archive(PAIRS), opus.archive(BACKWARDS)
    url = site.put("/x.zip", whole(old), whole(new, tag='"v2"'))
    corpus = WebCorpus(kind="url", url=url, sha256=hashlib.sha256(old).hexdigest())
    assert read(corpus, GERMAN, fetch) == PAIRS
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(CorpusError, match=corpus.sha256):
        read(corpus, GERMAN, fetch)


@pytest.mark.parametrize("name", ["x.zip", "x.tmx", "x.tsv.gz"])
@pytest.mark.parametrize("damage", ["cut", "page"])
def test_unreadable_text_never_replaces_readable_text(site, fetch, tmp_path, name, damage):
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
    with pytest.raises(CorpusError, match="rejected"):
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
    opus.describe_archive("Old", "v1"),
)


@pytest.fixture
def keep(tmp_path, site):
    """Store an index of OPUS, as ``make corpora`` does, and return its location."""

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
        return build(name).estimate_size(languages, find)

    for languages in (GERMAN, ENGLISH):
        assert estimate(f"opus:Tatoeba/{VERSION}", languages) == (341_018, 341_018 * 150)
    entries = read_opus_index(find(opus_index(ENGLISH)).path)
    assert [entry.corpus for entry in entries] == ["Tatoeba", "Books", "Old"]
    assert estimate({"name": "opus:Old/v2", "pairs": 1000}) == (1000, 150_000)
    assert estimate({"name": f"opus:Tatoeba/{VERSION}", "pairs": 1000}).pairs == 341_018
    assert estimate("opus:Books/v2") is None
    assert build("opus:Books/v1").estimate_size(GERMAN, lambda _: None) is None


def test_fetched_pairs_are_counted(site, fetch, tmp_path):
    """They are counted once the text is there, for advice on a model."""
    find = partial(find_cached, folder=tmp_path)
    targets = "".join(target for _, target in PAIRS)
    table = site.put("/x.tmx", whole(formats.tmx(PAIRS)))
    archive = site.put("/x.zip", whole(opus.archive(PAIRS)))
    for corpus in (
        WebCorpus(kind="url", url=table),
        OpusCorpus(kind="opus", corpus="Old", version="v1", url=archive),
    ):
        assert corpus.estimate_size(GERMAN, find) is None
        read(corpus, GERMAN, fetch)
        size = corpus.estimate_size(GERMAN, find)
        assert size.pairs == len(PAIRS)
        assert len(targets) <= size.target_characters <= len(targets.encode())
        assert corpus.estimate_size(GERMAN, lambda _: None) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b"[]", b"{}", b'{"corpora": 1}', b'{"corpora": [{"corpus": "Books"}]}',
     b"\xff", opus.index(opus.describe_archive("Books", "v1", alignment_pairs="many"))],
)  # fmt: skip
def test_an_invalid_index_is_refused(tmp_path, content):
    path = tmp_path / "index"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="index"):
        read_opus_index(path)
