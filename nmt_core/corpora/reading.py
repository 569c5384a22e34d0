"""Read corpora by name, and those of an earlier training again.

Each corpus is cached until its text, a setting or the code changes. Replay mixes the text that an
initial model was trained on into further training.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch.source import Fetch, Fetched, Source
from nmt_core.corpora.filtering import COUNTS, FilteredCorpus, FilterRules, filter_corpus
from nmt_core.corpora.filters import FilterConfig, FindingKind
from nmt_core.corpora.named import Corpora, CorporaConfig, list_split_off
from nmt_core.corpora.splitting import Split, SplitConfig

MIXTURE_SETTINGS = {"weight", "licence", "tag", "filter", "train_only", "pairs"}
"""Settings that do not change how a corpus is read; its filters count as they apply."""


@dataclass(frozen=True)
class CorpusReader:
    """Reads corpora into a cache of filtered and split pairs with their digests.

    A corpus without files, such as that of a grammar, is read every time.
    """

    languages: Languages
    filters: FilterConfig
    """Of corpora that have none of their own."""
    split: SplitConfig
    fetch: Fetch
    scratch: Path
    """Folder for temporary files."""
    cache: Path
    """Folder of the cache."""
    code: str
    """Digest of the code, which is part of the key of the cache."""
    workers: WorkersConfig
    replayed: bool = False
    """Whether the corpora are those of an earlier training."""

    def read(self, corpora: Corpora) -> dict[str, FilteredCorpus]:
        """Read corpora.

        Raises:
            CorpusError: if a text is unusable or cannot be fetched.
        """
        split_off = list_split_off(corpora)
        return {
            name: self._read(name, corpus, frozenset() if corpus.train_only else split_off)
            for name, corpus in corpora.items()
        }

    def _read(self, name: str, corpus: Corpus, split_off: frozenset[Split]) -> FilteredCorpus:
        def fetch(source: Source) -> Fetched:
            setting = f"download.corpora.{name}.{source.setting}"
            return self.fetch(replace(source, setting=setting))

        origins = corpus.find_origins(self.languages, fetch=fetch)
        filters = corpus.choose_filter(self.filters)
        if not origins:  # a generated corpus needs no sanity check
            filters = filters.model_copy(update={"look": None})
        languages = corpus.list_languages(self.languages)
        rules = FilterRules(filters, self.split, split_off, languages)
        key = self._make_key(corpus, rules, origins)
        place = self.cache / key if origins else self.scratch / "filtered" / name
        if not (place / COUNTS).exists():
            with files.whole_folder(place) as folder, TemporaryDirectory(dir=self.scratch) as part:
                scratch = Path(part)
                texts = corpus.obtain(self.languages, fetch=fetch, scratch=scratch)
                filter_corpus(
                    {"train": texts["train"]} if corpus.train_only else texts,
                    folder,
                    scratch=scratch,
                    rules=rules,
                    workers=self.workers,
                    name=name,
                )
        filtered = FilteredCorpus.load(place)
        filtered.keep_duplicates = not filters.remove_duplicates
        filtered.origins, filtered.replayed = origins, self.replayed
        return filtered

    def _make_key(self, corpus: Corpus, rules: FilterRules, origins: list[dict[str, Any]]) -> str:
        """Return a digest of everything that decides how a corpus is read, except its name."""
        settings = {
            "corpus": corpus.model_dump(mode="json", exclude=MIXTURE_SETTINGS),
            "train_only": corpus.train_only,
            "languages": self.languages.codes,
            "filter": rules.filters.model_dump(mode="json"),
            "split": self.split.model_dump(mode="json") if rules.split_off else None,
            "split_off": sorted(rules.split_off),
            "origins": [origin["sha256"] for origin in origins],
            "code": self.code,
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]

    def forget_others(self, read: Iterable[FilteredCorpus]) -> None:
        """Remove all other corpora from the cache."""
        needed = {corpus.folder for corpus in read}
        for old in self.cache.glob("*"):
            if old not in needed:
                shutil.rmtree(old)


LOGGER = logging.getLogger(__name__)

TEXTS = "corpora.json"
"""The file of an export that names its text."""


class TrainedText(CorporaConfig):
    """Corpora of one training, with the settings that decide which of their pairs were used."""

    split: SplitConfig


def read_texts(folder: Path) -> list[TrainedText]:
    """Read the trainings of an exported model, the last first; none of exports that lack them."""
    try:
        texts = files.read_json(folder / TEXTS)
    except FileNotFoundError:
        return []
    known = [text for text in map(_drop_removed, texts) if text["corpora"]]
    return [config.build(TrainedText, text, at=f"{TEXTS}[{n}]") for n, text in enumerate(known)]


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
        except (CorpusError, ConfigError) as error:
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
    for name, corpus in [*text["corpora"].items()]:
        if corpus["kind"] == "mtdata":
            LOGGER.warning("%s is of mtdata, which is not read any more; nor is it replayed", name)
            del text["corpora"][name]
    corpora = text["corpora"].values()
    for filters in (text["filter"], *(corpus.get("filter") for corpus in corpora)):
        if filters and filters.get("screen"):
            filters["screen"] = {}
        if filters and filters.get("look"):
            known = get_args(FindingKind)
            filters["look"]["accepted"] = [k for k in filters["look"]["accepted"] if k in known]
    for corpus in corpora:
        (corpus.get("test") or {}).pop("references", None)
        for name in ("renewed", "target_url", "target_sha256"):
            corpus.pop(name, None)
    for name in ("by", "sessions"):
        text["split"].pop(name, None)
    return text
