"""A page about the training data, for people to look at before they trust it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from nmt_core.base.languages import Languages
from nmt_core.corpora.splitting import SPLITS
from nmt_core.corpora.statistics import (
    MOST_PAIRS,
    CorpusStatistics,
    Counts,
    Distribution,
    SideStatistics,
)
from stages.reporting.histograms import draw_histogram
from stages.reporting.hypertext import Content, make, make_quote, make_table, write_page
from stages.reporting.page_style import STYLE
from stages.reporting.removed_table import name_reason, tabulate_removed

Row = Sequence[Content]

MOST_SHOWN = 4
"""Languages and scripts of a side that are named."""

MOST_CHARACTERS = 400
"""Of an example."""

RATIO_TICKS = {1: "¼", 5: "½", 9: "1", 13: "2", 17: "4"}
"""Where the ratios of lengths are whole octaves."""


def render_data_page(
    measured: Mapping[str, Any], statistics: Mapping[str, CorpusStatistics], languages: Languages
) -> str:
    """Return a page about corpora that needs nothing but itself.

    Args:
        measured: metrics of the download stage.
        statistics: of each corpus, by name.
        languages: of the two sides.
    """
    corpora = measured["corpora"]
    shares = _compute_shares(corpora)
    title = f"Training data, {languages.source} to {languages.target}"
    pairs = ", ".join(f"{measured['pairs'][split]:,} for {split}" for split in SPLITS)
    header = make(
        "header",
        make("h1", title),
        make("p", f"Pairs of {_count(len(corpora), 'corpus', 'corpora')}: {pairs}."),
        make(
            "p",
            f"Lengths, words, languages and scripts are those of at most {MOST_PAIRS:,} pairs for "
            f"training of each corpus, evenly spread.",
            class_="soft",
        ),
    )
    names = [make("li", make("a", name, href=f"#{name}")) for name in corpora]
    if len(names) > 1:
        header.append(make("nav", make("ul", *names), aria_label="Corpora"))
    sections = [_show_all(measured, shares), _show_near(measured["near_duplicates"])]
    if measured.get("monolingual"):
        sections.append(_show_monolingual(measured["monolingual"]))
    for name, corpus in corpora.items():
        sections.append(_show_corpus(name, corpus, shares[name], statistics[name], languages))
    return write_page(title, STYLE, [header, make("main", *sections)])


def _show_all(measured: Mapping[str, Any], shares: Mapping[str, float]) -> Element:
    corpora = measured["corpora"]
    rows: list[Row] = [
        [
            make("a", name, href=f"#{name}"),
            corpus["licence"],
            *(corpus["pairs"][split] for split in SPLITS),
            _sum_removed(corpus),
            f"{corpus['weight']:.4g}",
            f"{shares[name]:.1%}",
        ]
        for name, corpus in corpora.items()
    ]
    removed = sum(_sum_removed(corpus) for corpus in corpora.values())
    total = ["all", "", *(measured["pairs"][split] for split in SPLITS), removed, "", ""]
    head = ["Corpus", "Licence", *SPLITS, "left out", "weight", "share"]
    section = make(
        "section",
        make("h2", "All corpora"),
        make_table(
            "Pairs of each corpus",
            head,
            rows,
            total=total if len(rows) > 1 else (),
            numbers=head[2:],
        ),
        make(
            "p",
            "Share: of the pairs that training reads, before temperature and phases of "
            "train.mixture.",
            class_="soft",
        ),
        tabulate_removed(measured["removed"]),
    )
    told = {**measured["repaired"], **measured["noticed"]}
    if told:
        rows = [[name_reason(what), count] for what, count in told.items()]
        section.append(
            make_table("Repaired or noticed", ["What", "lines"], rows, numbers=["lines"])
        )
    return section


def _show_monolingual(corpora: Mapping[str, Any]) -> Element:
    rows: list[Row] = [
        [name, one["licence"], one["language"], one["lines"], sum(one["removed"].values())]
        for name, one in corpora.items()
    ]
    removed = sum((Counter(one["removed"]) for one in corpora.values()), Counter[str]())
    head = ["Corpus", "Licence", "language", "lines", "left out"]
    section = make(
        "section",
        make("h2", "Monolingual text"),
        make_table("Lines of each corpus", head, rows, numbers=head[3:]),
    )
    if removed:
        why: list[Row] = [[name_reason(reason), count] for reason, count in sorted(removed.items())]
        section.append(make_table("Left out", ["Why", "lines"], why, numbers=["lines"]))
    return section


def _show_near(near: Mapping[str, Any]) -> Element:
    section = make("section", make("h2", "Near duplicates"))
    if not near:
        section.append(make("p", "They were not looked for."))
        return section
    section.append(
        make(
            "p",
            f"{_count(near['pairs'], 'pair', 'pairs')} of training text "
            f"{'is' if near['pairs'] == 1 else 'are'} near "
            f"{_count(near['test_sentences'], 'sentence', 'sentences')} of test and "
            f"{near['validation_sentences']:,} of validation.",
        )
    )
    rows = [
        [one["side"], _quote(one["train"]), _quote(one["held_out"]), one["edits"]]
        for one in near["examples"]
    ]
    if rows:
        head = ["Near", "sentence of train", "sentence held out", "edits"]
        section.append(make_table("Examples", head, rows, numbers=["edits"]))
    return section


def _show_corpus(
    name: str,
    corpus: Mapping[str, Any],
    share: float,
    statistics: CorpusStatistics,
    languages: Languages,
) -> Element:
    facts: dict[str, str] = {
        "kind": corpus["kind"],
        "licence": corpus["licence"],
        **{split: f"{corpus['pairs'][split]:,}" for split in SPLITS},
        "left out": f"{_sum_removed(corpus):,}",
        "weight": f"{corpus['weight']:.4g}",
        "share": f"{share:.1%}",
        "sampled": f"{statistics.sampled:,}",
    }
    described = (make("div", make("dt", what), make("dd", text)) for what, text in facts.items())
    section = make("section", make("h2", name), make("dl", *described), id=name)
    sides = list(zip((statistics.source, statistics.target), languages.codes, strict=True))
    section.extend(
        [
            make("div", _draw_lengths(statistics), _draw_ratios(statistics), class_="two"),
            _tabulate_sides(sides),
        ]
    )
    if corpus["notices"]:
        notices = (make("li", notice) for notice in corpus["notices"])
        section.extend([make("h3", "Findings"), make("ul", *notices)])
    if any(corpus["removed"].values()):
        section.append(tabulate_removed(corpus["removed"]))
    left_out: list[Row] = [
        [name_reason(why), *map(_quote, pair, languages.codes)]
        for why, pairs in sorted(corpus["examples"].items())
        for pair in pairs
    ]
    if left_out:
        section.append(make_table("Examples left out", ["Why", *languages.codes], left_out))
    examples: list[Row] = [
        [number + 1, *map(_quote, pair, languages.codes)]
        for number, pair in enumerate(statistics.examples)
    ]
    section.append(make_table("Examples of pairs", ["Pair", *languages.codes], examples))
    if corpus["origins"]:
        section.append(_tabulate_origins(corpus["origins"]))
    return section


def _draw_lengths(statistics: CorpusStatistics) -> Element:
    lengths = {"source": statistics.source.lengths, "target": statistics.target.lengths}
    edges = lengths["source"].edges
    last = len(edges) - 1
    ticks = {place: f"{edges[place]:g}" for place in (last * n // 4 for n in range(4))}
    ticks[last] = f"{edges[last]:g}+"
    told = ", ".join(f"{side} {_tell_quantiles(each)}" for side, each in lengths.items())
    counts = {side: each.counts for side, each in lengths.items()}
    caption = make("figcaption", "Words of a line:")
    caption.extend(make("span", side, class_=f"key {side}") for side in lengths)
    label = f"Histogram of the words of a line: {told}"
    return make("figure", caption, draw_histogram(counts, ticks, label=label))


def _draw_ratios(statistics: CorpusStatistics) -> Element:
    told = _tell_quantiles(statistics.ratios)
    picture = draw_histogram(
        {"both": statistics.ratios.counts},
        RATIO_TICKS,
        label=f"Histogram of the words of the target for each word of the source: {told}",
    )
    caption = make("figcaption", "Words of the target for each word of the source")
    return make("figure", caption, picture)


def _tabulate_sides(sides: Sequence[tuple[SideStatistics, str]]) -> Element:
    tell: dict[str, Callable[[SideStatistics, str], Content]] = {
        "languages of lines": lambda side, code: _list_languages(side.languages, code),
        "scripts of letters": lambda side, _: _list_shares(side.scripts),
        "words of a line": lambda side, _: _tell_quantiles(side.lengths),
        "words": lambda side, _: f"{side.words:,} ({side.distinct:,} different)",
        "characters": lambda side, _: f"{side.characters:,}",
    }
    rows = [[what, *(each(side, code) for side, code in sides)] for what, each in tell.items()]
    named = zip(("source", "target"), sides, strict=True)
    head = ["What", *(f"{side}, {code}" for side, (_, code) in named)]
    return make_table("Both sides of the sample", head, rows)


def _list_languages(languages: Counts, expected: str) -> Content:
    """List the languages of lines, marked if most are in another than the expected one."""
    told = tuple((code or "too short to tell", count) for code, count in languages)
    shares = _list_shares(told)
    likeliest = next((code for code, _ in languages if code), "")
    if likeliest in ("", expected.partition("-")[0]):
        return shares
    return make("span", f"{shares}; not {expected}", class_="wrong")


def _list_shares(counts: Counts) -> str:
    total = sum(count for _, count in counts)
    named = [
        f"{name_reason(what)} {_tell_share(count, total)}" for what, count in counts[:MOST_SHOWN]
    ]
    others = sum(count for _, count in counts[MOST_SHOWN:])
    return ", ".join([*named, *([f"others {_tell_share(others, total)}"] if others else [])])


def _tabulate_origins(origins: Sequence[Mapping[str, Any]]) -> Element:
    columns = list(dict.fromkeys(what for origin in origins for what in origin))
    rows = [[_tell_origin(origin.get(what, "")) for what in columns] for origin in origins]
    head = [name_reason(what) for what in columns]
    return make_table("Files it came from", head, rows, numbers=["bytes"])


def _tell_origin(value: Any) -> Content:
    return value if isinstance(value, int) else make("span", str(value), class_="origin")


def _compute_shares(corpora: Mapping[str, Any]) -> dict[str, float]:
    sizes = {name: one["weight"] * one["pairs"]["train"] for name, one in corpora.items()}
    total = sum(sizes.values()) or 1.0
    return {name: size / total for name, size in sizes.items()}


def _sum_removed(corpus: Mapping[str, Any]) -> int:
    return sum(sum(reasons.values()) for reasons in corpus["removed"].values())


def _tell_quantiles(values: Distribution) -> str:
    low, middle, high = (f"{value:.3g}" for value in values.quantiles)
    return f"median {middle}, 90% from {low} to {high}"


def _tell_share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if count >= total / 1000 else "below 0.1%"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _quote(text: str, language: str = "") -> Element:
    cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"
    return make_quote(cut, language)
