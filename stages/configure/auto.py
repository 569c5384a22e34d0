"""Choose settings by the amount of text and time.

``model=auto`` and ``train=auto`` choose model, vocabulary, dropout and budget. For few pairs, the
split and the number of subwords are always adapted. All choices are written to ``params.yaml``, so
that a run stays reproducible. The measurements are in docs/experiments/recipes.md.
"""

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from nmt_core.base import config
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.progress import format_duration
from nmt_core.corpora.corpus import Size
from nmt_core.corpora.fetch.source import find_cached
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.named import estimate_total, list_split_off
from nmt_core.corpora.splitting import PER
from nmt_core.data.settings import TokenBatching
from nmt_core.training.settings import Budget
from stages import paths
from stages.configure.corpora import renew_index
from stages.params import DownloadParams, Sections

AUTO = "auto"

GROUPS = ("model", "train")
"""Groups of conf/ that can be chosen automatically."""

TEXTS = ((10_000, 2000, 0.3), (100_000, 4000, 0.25), (math.inf, 8000, 0.1))
"""Maximum number of pairs, vocabulary size, and dropout if training reads all of the text."""


class UnknownSizeError(ConfigError):
    """The size of a corpus is unknown before its download."""


class ModelRow(NamedTuple):
    """A preset for budgets up to a size."""

    tokens: float
    """Maximum number of target tokens."""
    passes: int
    """Minimum number of passes over the text."""
    preset: str
    settings: Mapping[str, int | float | str] = {}


BATCH = "train.batching.max_tokens"

MODELS = (
    ModelRow(4_000_000, 0, "transformer_small"),  # small, so that there is time for many updates
    ModelRow(12_000_000, 8, "transformer"),
    ModelRow(
        60_000_000,
        0,
        "transformer",
        {
            "train.model.width": 192,
            "train.model.feed_forward_width": 768,
            "train.model.encoder_layers": 4,
            "train.model.decoder_layers": 2,
            BATCH: 3072,
            "train.optimizer.kind": "muon",
            "train.schedule.learning_rate": 0.003,
            "train.schedule.warmup": 0.02,
            "train.schedule.shape": "linear",
        },
    ),
    ModelRow(math.inf, 0, "transformer"),
)
"""Presets by budget; the first matching row applies."""

EPOCHS = 16
"""Passes over the text with train=auto, limited by MAX_TOKENS."""

MAX_TOKENS = {"cpu": 8_000_000, "cuda": 1_000_000_000}
"""Maximum number of target tokens with train=auto, by device."""

VALIDATIONS = 16
"""Number of validations of a training; with a budget of seconds, validation follows the clock."""

SPEED = {"cpu": 1500, "cuda": 60_000}
"""Target tokens per second of a CPU core and of a GPU."""

TOKEN_SHARE = 0.88
"""Share of a batch's tokens that are not padding."""

EMA_DECAYS = ((1_500, 0.99), (15_000, 0.999), (math.inf, 0.9999))
"""Maximum number of updates, and decay of the averaged weights: about the last tenth counts."""

MIN_TESTS, MAX_TESTS = 230, 1000
"""Bounds of the number of test pairs, a twentieth of the text. Of 230 expected pairs, the hash
draws at least 200 in 39 of 40 texts; comparing systems and fitting confidence require 200."""

FEW_PAIRS = 10_000
"""Maximum number of pairs for which a few subwords suffice."""

MIN_SUBWORDS, MAX_SUBWORDS = 500, 2000
"""Bounds of the vocabulary size for few pairs."""


