"""Choose settings by the amount of text and time.

``model=auto`` and ``train=auto`` choose model, vocabulary, dropout and budget by conf/auto.yaml.
Split and subwords are fitted to few pairs without being asked. All choices are written to
``params.yaml``, so that a run stays reproducible.
"""

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from nmt_core.base import config
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.corpora.corpus import Size
from nmt_core.corpora.fetch.cache import find_cached
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.named import estimate_total, list_split_off
from nmt_core.corpora.splitting import PER
from nmt_core.data.settings import BatchingConfig, TokenBatching
from nmt_core.training.schedule import Budget
from stages import paths
from stages.params import DownloadParams, TrainParams
from stages.runtime.params_file import read

AUTO = "auto"

GROUPS = ("model", "train")
"""The groups that it chooses."""

Device = Literal["cpu", "cuda"]

REAL_SHARE = 0.88
"""Share of a batch's tokens that is no padding."""

BATCH = "train.batching.max_tokens"
"""Where the size of a batch is set."""

EMA_DECAYS = {1_500: 0.99, 15_000: 0.999}
"""Decay of the averages of weights, by updates: they remember a tenth of a training at most."""

LONGEST_EMA = 0.9999

FEWEST_TESTS, MOST_TESTS = 230, 1000
"""Limits of the twentieth of the text that is held out. A hash draws 200 of 230, the least that
tells two systems apart and that confidence is fitted on, in all but one of forty texts."""

FEW_PAIRS = 10_000
"""Maximum number of pairs for which a few subwords suffice."""

SUBWORDS, FEWEST_SUBWORDS = 2000, 500
"""For few pairs, and for very few."""


class TextRow(Config):
    """Settings for a corpus up to some size."""

    pairs: int | None
    """Greatest number of pairs of train; null for any."""
    vocab_size: int
    dropout: float
    """Where all of the text is seen; what is not seen again cannot be learnt by heart."""


class ModelRow(Config):
    """A preset for a budget up to some size."""

    tokens: int | None
    """Greatest number of target tokens; null for any."""
    passes: float = 0.0
    """Least number of passes over the text."""
    preset: str
    settings: dict[str, int | float | str] = Field(default_factory=dict)
    """Further settings of the preset, by dotted path."""


class TrainRow(Config):
    """The budget of training if none is given."""

    epochs: int
    most_tokens: dict[Device, int]
    validations: int
    """Those of a budget of seconds follow the clock instead, as no speed is known beforehand."""


class AutoConfig(Config):
    """The content of ``conf/auto.yaml``."""

    text: tuple[TextRow, ...]
    model: tuple[ModelRow, ...]
    train: TrainRow
    speed: dict[Device, float]


Row = TypeVar("Row", TextRow, ModelRow)


def take_row(rows: Sequence[Row], limit: str, number: float) -> Row:
    """Return the first row with a limit of at least ``number``."""
    return next(row for row in rows if (most := getattr(row, limit)) is None or number <= most)


def read_auto(conf: Path = paths.CONF) -> AutoConfig:
    """Read ``auto.yaml``."""
    return config.build(AutoConfig, read(conf / f"{AUTO}.yaml"), at=f"conf/{AUTO}.yaml")


def find_device(wanted: str) -> Device:
    """Return the device of training; auto takes a GPU if there is one."""
    if wanted == "auto":
        wanted = "cuda" if shutil.which("nvidia-smi") else "cpu"
    return "cuda" if wanted == "cuda" else "cpu"


def choose(
    wanted: Sequence[str],
    sections: Mapping[str, Config],
    known: AutoConfig,
    *,
    budget: Budget | None = None,
) -> tuple[list[str], list[str], str]:
    """Return presets and settings for a text, a budget and this machine, and the reason.

    Args:
        wanted: groups to choose, "model", "train" or both.
        sections: all settings so far.
        known: the rows to choose from.
        budget: the budget that the user has set, if any, in place of that of "train".

    Raises:
        ConfigError: if the size of the text is unknown.
        CorpusError: if it cannot be read.
    """
    download, train = sections["download"], sections["train"]
    assert isinstance(download, DownloadParams)
    assert isinstance(train, TrainParams)
    device = find_device(train.compute.device)
    size = estimate_size(download, wanted)
    row = take_row(known.text, "pairs", size.pairs)
    epoch = estimate_tokens(size, row.vocab_size)
    batch_tokens = estimate_batch(train.batching)
    validations = known.train.validations
    if "train" in wanted and budget is None:
        most = known.train.most_tokens[device]
        tokens = round_down(min(known.train.epochs * epoch, most))
    else:
        cores = len(os.sched_getaffinity(0)) if device == "cpu" else 1
        speed = known.speed[device] * cores
        limits = budget if budget and "train" in wanted else train.budget
        counted = count_tokens(limits, epoch=epoch, batch_tokens=batch_tokens, speed=speed)
        first = min(counted, key=counted.__getitem__)
        tokens = round(counted[first])
        validations = 1 if first == "seconds" else validations
    groups, settings = [], []
    if "model" in wanted:
        often = [row for row in known.model if tokens >= row.passes * epoch]
        model = take_row(often, "tokens", tokens)
        groups.append(f"model={model.preset}")
        fitting = {
            "tokenize.subwords.vocab_size": row.vocab_size,
            "train.model.dropout": row.dropout,
            **model.settings,
            **({"train.model.dropout": 0.0} if tokens < epoch else {}),
        }
        settings += [f"{path}={value}" for path, value in fitting.items()]
        if size_of_batch := model.settings.get(BATCH):
            batch_tokens = round(int(size_of_batch) * REAL_SHARE)
    if "train" in wanted:
        steps = max(1, round(tokens / batch_tokens))
        settings += [
            "train.budget.steps=null",
            *([] if budget else [f"train.budget.tokens={tokens}"]),
            f"train.training.validate_every={max(1, steps // validations)}",
            f"train.training.ema_decay={choose_ema_decay(steps)}",
        ]
    reason = f"{size.pairs:,} pairs and some {tokens:,} target tokens to train on"
    return groups, settings, reason


