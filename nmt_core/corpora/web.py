"""Parallel text at an address of the web, in any format of ours."""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, model_validator

from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage
from nmt_core.corpora.corpus import Corpus, Description, OnBadLine, Origin, Size, list_dropped
from nmt_core.corpora.fetch.address import Address, redact_url
from nmt_core.corpora.fetch.settings import Checksum, Renewed
from nmt_core.corpora.fetch.source import Fetch, FindKept, Source, find_nothing
from nmt_core.corpora.formats.registered import (
    NO_FORMAT,
    advise_suffixes,
    holds_both_sides,
    may_hold_both_sides,
    open_units,
)
from nmt_core.corpora.local import measure_kept
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split


class WebCorpus(Corpus):
    """Files of parallel text on the web: two aligned ones, or one that holds both sides."""

    kind: Literal["url"]
    """The tag of this choice."""

    url: Address
    """Address of a file that holds both sides, or of the source's. The end of its path says what it
    is: .tmx, .tsv.gz, .zip and so on. Name and password belong in ~/.netrc; ``{secret}`` in the
    query stands for the variable NMT_DOWNLOAD_SECRET."""

    target_url: Address | None = None
    """Address of the file whose line N translates line N of ``url``; null if ``url`` holds both."""

    sha256: Checksum = ""
    """Checksum of the file at ``url``: nothing else is ever taken. Empty records what came, and
    ``python -m stages.configure.refresh`` asks whether there is another."""

    target_sha256: Checksum = ""
    """Checksum of the file at ``target_url``."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksums that ``python -m stages.configure.refresh`` found and will replace when a file
    changes, under the names of downloads/. Of no effect beside yours."""

    on_bad_line: OnBadLine = "drop"
    """What to do with a pair that is not UTF-8, holds NUL or lacks a column; drop counts it."""

    @model_validator(mode="after")
    def _check(self) -> "WebCorpus":
        if self.target_url is None and not may_hold_both_sides(find_name(self.url)):
            raise ValueError(
                f"target_url is missing; {redact_url(self.url)} "
                f"{NO_FORMAT.format(advise_suffixes())}"
            )
        if self.url == self.target_url:
            raise ValueError("url and target_url are the same address; name that of the other side")
        for url in (self.url, self.target_url):
            if self.target_url and url and holds_both_sides(find_name(url)):
                raise ValueError(
                    f"{redact_url(url)} holds both sides; name it as url, and no target_url"
                )
        return self

    def sources(self, languages: Languages) -> list[Source]:
        """Return the file that holds both sides, or that of each side."""
        if self.target_url is None:
            return [file_of_both_sides(self.url, self.sha256, self.renewed, languages)]
        return [
            Source(self.url, "url", sha256=self.sha256, renewed=self.renewed),
            Source(self.target_url, "target_url", sha256=self.target_sha256, renewed=self.renewed),
        ]

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Fetch the files."""
        del scratch
        paths = tuple(fetch(source).path for source in self.sources(languages))
        return {"train": Text((paths,), list_dropped(self.on_bad_line), languages)}

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return the address."""
        del split, languages
        return Origin("http", redact_url(self.url))

    def estimate_size(
        self, languages: Languages, *, find_kept: FindKept = find_nothing
    ) -> Size | None:
        """Count what an earlier run has fetched."""
        return measure_kept(self.sources(languages), languages, find_kept)

    def describe(self) -> Description:
        """Return the address, which is all that is known."""
        text = f"Text from <{redact_url(self.url)}>, whose licence its publisher knows."
        return Description(find_name(self.url).name, {"license": "unknown"}, text)


def find_name(url: str) -> Path:
    """Return the path of an address, whose end says which format a file has."""
    return Path(unquote(urlsplit(url).path))


def file_of_both_sides(
    url: str, sha256: str, renewed: Mapping[str, str], languages: Languages
) -> Source:
    """Return a file that is read as a whole before it replaces another."""
    source = Source(url, "url", sha256=sha256, renewed=renewed)
    return replace(source, check=partial(_read_whole, name=source.name, languages=languages))


def _read_whole(path: Path, *, name: str, languages: Languages) -> None:
    """Read a file whose own name does not say yet what it is."""
    with TemporaryDirectory(dir=path.parent) as scratch:
        named = Path(scratch) / name
        named.symlink_to(path.absolute())
        with explain_damage(path):
            deque(open_units(named, languages).rows, maxlen=0)
