"""Fetch, clean and split parallel text without leaks, and fetch vectors and the initial model.

Usage: python -m stages.download
Reads:  the network, or files that params.yaml names; the registry, to start from its champion
Writes: data/corpus/{train,validation,test}.{source,target}, data/corpus/corpus.json,
        data/monolingual/, data/weights.json, data/tags.json,
        data/vectors/{source,target}.vec, data/vectors/vectors.json,
        data/initial_model/, reports/download.json, reports/data.html; and downloads/, with fetched
        files and their filtered text
"""

import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.languages import Languages, read_languages
from nmt_core.base.random import MIN_TEST_SENTENCES
from nmt_core.corpora.cleaning import count_kept, count_removed, join_corpora, join_monolingual
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.initial_model import BundleModel, ChampionModel, copy_initial_model
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
from nmt_core.corpora.uses import CorpusUse, list_targets, list_uses
from nmt_core.text.vocabulary import name_target
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
"""Folder in downloads/ of the filtered corpora, reused until their text or settings change."""

NOTICES = {"header_row": "removed header rows: {:,}"}
"""Messages about a text, by the name of the count."""


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
    """Write corpus and vectors, each folder atomically; return the counts of pairs.

    Monolingual text is written beside ``corpus``. ``downloads`` caches fetched files, and the
    corpora that this ``code`` filtered; ``texts`` are the initial model's.

    Raises:
        CorpusError: if a text looks wrong as a whole, a split has no pair, or a file cannot be
            fetched or has another checksum.
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
        # written without vectors, too: DVC warns of empty folders
        files.write_json(folder / "vectors.json", rows)
    return report.model_copy(update={"monolingual": monolingual, "vectors": rows})


def bring_initial_model(params: DownloadParams, folder: Path, *, scratch: Path) -> dict[str, Any]:
    """Write the files of the initial model that training needs; return its identity.

    Raises:
        BundleError: if the model is incomplete or altered, or has another digest than the pinned.
        RegistryError: if the champion is missing, or the registry does not answer.
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
        # written without a model, too: DVC warns of empty folders
        files.write_json(part / "initial_model.json", origin)
    return origin


def main() -> None:
    """Run the stage on the project's own paths."""
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
    files.write_json(paths.TAGS, list_tags(report, params.learned))
    files.write_json(paths.REPORTS / "download.json", report.dump())
    pairs = {name: corpus.pairs["train"] for name, corpus in report.corpora.items()}
    page = render_data_page(report, read_examples(paths.CORPUS, pairs), params.languages)
    files.write_text(paths.REPORTS / "data.html", page)
    print_text_summary(report, params.languages, [*list_notices(report)], Console())


def list_notices(report: DownloadReport) -> Iterator[str]:
    """Yield messages about the text that the user should read, a sentence each."""
    for what, count in report.noticed.items():
        yield NOTICES[what].format(count)
    for name, corpus in (report.corpora | report.monolingual).items():
        yield from (f"{name}: {notice}" for notice in corpus.notices)
    if (tests := report.pairs["test"]) < MIN_TEST_SENTENCES:
        yield (
            f"test has {tests:,} pairs, too few to tell two models apart; provide at least "
            f"{MIN_TEST_SENTENCES}, or raise download.split.test_per_10000 if they are split off"
        )


def list_tags(report: DownloadReport, directions: Sequence[Languages]) -> list[list[str]]:
    """Return the tags of each corpus: its target, if there are several, and its domain."""
    several = len(list_targets(directions)) > 1
    tags = []
    for corpus in report.corpora.values():
        target = name_target(read_languages(corpus.languages).target) if several else ""
        tags.append([*filter(None, (target, corpus.tag))])
    return tags


def check_pairs(
    uses: Sequence[CorpusUse],
    parallel: Mapping[str, FilteredCorpus],
    directions: Sequence[Languages],
) -> None:
    """Check that each of several directions has pairs in every split.

    Raises:
        CorpusError: naming the direction.
    """
    for direction in directions:
        kept = count_kept({u.name: parallel[u.name] for u in uses if u.languages == direction})
        for split, pairs in kept.items():
            if not pairs:
                raise CorpusError(
                    f"{direction} has no {split} pairs; add a corpus of these languages to "
                    f"download.corpora, or remove the direction"
                )


def describe_use(use: CorpusUse, corpus: Corpus, filtered: FilteredCorpus) -> CorpusReport:
    """Return the counts of a corpus in a direction, without its weight in training."""
    return CorpusReport(
        kind=corpus.kind,
        licence=describe_licence(corpus)["license"],
        tag=corpus.tag,
        languages=str(use.languages) if corpus.languages else "",
        pairs={str(split): count for split, count in filtered.kept.items()},
        removed={split: _sort(filtered.list_reasons(split)) for split in SPLITS},
        examples={
            why: [(pair.source, pair.target) for pair in pairs]
            for why, pairs in filtered.examples.items()
        },
        notices=filtered.notices,
        origins=filtered.origins,
    )


