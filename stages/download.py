"""Fetch, clean and split parallel text without leaks, and fetch vectors and the initial model.

Usage: python -m stages.download
Reads:  the network, or the files that params.yaml names; the registry, if its champion is the start
Writes: data/corpus/{train,validation,test}.{source,target}, data/corpus/corpus.json,
        data/monolingual/, data/weights.json, data/tags.json,
        data/vectors/{source,target}.vec, data/vectors/vectors.json,
        data/initial_model/, reports/download.json, reports/data.html; and fetched files and what
        was read of them: downloads/
"""

import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.random import MIN_TEST_SENTENCES
from nmt_core.corpora.cleaning import count_kept, count_removed, join_corpora, join_monolingual
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.initial_model import (
    BundleModel,
    ChampionModel,
    copy_initial_model,
)
from nmt_core.corpora.filtering import FilteredCorpus
from nmt_core.corpora.local import MonolingualCorpus
from nmt_core.corpora.named import Corpora, describe_licence, describe_rule, describe_together
from nmt_core.corpora.near_duplicates import Nearness
from nmt_core.corpora.reading import (
    CorpusReader,
    TrainedText,
    list_replayed,
    read_replayed,
    read_texts,
    weigh_replayed,
)
from nmt_core.corpora.splitting import SPLITS
from stages import paths
from stages.params import DownloadParams, load
from stages.registry.exported import model_name
from stages.registry.registry import Registry
from stages.reporting.data_page import read_examples, render_data_page
from stages.reporting.download_report import (
    CorpusDescription,
    CorpusReport,
    DownloadReport,
    MonolingualReport,
    NearDuplicates,
)
from stages.reporting.text_summary import print_text_summary
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import digest_code, hash_json

LOGGER = logging.getLogger(__name__)

KEPT = "sifted"
"""In the folder of downloads: what comes of each corpus, until its text or a setting changes."""

NOTICES = {"header_row": "header rows, which are no pairs and were left out: {:,}"}
"""What is said of a text that was read, by the name of its count."""


def run(
    params: DownloadParams,
    *,
    corpus: Path,
    vectors: Path,
    downloads: Path,
    workers: WorkersConfig,
    code: str = "",
    texts: Sequence[TrainedText] = (),
) -> DownloadReport:
    """Write corpus and vectors, each folder whole; return the counts of kept and removed pairs.

    Text of one language alone is written beside ``corpus``. ``downloads`` keeps what was fetched,
    and what comes of each corpus by this ``code``; ``texts`` are those of the initial model.

    Raises:
        CorpusError: if a text cannot be trusted, a split is left without a pair, or a file cannot
            be fetched or is not what was promised.
    """
    fetch = partial(http.fetch, folder=downloads, config=params.http)
    with files.whole_folder(corpus) as folder, _scratch(downloads / "scratch") as scratch:
        reader = CorpusReader(
            languages=params.languages,
            filters=params.filter,
            split=params.split,
            fetch=fetch,
            scratch=scratch,
            cache=downloads / KEPT,
            code=code,
            workers=workers,
        )
        report, read = _write_corpora(params, reader, folder, texts)
        with files.whole_folder(corpus.with_name(paths.MONOLINGUAL.name)) as part:
            monolingual = _write_monolingual(params, reader, folder, part, read)
    with files.whole_folder(vectors) as folder:
        rows = params.vectors.obtain(params.languages, folder, fetch=fetch)
        # also says that there are none; DVC warns of empty folders
        files.write_json(folder / "vectors.json", rows)
    return report.model_copy(update={"monolingual": monolingual, "vectors": rows})


