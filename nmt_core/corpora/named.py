"""Several corpora by name: what they are together."""

import re
from collections.abc import Iterable, Mapping, Sequence

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import GIVEN, Corpus, Description, Size
from nmt_core.corpora.fetch.source import FindKept, find_nothing
from nmt_core.corpora.splitting import PER, SPLITS, Split, SplitConfig

Corpora = Mapping[str, Corpus]


def check_name(name: str) -> str:
    """Return a name of a corpus, which is also one of a file; no two differ by case alone.

    Raises:
        ValueError: if it is none.
    """
    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", name):
        raise ValueError(
            "a corpus has a name of at most 40 lower-case letters, digits, _ and -, which begins "
            "with a letter or a digit"
        )
    return name


def check_corpora(corpora: Corpora, languages: Languages, split: SplitConfig) -> None:
    """Check that corpora can be read together.

    Raises:
        ValueError: if the languages are one, a corpus has not both, none teaches or none may be
            tested on, or the licence of one of several is unknown, or all are of one language
            alone.
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
        raise ValueError(
            "every one of corpora is train_only, which leaves nothing to validate and test on"
        )
    _check_split(corpora, sources, split)
    if len(corpora) > 1:
        _check_licences(corpora)


def _check_split(corpora: Corpora, sources: Sequence[str], split: SplitConfig) -> None:
    if not split.sessions and split.by == "pair":
        return
    together = " and ".join(sources)
    if not list_split_off(corpora):
        name = "split.sessions" if split.sessions else f"split.by: {split.by}"
        raise ValueError(
            f"{name} has no effect, since validation and test are given by {together}; leave it "
            f"out, or give text to split alone"
        )
    if (split.sessions or split.by == "date") and len(sources) > 1:
        which = "names the sessions" if split.sessions else "by date holds out the last days"
        raise ValueError(
            f"split{'.sessions' if split.sessions else ''} {which} of one corpus, but {together} "
            f"may give validation and test; set train_only: true in all but one"
        )


def _check_licences(corpora: Corpora) -> None:
    for name, corpus in corpora.items():
        if describe_licence(corpus)["license"] == "unknown":
            raise ValueError(
                f"corpora.{name}.licence is empty; of several corpora each needs one, for the card "
                f"of the model says what it was trained on: write cc-by-4.0 or the like, or 'own' "
                f"for text of your own"
            )


def list_parallel(corpora: Corpora) -> dict[str, Corpus]:
    """Return the corpora that give pairs, in order."""
    return {name: corpus for name, corpus in corpora.items() if corpus.is_parallel}


def list_split_off(corpora: Corpora) -> frozenset[Split]:
    """Return the splits that no corpus brings, so that they are taken from train."""
    given = (corpus.list_given() for corpus in corpora.values() if not corpus.train_only)
    return frozenset(SPLITS[1:]).difference(*given)


def estimate_total(
    corpora: Corpora, languages: Languages, *, find_kept: FindKept = find_nothing
) -> Size | None:
    """Estimate the size of the training text of all corpora; None if that of one is unknown.

    Raises:
        CorpusError: if a file cannot be read.
    """
    sizes = [
        corpus.estimate_size(languages, find_kept=find_kept)
        for corpus in list_parallel(corpora).values()
        if corpus.weight
    ]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return Size(*map(sum, zip(*known, strict=True)))


def describe_licence(corpus: Corpus) -> dict[str, str]:
    """Describe the licence of a corpus under the keys of Hugging Face's model cards."""
    known = corpus.describe().licence
    return {"license": corpus.licence} if corpus.licence else known


def describe_together(corpora: Corpora) -> Description:
    """Describe corpora for the model card, their licences above all."""
    described = [corpus.describe() for corpus in corpora.values()]
    licences = [describe_licence(corpus) for corpus in corpora.values()]
    if len(corpora) == 1:
        return described[0]._replace(licence=licences[0])
    names = [licence.get("license_name", licence["license"]) for licence in licences]
    text = " ".join(
        f"{name} ({licence}): {one.text}"
        for name, licence, one in zip(corpora, names, described, strict=True)
    )
    same = all(licence == licences[0] for licence in licences)
    joined = {"license": "other", "license_name": ", ".join(sorted(set(names)))}
    return Description(", ".join(corpora), licences[0] if same else joined, text)


def describe_rule(corpora: Corpora, split: SplitConfig) -> str:
    """Return the rule by which the test set was held out.

    By the same rule, whatever the amount of text, no source sentence of one model's test set was
    training text of another model; a given test set follows no rule.
    """
    parallel = list_parallel(corpora).values()
    if "test" not in list_split_off(corpora):
        rules = _list_rules(parallel)
        return rules.pop() if len(rules) == 1 else GIVEN
    if split.sessions or split.by != "pair" or any(corpus.train_only for corpus in parallel):
        return GIVEN  # what is tested on may stand in another corpus, or in what only teaches
    return f"by hash, {split.test_per_10000:g} in {PER:,}, salt {split.salt!r}"


def _list_rules(corpora: Iterable[Corpus]) -> set[str]:
    return {corpus.held_out() or GIVEN for corpus in corpora if not corpus.train_only}
