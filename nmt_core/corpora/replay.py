"""The text that a model was trained on, named in its export, so that training on can mix it in."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError, CorpusError, DownloadError
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.named import Corpora
from nmt_core.corpora.reading import ReadCorpus
from nmt_core.corpora.settings import CorporaConfig
from nmt_core.corpora.splitting import SplitConfig

LOGGER = logging.getLogger(__name__)

TEXTS = "corpora.json"
"""The file of an export that names its text."""


class TrainedText(CorporaConfig):
    """Corpora of one training, with all that decides which of their pairs were learnt."""

    split: SplitConfig


def read_texts(folder: Path) -> list[TrainedText]:
    """Read what a model was trained on, its own training first; nothing of an earlier export.

    Raises:
        ConfigError: if it is written in another way.
    """
    try:
        texts = files.read_json(folder / TEXTS)
    except FileNotFoundError:
        return []
    return [config.build(TrainedText, text, at=f"{TEXTS}[{n}]") for n, text in enumerate(texts)]


def list_replayed(
    texts: Sequence[TrainedText], present: Corpora, languages: Languages
) -> Iterator[tuple[str, TrainedText]]:
    """Yield the corpora of earlier trainings that are not read anyway, one by one, by name."""
    known = [_identify(corpus) for corpus in present.values()]
    names = set(present)
    for text in texts:
        for name, corpus in text.corpora.items():
            if not corpus.is_parallel or text.languages != languages or not corpus.weight:
                continue
            if _identify(corpus) in known:
                continue
            known.append(_identify(corpus))
            free = f"replay-{name}"[:40]
            while free in names:
                free = f"{free[:37]}-{len(names)}"
            names.add(free)
            yield free, text.model_copy(update={"corpora": {free: corpus}})


def read_replayed(
    replayed: Iterable[tuple[str, TrainedText]],
    read: Callable[[TrainedText], Mapping[str, ReadCorpus]],
) -> tuple[dict[str, Corpus], dict[str, ReadCorpus]]:
    """Read the corpora that can still be had; tell of the others.

    Args:
        replayed: as :func:`list_replayed` yields them.
        read: reads those of a text.
    """
    corpora: dict[str, Corpus] = {}
    there: dict[str, ReadCorpus] = {}
    for name, text in replayed:
        try:
            there |= read(text)
        except (CorpusError, DownloadError, ConfigError) as error:
            LOGGER.warning(
                "%s, which the initial model was trained on, cannot be had any more, and the model "
                "may forget what it learnt there: %s",
                name.removeprefix("replay-"),
                error,
            )
        else:
            corpora[name] = text.corpora[name]
    return corpora, there


def weigh_replayed(
    weights: Mapping[str, float], pairs: Mapping[str, int], replayed: Corpora, share: float
) -> dict[str, float]:
    """Return the weights by which replayed corpora have their share of what is read.

    Args:
        weights: of all corpora.
        pairs: of all in train.
        replayed: those that are mixed in.
        share: of these together, among pairs at temperature 1.
    """
    sizes = {name: weights[name] * pairs[name] for name in weights}
    old = sum(size for name, size in sizes.items() if name in replayed)
    new = sum(sizes.values()) - old
    factor = share / (1 - share) * new / old if old else 0.0
    return {name: w * factor if name in replayed else w for name, w in weights.items()}


def _identify(corpus: Corpus) -> dict[str, Any]:
    """Return the settings that say where text comes from; it may have grown since."""
    left_out = {"weight", "licence", "tag", "filter", "train_only", "renewed"}
    settings = corpus.model_dump(exclude=left_out)
    return _drop_digests(settings)


def _drop_digests(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _drop_digests(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if not name.endswith("sha256")
    }
