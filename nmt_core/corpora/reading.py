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
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.named import Corpora, list_split_off
from nmt_core.corpora.sifting import SiftedCorpus, SiftRules, sift_corpus
from nmt_core.corpora.splitting import SplitConfig
from nmt_core.fetch.source import Fetch, Fetched, Source
from nmt_core.text.languages import Languages

OF_MIXTURE = {"weight", "licence", "filter", "train_only"}
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
        read = {}
        for name, corpus in corpora.items():

            def fetch(source: Source, name: str = name) -> Fetched:
                return self.fetch(locate(source, name))

            origins = corpus.find_origins(self.languages, fetch=fetch)
            off = frozenset() if corpus.train_only else split_off
            filters = corpus.filter or self.filters
            settings = {
                "corpus": corpus.model_dump(mode="json", exclude=OF_MIXTURE),
                "train_only": corpus.train_only,
                "languages": self.languages.codes,
                "filter": filters.model_dump(mode="json"),
                "split": self.split.model_dump(mode="json") if off else None,
                "split_off": sorted(off),
                "origins": [origin["sha256"] for origin in origins],
                "code": self.code,
            }
            key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]
            place = self.kept / key if origins else self.scratch / f"sifted-{name}"
            sifted = SiftedCorpus.load(place)
            if sifted is None:
                with files.whole_folder(place) as folder, self._unpacked(name) as scratch:
                    texts = corpus.obtain(self.languages, fetch=fetch, scratch=scratch)
                    sift_corpus(
                        {"train": texts["train"]} if corpus.train_only else texts,
                        folder,
                        scratch=scratch,
                        rules=SiftRules(filters, self.split, off, self.languages),
                        workers=self.workers,
                        name=name,
                    )
                sifted = SiftedCorpus.load(place)
                assert sifted
            sifted.keep_duplicates = not filters.remove_duplicates
            sifted.replayed = self.replayed
            read[name] = ReadCorpus(sifted, origins)
        return read

    def forget_others(self, read: Iterable[ReadCorpus]) -> None:
        """Remove what was kept of any but these corpora."""
        needed = {corpus.sifted.folder for corpus in read}
        for old in self.kept.glob("*"):
            if old not in needed:
                shutil.rmtree(old)

    @contextmanager
    def _unpacked(self, name: str) -> Iterator[Path]:
        folder = self.scratch / name
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def locate(source: Source, name: str) -> Source:
    """Return a source of a corpus with the place of its address among all settings."""
    return replace(source, setting=f"download.corpora.{name}.{source.setting}")
