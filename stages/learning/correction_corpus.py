"""The corpus of corrections to fine-tune on, and its held-out set."""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, compress
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
from nmt_core.evaluation.registry import GateConfig
from nmt_core.text.subwords import sample_evenly
from nmt_core.translation.memory.fine_tuning import CorrectionSplit, split_corrections
from nmt_core.translation.memory.journal import (
    Correction,
    CorrectionJournal,
    SelectedCorrection,
    select_corrections,
)
from stages import paths
from stages.configure.compose import overlay_group
from stages.paths import Inputs
from stages.registry.exported import HeldOut
from stages.runtime.fingerprint import hash_json
from stages.synthesis.composition import describe_made_corpus, find_weight, read_temperature


class LearningConfig(Config):
    """Selection of the corrections for fine-tuning, and length of the training."""

    journal: Path = Field(paths.CORRECTIONS, strict=False)  # Prefect passes text
    """The journal of corrections, as ``nmt serve`` writes it."""

    undecided: bool = True
    """Also train on corrections that nobody has approved yet, if they pass the filters."""

    least: int = Field(30, ge=1)
    """Minimum number of corrections to train on."""

    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the corrections in the held-out set, which is never trained on."""

    distance: float = Field(0.2, ge=0, le=0.4)
    """Edits per word up to which a correction is too close to a held-out one to be trained on."""

    share: float = Field(0.15, gt=0, lt=1)
    """Share of the corrections among the pairs that training reads. A larger share costs more on
    the earlier test set than it gains on corrections (docs/results.md)."""

    passes: float = Field(10.0, gt=0)
    """Passes over the corrections."""

    learning_rate: float = Field(0.001, gt=0)
    """Peak learning rate; the one of ``START=champion`` would cause too much forgetting."""

    screen: ScreenConfig = ScreenConfig()
    """Filter of corrections without approval; its statistics are learnt from training text."""


CORPUS = "corrections"
"""Name of the corpus in ``download.corpora``. For a multilingual model, a corpus has one direction,
and its name follows, such as ``corrections-de-en``."""

FOLDER = paths.DOWNLOADS / CORPUS
"""Folder of the corpora."""

JUDGED = FOLDER.with_name("corrections.judged")
"""File with a digest of the last fine-tuning that was judged: its corpus, settings and gate."""

MODEL_SETTINGS = ("share", "passes", "learning_rate")
"""Settings that change the model trained on a corpus."""

TOKENS_PER_WORD = 1.5
"""Approximate number of tokens per word."""

MIN_TOKENS = 50_000
"""Minimum number of target tokens of a training."""

FILTERS = {"look": None, "screen": None}
"""Filters of the corpus, turned off: each correction was screened before, and the sanity check of
a whole corpus must not stop because users write without capitals."""

PRESETS = ("_base/finetune", "champion")
"""Presets of conf/start/ for a training from the champion."""


class CorrectionCorpus(Config):
    """The corpus of corrections on disk, and the counts of dropped corrections."""

    digest: str
    """SHA-256 of the training pairs and the held-out pairs."""
    ids: list[str]
    """Ids of the corrections to train on."""
    learnt: int
    """Number of corrections to train on."""
    directions: dict[str, int] = Field(default_factory=dict)
    """Their number in each direction of a multilingual model; empty for one direction."""
    held_out: int
    """Number of corrections in the held-out set."""
    words: int
    """Number of target words to train on."""
    given: int
    """Number of corrections in the journal, in all languages."""
    dropped: dict[str, int]
    """Number of corrections that are used neither for training nor for testing, by reason."""
    examples: dict[str, list[tuple[str, str]]]
    """Source and correction of a few dropped ones, by reason."""


def write_corrections(
    config: LearningConfig,
    directions: Sequence[Languages],
    filters: FilterConfig,
) -> CorrectionCorpus:
    """Write the journal's corrections to train on, and the held-out ones; return their counts.

    ``directions`` are all that the model learns, ``filters`` the settings for training pairs.

    Raises:
        CorpusError: if the journal cannot be read.
    """
    corrections = CorrectionJournal(config.journal).read()
    approved = {each.id for each in corrections if each.status == "approved"}
    chosen = {
        each: languages
        for languages in directions
        for each in select_corrections(corrections, languages, undecided=config.undecided)
    }
    held_out, train = (
        chain.from_iterable(
            files.read_lines(paths.CORPUS / f"{split}.{side}")
            for split in splits
            for side in paths.SIDES
        )
        for splits in (paths.SPLITS[1:], ["train"])
    )
    prepared = split_corrections(
        [*chosen],
        approved,
        (held_out, train),
        filters=filters.model_copy(update={"screen": None}),
        noise=find_noise(config, chosen),
        held_out=config.held_out,
        distance=config.distance,
    )
    chosen_ids = {each.id for each in chosen}
    unchosen = [each for each in corrections if each.id not in chosen_ids]
    reasons = Counter(_find_drop_reason(each, directions) for each in unchosen)
    several = chosen if len(directions) > 1 else {}
    return _write(prepared, several, reasons, len(corrections))


def name_corpus(direction: str) -> str:
    """Return the name of the corpus of a direction; an empty one is the only one."""
    return f"{CORPUS}-{direction}".lower() if direction else CORPUS


def find_noise(
    config: LearningConfig, chosen: Mapping[SelectedCorrection, Languages]
) -> dict[str, str]:
    """Return why the screen of its direction would drop a correction, by its id."""
    noise: dict[str, str] = {}
    for languages in dict.fromkeys(chosen.values()):
        own = [each for each, its in chosen.items() if its == languages]
        if screen := learn_screen_of_corpus(config, languages):
            reasons = screen.judge([Pair(each.source, each.target) for each in own])
            noise |= {each.id: why for each, why in zip(own, reasons, strict=True) if why}
    return noise


def learn_screen_of_corpus(config: LearningConfig, languages: Languages) -> Screen | None:
    """Learn a screen from training text of a direction; None if there is too little text."""
    count = files.read_json(paths.CORPUS / "corpus.json")["pairs"]["train"]
    inputs = Inputs(directions=paths.read_directions(paths.CORPUS))
    rows = paths.list_directions(inputs, "train") or [languages] * count
    own = [each == languages for each in rows]
    train = (
        sample_evenly(
            compress(files.read_lines(paths.CORPUS / f"train.{side}"), own),
            sum(own),
            config.screen.sample_pairs,
        )
        for side in paths.SIDES
    )
    sample = [Pair(*pair) for pair in zip(*train, strict=True)]
    return (
        learn_screen(sample, languages.codes, config.screen) if len(sample) >= MIN_PAIRS else None
    )


def read_held_out() -> HeldOut:
    """Return the held-out corrections."""
    source, target = ([*files.read_lines(FOLDER / f"held_out.{side}")] for side in paths.SIDES)
    named = FOLDER / "held_out.directions"
    return HeldOut(source, target, tuple(files.read_lines(named)) if named.exists() else ())


def compose_learning(
    values: Mapping[str, Any],
    corrections: CorrectionCorpus,
    config: LearningConfig,
    *,
    champion: str,
    pairs: float,
) -> dict[str, Any]:
    """Return the content of params.yaml for fine-tuning the champion on corrections.

    ``champion`` is the digest of the model to start from, and ``pairs`` is the number of pairs of
    the other corpora; see ``count_weighted_pairs``.

    Raises:
        ConfigError: if ``values`` have a corpus with the name of the corrections.
    """
    parts = {
        name_corpus(direction): (direction, pairs)
        for direction, pairs in (corrections.directions or {"": corrections.learnt}).items()
    }
    for name in parts.keys() & values["download"]["corpora"]:
        raise ConfigError(
            f"download.corpora.{name} has the name that is reserved for corrections; rename it"
        )
    composed = copy.deepcopy(dict(values))
    overlay_group(composed, "start", PRESETS)
    download, train = composed["download"], composed["train"]
    download["initial_model"]["sha256"] = champion
    sizes, temperature = [size for _, size in parts.values()], read_temperature(values)
    weight = find_weight(config.share, sizes, others=pairs, temperature=temperature)
    for name, (direction, _) in parts.items():
        download["corpora"][name] = describe_made_corpus(
            FOLDER / name, direction, weight=weight, licence="own", filters=FILTERS
        )
    tokens = config.passes * corrections.words * TOKENS_PER_WORD / config.share
    train["schedule"]["learning_rate"] = config.learning_rate
    train["budget"] = {"tokens": max(int(tokens), MIN_TOKENS)}
    # validation on the earlier text would select the model that changed least; the gate decides
    train["training"] |= {"validate_every": 1_000_000, "patience": None}
    return composed


def digest_judged(corrections: CorrectionCorpus, config: LearningConfig, gate: GateConfig) -> str:
    """Return a digest of the corrections, the training's settings and the gate."""
    learning = config.model_dump(mode="json", include=set(MODEL_SETTINGS))
    return hash_json([corrections.digest, learning, gate.model_dump(mode="json")])


