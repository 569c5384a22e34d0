"""A page about the training data, for people to look at before they trust it."""

from collections import Counter
from collections.abc import Mapping

from markupsafe import Markup

from nmt_core.base.languages import Languages
from nmt_core.corpora.statistics import MAX_PAIRS, CorpusStatistics, Counts, Quantiles
from stages.reporting.download_report import DownloadReport
from stages.reporting.pages import render_template, write_words

MOST_SHOWN = 4
"""Languages of a side that are named."""


def render_data_page(
    report: DownloadReport, statistics: Mapping[str, CorpusStatistics], languages: Languages
) -> str:
    """Return a page about corpora, whose statistics stand under their names."""
    removed = sum((Counter(text.removed) for text in report.monolingual.values()), Counter[str]())
    return render_template(
        "data.html",
        title=f"Training data, {languages.source} to {languages.target}",
        report=report,
        statistics=statistics,
        codes=[*languages.codes],
        most_pairs=MAX_PAIRS,
        shares=report.compute_shares(),
        noticed=report.repaired | report.noticed,
        monolingual_removed=sorted(removed.items()),
        list_languages=_list_languages,
        write_quantiles=_write_quantiles,
    )


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
