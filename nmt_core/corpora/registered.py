"""Kinds of corpora by name: each is a file with a ``Corpus`` and a line here."""

import re
from pathlib import Path
from typing import Annotated, Any

from nmt_core.base.config import OpenUnion
from nmt_core.base.errors import suggest
from nmt_core.base.registry import Registry
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch.address import SCHEMES
from nmt_core.corpora.formats.registered import NO_FORMAT, advise_suffixes, may_hold_both_sides

CORPORA: Registry[type[Corpus]] = Registry(
    "a kind of corpus",
    "nmt.corpora",
    {
        "files": "nmt_core.corpora.local:FilesCorpus",
        "mtdata": "nmt_core.corpora.mtdata:MtdataCorpus",
        "opus": "nmt_core.corpora.opus:OpusCorpus",
        "text": "nmt_core.corpora.monolingual:MonolingualCorpus",
        "url": "nmt_core.corpora.web:WebCorpus",
    },
)
"""The settings of each kind of corpus."""

PREFIXES = ("opus", "mtdata")

OPUS_EXAMPLE = "opus:Tatoeba/v2023-04-12"

EUROPARL = {"kind": "opus", "corpus": "Europarl", "version": "v8", "licence": "other"}
"""In the place of ``kind: europarl``, which earlier exports name."""

STATMT = "https://www.statmt.org/"
"""The server of its archives; those of mirrors are ``kind: url``."""

EUROPARL_KEYS = {"weight", "licence", "tag", "filter", "train_only", "on_bad_line"}
"""Settings of that kind that are valid for OPUS, too."""


def expand_name(name: str) -> dict[str, Any]:
    """Return the settings of the corpus that a name stands for.

    ``opus:CORPUS/VERSION``, ``mtdata:DATASET``, an address on the web, or the path of files that
    hold both sides, with one ``*`` for all such files in a folder.

    Raises:
        ValueError: if it stands for none.
    """
    prefix, colon, rest = name.partition(":")
    if not colon or not re.fullmatch("[A-Za-z0-9]+", prefix):
        return _expand_path(name)
    if prefix in SCHEMES:
        return {"kind": "url", "url": name}
    if prefix == "mtdata":
        return {"kind": "mtdata", "dataset": rest}
    if prefix != "opus":
        raise ValueError(
            f"{name!r} begins with an unknown prefix; {suggest(prefix, [*PREFIXES, *SCHEMES])}; "
            f"write ./{name} if it is a path"
        )
    corpus, _, version = rest.partition("/")
    if not version:
        raise ValueError(
            f"{name!r} names no version; write it as in {OPUS_EXAMPLE}; make corpora lists them"
        )
    return {"kind": "opus", "corpus": corpus, "version": version}


def _expand_path(name: str) -> dict[str, Any]:
    if not may_hold_both_sides(Path(name)):
        raise ValueError(
            f"{name!r} {NO_FORMAT.format(advise_suffixes())}; name two files, one a language, by "
            f"kind: files, and a folder by a pattern, as in texts/*.tmx"
        )
    return {"kind": "files", "train": {"source": name}}


def _expand(settings: Any) -> Any:
    match settings:
        case str(name):
            return expand_name(name)
        case {"name": str(name), **others} if "kind" not in others:
            return expand_name(name) | others
        case {"role": "monolingual", **others} if "kind" not in others:
            return {"kind": "text", **settings}
        case {"kind": "europarl", **others} if STATMT in str(others.get("url", STATMT)):
            kept = {key: others[key] for key in EUROPARL_KEYS & others.keys()}
            return EUROPARL | {key: value for key, value in kept.items() if value != ""}
    return settings


CorpusConfig = Annotated[Corpus, OpenUnion(CORPORA, expand=_expand)]
"""The settings of any corpus, told apart by ``kind``; or a name that stands for them, alone or as
``name`` beside other settings."""
