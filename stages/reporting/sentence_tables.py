"""Tables of sentences with their translations, what differs marked, for pages of reports."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from nmt_core.base.languages import Languages
from stages.reporting.hypertext import Content, make, make_table
from stages.reporting.judged import JudgedSentence
from stages.reporting.marked_text import LINK_STYLE, mark_difference, mark_source

SENTENCE_STYLE = f"""
ins {{ color: var(--wrong); text-decoration: underline; text-underline-offset: .2em; }}
del {{ color: var(--source); text-decoration: underline dotted; text-underline-offset: .2em; }}
.linked span {{ cursor: default; }}
.wide table.sentences {{ min-width: 44rem; }}
.verdict {{ font-size: 1.5rem; line-height: 1.3; overflow-wrap: anywhere; }}
.remarks {{ padding-inline-start: 1.25rem; overflow-wrap: anywhere; }}
.ready {{ color: var(--source); }}
.remarks li {{ margin-bottom: .75rem; }}
.remarks strong {{ color: var(--wrong); }}
#verdict .two {{ row-gap: 1.5rem; }}
.worst {{ padding-inline-start: 2rem; margin: 0; }}
.worst li {{ margin-bottom: .75rem; overflow-wrap: anywhere; font-size: .9375rem; }}
code {{ font: .8125rem ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }}
.curve {{ fill: none; stroke: var(--source); stroke-width: 2; }}
.curve.train {{ stroke: var(--target); }}
{LINK_STYLE}"""
"""What pages with sentences need beside the style of all pages."""


def tabulate_sentences(
    caption: str, sentences: Sequence[JudgedSentence], languages: Languages
) -> Element:
    """Return sentences with reference and translation, words that differ marked."""
    rows: list[Sequence[Content]] = []
    for one in sentences:
        reference, hypothesis = mark_difference(
            one.reference, one.hypothesis, languages.target, one.links
        )
        source = mark_source(one.source, languages.source)
        rows.append([one.number, source, reference, hypothesis, f"{one.score:.0f}"])
    head = ["Line", "source", "reference", "translation", "chrF"]
    return _finish(make_table(caption, head, rows, numbers=["chrF"]))


def tabulate_changes(
    caption: str, sentences: Sequence[JudgedSentence], languages: Languages
) -> Element:
    """Return sentences with both translations, words that have changed marked."""
    rows: list[Sequence[Content]] = []
    for one in sentences:
        old, new = mark_difference(one.before or "", one.hypothesis, languages.target)
        source = mark_source(one.source, languages.source)
        reference = make("bdi", one.reference, lang=languages.target)
        rows.append([one.number, source, reference, old, new, f"{one.gain:+.0f}"])
    head = ["Line", "source", "reference", "champion", "challenger", "chrF"]
    return _finish(make_table(caption, head, rows, numbers=["chrF"]))


def list_sentences(sentences: Sequence[JudgedSentence], languages: Languages) -> Element:
    """Return sentences as a list, each over its translation and reference."""
    entries = []
    for one in sentences:
        reference, hypothesis = mark_difference(
            one.reference, one.hypothesis, languages.target, one.links
        )
        lines = (
            make("div", mark_source(one.source, languages.source)),
            make("div", make("span", "translated: ", class_="soft"), hypothesis),
            make("div", make("span", "reference: ", class_="soft"), reference),
            make("div", f"line {one.number:,}, chrF {one.score:.0f}", class_="soft"),
        )
        entries.append(make("li", *lines, class_="linked"))
    return make("ol", *entries, class_="worst")


def _finish(table: Element) -> Element:
    for row in table.iter("tr"):
        row.set("class", "linked")
    for inner in table.iter("table"):
        inner.set("class", "sentences")
    return table
