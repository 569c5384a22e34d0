"""Parallel text of OPUS by name, and its index.

OPUS (Tiedemann 2012) has an archive for each corpus, version and pair of languages, in the form
that Moses reads; its index counts what is in them. The index names no licences.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages, spell_with_underscores
from nmt_core.corpora.corpus import (
    Corpus,
    Description,
    OnBadLine,
    Origin,
    Size,
    list_dropped,
)
from nmt_core.corpora.fetch.address import Address, redact_url
from nmt_core.corpora.fetch.settings import Checksum, Renewed
from nmt_core.corpora.fetch.source import Fetch, FindKept, Source, find_nothing
from nmt_core.corpora.local import measure_kept
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split
from nmt_core.corpora.web import file_of_both_sides

HOME = "https://opus.nlpl.eu"

INDEX = f"{HOME}/opusapi/?source={{source}}&target={{target}}&preprocessing=moses"

TOKEN_CHARACTERS = 6
"""Characters of an average token, with the space before it."""


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise ValueError(f"must be a name of OPUS, as `make corpora` lists them, got {name!r}")
    return name


OpusName = Annotated[str, AfterValidator(_name)]
"""A part of an address of OPUS."""


class OpusCorpus(Corpus):
    """A corpus of OPUS, such as Tatoeba, v2023-04-12."""

    kind: Literal["opus"]
    """The tag of this choice."""

    corpus: OpusName
    """Name of the corpus, as OPUS spells it; ``make corpora`` lists all of a pair of languages."""

    version: OpusName
    """Its version, such as v2023-04-12."""

    pair: OpusName | None = None
    """The languages as OPUS has them in its addresses, such as en-zh_CN; null takes the codes of
    ``download.languages`` in alphabetical order, pt-BR as pt_BR, as nearly all of its corpora
    do."""

    url: Address = "https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/{pair}.txt.zip"
    """Address of the archive, with placeholders for what is set above; another for a mirror."""

    sha256: Checksum = ""
    """Checksum of the archive: nothing else is ever taken. Empty records what came, and
    ``python -m stages.configure.refresh`` asks whether there is another."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksum that ``python -m stages.configure.refresh`` found and will replace when the archive
    changes, under its name in downloads/. Of no effect beside yours."""

    on_bad_line: OnBadLine = "drop"
    """What to do with a pair that is not UTF-8 or holds NUL; drop counts it."""

    def sources(self, languages: Languages) -> list[Source]:
        """Return the archive, which is the same for both directions."""
        pair = self.pair or "-".join(sorted(map(spell_with_underscores, languages.codes)))
        url = self.url
        for name, value in (("corpus", self.corpus), ("version", self.version), ("pair", pair)):
            url = url.replace(f"{{{name}}}", value)
        archive = file_of_both_sides(url, self.sha256, self.renewed, languages)
        missing = (
            f"check corpus, version and pair: make corpora LANGUAGES={'-'.join(languages.codes)}"
        )
        return [replace(archive, missing=f"{missing} lists them")]

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Fetch the archive."""
        del scratch
        [archive] = self.sources(languages)
        part = (fetch(archive).path,)
        return {"train": Text((part,), list_dropped(self.on_bad_line), languages)}

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return the address of the archive."""
        del split
        [archive] = self.sources(languages)
        return Origin("http", redact_url(archive.url))

    def estimate_size(
        self, languages: Languages, *, find_kept: FindKept = find_nothing
    ) -> Size | None:
        """Return what the index counts, where ``make corpora`` has fetched it, or count a run's."""
        index = find_kept(opus_index(languages))
        for entry in read_opus_index(index.path) if index else ():
            is_this = (entry.corpus, entry.version) == (self.corpus, self.version)
            if is_this and (counted := entry.estimate_size(languages)):
                return counted
        return measure_kept(self.sources(languages), languages, find_kept)

    def describe(self) -> Description:
        """Return name and version, and where OPUS says whose text it is."""
        text = (
            f"{self.corpus} {self.version} as OPUS (Tiedemann 2012) has it; <{HOME}> names its "
            f"origin and licence."
        )
        return Description(f"{self.corpus} {self.version}", {"license": "unknown"}, text)


@dataclass(frozen=True)
class OpusEntry:
    """A corpus in the index of OPUS."""

    corpus: str
    version: str
    source: str
    """Code of the language that comes first in the address, not what is translated from."""
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
        """Address of the page that names origin and licence."""
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
    """Return the index of a pair of languages, the same for both directions."""
    source, target = sorted(map(spell_with_underscores, languages.codes))
    address = url.replace("{source}", source).replace("{target}", target)
    return Source(address, "--index", check=read_opus_index)


def read_opus_index(path: Path) -> list[OpusEntry]:
    """Read an index, the largest corpora first.

    Raises:
        CorpusError: if it is none.
    """
    try:
        index = TypeAdapter(_Index).validate_json(path.read_bytes())
    except ValidationError as error:
        [problem, *_] = error.errors(include_url=False)
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise CorpusError(
            f"{path} is no index of OPUS: {where}: {problem['msg']}; fetch it again, or tell us "
            f"that its form has changed"
        ) from None
    return sorted(index["corpora"], key=lambda entry: (-entry.alignment_pairs, entry.name))
