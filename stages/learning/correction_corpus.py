"""The corpus of a night: what of the journal is learnt, beside the text of before."""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.inspection import MAX_TRUSTED
from nmt_core.corpora.screening.screen import MIN_PAIRS, Screen, learn_screen
from nmt_core.evaluation.statistics.settings import GateConfig
from nmt_core.text.subwords import sample_evenly
from nmt_core.translation.memory.correction import Correction
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.memory.lesson import KnownText, Lesson, prepare_lesson
from nmt_core.translation.memory.selection import SelectedCorrection, select_corrections
from nmt_core.translation.memory.store import TranslationMemory
from stages import paths
from stages.configure.compose import overlay_group
from stages.configure.text_size import describe_made_corpus, find_weight, read_temperature
from stages.learning.settings import LearningConfig
from stages.registry.exported import HeldOut
from stages.runtime.fingerprint import hash_json

CORPUS = "corrections"
"""Name of the corpus among those of ``download.corpora``."""

FOLDER = paths.DOWNLOADS / CORPUS
"""Where it lies."""

JUDGED = FOLDER.with_name("corrections.judged")
"""Digest of the corpus that was last learnt and judged, and of the settings of both."""

HOW_IT_IS_LEARNT = ("share", "passes", "learning_rate", "champion_share")
"""Settings that make another model of the same corpus."""

PIECES_PER_WORD = 1.5
"""Tokens that a word is cut into, about."""

LEAST_TOKENS = 50_000
"""Target tokens of the shortest training."""

JUDGED_ONE_BY_ONE = {"look": None, "screen": None}
"""Filters of the corpus: each correction was screened before, and what all of them have in common,
such as no capitals, is how users write and stops no night."""

LIKE = ("_base/finetune", "champion")
"""Files of conf/start/ whose settings a training from the champion has."""


class CorrectionCorpus(Config):
    """The corpus of a night on the disk, and what was left out of it."""

    digest: str
    """Of what is learnt and what is tested on."""
    ids: list[str]
    """Of the corrections that are learnt."""
    learnt: int
    held_out: int
    words: int
    """Of the targets that are learnt."""
    given: int
    """Corrections in the journal, of any languages, and units of the memory."""
    dropped: dict[str, int]
    """Corrections that are neither learnt nor tested on, by reason."""
    examples: dict[str, list[tuple[str, str]]]
    """Some of them."""


def write_corrections(
    config: LearningConfig,
    languages: Languages,
    filters: FilterConfig,
    *,
    corpus: Path = paths.CORPUS,
    folder: Path = FOLDER,
) -> CorrectionCorpus:
    """Write what is learnt of the journal, and what is tested on, into a folder.

    Args:
        config: settings.
        languages: of the model.
        filters: of its training pairs.
        corpus: the text that it was trained on.
        folder: the target, which appears whole.

    Raises:
        CorpusError: if the journal or the memory cannot be read.
    """
    given = CorrectionJournal(config.journal).read()
    approved = {each.id for each in given if each.status == "approved"}
    corrected = [*select_corrections(given, languages, undecided=config.undecided)]
    remembered = [*read_memory(config.memory, languages, {each.source for each in corrected})]
    approved |= {each.id for each in remembered}
    chosen = [*corrected, *remembered]
    held_out, train = (read_lines_of(corpus, *some) for some in (paths.SPLITS[1:], ["train"]))
    prepared = prepare_lesson(
        chosen,
        approved,
        KnownText.read(held_out, train, chosen),
        filters=filters.model_copy(update={"screen": None}),
        screen=learn_screen_of_corpus(config, languages, corpus, chosen),
        held_out=config.held_out,
        distance=config.distance,
    )
    left = {each.id for each in corrected}
    others = Counter(_name_fate(each, languages) for each in given if each.id not in left)
    return _write(prepared, others, len(given) + len(remembered), folder)


def read_memory(
    path: Path | None, languages: Languages, known: Container[str]
) -> Iterator[SelectedCorrection]:
    """Yield the approved units of a memory, of all users and projects, but for known sources.

    Raises:
        CorpusError: if it cannot be read.
    """
    if path is None:
        return
    memory, seen = TranslationMemory(path), set[str]()
    for scope, _ in memory.list_scopes():
        if scope.languages != languages:
            continue
        for unit in memory.read(scope):
            if unit.source not in known and unit.source not in seen:
                seen.add(unit.source)
                yield SelectedCorrection(unit.source, unit.target, f"memory {len(seen)}")


def read_lines_of(corpus: Path, *splits: str) -> Iterator[str]:
    """Yield the lines of both sides of splits."""
    return chain.from_iterable(
        files.read_lines(corpus / f"{split}.{side}") for split in splits for side in paths.SIDES
    )