def bring_initial_model(params: DownloadParams, folder: Path, *, scratch: Path) -> dict[str, Any]:
    """Write the files of the initial model that training needs; return its identity.

    Raises:
        BundleError: if it is incomplete, altered, or not the pinned one.
        RegistryError: if there is no such champion, or the registry does not answer.
    """
    config = params.initial_model
    with files.whole_folder(folder) as part, _scratch(scratch) as arriving:
        match config:
            case BundleModel():
                origin = {"folder": str(config.folder)}
                origin |= copy_initial_model(config.folder, part, sha256=config.sha256)
            case ChampionModel():
                registry = Registry(model_name(params.languages))
                version = registry.find_initial(config.sha256)
                origin = {"registered": f"version {version.number} of {registry.name}"}
                fetched = registry.fetch(version, arriving)
                origin |= copy_initial_model(fetched, part, sha256=config.sha256)
            case _:
                origin = {}
        # also says that there is none; DVC warns of empty folders
        files.write_json(part / "initial_model.json", origin)
    return origin


def main() -> None:
    """Run on the project's files."""
    params = load(DownloadParams, "download")
    initial_model = bring_initial_model(
        params, paths.INITIAL_MODEL, scratch=paths.DOWNLOADS / "initial_model"
    )
    report = run(
        params,
        corpus=paths.CORPUS,
        vectors=paths.VECTORS,
        downloads=paths.DOWNLOADS,
        workers=load(WorkersConfig, "workers"),
        code=hash_json(digest_code(["download"])),
        texts=read_texts(paths.INITIAL_MODEL),
    )
    report = report.model_copy(update={"initial_model": initial_model})
    files.write_json(paths.WEIGHTS, [corpus.weight for corpus in report.corpora.values()])
    files.write_json(paths.TAGS, [corpus.tag for corpus in report.corpora.values()])
    files.write_json(paths.REPORTS / "download.json", report.dump())
    pairs = {name: corpus.pairs["train"] for name, corpus in report.corpora.items()}
    page = render_data_page(report, read_examples(paths.CORPUS, pairs), params.languages)
    files.write_text(paths.REPORTS / "data.html", page)
    print_text_summary(report, params.languages, [*list_notices(report)], Console())


def list_notices(report: DownloadReport) -> Iterator[str]:
    """Yield what a person should know of the text, a sentence each."""
    for what, count in report.noticed.items():
        yield NOTICES[what].format(count)
    for name, corpus in (report.corpora | report.monolingual).items():
        yield from (f"{name}: {notice}" for notice in corpus.notices)
    if (tests := report.pairs["test"]) < MIN_TEST_SENTENCES:
        yield (
            f"test has {tests:,} pairs, too few to tell two models apart; give "
            f"{MIN_TEST_SENTENCES} or more, or raise download.split.test_per_10000 where they are "
            f"split off"
        )


