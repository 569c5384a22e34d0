"""Where parallel text comes from: invented, the European Parliament, or files of one's own."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nmt_core import files
from nmt_core.errors import DownloadError
from nmt_core.fetch import archive
from nmt_core.fetch.http import Fetched, Source, fetch, quarantine
from nmt_core.fetch.settings import (
    ENGLISH,
    CorpusConfig,
    DemoCorpus,
    EuroparlCorpus,
    FilesCorpus,
    HttpConfig,
    Languages,
)
from nmt_core.grammar.generate import generate
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


@dataclass
class Obtained:
    """A corpus as it came."""

    texts: dict[Split, Text]
    origins: list[dict[str, Any]]
    """Size and SHA-256 of every file it came from."""


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