def _find_drop_reason(correction: Correction, directions: Collection[Languages]) -> str:
    if correction.suggestion.languages not in directions:
        return "other_languages"
    return "dropped_by_hand" if correction.status == "dropped" else "superseded"


def _write(
    prepared: CorrectionSplit,
    directions: Mapping[SelectedCorrection, Languages],
    reasons: Counter[str],
    total: int,
) -> CorrectionCorpus:
    """Write the corpora; ``directions`` are those of all corrections, empty for one direction."""
    kinds = {"learnt": prepared.learnt, "held_out": prepared.held_out}
    counts = reasons + Counter({why: len(pairs) for why, pairs in prepared.dropped.items()})
    direction_of = {each: str(languages) for each, languages in directions.items()}
    learnt = Counter(direction_of[each] for each in prepared.learnt if directions)
    written = CorrectionCorpus(
        digest=hashlib.sha256(json.dumps(kinds).encode()).hexdigest(),
        ids=[each.id for each in prepared.learnt],
        learnt=len(prepared.learnt),
        directions=dict(learnt),
        held_out=len(prepared.held_out),
        words=sum(len(each.target.split()) for each in prepared.learnt),
        given=total,
        dropped=dict(sorted(counts.items())),
        examples={why: [pair[:2] for pair in pairs[:3]] for why, pairs in prepared.dropped.items()},
    )
    parts = {"held_out": prepared.held_out}
    for direction in learnt or [""]:
        own = [each for each in prepared.learnt if direction_of.get(each, "") == direction]
        parts[name_corpus(direction)] = own
    with files.whole_folder(FOLDER) as part:
        for name, pairs in parts.items():
            for number, side in enumerate(paths.SIDES):
                files.write_lines(part / f"{name}.{side}", (each[number] for each in pairs))
        if directions:
            files.write_lines(
                part / "held_out.directions", (direction_of[each] for each in prepared.held_out)
            )
        files.write_json(part / "corrections.json", written.model_dump(mode="json"))
    return written
