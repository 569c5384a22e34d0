"""Show what a look at each corpus finds, and what every filter would take, before it is used.

Usage: python -m stages.reporting.clean_report
Reads:  the network, or the files that params.yaml names
Writes: nothing but fetched files: downloads/
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch import http
from nmt_core.corpora.fetch.source import Fetched, Source
from nmt_core.corpora.filters import FilterConfig, find_fault
from nmt_core.corpora.parallel_text import Pair, cut_rows
from nmt_core.corpora.reading import locate
from nmt_core.corpora.screening.inspection import (
    MAX_TRUSTED,
    CorpusSample,
    Inspection,
    inspect_corpus,
    read_sample,
)
from nmt_core.corpora.screening.settings import ScreenConfig
from nmt_core.corpora.splitting import Split
from stages import paths
from stages.params import DownloadParams, load

ROWS = 20_000
"""Lines between two places of which a sample has some."""

SHOWN = 2
"""Pairs that are shown of those that a filter takes."""

SHOWN_CHARACTERS = 70
"""Of a side of these."""


def look_at(name: str, corpus: Corpus, params: DownloadParams, downloads: Path) -> Inspection:
    """Look at a sample of a corpus.

    Raises:
        CorpusError: if a text cannot be read.
        DownloadError: if a file cannot be fetched or is not what was promised.
    """

    def fetch(source: Source) -> Fetched:
        return partial(http.fetch, folder=downloads, config=params.http)(locate(source, name))

    filters = corpus.choose_filter(params.filter)
    config = filters.screen or ScreenConfig()
    samples: dict[Split, CorpusSample] = {}
    downloads.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=downloads, prefix="look-") as folder:
        scratch = Path(folder)
        texts = corpus.obtain(params.languages, fetch=fetch, scratch=scratch)
        for split, text in texts.items():
            most = config.sample_pairs if split == "train" else MAX_TRUSTED // 2
            repair = filters.repair if split == "train" else ()
            rows = cut_rows(text, ROWS, scratch=scratch)
            samples[split] = read_sample(rows, text.drop, most, repair)
    trusted = [
        pair for split, sample in samples.items() if split != "train" for pair in sample.pairs
    ]
    languages = corpus.list_languages(params.languages)
    return inspect_corpus(samples["train"], trusted, languages, config)


def show(name: str, look: Inspection, filters: FilterConfig) -> RenderableType:
    """Return what is wrong with a corpus: findings, and a table of the filters that take pairs."""
    taken: dict[str, list[Pair]] = {}
    for pair, why in zip(look.pairs, look.dropped, strict=True):
        if reason := find_fault(pair, filters) or why:
            taken.setdefault(reason, []).append(pair)
    table = Table("filter", "above", "pairs", "%", "for example", title=name)
    learnt = look.screen.thresholds.items() if look.screen else ()
    thresholds = {str(name): value for name, value in learnt}
    for reason, some in taken.items():
        threshold = f"{thresholds[reason]:.2f}" if reason in thresholds else ""
        share = f"{100 * len(some) / max(len(look.pairs), 1):.2f}"
        table.add_row(reason, threshold, f"{len(some):,}", share, _list_examples(some))
    said = [
        Text(f"{name}: {finding.advise(name)}", style="red" if finding.stops else "yellow")
        for finding in look.findings
    ]
    if look.screen is None:
        said.append(Text(f"{name}: no thresholds were learnt", style="yellow"))
    return Group(*([table] if taken else []), *said)


def _list_examples(pairs: Sequence[Pair]) -> Text:
    middle = pairs[len(pairs) // 2 :][:SHOWN]
    shown = (side for pair in middle for side in dict.fromkeys(pair))  # a copy is of one language
    return Text("\n".join(side[:SHOWN_CHARACTERS] for side in shown))


def main() -> None:
    """Look at the corpora of the project."""
    params, console = load(DownloadParams, "download"), Console()
    screens = []
    for name, corpus in params.corpora.items():
        look = look_at(name, corpus, params, paths.DOWNLOADS)
        console.print(show(name, look, corpus.choose_filter(params.filter)))
        screens.append(look.screen)
    if any(screen and not screen.fitted for screen in screens):
        console.print(
            "there are too few given validation and test pairs to fit thresholds to; these take "
            "what is wrong in any text",
            style="yellow",
        )


if __name__ == "__main__":
    main()
