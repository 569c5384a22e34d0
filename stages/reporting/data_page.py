"""A page about the training data, for people to look at before they trust it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from nmt_core.base.languages import Languages
from nmt_core.corpora.splitting import SPLITS
from nmt_core.corpora.statistics import (
    MAX_PAIRS,
    CorpusStatistics,
    Counts,
    Quantiles,
)
from stages.reporting.download_report import CorpusReport, DownloadReport
from stages.reporting.pages import render_template, write_words

MOST_SHOWN = 4
"""Languages of a side that are named."""


def render_data_page(
    report: DownloadReport, statistics: Mapping[str, CorpusStatistics], languages: Languages
) -> str:
    """Return a page about corpora.

    Args:
        report: result of the download stage.
        statistics: of each corpus, by name.
        languages: of the two sides.
    """
    shares = report.compute_shares()
    removed = sum((Counter(text.removed) for text in report.monolingual.values()), Counter[str]())
    return render_template(
        "data.html",
        title=f"Training data, {languages.source} to {languages.target}",
        report=report,
        codes=[*languages.codes],
        most_pairs=MAX_PAIRS,
        corpora=_tabulate_corpora(report, shares),
        noticed=[
            (write_words(what), count) for what, count in (report.repaired | report.noticed).items()
        ],
        monolingual_removed=[(write_words(why), count) for why, count in sorted(removed.items())],
        details={
            name: _describe_corpus(corpus, shares[name], statistics[name], languages)
            for name, corpus in report.corpora.items()
        },
    )


def _tabulate_corpora(report: DownloadReport, shares: Mapping[str, float]) -> dict[str, Any]:
    """Return rows and last row of the table of all corpora."""
    link = Markup('<a href="#{0}">{0}</a>')
    rows = [
        [
            link.format(name),
            corpus.licence,
            *(corpus.pairs[split] for split in SPLITS),
            corpus.left_out,
            f"{corpus.weight:.4g}",
            f"{shares[name]:.1%}",
        ]
        for name, corpus in report.corpora.items()
    ]
    left_out = sum(corpus.left_out for corpus in report.corpora.values())
    total = ["all", "", *(report.pairs[split] for split in SPLITS), left_out, "", ""]
    return {"rows": rows, "total": total if len(rows) > 1 else None}


def _describe_corpus(
    corpus: CorpusReport, share: float, statistics: CorpusStatistics, languages: Languages
) -> dict[str, Any]:
    """Return facts, tables and examples of a corpus."""
    sides = list(zip((statistics.source, statistics.target), languages.codes, strict=True))
    rows = {
        "languages of lines": [_list_languages(side.languages, code) for side, code in sides],
        "words of a line": [_write_quantiles(side.lengths) for side, _ in sides],
        "words": [f"{side.words:,} ({side.distinct:,} different)" for side, _ in sides],
        "characters": [side.characters for side, _ in sides],
    }
    return {
        "facts": {
            "kind": corpus.kind,
            "licence": corpus.licence,
            **{split: corpus.pairs[split] for split in SPLITS},
            "left out": corpus.left_out,
            "weight": f"{corpus.weight:.4g}",
            "share": f"{share:.1%}",
            "sampled": statistics.sampled,
            "words of the target for each word of the source": _write_quantiles(statistics.ratios),
        },
        "sides": rows,
        "examples": statistics.examples,
    }


def _list_languages(languages: Counts, expected: str) -> str:
    """List the languages of lines, marked if most are in another than the expected one."""
    shares = _list_shares(tuple((code or "too short to tell", count) for code, count in languages))
    likeliest = next((code for code, _ in languages if code), "")
    if likeliest in ("", expected.partition("-")[0]):
        return shares
    return Markup('<span class="wrong">{}; not {}</span>').format(shares, expected)


def _list_shares(counts: Counts) -> str:
    total = sum(count for _, count in counts)
    shown = [(write_words(what), count) for what, count in counts[:MOST_SHOWN]]
    if others := sum(count for _, count in counts[MOST_SHOWN:]):
        shown.append(("others", others))
    return ", ".join(
        f"{what} {f'{count / total:.1%}' if count >= total / 1000 else 'below 0.1%'}"
        for what, count in shown
    )


def _write_quantiles(quantiles: Quantiles) -> str:
    low, middle, high = (f"{value:.3g}" for value in quantiles)
    return f"median {middle}, 90% from {low} to {high}"
