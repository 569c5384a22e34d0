"""Several corpora by name, and what they are together."""

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from nmt_core.base.config import Config
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import GIVEN, Corpus, Description, Size
from nmt_core.corpora.fetch.source import FindCached, find_nothing
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.registered import CorpusConfig
from nmt_core.corpora.splitting import PER, SPLITS, Split, SplitConfig

Corpora = Mapping[str, Corpus]


def check_name(name: str) -> str:
    """Return a name of a corpus, which is also one of a file.

    Raises:
        ValueError: if it is not one.
    """
    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", name):
        raise ValueError(
            "a corpus has a name of at most 40 lower-case letters, digits, _ and -, which begins "
            "with a letter or a digit"
        )
    return name


CorpusName = Annotated[str, AfterValidator(check_name)]


class CorporaConfig(Config):
    """Corpora by name, and their filters."""

    languages: Languages
    """A source and a target language."""

    corpora: dict[CorpusName, CorpusConfig] = Field(min_length=1)
    """The corpora of parallel text, by names of your own."""

    filter: FilterConfig = FilterConfig()
    """Filters of training pairs; the filter of a corpus takes from here the settings that it
    omits, ``look`` included."""

    @property
    def parallel(self) -> dict[str, Corpus]:
        """The corpora that have pairs, in order."""
        return list_parallel(self.corpora)

    @model_validator(mode="after")
    def _complete_filters(self) -> Self:
        for name, corpus in self.corpora.items():
            if own := corpus.filter:
                given = {setting: getattr(own, setting) for setting in own.model_fields_set}
                whole = FilterConfig(**dict(self.filter) | given)
                self.corpora[name] = corpus.model_copy(update={"filter": whole})
        return self


def check_corpora(corpora: Corpora, languages: Languages, split: SplitConfig) -> None:
    """Check that corpora can be read together.

    Raises:
        ValueError: naming the setting that prevents it.
    """
    if languages.source == languages.target:
        raise ValueError(
            f"languages.source and languages.target are both {languages.source}; text within a "
            f"language needs a code for each side, such as {languages.source} and "
            f"{languages.source}-simple"
        )
    for name, corpus in corpora.items():
        try:
            corpus.check(languages)
        except ValueError as error:
            raise ValueError(f"corpora.{name}: {error}") from None
    parallel = list_parallel(corpora)
    if not parallel:
        raise ValueError("all corpora are monolingual, which leaves no pair to train on")
    if not any(corpus.weight for corpus in parallel.values()):
        raise ValueError("every weight of corpora is 0, which leaves nothing to train on")
    sources = [name for name, corpus in parallel.items() if not corpus.train_only]
    if not sources:
        raise ValueError("all corpora are train_only, which leaves nothing to validate and test on")
    if split.sessions:
        _check_sessions(corpora, " and ".join(sources), len(sources))
    licences = {name: describe_licence(corpus)["license"] for name, corpus in corpora.items()}
    unknown = [name for name, licence in licences.items() if licence == "unknown"]
    if unknown and len(corpora) > 1:
        raise ValueError(
            f"corpora.{unknown[0]}.licence is empty; each of several corpora needs one for the "
            f"model card: write cc-by-4.0 or the like, or 'own' for text of your own"
        )


def _check_sessions(corpora: Corpora, sources: str, number: int) -> None:
    if not list_split_off(corpora):
        raise ValueError(
            f"split.sessions has no effect, since validation and test are given by {sources}; "
            f"remove it, or give text to split alone"
        )
    if number > 1:
        raise ValueError(
            f"split.sessions holds out the end of one corpus, but {sources} may give validation "
            f"and test; set train_only: true in all but one"
        )


def list_parallel(corpora: Corpora) -> dict[str, Corpus]:
    """Return the corpora that have pairs, in order."""
    return {name: corpus for name, corpus in corpora.items() if corpus.is_parallel}


def list_split_off(corpora: Corpora) -> frozenset[Split]:
    """Return the splits that are taken from train, because no corpus has them."""
    given = (corpus.list_given() for corpus in corpora.values() if not corpus.train_only)
    return frozenset(SPLITS[1:]).difference(*given)


def estimate_total(
    corpora: Corpora, languages: Languages, *, find_cached: FindCached = find_nothing
) -> Size | None:
    """Estimate the size of all training text; None if that of a corpus is unknown.

    Raises:
        CorpusError: if a file cannot be read.
    """
    sizes = [
        corpus.estimate_size(languages, find_cached=find_cached)
        for corpus in list_parallel(corpora).values()
        if corpus.weight
    ]
    known = [size for size in sizes if size is not None]
    return Size(*map(sum, zip(*known, strict=True))) if len(known) == len(sizes) else None


def describe_licence(corpus: Corpus) -> dict[str, str]:
    """Describe the licence of a corpus under the keys of Hugging Face's model cards."""
    return {"license": corpus.licence} if corpus.licence else corpus.describe().licence


def describe_together(corpora: Corpora) -> Description:
    """Describe corpora for the model card, their licences above all."""
    described = [corpus.describe() for corpus in corpora.values()]
    licences = [describe_licence(corpus) for corpus in corpora.values()]
    if len(corpora) == 1:
        return described[0]._replace(licence=licences[0])
    names = [licence.get("license_name", licence["license"]) for licence in licences]
    text = " ".join(
        f"{name} ({licence}): {description.text}"
        for name, licence, description in zip(corpora, names, described, strict=True)
    )
    same = all(licence == licences[0] for licence in licences)
    joined = {"license": "other", "license_name": ", ".join(sorted(set(names)))}
    return Description(", ".join(corpora), licences[0] if same else joined, text)


def describe_rule(corpora: Corpora, split: SplitConfig) -> str:
    """Return the rule that selects the test set.

    Models with the same rule may be compared: no test source of one was training text of another.
    A given test set follows no rule.
    """
    parallel = list_parallel(corpora).values()
    if "test" not in list_split_off(corpora):
        rules = {corpus.held_out() or GIVEN for corpus in parallel if not corpus.train_only}
        return rules.pop() if len(rules) == 1 else GIVEN
    if split.sessions or any(corpus.train_only for corpus in parallel):
        return GIVEN  # a test sentence may occur in another corpus, or in one that is train_only
    return f"by hash, {split.test_per_10000:g} in {PER:,}, salt {split.salt!r}"
