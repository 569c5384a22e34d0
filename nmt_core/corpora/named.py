"""Kinds of corpora, short names for settings, and the settings of several corpora."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from nmt_core.base.config import Config, OpenUnion
from nmt_core.base.errors import suggest
from nmt_core.base.languages import LanguagePair, Languages, summarize_directions
from nmt_core.base.registry import Registry
from nmt_core.corpora.corpus import GIVEN, Corpus, Description, Size
from nmt_core.corpora.fetch.address import SCHEMES
from nmt_core.corpora.fetch.source import FindCached
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.formats.paired_units import NO_FORMAT, may_hold_both_sides
from nmt_core.corpora.splitting import PER, SPLITS, Split, SplitConfig
from nmt_core.corpora.uses import CorpusUse, check_directions, list_uses

CORPORA: Registry[type[Corpus]] = Registry(
    "a kind of corpus",
    "nmt.corpora",
    {
        "files": "nmt_core.corpora.local:FilesCorpus",
        "opus": "nmt_core.corpora.web:OpusCorpus",
        "synthetic": "nmt_core.corpora.local:SyntheticCorpus",
        "text": "nmt_core.corpora.local:MonolingualCorpus",
        "url": "nmt_core.corpora.web:WebCorpus",
    },
)
"""The settings of each kind of corpus."""

OPUS_EXAMPLE = "opus:Tatoeba/v2023-04-12"

SHORT_NAMES: dict[str, dict[str, Any]] = {
    "europarl": {
        "kind": "opus",
        "corpus": "Europarl",
        "version": "v8",
        "licence": "other",
        "pairs": 1_950_000,
    }
}
"""Settings of corpora by their short names."""


def expand_name(name: str) -> dict[str, Any]:
    """Return the settings of a named corpus; raise a ValueError for an invalid name.

    Names are ``europarl``, ``opus:CORPUS/VERSION``, URLs, and paths of files with both sides, with
    one ``*`` for several files.
    """
    if name in SHORT_NAMES:
        return dict(SHORT_NAMES[name])
    prefix, colon, address = name.partition(":")
    if not colon or not re.fullmatch("[A-Za-z0-9]+", prefix):
        return _expand_path(name)
    if prefix in SCHEMES:
        return {"kind": "url", "url": name}
    if prefix != "opus":
        raise ValueError(
            f"{name!r} begins with an unknown prefix; {suggest(prefix, ['opus', *SCHEMES])}; "
            f"write ./{name} if it is a path"
        )
    corpus, _, version = address.partition("/")
    if not version:
        raise ValueError(
            f"{name!r} has no version; write it like {OPUS_EXAMPLE}; make corpora lists versions"
        )
    return {"kind": "opus", "corpus": corpus, "version": version}


def _expand_path(name: str) -> dict[str, Any]:
    if not may_hold_both_sides(Path(name)):
        raise ValueError(
            f"{name!r} {NO_FORMAT}; for a file per language set kind: files, for a folder a "
            f"pattern such as texts/*.tmx"
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
    return settings


CorpusConfig = Annotated[Corpus, OpenUnion(CORPORA, expand=_expand)]
"""The settings of a corpus of any ``kind``; or a short name for them, alone or as ``name`` with
other settings."""

Corpora = Mapping[str, Corpus]


def check_name(name: str) -> str:
    """Return a valid name of a corpus; raise a ValueError for any other."""
    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", name):
        raise ValueError(
            "the name of a corpus must have at most 40 lower-case letters, digits, _ and -, and "
            "begin with a letter or a digit"
        )
    return name


CorpusName = Annotated[str, AfterValidator(check_name)]


class CorporaConfig(Config):
    """Corpora by name, and their filters."""

    languages: Languages
    """Source and target language; ``mul`` stands for several."""

    directions: tuple[LanguagePair, ...] = ()
    """Directions of a multilingual model, such as ``[de-en, fr-en, en-de]``; empty for one
    direction. Each corpus then names its own languages."""

    corpora: dict[CorpusName, CorpusConfig] = Field(min_length=1)
    """Corpora by names of your choice."""

    filter: FilterConfig = FilterConfig()
    """Filters of training pairs; the filter of a corpus inherits the settings that it omits,
    including ``look``."""

    @property
    def parallel(self) -> dict[str, Corpus]:
        """The corpora with sentence pairs, in order."""
        return list_parallel(self.corpora)

    @property
    def learned(self) -> tuple[Languages, ...]:
        """All directions that the model learns."""
        return self.directions or (self.languages,)

    @property
    def uses(self) -> list[CorpusUse]:
        """The corpora with sentence pairs, in the directions that they serve, in order."""
        return list_uses(self.corpora, self.languages, self.learned)

    @model_validator(mode="after")
    def _complete_filters(self) -> Self:
        for name, corpus in self.corpora.items():
            if own := corpus.filter:
                changes = {setting: getattr(own, setting) for setting in own.model_fields_set}
                merged = FilterConfig(**dict(self.filter) | changes)
                self.corpora[name] = corpus.model_copy(update={"filter": merged})
        if self.directions and self.languages != (both := summarize_directions(self.directions)):
            raise ValueError(f"languages is {self.languages}, but directions are {both}; set that")
        return self


def check_corpora(
    corpora: Corpora, languages: Languages, directions: Sequence[Languages] = ()
) -> None:
    """Raise a ValueError if corpora cannot be used together.

    ``directions`` are those of a multilingual model, otherwise empty.
    """
    if languages.source == languages.target and not directions:
        raise ValueError(
            f"languages.source and languages.target are both {languages.source}; to translate "
            f"within a language, set different codes, such as {languages.source} and "
            f"{languages.source}-simple"
        )
    learned = [*directions] or [languages]
    for name, corpus in corpora.items():
        try:
            _check_languages(corpus, learned)
        except ValueError as error:
            raise ValueError(f"corpora.{name}: {error}") from None
    check_directions(corpora, languages, learned)
    parallel = list_parallel(corpora)
    if not parallel:
        raise ValueError("all corpora are monolingual, which leaves no pair to train on")
    if not any(corpus.weight for corpus in parallel.values()):
        raise ValueError("every weight of corpora is 0, which leaves nothing to train on")
    sources = [name for name, corpus in parallel.items() if not corpus.train_only]
    if not sources:
        raise ValueError("all corpora are train_only, which leaves nothing to validate and test on")
    licences = {name: describe_licence(corpus)["license"] for name, corpus in corpora.items()}
    unknown = [name for name, licence in licences.items() if licence == "unknown"]
    if unknown and len(corpora) > 1:
        raise ValueError(
            f"corpora.{unknown[0]}.licence is empty; with several corpora, the model card requires "
            f"all licences: set one such as cc-by-4.0, or 'own' for your own text"
        )


def _check_languages(corpus: Corpus, directions: Sequence[Languages]) -> None:
    """Raise a ValueError if a corpus has none of the directions, nor its own languages."""
    problems = []
    for languages in (corpus.languages,) if corpus.languages else directions:
        try:
            corpus.check(languages)
        except ValueError as error:
            problems.append(error)
        else:
            return
    raise problems[-1]


def list_parallel(corpora: Corpora) -> dict[str, Corpus]:
    """Return the corpora with sentence pairs, in order."""
    return {name: corpus for name, corpus in corpora.items() if corpus.is_parallel}


def list_split_off(corpora: Corpora) -> frozenset[Split]:
    """Return the splits that are taken from train, because no corpus has them."""
    provided = (corpus.list_given() for corpus in corpora.values() if not corpus.train_only)
    return frozenset(SPLITS[1:]).difference(*provided)


def estimate_total(
    corpora: Corpora,
    languages: Languages,
    directions: Sequence[Languages],
    find_cached: FindCached,
) -> Size | None:
    """Return the estimated size of all training text; None if that of a corpus is unknown.

    ``directions`` are those of a multilingual model; a corpus counts in each that it serves.
    """
    sizes = [
        corpora[use.corpus].estimate_size(corpora[use.corpus].languages or languages, find_cached)
        for use in list_uses(corpora, languages, directions or [languages])
        if corpora[use.corpus].weight
    ]
    known = [size for size in sizes if size is not None]
    return Size(*map(sum, zip(*known, strict=True))) if len(known) == len(sizes) else None


def describe_licence(corpus: Corpus) -> dict[str, str]:
    """Return the licence of a corpus as metadata of Hugging Face's model cards."""
    return {"license": corpus.licence} if corpus.licence else corpus.describe().licence