def _write_corpora(
    params: DownloadParams, reader: CorpusReader, folder: Path, texts: Sequence[TrainedText]
) -> tuple[DownloadReport, dict[str, FilteredCorpus]]:
    read = reader.read(params.corpora)
    replay = getattr(params.initial_model, "replay", 0.0)
    if replay and not texts:
        LOGGER.warning(
            "the export of the initial model is of an earlier version and names no text, so no "
            "text is replayed and the new model may forget much; add its text to download.corpora"
        )
    listed = list_replayed(texts if replay else (), params.corpora, params.learned)
    replayed, read_again = read_replayed(
        listed,
        lambda text: replace(reader, filters=text.filter, split=text.split, replayed=True).read(
            text.corpora
        ),
    )
    read |= read_again
    corpora = {**params.parallel, **replayed}
    reader.remove_unused(read.values())
    uses = list_uses(corpora, params.languages, params.learned)
    parallel = {
        use.name: read[use.corpus].swap() if use.swapped else read[use.corpus] for use in uses
    }
    present = {use.languages for use in uses if use.corpus not in replayed}
    for use in uses:  # a direction without new text is measured on the held-out sets of the old one
        parallel[use.name].measured = use.corpus not in replayed or use.languages not in present
    near = join_corpora(
        parallel,
        folder,
        scratch=reader.scratch,
        split=params.split,
        near_duplicates=params.near_duplicates,
        workers=reader.workers,
        across=bool(params.directions),
    )
    check_pairs(uses, parallel, params.learned)
    weights = weigh_replayed(
        {use.name: corpora[use.corpus].weight for use in uses},
        {name: corpus.kept["train"] for name, corpus in parallel.items()},
        [use.name for use in uses if use.corpus in replayed],
        replay,
    )
    kept = count_kept(parallel)
    readings = [each for corpus in parallel.values() for each in corpus.readings.values()]
    report = DownloadReport(
        pairs={str(split): count for split, count in kept.items()},
        removed={name: _sort(count_removed(parallel, name)) for name in SPLITS},
        near_duplicates=_describe_near(near, kept["test"]) if near else None,
        repaired=_sort(sum((each.repaired for each in readings), Counter())),
        noticed=_sort(sum((each.noticed for each in readings), Counter())),
        corpora={
            use.name: describe_use(use, corpora[use.corpus], parallel[use.name]).model_copy(
                update={"weight": weights[use.name]}
            )
            for use in uses
        },
        corpus=describe_corpora(params, replayed),
    )
    described = {
        "languages": params.languages.model_dump(),
        "pairs": report.pairs,
        "corpora": [corpus.kept for corpus in parallel.values()],
        "sha256": {path.name: files.sha256(path) for path in sorted(folder.iterdir())},
    }
    if params.directions:
        described["directions"] = [str(use.languages) for use in uses]
    files.write_json(folder / "corpus.json", described)
    return report, read


def _write_monolingual(
    params: DownloadParams,
    reader: CorpusReader,
    corpus: Path,
    folder: Path,
    read: Mapping[str, FilteredCorpus],
) -> dict[str, MonolingualReport]:
    """Write the monolingual text of each language; return the counts of each corpus."""
    measured: dict[str, MonolingualReport] = {}
    learned = [direction.codes for direction in params.learned]
    for code in dict.fromkeys(chain.from_iterable(learned)):
        sides = [
            side for place, side in enumerate(paths.SIDES) if code in {c[place] for c in learned}
        ]
        own = {
            name: each
            for name, each in params.corpora.items()
            if isinstance(each, MonolingualCorpus) and each.language == code
        }
        if not own:
            continue
        filtered = {name: read[name] for name in own}
        join_monolingual(
            filtered,
            folder / f"{code}.txt",
            corpus=corpus,
            sides=sides,
            scratch=reader.scratch,
            near_duplicates=params.near_duplicates,
            workers=reader.workers,
        )
        measured |= {
            name: MonolingualReport(
                language=code,
                licence=describe_licence(own[name])["license"],
                lines=text.kept["train"],
                removed=_sort(text.list_reasons("train")),
                notices=text.notices,
                origins=text.origins,
            )
            for name, text in filtered.items()
        }
    # written without text, too: DVC warns of empty folders
    lines = {name: text.lines for name, text in measured.items()}
    files.write_json(folder / "monolingual.json", lines)
    return measured


def describe_corpora(params: DownloadParams, replayed: Corpora | None = None) -> CorpusDescription:
    """Return a description of the corpora for the export and the registration of a model.

    ``replayed`` are corpora of the initial model that training reads again.
    """
    return CorpusDescription(
        kind=", ".join(dict.fromkeys(corpus.kind for corpus in params.corpora.values())),
        **describe_together({**params.corpora, **(replayed or {})})._asdict(),
        held_out=describe_rule(params.corpora, params.split),
    )


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, and remove it at the end; leftovers of a killed run are deleted.

    Experiments that run at once share the folder, so each waits for its lock.
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
    """Return the counts of near duplicates of test and validation; ``tests`` counts test pairs."""
    return NearDuplicates(
        pairs=len(near.rows),
        test_sentences=int((near.counts[:tests] > 0).sum()),
        validation_sentences=int((near.counts[tests:] > 0).sum()),
        examples=[example._asdict() for example in near.examples],
    )


if __name__ == "__main__":
    run_stage(main)