def estimate_size(download: DownloadParams, wanted: Sequence[str]) -> Size:
    """Estimate the size of all text.

    Raises:
        ConfigError: if it is unknown, naming the groups that cannot be chosen.
        CorpusError: if a file cannot be read.
    """
    size = estimate_total(
        download.corpora,
        download.languages,
        find_cached=partial(find_cached, folder=paths.DOWNLOADS),
    )
    if size is None:
        kinds = ", ".join(corpus.kind for corpus in download.parallel.values())
        raise ConfigError(
            f"corpora of these kinds have no known size before their download: {kinds}; "
            f"choose {' and '.join(f'{name}=' for name in wanted)} yourself, have them downloaded "
            f"first by 'make plan' without these, or run 'make corpora' for those of OPUS"
        )
    return size


def estimate_tokens(size: Size, vocab_size: int) -> int:
    """Estimate the number of target tokens.

    In English captions, one has 3.45, 3.96 and 4.34 characters where the vocabulary has 2,000,
    4,000 and 8,000: about 0.45 more with each doubling.
    """
    characters = 3.45 + 0.45 * math.log2(vocab_size / 2000)
    return round(size.target_characters / characters) + size.pairs


def round_down(number: int) -> int:
    """Return a number with two digits and zeros, which is easier to read and to type."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return number // unit * unit


def choose_ema_decay(steps: int) -> float:
    """Return the decay of the averages of weights for a number of updates."""
    return next((decay for most, decay in EMA_DECAYS.items() if steps <= most), LONGEST_EMA)


def estimate_batch(batching: BatchingConfig) -> int:
    """Estimate the target tokens of an update."""
    most = (
        batching.max_tokens if isinstance(batching, TokenBatching) else TokenBatching().max_tokens
    )
    return round(most * REAL_SHARE)


def count_tokens(
    budget: Budget, *, epoch: int, batch_tokens: int, speed: float
) -> dict[str, float]:
    """Estimate the target tokens of each limit of a budget, by its name.

    Args:
        budget: limits of training; the first one that is reached ends it.
        epoch: target tokens of the text.
        batch_tokens: target tokens of an update.
        speed: target tokens a second.
    """
    limits: Mapping[str, float | None] = {
        "tokens": budget.tokens,
        "steps": budget.steps and budget.steps * batch_tokens,
        "epochs": budget.epochs and budget.epochs * epoch,
        "seconds": budget.seconds and budget.seconds * speed,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


def fit_split(values: Mapping[str, Any], given: Sequence[str]) -> list[str]:
    """Return settings of split and subwords that fit few pairs, unless a person has set them.

    Args:
        values: of all settings.
        given: settings that a person has typed.
    """
    try:
        download = config.build(DownloadParams, values.get("download") or {}, at="download")
        pairs = count_own_pairs(download)
    except NmtError:  # readers of the settings, or of the text, report it
        return []
    settings = []
    places = [setting.lstrip("+~") for setting in given]
    if pairs is None:
        return []
    tests = min(max(FEWEST_TESTS, min(pairs // 20, MOST_TESTS)), pairs / 4)
    rate = round(PER * tests / max(1, pairs), 1)
    split = download.split
    is_drawn = split.sessions is None and list_split_off(download.corpora)
    is_set = any(place.startswith("download.split") for place in places)
    if is_drawn and not is_set and rate > split.test_per_10000:
        validations = max(tests / 2, min(FEWEST_TESTS, pairs / 8))
        validation_rate = round(PER * validations / max(1, pairs), 1)
        settings += [
            f"download.split.validation_per_10000={validation_rate}",
            f"download.split.test_per_10000={rate}",
        ]
    tokenize = values["tokenize"]
    size = min(SUBWORDS, max(FEWEST_SUBWORDS, 4 * pairs))
    is_set = any(place.startswith("tokenize") for place in places)
    learnt = tokenize["kind"] == "sentencepiece" and not is_set and pairs <= FEW_PAIRS
    if learnt and size < tokenize["subwords"]["vocab_size"]:
        settings.append(f"tokenize.subwords.vocab_size={size}")
    return settings


def count_own_pairs(download: DownloadParams) -> int | None:
    """Return the number of pairs that may be tested on; None unless all are in the user's files.

    Raises:
        CorpusError: if a file cannot be read.
    """
    corpora = [corpus for corpus in download.parallel.values() if not corpus.train_only]
    if not all(isinstance(corpus, FilesCorpus) for corpus in corpora):
        return None
    sizes = [corpus.estimate_size(download.languages) for corpus in corpora]
    return sum(size.pairs for size in sizes if size)
