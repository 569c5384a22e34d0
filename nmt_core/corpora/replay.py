"""Replay: mix the text that an initial model was trained on into further training."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError, CorpusError, DownloadError
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.filtering import FilteredCorpus
from nmt_core.corpora.filters import FindingKind
from nmt_core.corpora.named import Corpora, CorporaConfig
from nmt_core.corpora.reading import MIXTURE_SETTINGS
from nmt_core.corpora.splitting import SplitConfig

LOGGER = logging.getLogger(__name__)

TEXTS = "corpora.json"
"""The file of an export that names its text."""


class TrainedText(CorporaConfig):
    """Corpora of one training, with the settings that decide which of their pairs were used."""

    split: SplitConfig


def read_texts(folder: Path) -> list[TrainedText]:
    """Read the trainings of an exported model, the last first; none of exports before corpora.json.

    Raises:
        ConfigError: if the file is invalid.
    """
    try:
        texts = files.read_json(folder / TEXTS)
    except FileNotFoundError:
        return []
    return [
        config.build(TrainedText, _drop_removed(text), at=f"{TEXTS}[{n}]")
        for n, text in enumerate(texts)
    ]


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
    read: Callable[[TrainedText], Mapping[str, FilteredCorpus]],
) -> tuple[dict[str, Corpus], dict[str, FilteredCorpus]]:
    """Read the corpora that are still available; warn of the others."""
    corpora: dict[str, Corpus] = {}
    there: dict[str, FilteredCorpus] = {}
    for name, text in replayed:
        try:
            there |= read(text)
        except (CorpusError, DownloadError, ConfigError) as error:
            LOGGER.warning(
                "%s, which the initial model was trained on, is no longer available, so the model "
                "may forget it: %s",
                name.removeprefix("replay-"),
                error,
            )
        else:
            corpora[name] = text.corpora[name]
    return corpora, there


def weigh_replayed(
    weights: Mapping[str, float], pairs: Mapping[str, int], replayed: Corpora, share: float
) -> dict[str, float]:
    """Return sampling weights that give replayed corpora their share.

    ``share`` is their share of the sampled pairs at temperature 1.
    """
    sizes = {name: weights[name] * pairs[name] for name in weights}
    old = sum(size for name, size in sizes.items() if name in replayed)
    new = sum(sizes.values()) - old
    factor = share / (1 - share) * new / old if old else 0.0
    return {name: w * factor if name in replayed else w for name, w in weights.items()}


def _identify(corpus: Corpus) -> dict[str, Any]:
    """Return the settings of where text comes from, without digests: it may have grown since."""
    return _drop_digests(corpus.model_dump(exclude=MIXTURE_SETTINGS))


def _drop_digests(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _drop_digests(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if not name.endswith("sha256")
    }


def _drop_removed(text: dict[str, Any]) -> dict[str, Any]:
    """Return settings without those that earlier versions had."""
    corpora = text["corpora"].values()
    for filters in (text["filter"], *(corpus.get("filter") for corpus in corpora)):
        if filters and filters.get("screen"):
            filters["screen"] = {}
        if filters and filters.get("look"):
            known = get_args(FindingKind)
            filters["look"]["accepted"] = [k for k in filters["look"]["accepted"] if k in known]
    for corpus in corpora:
        if test := corpus.get("test"):
            test.pop("references", None)
    for name in ("by", "sessions"):
        text["split"].pop(name, None)
    return text
