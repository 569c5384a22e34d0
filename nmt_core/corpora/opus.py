"""Parallel text of OPUS by name, and its index.

OPUS (Tiedemann 2012) has an archive for each corpus, version and language pair, in the format of
Moses; its index counts their pairs. The index does not name licences.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict, override

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages, spell_with_underscores
from nmt_core.corpora.corpus import Description, Size
from nmt_core.corpora.fetch.address import Address
from nmt_core.corpora.fetch.source import FindCached, Source, find_nothing
from nmt_core.corpora.web import FetchedCorpus

HOME = "https://opus.nlpl.eu"

INDEX = f"{HOME}/opusapi/?source={{source}}&target={{target}}&preprocessing=moses"

TOKEN_CHARACTERS = 6
"""Characters of an average token, with the space before it."""

PAIR_CHARACTERS = 150
"""Characters of an average target sentence."""


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise ValueError(f"must be a name of OPUS, as `make corpora` lists them, got {name!r}")
    return name


OpusName = Annotated[str, AfterValidator(_check_name)]
"""A part of an address of OPUS."""


class OpusCorpus(FetchedCorpus):
    """A corpus of OPUS, such as Tatoeba, v2023-04-12."""

    kind: Literal["opus"]
    """The tag of this choice."""

    corpus: OpusName
    """Name of the corpus; ``make corpora`` lists those of a language pair."""

    version: OpusName
    """Its version, such as v2023-04-12."""

    pair: OpusName | None = None
    """Language pair in the spelling of OPUS, such as en-zh_CN; null joins the codes of
    ``download.languages`` in alphabetical order, with pt-BR as pt_BR."""

    pairs: int | None = Field(None, ge=1, le=10_000_000_000)
    """Number of pairs, from which MODEL=auto chooses before the download; the index that ``make
    corpora`` fetches takes precedence."""

    url: Address = "https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/{pair}.txt.zip"
    """Address of the archive, with placeholders for the settings above; another for a mirror."""

    @override
    def sources(self, languages: Languages) -> list[Source]:
        """Return the archive, which serves both directions."""
        pair = self.pair or "-".join(sorted(map(spell_with_underscores, languages.codes)))
        url = self.url
        for name, value in (("corpus", self.corpus), ("version", self.version), ("pair", pair)):
            url = url.replace(f"{{{name}}}", value)
        command = f"make corpora LANGUAGES={'-'.join(languages.codes)}"
        missing = f"check corpus, version and pair: {command} lists them"
        return [replace(self.make_source(url, languages), missing=missing)]

    @override
    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size | None:
        index = find_cached(opus_index(languages))
        for entry in read_opus_index(index.path) if index else ():
            is_this = (entry.corpus, entry.version) == (self.corpus, self.version)
            if is_this and (size := entry.estimate_size(languages)):
                return size
        if size := super().estimate_size(languages, find_cached=find_cached):
            return size
        return Size(self.pairs, self.pairs * PAIR_CHARACTERS) if self.pairs else None

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
    """Language that comes first in the address, not the one to translate from."""
    target: str
    alignment_pairs: int
    size: int
    """KiB of the archive."""
    latest: Literal["True", "False"]
    source_tokens: int | Literal[""] = ""
    target_tokens: int | Literal[""] = ""

    @property
    def name(self) -> str:
        """The name to write into the settings."""
        return f"opus:{self.corpus}/{self.version}"

    @property
    def page(self) -> str:
        """Address of the page that states origin and licence."""
        pair = f"{self.source}&{self.target}"
        return f"{HOME}/{self.corpus}/{pair}/{self.version}/{self.corpus}"

    def estimate_size(self, languages: Languages) -> Size | None:
        """Estimate the size of the text; None if the index does not count its tokens."""
        backwards = self.source == spell_with_underscores(languages.target)
        tokens = self.source_tokens if backwards else self.target_tokens
        return None if tokens == "" else Size(self.alignment_pairs, tokens * TOKEN_CHARACTERS)


class _Index(TypedDict):
    corpora: list[OpusEntry]


def opus_index(languages: Languages, url: str = INDEX) -> Source:
    """Return the index of a language pair, the same for both directions."""
    source, target = sorted(map(spell_with_underscores, languages.codes))
    address = url.replace("{source}", source).replace("{target}", target)
    return Source(address, "--index", check=read_opus_index)


def read_opus_index(path: Path) -> list[OpusEntry]:
    """Read an index, the largest corpora first.

    Raises:
        CorpusError: if it is not an index.
    """
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
