"""Parallel text at an address on the web, in any supported format."""

from collections import deque
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import model_validator
from typing_extensions import override

from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage
from nmt_core.corpora.corpus import Corpus, Description, OnBadLine, Origin, Size, list_dropped
from nmt_core.corpora.fetch.address import Address, redact_url
from nmt_core.corpora.fetch.source import (
    Checksum,
    Fetch,
    FindCached,
    Source,
    find_nothing,
)
from nmt_core.corpora.formats.registered import (
    NO_FORMAT,
    advise_suffixes,
    holds_both_sides,
    may_hold_both_sides,
    open_units,
)
from nmt_core.corpora.local import measure_cached
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split


class FetchedCorpus(Corpus):
    """Base of corpora that are fetched from the web; a subclass returns their ``sources``."""

    sha256: Checksum = ""
    """Required checksum of the file at ``url``; empty accepts any."""

    on_bad_line: OnBadLine = "drop"
    """Drop and count pairs that are not UTF-8, contain NUL or lack a column, or stop there."""

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        del scratch
        paths = tuple(fetch(source).path for source in self.sources(languages))
        return {"train": Text((paths,), list_dropped(self.on_bad_line), languages)}

    @override
    def origin(self, split: str, languages: Languages) -> Origin:
        del split
        return Origin("http", redact_url(self.sources(languages)[0].url))

    @override
    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size | None:
        return measure_cached(self.sources(languages), languages, find_cached)

    def make_source(self, url: str, languages: Languages) -> Source:
        """Return a file with both sides, which must be readable before it replaces another."""
        source = Source(url, "url", sha256=self.sha256)
        return replace(source, check=partial(_read_all, name=source.name, languages=languages))


class WebCorpus(FetchedCorpus):
    """Files of parallel text on the web: two aligned ones, or one that holds both sides."""

    kind: Literal["url"]
    """The tag of this choice."""

    url: Address
    """Address of a file that holds both sides, or of the source's; the suffix of its path names the
    format, such as .tmx, .tsv.gz or .zip. User name and password belong in ~/.netrc; ``{secret}``
    in the query stands for the environment variable NMT_DOWNLOAD_SECRET."""

    target_url: Address | None = None
    """Address of the file whose line N translates line N of ``url``; null if ``url`` holds both."""

    target_sha256: Checksum = ""
    """Required checksum of the file at ``target_url``."""

    @model_validator(mode="after")
    def _check(self) -> "WebCorpus":
        if self.target_url is None and not may_hold_both_sides(get_path(self.url)):
            raise ValueError(
                f"target_url is missing; {redact_url(self.url)} "
                f"{NO_FORMAT.format(advise_suffixes())}"
            )
        if self.url == self.target_url:
            raise ValueError("url and target_url are the same address; set that of the other side")
        for url in (self.url, self.target_url):
            if self.target_url and url and holds_both_sides(get_path(url)):
                raise ValueError(
                    f"{redact_url(url)} holds both sides; set it as url, and no target_url"
                )
        return self

    @override
    def sources(self, languages: Languages) -> list[Source]:
        if self.target_url is None:
            return [self.make_source(self.url, languages)]
        return [
            Source(self.url, "url", sha256=self.sha256),
            Source(self.target_url, "target_url", sha256=self.target_sha256),
        ]

    @override
    def describe(self) -> Description:
        text = f"Text from <{redact_url(self.url)}>, whose licence its publisher knows."
        return Description(get_path(self.url).name, {"license": "unknown"}, text)


def get_path(url: str) -> Path:
    """Return the path of an address, whose suffix names the format."""
    return Path(unquote(urlsplit(url).path))


def _read_all(path: Path, *, name: str, languages: Languages) -> None:
    """Read a file under the name that it will have."""
    with TemporaryDirectory(dir=path.parent) as scratch:
        named = Path(scratch) / name
        named.symlink_to(path.absolute())
        with explain_damage(path):
            deque(open_units(named, languages).rows, maxlen=0)
