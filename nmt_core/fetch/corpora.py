"""Where parallel text comes from: invented, the European Parliament, or files of one's own."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from nmt_core import files
from nmt_core.config import Config
from nmt_core.errors import DownloadError
from nmt_core.fetch import archive
from nmt_core.fetch.address import Address
from nmt_core.fetch.http import (
    Checksum,
    Fetched,
    HttpConfig,
    Renewed,
    Source,
    fetch,
    quarantine,
)
from nmt_core.grammar import GrammarConfig, generate
from nmt_core.text import pivot
from nmt_core.text.cleaning import Split
from nmt_core.text.corpus import (
    UNREADABLE,
    UNUSABLE,
    Pair,
    Problem,
    Text,
    TextFiles,
    ordinary,
    unreadable,
    write_pairs,
)

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
    records what came, and ``python -m stages.renewal`` asks whether there is another."""

    pivot_sha256: Checksum = ""
    """Checksum of the target language's archive, for a pair without English."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksums that ``python -m stages.renewal`` found and will replace when an archive changes,
    under the names of downloads/; until then nothing else is taken. Of no effect beside yours."""

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


@dataclass
class Obtained:
    """A corpus as it came."""

    texts: dict[Split, Text]
    origins: list[dict[str, Any]]
    """Size and SHA-256 of every file it came from."""


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


def archives(corpus: EuroparlCorpus, languages: Languages) -> dict[str, Source]:
    """Return the archives that a pair of languages needs, by the code of the one beside English."""
    foreign = [code for code in (languages.source, languages.target) if code != ENGLISH]
    checksums = zip(foreign, (corpus.sha256, corpus.pivot_sha256), strict=False)
    return {
        code: Source(
            corpus.url.replace("{pair}", f"{code}-{ENGLISH}"),
            "download.corpus.url",
            sha256=checksum,
            renewed=corpus.renewed,
            check=partial(_try_out, names=_members(corpus, code)),
        )
        for code, checksum in checksums
    }


def obtain(
    corpus: CorpusConfig,
    languages: Languages,
    *,
    downloads: Path,
    scratch: Path,
    http: HttpConfig,
) -> Obtained:
    """Bring a corpus onto the disk; its text is not read yet.

    Args:
        corpus: which.
        languages: of source and target; the corpus has both (:func:`check_languages`).
        downloads: keeps what was fetched, for the next time.
        scratch: takes what is needed only now.
        http: patience with servers.

    Raises:
        DownloadError: if an archive cannot be fetched or is not what was promised.
        CorpusError: if a file cannot be read or is not what it was.
    """
    match corpus:
        case DemoCorpus():
            return _invent(corpus, languages, scratch)
        case EuroparlCorpus():
            return _fetch_europarl(corpus, languages, downloads, scratch, http)
        case FilesCorpus():
            return _open_files(corpus)


def _invent(corpus: DemoCorpus, languages: Languages, scratch: Path) -> Obtained:
    swapped = languages.source == ENGLISH
    drawn = generate(corpus.grammar)
    splits: tuple[Split, ...] = ("train", "validation", "test")
    texts: dict[Split, Text] = {}
    for name in splits:
        pairs = (Pair(*(pair[::-1] if swapped else pair)) for pair in drawn[name])
        source, target = scratch / f"demo.{name}.source", scratch / f"demo.{name}.target"
        write_pairs(pairs, source, target)
        texts[name] = Text(((source, target),))
    return Obtained(texts, origins=[])


def _open_files(corpus: FilesCorpus) -> Obtained:
    bad = UNREADABLE if corpus.on_bad_line == "drop" else ()
    held_out = (*UNREADABLE, *UNUSABLE) if corpus.on_bad_line == "drop" else ()
    texts: dict[Split, Text] = {"train": _text(corpus.train, (*bad, *UNUSABLE))}
    given: list[TextFiles] = [corpus.train]
    held: dict[Split, TextFiles | None] = {"validation": corpus.validation, "test": corpus.test}
    for name, text in held.items():
        if text is not None:
            texts[name] = _text(text, held_out)
            given.append(text)
    for text in given:
        text.check()
    paths = [path for text in given for pair in text.found().values() for path in pair]
    return Obtained(texts, [_origin(path) for path in dict.fromkeys(paths)])


def _text(text: TextFiles, drop: tuple[Problem, ...]) -> Text:
    return Text(tuple(text.found().values()), drop)


def _fetch_europarl(
    corpus: EuroparlCorpus, languages: Languages, downloads: Path, scratch: Path, http: HttpConfig
) -> Obtained:
    fetched: list[Fetched] = []
    sides: dict[str, pivot.Side] = {}
    for code, source in archives(corpus, languages).items():
        kept = fetch(source, downloads, http)
        fetched.append(kept)
        sides[code] = _unpack(kept.path, _members(corpus, code), scratch)
    if len(sides) == 1:
        [(code, side)] = sides.items()
        paths = {code: side.text, ENGLISH: side.shared}
    else:
        paths = {code: scratch / f"europarl.{code}" for code in sides}
        one, other = sides
        pivot.join(sides[one], sides[other], paths[one], paths[other])
    text = TextFiles(source=paths[languages.source], target=paths[languages.target])
    bad = UNREADABLE if corpus.on_bad_line == "drop" else ()
    origins = [{"url": one.url, "bytes": one.size_bytes, "sha256": one.sha256} for one in fetched]
    return Obtained({"train": _text(text, (*bad, *UNUSABLE))}, origins)


def _members(corpus: EuroparlCorpus, code: str) -> list[str]:
    stem = f"europarl-{corpus.release}.{code}-{ENGLISH}"
    return [f"{stem}.{code}", f"{stem}.{ENGLISH}"]


def _try_out(path: Path, *, names: list[str]) -> None:
    with TemporaryDirectory(dir=path.parent) as scratch:
        archive.extract(path, names, Path(scratch))


def _unpack(path: Path, names: list[str], scratch: Path) -> pivot.Side:
    try:
        found = archive.extract(path, names, scratch)
    except DownloadError as error:
        rejected = quarantine(path)
        raise DownloadError(
            f"{error}; it was moved to {rejected}: "
            f"run again, or set download.corpus.url to a mirror"
        ) from None
    return pivot.Side(*(found[name] for name in names))


def _origin(path: Path) -> dict[str, Any]:
    try:
        digest = files.sha256(ordinary(path))
        return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}
    except OSError as error:
        raise unreadable(path, error) from None
