"""Read corpora by name, including those of an earlier training (replay).

Each corpus is cached until its text, a setting or the code changes. Replay adds the training text
of an initial model to further training.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch.source import Fetch, Fetched, Source
from nmt_core.corpora.filtering import COUNTS, FilteredCorpus, FilterRules, filter_corpus
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.named import Corpora, CorporaConfig, list_split_off
from nmt_core.corpora.splitting import Split, SplitConfig

MIXTURE_SETTINGS = {"weight", "licence", "tag", "filter", "train_only", "pairs", "languages"}
"""Settings of a corpus that do not change its result; filters are added to the key separately."""


@dataclass(frozen=True)
class CorpusReader:
    """Reads corpora into a cache of filtered and split pairs with their digests.

    A corpus without files, such as a generated one, is read every time.
    """

    languages: Languages
    """Languages of corpora that do not name their own."""
    filters: FilterConfig
    """Filters of corpora without their own."""
    split: SplitConfig
    fetch: Fetch
    scratch: Path
    """Folder for temporary files."""
    cache: Path
    """Folder of the cache."""
    code: str
    """Digest of the code, a part of the cache key."""
    workers: WorkersConfig
    replayed: bool = False
    """Whether the corpora are from an earlier training."""

    def read(self, corpora: Corpora) -> dict[str, FilteredCorpus]:
        """Return the filtered corpora by name.

        Raises:
            CorpusError: if a text is unusable or cannot be fetched.
        """
        return {
            name: self._read(name, corpus, self._list_split_off(corpus, corpora))
            for name, corpus in corpora.items()
        }

    def _list_split_off(self, corpus: Corpus, corpora: Corpora) -> frozenset[Split]:
        """Return the splits to take from a corpus: no corpus of its languages has them."""
        if corpus.train_only:
            return frozenset()
        languages = set((corpus.languages or self.languages).codes)
        same = {
            name: other
            for name, other in corpora.items()
            if set((other.languages or self.languages).codes) == languages
        }
        return list_split_off(same)

    def _read(self, name: str, corpus: Corpus, split_off: frozenset[Split]) -> FilteredCorpus:
        def fetch(source: Source) -> Fetched:
            setting = f"download.corpora.{name}.{source.setting}"
            return self.fetch(replace(source, setting=setting))

        languages = corpus.languages or self.languages
        origins = corpus.find_origins(languages, fetch=fetch)
        filters = corpus.choose_filter(self.filters)
        if not origins:  # a generated corpus needs no sanity check
            filters = filters.model_copy(update={"look": None})
        codes = corpus.list_languages(languages)
        rules = FilterRules(filters, self.split, split_off, codes)
        key = self._make_key(corpus, languages, rules, origins)
        folder = self.cache / key if origins else self.scratch / "filtered" / name
        if not (folder / COUNTS).exists():
            with files.whole_folder(folder) as part, TemporaryDirectory(dir=self.scratch) as temp:
                scratch = Path(temp)
                texts = corpus.obtain(languages, fetch=fetch, scratch=scratch)
                filter_corpus(
                    {"train": texts["train"]} if corpus.train_only else texts,
                    part,
                    scratch=scratch,
                    rules=rules,
                    workers=self.workers,
                    name=name,
                )
        filtered = FilteredCorpus.load(folder)
        filtered.keep_duplicates = not filters.remove_duplicates
        filtered.origins, filtered.replayed = origins, self.replayed
        filtered.measured = not self.replayed
        return filtered

    def _make_key(
        self,
        corpus: Corpus,
        languages: Languages,
        rules: FilterRules,
        origins: list[dict[str, Any]],
    ) -> str:
        """Return a digest of everything that affects the result of a corpus, except its name."""
        settings = {
            "corpus": corpus.model_dump(mode="json", exclude=MIXTURE_SETTINGS),
            "train_only": corpus.train_only,
            "languages": languages.codes,
            "filter": rules.filters.model_dump(mode="json"),
            "split": self.split.model_dump(mode="json") if rules.split_off else None,
            "split_off": sorted(rules.split_off),
            "origins": [origin["sha256"] for origin in origins],
            "code": self.code,
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]

    def remove_unused(self, used: Iterable[FilteredCorpus]) -> None:
        """Remove all corpora except the used ones from the cache."""
        used_folders = {corpus.folder for corpus in used}
        for folder in self.cache.glob("*"):
            if folder not in used_folders:
                shutil.rmtree(folder)


LOGGER = logging.getLogger(__name__)

TEXTS = "corpora.json"
"""Name of the file in an export that describes its training text."""


class TrainedText(CorporaConfig):
    """The corpora of one training, with the settings that selected their pairs."""

    split: SplitConfig


def read_texts(folder: Path) -> list[TrainedText]:
    """Return the text of each training of an exported model, the last first; may be empty."""
    try:
        texts = files.read_json(folder / TEXTS)
    except FileNotFoundError:
        return []
    return [config.build(TrainedText, text, at=f"{TEXTS}[{n}]") for n, text in enumerate(texts)]


def list_replayed(
    texts: Sequence[TrainedText], present: Corpora, directions: Collection[Languages]
) -> Iterator[tuple[str, TrainedText]]:
    """Yield new names and the corpora of earlier trainings that are not in ``present``.

    A corpus is replayed if it serves one of the ``directions``; it then names its languages.
    """
    identities = [_identify(corpus) for corpus in present.values()]
    names = set(present)
    for text in texts:
        for name, corpus in text.corpora.items():
            languages = corpus.languages or text.languages
            served = {*corpus.list_directions(languages)} & {*directions}
            if not served or not corpus.weight:
                continue
            if _identify(corpus) in identities:
                continue
            identities.append(_identify(corpus))
            unique_name = f"replay-{name}"[:40]
            while unique_name in names:
                unique_name = f"{unique_name[:37]}-{len(names)}"
            names.add(unique_name)
            named = corpus.model_copy(update={"languages": languages})
            yield unique_name, text.model_copy(update={"corpora": {unique_name: named}})


def read_replayed(
    replayed: Iterable[tuple[str, TrainedText]],
    read: Callable[[TrainedText], Mapping[str, FilteredCorpus]],
) -> tuple[dict[str, Corpus], dict[str, FilteredCorpus]]:
    """Return the settings and the pairs of corpora that are still available; warn about others."""
    corpora: dict[str, Corpus] = {}
    filtered: dict[str, FilteredCorpus] = {}
    for name, text in replayed:
        try:
            filtered |= read(text)
        except (CorpusError, ConfigError) as error:
            LOGGER.warning(
                "%s, on which the initial model was trained, is no longer available, so the model "
                "may forget it: %s",
                name.removeprefix("replay-"),
                error,
            )
        else:
            corpora[name] = text.corpora[name]
    return corpora, filtered


def weigh_replayed(
    weights: Mapping[str, float], pairs: Mapping[str, int], replayed: Collection[str], share: float
) -> dict[str, float]:
    """Return sampling weights that give replayed corpora a share of pairs at temperature 1."""
    sizes = {name: weights[name] * pairs[name] for name in weights}
    old = sum(size for name, size in sizes.items() if name in replayed)
    new = sum(sizes.values()) - old
    factor = share / (1 - share) * new / old if old else 0.0
    return {name: w * factor if name in replayed else w for name, w in weights.items()}


def _identify(corpus: Corpus) -> dict[str, Any]:
    """Return the settings of the source of a corpus, without digests, because text may grow."""
    return _drop_digests(corpus.model_dump(exclude=MIXTURE_SETTINGS))


def _drop_digests(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _drop_digests(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if not name.endswith("sha256")
    }