def describe_together(corpora: Corpora) -> Description:
    """Return one description of all corpora with their licences, for the model card."""
    descriptions = [corpus.describe() for corpus in corpora.values()]
    licences = [describe_licence(corpus) for corpus in corpora.values()]
    if len(corpora) == 1:
        return descriptions[0]._replace(licence=licences[0])
    names = [licence.get("license_name", licence["license"]) for licence in licences]
    text = " ".join(
        f"{name} ({licence}): {description.text}"
        for name, licence, description in zip(corpora, names, descriptions, strict=True)
    )
    same = all(licence == licences[0] for licence in licences)
    joined = {"license": "other", "license_name": ", ".join(sorted(set(names)))}
    return Description(", ".join(corpora), licences[0] if same else joined, text)


def describe_rule(corpora: Corpora, split: SplitConfig) -> str:
    """Return the rule that selects the test set.

    Models with the same rule are comparable: no test source of one model is training text of
    another. A test set of the user follows no rule.
    """
    parallel = list_parallel(corpora).values()
    if "test" not in list_split_off(corpora):
        rules = {corpus.held_out() or GIVEN for corpus in parallel if not corpus.train_only}
        return rules.pop() if len(rules) == 1 else GIVEN
    if any(corpus.train_only for corpus in parallel):
        return GIVEN  # a train_only corpus may contain test sentences
    return f"by hash, {split.test_per_10000:g} in {PER:,}, salt {split.salt!r}"
