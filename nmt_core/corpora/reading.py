"""Read corpora by name, and keep what comes of each until its text or a setting changes."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch.source import Fetch, Fetched, Source
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.named import Corpora, list_split_off
from nmt_core.corpora.sifting import COUNTS, SiftedCorpus, SiftRules, sift_corpus
from nmt_core.corpora.splitting import Split, SplitConfig

OF_MIXTURE = {"weight", "licence", "tag", "filter", "train_only"}
"""Settings of a corpus that change nothing of how it is read; its filters count as they apply."""


@dataclass(frozen=True)
class ReadCorpus:
    """A corpus that was read."""

    sifted: SiftedCorpus
    origins: list[dict[str, Any]]
    """Size and SHA-256 of every file it came from."""


@dataclass(frozen=True)
class CorpusReader:
    """Reads corpora, and keeps what comes of each, split and with digests.

    A corpus that comes from no file, such as one of a grammar, is read every time.
    """

    languages: Languages
    filters: FilterConfig
    """Of corpora that have none of their own."""
    split: SplitConfig
    fetch: Fetch
    scratch: Path
    """Folder for temporary files."""
    kept: Path
    """Folder of what is kept."""
    code: str
    """Digest of the code, with which nothing that other code made is mistaken."""
    workers: WorkersConfig
    replayed: bool = False
    """Whether the corpora are those of an earlier training."""

    def read(self, corpora: Corpora) -> dict[str, ReadCorpus]:
        """Read corpora.

        Raises:
            CorpusError: if a text cannot be trusted.
            DownloadError: if a file cannot be fetched or is not what was promised.
            WorkersError: if workers are lost.
        """
        split_off = list_split_off(corpora)
        return {
            name: self._read_one(name, corpus, frozenset() if corpus.train_only else split_off)
            for name, corpus in corpora.items()
        }

    def _read_one(self, name: str, corpus: Corpus, split_off: frozenset[Split]) -> ReadCorpus:
        def fetch(source: Source) -> Fetched:
            return self.fetch(locate(source, name))

        origins = corpus.find_origins(self.languages, fetch=fetch)
        filters = corpus.choose_filter(self.filters)
        if not origins:  # what a grammar writes is as it should be
            filters = filters.model_copy(update={"look": None})
        languages = corpus.list_languages(self.languages)
        rules = SiftRules(filters, self.split, split_off, languages)
        key = self._make_key(corpus, rules, origins)
        place = self.kept / key if origins else self.scratch / "sifted" / name
        if not (place / COUNTS).exists():
            with files.whole_folder(place) as folder, self._unpacked(name) as scratch:
                texts = corpus.obtain(self.languages, fetch=fetch, scratch=scratch)
                sift_corpus(
                    {"train": texts["train"]} if corpus.train_only else texts,
                    folder,
                    scratch=scratch,
                    rules=rules,
                    workers=self.workers,
                    name=name,
                )
        sifted = SiftedCorpus.load(place)
        sifted.keep_duplicates = not filters.remove_duplicates
        sifted.replayed = self.replayed
        return ReadCorpus(sifted, origins)

    def _make_key(self, corpus: Corpus, rules: SiftRules, origins: list[dict[str, Any]]) -> str:
        """Return a digest of all that decides what comes of a corpus; its name is not."""
        settings = {
            "corpus": corpus.model_dump(mode="json", exclude=OF_MIXTURE),
            "train_only": corpus.train_only,
            "languages": self.languages.codes,
            "filter": rules.filters.model_dump(mode="json"),
            "split": self.split.model_dump(mode="json") if rules.split_off else None,
            "split_off": sorted(rules.split_off),
            "origins": [origin["sha256"] for origin in origins],
            "code": self.code,
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]

    def forget_others(self, read: Iterable[ReadCorpus]) -> None:
        """Remove what was kept of any but these corpora."""
        needed = {corpus.sifted.folder for corpus in read}
        for old in self.kept.glob("*"):
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
    """Return a source of a corpus with the place of its address among all settings."""
    return replace(source, setting=f"download.corpora.{name}.{source.setting}")
