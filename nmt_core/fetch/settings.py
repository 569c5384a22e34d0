"""Where text and word vectors come from, as a person sets it; this file imports no client."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nmt_core.config import Config
from nmt_core.fetch.address import Address
from nmt_core.grammar.settings import GrammarConfig
from nmt_core.text.corpus import TextFiles

ENGLISH = "en"
# fmt: off
EUROPARL_LANGUAGES = frozenset([
    "bg", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hu",
    "it", "lt", "lv", "nl", "pl", "pt", "ro", "sk", "sl", "sv",
])
# fmt: on
"""The languages besides English; each has an archive with English."""

OnBadLine = Literal["error", "drop"]


def _language_code(code: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", code):
        raise ValueError(f"must be a language code such as de or pt-BR, got {code!r}")
    return code


LanguageCode = Annotated[str, AfterValidator(_language_code)]


def _checksum(digest: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}|", digest):
        raise ValueError(f"must be 64 hexadecimal digits or empty, got {digest!r}")
    return digest.lower()


Checksum = Annotated[str, AfterValidator(_checksum)]
"""A SHA-256 digest, or empty for any."""

Renewed = dict[str, Checksum]
"""The digest of each file as it was when its server was last asked, by :attr:`Source.name`."""


class HttpConfig(Config):
    """How patient to be with a server."""

    attempts: int = Field(6, ge=1, le=1000)
    """Failures after which to give up; one after which the file has grown, by what
    ``min_bytes_per_second`` asks of ``timeout_seconds``, begins a new count."""

    backoff_seconds: float = Field(1.0, gt=0, le=86_400)
    """Longest wait after the first failure; it doubles with each, and chance picks below it."""

    max_backoff_seconds: float = Field(60.0, gt=0, le=86_400)
    """Longest wait between two attempts, also where a server asks for more."""

    timeout_seconds: float = Field(30.0, gt=0, le=86_400)
    """Longest silence of a server, and the time over which its speed is measured."""

    min_bytes_per_second: int = Field(1000, ge=0)
    """A slower transfer is broken off and tried again; 0 bears any speed."""

    max_redirects: int = Field(5, ge=0, le=100)
    """Addresses a server may send us on to, one after another."""

    max_bytes: int = Field(10_000_000_000, ge=1)
    """A larger file is refused before it fills the disk."""


class Languages(Config):
    """The languages of the two sides."""

    source: LanguageCode
    """Code of the language to translate from, such as de."""

    target: LanguageCode
    """Code of the language to translate into, such as en."""


class DemoCorpus(Config):
    """Sentences of a small grammar: no network, no licence, made in a second."""

    kind: Literal["demo"]
    """The tag of this choice."""

    grammar: GrammarConfig
    """How many pairs of each split, and of which seed."""


class EuroparlCorpus(Config):
    """Proceedings of the European Parliament (Koehn 2005), any pair of its 21 languages.

    The release has one archive per language, with English; a pair without English is joined over
    identical English lines.
    """

    kind: Literal["europarl"]
    """The tag of this choice."""

    release: Literal["v7"] = "v7"
    """Version of the corpus, as in the names of the files in its archives."""

    url: Address = "https://www.statmt.org/europarl/v7/{pair}.tgz"
    """Address of an archive; ``{pair}`` stands for de-en, fr-en and so on. Name and password belong
    in ~/.netrc; ``{secret}`` in the query stands for the variable NMT_DOWNLOAD_SECRET."""

    sha256: Checksum = ""
    """Checksum of the archive, the source language's of two: nothing else is ever taken. Empty
    records what came, and ``python -m stages.configure.refresh`` asks whether there is another."""

    pivot_sha256: Checksum = ""
    """Checksum of the target language's archive, for a pair without English."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksums that ``python -m stages.configure.refresh`` found and will replace when an
    archive changes, under the names of downloads/; until then nothing else is taken. Of no effect
    beside yours."""

    on_bad_line: OnBadLine = "drop"
    """What to do with a pair that is not UTF-8 or holds NUL; drop counts it."""


class FilesCorpus(Config):
    """Text that is on this machine."""

    kind: Literal["files"]
    """The tag of this choice."""

    train: TextFiles
    """What to learn from."""

    validation: TextFiles | None = None
    """What to measure on during training; null splits it off train."""

    test: TextFiles | None = None
    """What to measure on at the end; null splits it off train."""

    on_bad_line: OnBadLine = "error"
    """What to do with a pair that is not UTF-8, holds NUL or lacks a column, and with an empty or
    endless line of validation or test: stop and name it, or drop and count it."""


CorpusConfig = Annotated[DemoCorpus | EuroparlCorpus | FilesCorpus, Field(discriminator="kind")]


def check_languages(corpus: CorpusConfig, languages: Languages) -> None:
    """Check that a corpus has both languages.

    Raises:
        ValueError: if it has not.
    """
    pair = {languages.source, languages.target}
    given = f"{languages.source} and {languages.target}"
    if isinstance(corpus, DemoCorpus) and pair != {"de", "en"}:
        raise ValueError(f"the demo corpus has German (de) and English (en), got {given}")
    if isinstance(corpus, EuroparlCorpus):
        known = EUROPARL_LANGUAGES | {ENGLISH}
        if not pair <= known or languages.source == languages.target:
            raise ValueError(f"EuroParl has any two of {' '.join(sorted(known))}; got {given}")


class NoVectors(Config):
    """Embeddings are learned from scratch."""

    kind: Literal["none"]
    """The tag of this choice."""


class DownloadedVectors(Config):
    """The most frequent words of published vectors; the transfer ends after them."""

    kind: Literal["download"]
    """The tag of this choice."""

    url: Address = "https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.{language}.vec"
    """Address of a plain .vec file; ``{language}`` stands for each language's code."""

    rows: int = Field(100_000, ge=1, le=1_000_000_000)
    """Rows to take from the top, sound or not; 100,000 in van der Goten 2018."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksums that ``python -m stages.configure.refresh`` found and will replace when the
    rows change, under the names of downloads/; until then nothing else is taken."""


class VectorFiles(Config):
    """Vectors that are on this machine."""

    kind: Literal["file"]
    """The tag of this choice."""

    source: Path
    """Vectors of the source language, .vec or .vec.gz."""

    target: Path
    """Vectors of the target language, .vec or .vec.gz."""

    source_model: Path | None = None
    """The fastText model (.bin) of ``source``, which composes vectors of words it has not seen."""

    rows: int = Field(100_000, ge=1, le=1_000_000_000)
    """Rows to take from the top, sound or not."""


VectorsConfig = Annotated[NoVectors | DownloadedVectors | VectorFiles, Field(discriminator="kind")]