def choose(
    groups: Sequence[str], sections: Sections, *, budget: Budget | None = None
) -> tuple[list[str], list[str], str]:
    """Return presets and settings for a text, a budget and this machine, and the reason.

    Args:
        groups: groups to choose, "model", "train" or both.
        sections: all settings so far.
        budget: a budget that the user has set, instead of the one of "train".

    Raises:
        UnknownSizeError: if the size of the text is unknown.
        CorpusError: if the text cannot be read.
    """
    download, train = sections["download"], sections["train"]
    device = find_device(train.compute.device)
    size = estimate_size(download, groups)
    vocab_size, dropout = next(row[1:] for row in TEXTS if size.pairs <= row[0])
    codes = {code for direction in download.learned for code in direction.codes}
    vocab_size = vocab_size * len(codes) // 2  # as many for each language as in a bilingual model
    epoch = estimate_tokens(size, vocab_size)
    batching = train.batching if isinstance(train.batching, TokenBatching) else TokenBatching()
    batch_tokens = round(batching.max_tokens * TOKEN_SHARE)
    validations = VALIDATIONS
    cores = len(os.sched_getaffinity(0)) if device == "cpu" else 1
    if "train" in groups and budget is None:
        tokens = round_down(min(EPOCHS * epoch, MAX_TOKENS[device]))
    else:
        limits = count_tokens(
            budget if budget and "train" in groups else train.budget,
            epoch=epoch,
            batch_tokens=batch_tokens,
            speed=SPEED[device] * cores,
        )
        first = min(limits, key=limits.__getitem__)
        tokens = round(limits[first])
        validations = 1 if first == "seconds" else validations
    presets, settings = [], {}
    if "model" in groups:
        model = next(row for row in MODELS if tokens <= row.tokens and tokens >= row.passes * epoch)
        presets.append(f"model={model.preset}")
        settings = {
            "tokenize.subwords.vocab_size": vocab_size,
            "train.model.dropout": dropout if tokens >= epoch else 0.0,
            **model.settings,
        }
        if batch := model.settings.get(BATCH):
            batch_tokens = round(int(batch) * TOKEN_SHARE)
    if "train" in groups:
        steps = max(1, round(tokens / batch_tokens))
        settings |= {
            "train.budget.steps": "null",
            **({} if budget else {"train.budget.tokens": tokens}),
            "train.training.validate_every": max(1, steps // validations),
            "train.training.ema_decay": next(decay for most, decay in EMA_DECAYS if steps <= most),
        }
    seconds = tokens / (SPEED[device] * cores)
    reason = (
        f"{size.pairs:,} pairs and some {tokens:,} target tokens to train on, roughly "
        f"{format_duration(seconds)} of training"
    )
    return presets, [f"{place}={value}" for place, value in settings.items()], reason


def find_device(device: str) -> str:
    """Return the device of training; auto takes a GPU if there is one."""
    if device == "auto":
        return "cuda" if shutil.which("nvidia-smi") else "cpu"
    return device


def estimate_size(download: DownloadParams, groups: Sequence[str]) -> Size:
    """Return an estimate of the size of all text.

    Raises:
        UnknownSizeError: if the size is unknown, naming the ``groups`` that the user must choose.
        CorpusError: if a file cannot be read.
    """
    estimate = partial(
        estimate_total,
        download.corpora,
        download.languages,
        download.directions,
        partial(find_cached, folder=paths.DOWNLOADS),
    )
    size = estimate()
    if size is None and any(corpus.kind == "opus" for corpus in download.corpora.values()):
        with suppress(NmtError):  # without network the message below helps
            renew_index(download.languages)
        size = estimate()
    if size is None:
        kinds = ", ".join(corpus.kind for corpus in download.parallel.values())
        raise UnknownSizeError(
            f"the size of corpora of these kinds is unknown before their download: {kinds}; "
            f"choose {' and '.join(f'{name}=' for name in groups)} yourself, or run 'make plan' "
            f"without them first, which downloads the corpora"
        )
    return size


def estimate_tokens(size: Size, vocab_size: int) -> int:
    """Return an estimate of the number of target tokens.

    In English captions, a token has 3.45, 3.96 and 4.34 characters with vocabularies of 2,000,
    4,000 and 8,000 tokens: about 0.45 more with each doubling.
    """
    characters = 3.45 + 0.45 * math.log2(vocab_size / 2000)
    return round(size.target_characters / characters) + size.pairs


def round_down(number: int) -> int:
    """Return a number with two digits and zeros, which is easier to read and to type."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return number // unit * unit


def count_tokens(
    budget: Budget, *, epoch: float, batch_tokens: float, speed: float
) -> dict[str, float]:
    """Return an estimate of the target tokens of each limit of a budget, by the limit's name.

    ``epoch`` and ``batch_tokens`` are target tokens, ``speed`` is target tokens per second.
    """
    limits: Mapping[str, float | None] = {
        "tokens": budget.tokens,
        "steps": budget.steps and budget.steps * batch_tokens,
        "epochs": budget.epochs and budget.epochs * epoch,
        "seconds": budget.seconds and budget.seconds * speed,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


def fit_split(values: Mapping[str, Any], overrides: Sequence[str]) -> list[str]:
    """Return settings of split and subwords for few pairs, unless the user has set them.

    ``values`` are the content of params.yaml, and ``overrides`` the user's settings.
    """
    pairs = None
    with suppress(NmtError):  # readers of the settings, or of the text, report it
        download = config.build(DownloadParams, values.get("download") or {}, at="download")
        pairs = count_own_pairs(download)
    if pairs is None:
        return []
    settings = []
    places = [setting.lstrip("+~") for setting in overrides]
    tests = min(max(MIN_TESTS, min(pairs // 20, MAX_TESTS)), pairs / 4)
    rate = round(PER * tests / max(1, pairs), 1)
    is_set = any(place.startswith("download.split") for place in places)
    is_drawn = list_split_off(download.corpora)
    if is_drawn and not is_set and rate > download.split.test_per_10000:
        validations = max(tests / 2, min(MIN_TESTS, pairs / 8))
        validation_rate = round(PER * validations / max(1, pairs), 1)
        settings += [
            f"download.split.validation_per_10000={validation_rate}",
            f"download.split.test_per_10000={rate}",
        ]
    tokenize = values["tokenize"]
    size = min(MAX_SUBWORDS, max(MIN_SUBWORDS, 4 * pairs))
    is_set = any(place.startswith("tokenize") for place in places)
    learnt = tokenize["kind"] == "sentencepiece" and not is_set and pairs <= FEW_PAIRS
    if learnt and size < tokenize["subwords"]["vocab_size"]:
        settings.append(f"tokenize.subwords.vocab_size={size}")
    return settings


def count_own_pairs(download: DownloadParams) -> int | None:
    """Return the number of pairs to split; None unless all of them are in the user's files.

    Raises:
        CorpusError: if a file cannot be read.
    """
    corpora = [corpus for corpus in download.parallel.values() if not corpus.train_only]
    if not all(isinstance(corpus, FilesCorpus) for corpus in corpora):
        return None
    find = partial(find_cached, folder=paths.DOWNLOADS)
    sizes = (each.estimate_size(each.languages or download.languages, find) for each in corpora)
    return sum(size.pairs for size in sizes if size)