def _write_corpora(
    params: DownloadParams, reader: CorpusReader, folder: Path, texts: Sequence[TrainedText]
) -> tuple[DownloadReport, dict[str, FilteredCorpus]]:
    read = reader.read(params.corpora)
    replay = getattr(params.initial_model, "replay", 0.0)
    if replay and not texts:
        LOGGER.warning(
            "the export of the initial model names no text, as earlier ones do not, so none is "
            "replayed, and much of what the model knows may be forgotten; add that text to "
            "download.corpora"
        )
    wanted = list_replayed(texts if replay else (), params.corpora, params.languages)
    replayed, more = read_replayed(
        wanted,
        lambda text: replace(reader, filters=text.filter, split=text.split, replayed=True).read(
            text.corpora
        ),
    )
    read |= more
    corpora = {**params.parallel, **replayed}
    reader.remove_unused(read.values())
    parallel = {name: read[name] for name in corpora}
    near = join_corpora(
        parallel,
        folder,
        scratch=reader.scratch,
        split=params.split,
        near_duplicates=params.near_duplicates,
        workers=reader.workers,
    )
    weights = weigh_replayed(
        {name: corpus.weight for name, corpus in corpora.items()},
        {name: corpus.kept["train"] for name, corpus in parallel.items()},
        replayed,
        replay,
    )
    kept = count_kept(parallel)
    readings = [each for one in parallel.values() for each in one.readings.values()]
    report = DownloadReport(
        pairs={str(split): count for split, count in kept.items()},
        removed={name: _sort(count_removed(parallel, name)) for name in SPLITS},
        near_duplicates=_describe_near(near, kept["test"]) if near else None,
        repaired=_sort(sum((each.repaired for each in readings), Counter())),
        noticed=_sort(sum((each.noticed for each in readings), Counter())),
        corpora={
            name: CorpusReport(
                kind=corpora[name].kind,
                licence=describe_licence(corpora[name])["license"],
                tag=corpora[name].tag,
                pairs={str(split): count for split, count in corpus.kept.items()},
                removed={split: _sort(corpus.list_reasons(split)) for split in SPLITS},
                weight=weights[name],
                examples={
                    why: [(pair.source, pair.target) for pair in pairs]
                    for why, pairs in corpus.examples.items()
                },
                notices=corpus.notices,
                origins=corpus.origins,
            )
            for name, corpus in parallel.items()
        },
        corpus=describe_corpora(params, replayed),
    )
    described = {
        "languages": params.languages.model_dump(),
        "pairs": report.pairs,
        "corpora": [corpus.kept for corpus in parallel.values()],
        "sha256": {path.name: files.sha256(path) for path in sorted(folder.iterdir())},
    }
    files.write_json(folder / "corpus.json", described)
    return report, read


def _write_monolingual(
    params: DownloadParams,
    reader: CorpusReader,
    corpus: Path,
    folder: Path,
    read: Mapping[str, FilteredCorpus],
) -> dict[str, MonolingualReport]:
    """Write the text of each language alone; return the counts of each of its corpora."""
    measured: dict[str, MonolingualReport] = {}
    for side, code in zip(paths.SIDES, params.languages.codes, strict=True):
        own = {
            name: one
            for name, one in params.corpora.items()
            if isinstance(one, MonolingualCorpus) and one.language == code
        }
        if not own:
            continue
        filtered = {name: read[name] for name in own}
        join_monolingual(
            filtered,
            folder / f"{code}.txt",
            corpus=corpus,
            side=side,
            scratch=reader.scratch,
            near_duplicates=params.near_duplicates,
            workers=reader.workers,
        )
        measured |= {
            name: MonolingualReport(
                language=code,
                licence=describe_licence(own[name])["license"],
                lines=one.kept["train"],
                removed=_sort(one.list_reasons("train")),
                notices=one.notices,
                origins=one.origins,
            )
            for name, one in filtered.items()
        }
    # also says that there are none; DVC warns of empty folders
    lines = {name: one.lines for name, one in measured.items()}
    files.write_json(folder / "monolingual.json", lines)
    return measured


def describe_corpora(params: DownloadParams, replayed: Corpora | None = None) -> CorpusDescription:
    """Describe the corpora for the export and the registration of a model.

    ``replayed`` are corpora of the initial model that are read, too.
    """
    return CorpusDescription(
        kind=", ".join(dict.fromkeys(corpus.kind for corpus in params.corpora.values())),
        **describe_together({**params.corpora, **(replayed or {})})._asdict(),
        held_out=describe_rule(params.corpora, params.split),
    )


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, also if a killed run has left its own, and remove it.

    Experiments that run at once share it, so one waits for the other.
    """
    with files.locked(folder.with_name(f"{folder.name}.lock")):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def _sort(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _describe_near(near: Nearness, tests: int) -> NearDuplicates:
    """Describe the near duplicates of train of so many test pairs, and of validation."""
    return NearDuplicates(
        pairs=len(near.rows),
        test_sentences=int((near.counts[:tests] > 0).sum()),
        validation_sentences=int((near.counts[tests:] > 0).sum()),
        examples=[example._asdict() for example in near.examples],
    )


if __name__ == "__main__":
    run_stage(main)
