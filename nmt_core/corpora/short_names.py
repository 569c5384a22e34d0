"""Names that stand for the settings of a corpus, such as opus:Tatoeba/v2023-04-12."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nmt_core.base.errors import suggest
from nmt_core.corpora.fetch.address import SCHEMES
from nmt_core.corpora.formats.registered import NO_FORMAT, advise_suffixes, may_hold_both_sides

Settings = dict[str, Any]

OPUS_EXAMPLE = "opus:Tatoeba/v2023-04-12"


def expand_name(name: str) -> Settings:
    """Return the settings of the corpus that a name stands for.

    ``opus:CORPUS/VERSION``, ``mtdata:DATASET``, an address of the web, or the path of files that
    hold both sides, with one ``*`` for all such files in a folder.

    Raises:
        ValueError: if it stands for none.
    """
    prefix, colon, rest = name.partition(":")
    if not colon or not re.fullmatch("[A-Za-z0-9]+", prefix):
        return _expand_path(name)
    if prefix in SCHEMES:
        return {"kind": "url", "url": name}
    if prefix not in PREFIXES:
        raise ValueError(
            f"{name!r} begins with no known prefix; {suggest(prefix, [*PREFIXES, *SCHEMES])}; "
            f"write ./{name} if it is a path"
        )
    return PREFIXES[prefix](rest)


def _expand_opus(name: str) -> Settings:
    corpus, _, version = name.partition("/")
    if not version:
        raise ValueError(
            f"'opus:{name}' names no version; write it as in {OPUS_EXAMPLE}; make corpora lists "
            f"what there is"
        )
    return {"kind": "opus", "corpus": corpus, "version": version}


def _expand_mtdata(name: str) -> Settings:
    return {"kind": "mtdata", "dataset": name}


def _expand_path(name: str) -> Settings:
    if not may_hold_both_sides(Path(name)):
        raise ValueError(
            f"{name!r} {NO_FORMAT.format(advise_suffixes())}; name two files, one a language, by "
            f"kind: files, and a folder by a pattern, as in texts/*.tmx"
        )
    return {"kind": "files", "train": {"source": name}}


PREFIXES: Mapping[str, Callable[[str], Settings]] = {
    "opus": _expand_opus,
    "mtdata": _expand_mtdata,
}
"""What stands behind each prefix, before a colon."""
