"""Parallel text on the web: a URL of any supported format, or a corpus of OPUS by name.

OPUS (Tiedemann 2012) has an archive for each corpus, version and language pair, in Moses format.
Its index has the number of pairs, but no licences.
"""

import re
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator
from typing_extensions import TypedDict, override

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages, spell_with_underscores
from nmt_core.base.raw_lines import explain_damage
from nmt_core.corpora.corpus import Corpus, Description, OnBadLine, Size, list_dropped
from nmt_core.corpora.fetch.address import Address, redact_url
from nmt_core.corpora.fetch.source import Checksum, Fetch, FindCached, Source
from nmt_core.corpora.formats.opening import open_units
from nmt_core.corpora.formats.paired_units import NO_FORMAT, may_hold_both_sides
from nmt_core.corpora.local import measure_text
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split


class FetchedCorpus(Corpus):
    """Base class of corpora on the web; a subclass returns their ``sources``."""

    sha256: Checksum = ""
    """Required checksum of the file at ``url``; empty accepts any."""

    on_bad_line: OnBadLine = "drop"
    """Drop and count pairs that are not UTF-8, contain NUL or lack a column, or stop there."""

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        paths = tuple(fetch(source).path for source in self.sources(languages))
        return {"train": Text((paths,), list_dropped(self.on_bad_line), languages)}

    @override
    def estimate_size(self, languages: Languages, find_cached: FindCached) -> Size | None:
        cached = [find_cached(source) for source in self.sources(languages)]
        paths = tuple(file.path for file in cached if file)
        return measure_text([paths], languages) if len(paths) == len(cached) else None

    def make_source(self, url: str, languages: Languages) -> Source:
        """Return the source of a file with both sides, which is read before it replaces another."""
        source = Source(url, "url", sha256=self.sha256)
        return replace(source, check=partial(_read_all, name=source.name, languages=languages))


class WebCorpus(FetchedCorpus):
    """A file on the web with both sides."""

    kind: Literal["url"]
    """Kind of the corpus."""

    url: Address
    """Address of the file; the suffix of its path names the format, such as .tmx, .tsv.gz or .zip.
    User name and password belong in ~/.netrc."""

    @model_validator(mode="after")
    def _check(self) -> "WebCorpus":
        if not may_hold_both_sides(get_path(self.url)):
            raise ValueError(
                f"{redact_url(self.url)} {NO_FORMAT}; fetch two aligned "
                f"files yourself and name them by kind: files"
            )
        return self

    @override
    def sources(self, languages: Languages) -> list[Source]:
        return [self.make_source(self.url, languages)]

    @override
    def describe(self) -> Description:
        text = f"Text from <{redact_url(self.url)}>. Ask its publisher for the licence."
        return Description(get_path(self.url).name, {"license": "unknown"}, text)


def get_path(url: str) -> Path:
    """Return the path of a URL, whose suffix names the format."""
    return Path(unquote(urlsplit(url).path))


def _read_all(path: Path, *, name: str, languages: Languages) -> None:
    """Read a whole file under its final name, to check that it is valid."""
    with TemporaryDirectory(dir=path.parent) as scratch:
        named = Path(scratch) / name
        named.symlink_to(path.absolute())
        with explain_damage(path):
            deque(open_units(named, languages).rows, maxlen=0)


HOME = "https://opus.nlpl.eu"

INDEX = f"{HOME}/opusapi/?source={{source}}&target={{target}}&preprocessing=moses"

PAIR_CHARACTERS = 150
"""Average length of a target sentence, in characters."""


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise ValueError(f"must be a name of OPUS; `make corpora` lists names; got {name!r}")
    return name


OpusName = Annotated[str, AfterValidator(_check_name)]
"""A part of a URL of OPUS."""


class OpusCorpus(FetchedCorpus):
    """A corpus of OPUS, such as Tatoeba, v2023-04-12."""

    kind: Literal["opus"]
    """Kind of the corpus."""

    corpus: OpusName
    """Name of the corpus; ``make corpora`` lists those of a language pair."""

    version: OpusName
    """Version, such as v2023-04-12."""

    pair: OpusName | None = None
    """Language pair as OPUS spells it, such as en-zh_CN; null joins the codes of
    ``download.languages`` in alphabetical order, with pt-BR as pt_BR."""

    pairs: int | None = Field(None, ge=1, le=10_000_000_000)
    """Number of pairs for MODEL=auto before the download; the index that ``make corpora`` fetches
    takes precedence."""

    url: Address = "https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/{pair}.txt.zip"
    """URL of the archive or of a mirror, with placeholders for the settings above."""

    @override
    def sources(self, languages: Languages) -> list[Source]:
        """Return the archive, which is the same for both directions."""
        pair = self.pair or "-".join(sorted(map(spell_with_underscores, languages.codes)))
        url = self.url
        for name, value in (("corpus", self.corpus), ("version", self.version), ("pair", pair)):
            url = url.replace(f"{{{name}}}", value)
        command = f"make corpora LANGUAGES={'-'.join(languages.codes)}"
        missing = f"check corpus, version and pair: {command} lists them"
        return [replace(self.make_source(url, languages), missing=missing)]

    @override
    def estimate_size(self, languages: Languages, find_cached: FindCached) -> Size | None:
        if size := super().estimate_size(languages, find_cached):
            return size
        index = find_cached(opus_index(languages))
        counts = {
            (entry.corpus, entry.version): entry.alignment_pairs
            for entry in (read_opus_index(index.path) if index else ())
        }
        pairs = counts.get((self.corpus, self.version), self.pairs)
        return Size(pairs, pairs * PAIR_CHARACTERS) if pairs else None

    @override
    def describe(self) -> Description:
        text = (
            f"{self.corpus} {self.version} from OPUS (Tiedemann 2012); <{HOME}> states its "
            f"origin and licence."
        )
        return Description(f"{self.corpus} {self.version}", {"license": "unknown"}, text)


@dataclass(frozen=True)
class OpusEntry:
    """A corpus in the index of OPUS."""

    corpus: str
    version: str
    source: str
    """First language in the URL; may be the target of a translation."""
    target: str
    alignment_pairs: int
    size: int
    """Size of the archive, in KiB."""
    latest: Literal["True", "False"]

    @property
    def name(self) -> str:
        """The name to write into the settings."""
        return f"opus:{self.corpus}/{self.version}"

    @property
    def page(self) -> str:
        """URL of the page with origin and licence."""
        pair = f"{self.source}&{self.target}"
        return f"{HOME}/{self.corpus}/{pair}/{self.version}/{self.corpus}"


class _Index(TypedDict):
    corpora: list[OpusEntry]


def opus_index(languages: Languages, url: str = INDEX) -> Source:
    """Return the index of a language pair, the same for both directions."""
    source, target = sorted(map(spell_with_underscores, languages.codes))
    address = url.replace("{source}", source).replace("{target}", target)
    return Source(address, "--index", check=read_opus_index)


def read_opus_index(path: Path) -> list[OpusEntry]:
    """Return the corpora of an index, largest first; raise a CorpusError if it is not valid."""
    try:
        index = TypeAdapter(_Index).validate_json(path.read_bytes())
    except ValidationError as error:
        [problem, *_] = error.errors(include_url=False)
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise CorpusError(
            f"{path} is not an index of OPUS: {where}: {problem['msg']}; fetch it again, or report "
            f"that its format has changed"
        ) from None
    return sorted(index["corpora"], key=lambda entry: (-entry.alignment_pairs, entry.name))
