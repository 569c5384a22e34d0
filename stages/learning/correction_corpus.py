"""The corpus of corrections to fine-tune on, and its held-out set."""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import Field

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.corpora.filters import FilterConfig, ScreenConfig
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.screen import MIN_PAIRS, Screen, learn_screen
from nmt_core.evaluation.registered import GateConfig
from nmt_core.text.subwords import sample_evenly
from nmt_core.translation.memory.fine_tuning import CorrectionSplit, split_corrections
from nmt_core.translation.memory.journal import (
    Correction,
    CorrectionJournal,
    select_corrections,
)
from stages import paths
from stages.configure.compose import overlay_group
from stages.registry.exported import HeldOut
from stages.runtime.fingerprint import hash_json
from stages.synthesis.composition import describe_made_corpus, find_weight, read_temperature


class LearningConfig(Config):
    """Which corrections are learnt, and for how long."""

    journal: Path = Field(paths.CORRECTIONS, strict=False)  # Prefect passes text
    """The journal of corrections, as ``nmt serve`` writes it."""

    undecided: bool = True
    """Learn also from corrections that nobody has approved yet, after the filters."""

    least: int = Field(30, ge=1)
    """Minimum number of corrections in training."""

    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the corrections in the held-out set, which is never learnt."""

    distance: float = Field(0.2, ge=0, le=0.4)
    """Edits per word up to which a correction is too near to a held-out one to be learnt."""

    share: float = Field(0.15, gt=0, lt=1)
    """Share of the corrections among the text that training reads. A larger share costs more on the
    earlier text than it gains on corrections (docs/results.md)."""

    passes: float = Field(10.0, gt=0)
    """Passes over the corrections."""

    learning_rate: float = Field(0.001, gt=0)
    """Peak learning rate; that of ``START=champion`` would undo what the champion has learnt."""

    screen: ScreenConfig = ScreenConfig()
    """Filter of corrections that nobody has approved; learns its signals from training text."""


CORPUS = "corrections"
"""Name of the corpus among those of ``download.corpora``."""

FOLDER = paths.DOWNLOADS / CORPUS
"""Where it lies."""

JUDGED = FOLDER.with_name("corrections.judged")
"""Digest of the corpus that was last learnt and judged, and of the settings of both."""

MODEL_SETTINGS = ("share", "passes", "learning_rate")
"""Settings that make another model of the same corpus."""

TOKENS_PER_WORD = 1.5
"""Approximate number of tokens of a word."""

MIN_TOKENS = 50_000
"""Target tokens of the shortest training."""

FILTERS = {"look": None, "screen": None}
"""Filters of the corpus. Each correction was screened before, and properties of the whole corpus,
such as no capitals, are how users write and must not stop the training."""

LIKE = ("_base/finetune", "champion")
"""Files of conf/start/ whose settings a training from the champion has."""


class CorrectionCorpus(Config):
    """The corpus of corrections on the disk, and what was left out of it."""

    digest: str
    """Numbers of training pairs and held-out pairs."""
    ids: list[str]
    """Of the corrections that are learnt."""
    learnt: int
    held_out: int
    words: int
    """Of the targets that are learnt."""
    given: int
    """Corrections in the journal, of any languages."""
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
    """Write the corrections of the journal to learn, and the held-out ones, into a folder.

    ``filters`` are those of training pairs, and ``corpus`` is the text of the earlier model.

    Raises:
        CorpusError: if the journal cannot be read.
    """
    given = CorrectionJournal(config.journal).read()
    approved = {each.id for each in given if each.status == "approved"}
    chosen = [*select_corrections(given, languages, undecided=config.undecided)]
    held_out, train = (read_lines_of(corpus, *some) for some in (paths.SPLITS[1:], ["train"]))
    prepared = split_corrections(
        chosen,
        approved,
        (held_out, train),
        filters=filters.model_copy(update={"screen": None}),
        screen=learn_screen_of_corpus(config, languages, corpus) if chosen else None,
        held_out=config.held_out,
        distance=config.distance,
    )
    left = {each.id for each in chosen}
    others = Counter(_name_fate(each, languages) for each in given if each.id not in left)
    return _write(prepared, others, len(given), folder)


def read_lines_of(corpus: Path, *splits: str) -> Iterator[str]:
    """Yield the lines of both sides of splits."""
    return chain.from_iterable(
        files.read_lines(corpus / f"{split}.{side}") for split in splits for side in paths.SIDES
    )


def learn_screen_of_corpus(
    config: LearningConfig, languages: Languages, corpus: Path
) -> Screen | None:
    """Learn a screen from training text; None if there is too little text."""
    counts = files.read_json(corpus / "corpus.json")["pairs"]
    train = (
        sample_evenly(
            files.read_lines(corpus / f"train.{side}"), counts["train"], config.screen.sample_pairs
        )
        for side in paths.SIDES
    )
    sample = [Pair(*pair) for pair in zip(*train, strict=True)]
    return (
        learn_screen(sample, languages.codes, config.screen) if len(sample) >= MIN_PAIRS else None
    )


def read_held_out(folder: Path = FOLDER) -> HeldOut:
    """Return the corrections that are tested on."""
    return HeldOut(*([*files.read_lines(folder / f"held_out.{side}")] for side in paths.SIDES))


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

    ``champion`` is the digest of the model to start from, and ``pairs`` counts those of the other
    corpora, see ``count_weighted_pairs``.

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
        filters=FILTERS,
    )
    tokens = config.passes * corrections.words * TOKENS_PER_WORD / config.share
    train["schedule"]["learning_rate"] = config.learning_rate
    train["budget"] = {"tokens": max(int(tokens), MIN_TOKENS)}
    # the gate judges: validation on the earlier text would select the model that learnt least
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
    learning = config.model_dump(mode="json", include=set(MODEL_SETTINGS))
    return hash_json([corrections.digest, learning, gate.model_dump(mode="json")])


def _name_fate(correction: Correction, languages: Languages) -> str:
    if correction.suggestion.languages != languages:
        return "other_languages"
    return "dropped_by_hand" if correction.status == "dropped" else "superseded"


def _write(
    prepared: CorrectionSplit, others: Counter[str], given: int, folder: Path
) -> CorrectionCorpus:
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
