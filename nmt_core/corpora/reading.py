"""Read corpora by name, and cache each one until its text, a setting or the code changes."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch.source import Fetch, Fetched, Source
from nmt_core.corpora.filtering import COUNTS, FilteredCorpus, FilterRules, filter_corpus
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.named import Corpora, list_split_off
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
            CorpusError: if a text is unusable.
            DownloadError: if a file cannot be fetched or has another digest.
            WorkersError: if workers are lost.
        """
        split_off = list_split_off(corpora)
        return {
            name: self._read(name, corpus, frozenset() if corpus.train_only else split_off)
            for name, corpus in corpora.items()
        }

    def _read(self, name: str, corpus: Corpus, split_off: frozenset[Split]) -> FilteredCorpus:
        def fetch(source: Source) -> Fetched:
            return self.fetch(locate(source, name))

        origins = corpus.find_origins(self.languages, fetch=fetch)
        filters = corpus.choose_filter(self.filters)
        if not origins:  # a generated corpus needs no sanity check
            filters = filters.model_copy(update={"look": None})
        languages = corpus.list_languages(self.languages)
        rules = FilterRules(filters, self.split, split_off, languages)
        key = self._make_key(corpus, rules, origins)
        place = self.cache / key if origins else self.scratch / "filtered" / name
        if not (place / COUNTS).exists():
            with files.whole_folder(place) as folder, self._unpacked(name) as scratch:
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

    @contextmanager
    def _unpacked(self, name: str) -> Iterator[Path]:
        folder = self.scratch / "unpacked" / name
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def locate(source: Source, name: str) -> Source:
    """Return a source with the full path of its setting."""
    return replace(source, setting=f"download.corpora.{name}.{source.setting}")