def learn_screen_of_corpus(
    config: LearningConfig,
    languages: Languages,
    corpus: Path,
    corrections: Sequence[SelectedCorrection],
) -> Screen | None:
    """Learn what is usual from training text, and thresholds for corrections.

    What is tested on is trusted, with the validation set. None where there is too little text.
    """
    counts = files.read_json(corpus / "corpus.json")["pairs"]
    train = (
        sample_evenly(
            files.read_lines(corpus / f"train.{side}"), counts["train"], config.screen.sample_pairs
        )
        for side in paths.SIDES
    )
    sample = [Pair(*pair) for pair in zip(*train, strict=True)]
    if len(sample) < MIN_PAIRS or not corrections:
        return None
    held_out = chain.from_iterable(read_pairs_of(corpus, split) for split in paths.SPLITS[1:])
    trusted = [Pair(*pair) for pair in islice(held_out, MAX_TRUSTED)]
    judged = [Pair(each.source, each.target) for each in corrections]
    return learn_screen(sample, trusted, languages.codes, config.screen, judged=judged)


def read_pairs_of(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two files named for their sides."""
    source, target = (files.read_lines(folder / f"{name}.{side}") for side in paths.SIDES)
    return zip(source, target, strict=True)


def read_held_out(folder: Path = FOLDER) -> HeldOut:
    """Return the corrections that are tested on."""
    pairs = [*read_pairs_of(folder, "held_out")]
    return HeldOut([source for source, _ in pairs], [target for _, target in pairs])


def compose_learning(
    values: Mapping[str, Any],
    corrections: CorrectionCorpus,
    config: LearningConfig,
    *,
    champion: str,
    pairs: float,
    folder: Path = FOLDER,
) -> dict[str, Any]:
    """Return settings of a training that goes on from the champion with corrections.

    Args:
        values: content of params.yaml.
        corrections: what is learnt.
        config: the share of it, and how often it is read.
        champion: digest of the model to start from.
        pairs: of the other corpora in train, each times its weight, at the mixture's temperature.
        folder: of the corrections.

    Raises:
        ConfigError: if there is a corpus of that name.
    """
    if CORPUS in values["download"]["corpora"]:
        raise ConfigError(
            f"download.corpora has a corpus {CORPUS}, as that of learning is named; give yours "
            f"another name"
        )
    composed = copy.deepcopy(dict(values))
    overlay_group(composed, "start", LIKE)
    download, train = composed["download"], composed["train"]
    download["initial_model"]["sha256"] = champion
    download["corpora"][CORPUS] = describe_made_corpus(
        folder / "learnt",
        weight=find_weight(
            config.share,
            pairs=corrections.learnt,
            others=pairs,
            temperature=read_temperature(values),
        ),
        licence="own",
        filters=JUDGED_ONE_BY_ONE,
    )
    tokens = config.passes * corrections.words * PIECES_PER_WORD / config.share
    train["schedule"]["learning_rate"] = config.learning_rate
    train["mixture"] = train.get("mixture", {}) | {"phases": []}  # none reads corrections
    train["initial_share"] = config.champion_share
    train["budget"] = {"tokens": max(int(tokens), LEAST_TOKENS)}
    # the gate judges; a validation of the old text would take what has learnt least
    train["training"] |= {"validate_every": 1_000_000, "patience": None}
    return composed


def was_judged(
    corrections: CorrectionCorpus, config: LearningConfig, gate: GateConfig, judged: Path = JUDGED
) -> bool:
    """Tell whether nothing has changed since corrections were last learnt and judged."""
    told = judged.read_text(encoding="utf-8").strip() if judged.exists() else ""
    return told == _digest_judged(corrections, config, gate)


def note_judged(
    corrections: CorrectionCorpus, config: LearningConfig, gate: GateConfig, judged: Path = JUDGED
) -> None:
    """Note that corrections were learnt and judged."""
    files.write_text(judged, f"{_digest_judged(corrections, config, gate)}\n")


def _digest_judged(corrections: CorrectionCorpus, config: LearningConfig, gate: GateConfig) -> str:
    """Return a digest of what is learnt, how it is learnt, and how it is judged."""
    learning = config.model_dump(mode="json", include=set(HOW_IT_IS_LEARNT))
    return hash_json([corrections.digest, learning, gate.model_dump(mode="json")])


def _name_fate(correction: Correction, languages: Languages) -> str:
    if correction.suggestion.languages != languages:
        return "other_languages"
    return "dropped_by_hand" if correction.status == "dropped" else "superseded"


def _write(prepared: Lesson, others: Counter[str], given: int, folder: Path) -> CorrectionCorpus:
    kinds = {"learnt": prepared.learnt, "held_out": prepared.held_out}
    counts = others + Counter({why: len(some) for why, some in prepared.dropped.items()})
    written = CorrectionCorpus(
        digest=hashlib.sha256(json.dumps(kinds).encode()).hexdigest(),
        ids=[each.id for each in prepared.learnt],
        learnt=len(prepared.learnt),
        held_out=len(prepared.held_out),
        words=sum(len(each.target.split()) for each in prepared.learnt),
        given=given,
        dropped=dict(sorted(counts.items())),
        examples={why: [each[:2] for each in some[:3]] for why, some in prepared.dropped.items()},
    )
    with files.whole_folder(folder) as part:
        for name, pairs in kinds.items():
            for number, side in enumerate(paths.SIDES):
                files.write_lines(part / f"{name}.{side}", (each[number] for each in pairs))
        files.write_json(part / "corrections.json", written.model_dump(mode="json"))
    return written
