"""Inspect a corpus before it is used: draw a sample, check it, and learn its screen."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import CorpusReading, Pair, PairRows, Problem, read_pairs
from nmt_core.corpora.screening.findings import (
    BY_SCREEN,
    Finding,
    SampleRow,
    find_properties,
    report_rows,
    show_finding,
)
from nmt_core.corpora.screening.flat_text import Array
from nmt_core.corpora.screening.language_scores import LanguageScorer, find_base, find_languages
from nmt_core.corpora.screening.screen import MIN_PAIRS, Screen, learn_screen
from nmt_core.corpora.screening.settings import (
    FilterName,
    FindingKind,
    RepairName,
    ScreenConfig,
)
from nmt_core.corpora.screening.shifts import MAJORITY, check_alignment
from nmt_core.corpora.screening.signals import LineList
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG
from nmt_core.text.language_codes import list_language_names

SideName = Literal["source", "target", "text"]

SIDES: tuple[SideName, ...] = ("source", "target")

NO_LANGUAGE = "zxx"
"""The code of text without language, such as noise."""

MIN_LINES = 50
"""Minimum number of cased or punctuated lines to judge case or tokenization."""

MIN_LANGUAGE_LINES = 5
"""Minimum number of lines to judge the language of a side, which most of them must share. None of
2,400 samples of ten pairs is misjudged."""

JOINED_LINES = 5
"""Number of possibly short lines that are judged together."""

CAPITAL_SHARE = 0.01
"""Share of lines with a capital letter up to which a side is in lower case."""

MAX_TRUSTED = 10_000
"""Maximum number of trusted pairs to which thresholds are fitted."""

MAX_DROPPED = 0.5
"""Share of a sample that filters may drop; if they drop more, the whole text is noise."""

WHOLLY_WRONG = frozenset({"swapped", "wrong_language", "unrelated"})
"""Findings that prevent learning from a corpus."""

MIN_RUN = 100
"""Minimum number of neighbouring pairs in a run."""


_STOP = re.compile(r"\w ?[.,](?:\s|$)")
_TOKENIZED = re.compile(r"\w [.,](?:\s|$)|@@ |\u2581|@-@")
_HEADINGS = frozenset({
    "source", "target", "src", "trg", "tgt", "source_text", "target_text", "text", "translation",
    "sentence",
})  # fmt: skip


def inspect_sample(
    pairs: Sequence[SampleRow], languages: tuple[str, ...], lines: Sequence[int] = ()
) -> list[Finding]:
    """Return the problems of a corpus as a whole, and then those of more than a few pairs.

    Args:
        pairs: the first pairs and others, in runs of neighbours, up to some 20,000.
        languages: codes of source and target; or of monolingual text, whose pairs are each a line
            with itself.
        lines: the line of each pair in its file; without, the sample is the whole file.

    Raises:
        CorpusError: if py3langid is missing.
    """
    scorer, sides = LanguageScorer(), []
    names: tuple[SideName, ...] = SIDES if len(languages) > 1 else ("text",)
    for column, (name, code) in enumerate(zip(names, languages, strict=True)):
        own = [pair[column] for pair in pairs]
        sides.append(_Side(name, code, own, scorer.measure_doubt(own, code)))
    pairs = [pair[: len(sides)] for pair in pairs]
    findings = _check_languages(pairs, sides, scorer)
    if not findings:
        if len(sides) > 1:
            findings += check_alignment(pairs, lines or range(1, len(pairs) + 1))
        for side in sides:
            findings += _check_strays(pairs, side, scorer)
    findings += [*_check_header(pairs, languages), *find_properties(pairs, languages)]
    for side in sides:
        findings += _check_writing(pairs, side)
    return findings


class _Side(NamedTuple):
    name: SideName
    code: str
    lines: LineList
    doubt: Array
    """The advantage of the likeliest other language over this one, for each line."""

    def find_foreign(self, least: float) -> list[int]:
        """Return the lines whose doubt exceeds a limit."""
        rows: list[int] = np.flatnonzero(np.isfinite(self.doubt) & (self.doubt > least)).tolist()
        return rows

    def name_language(self, rows: Sequence[int], scorer: LanguageScorer) -> str:
        """Return the most frequent language of some lines."""
        scores = scorer.score([self.lines[row] for row in rows])
        return find_languages(scores, scorer.codes).most_common(1)[0][0]


def _check_languages(
    pairs: Sequence[SampleRow], sides: Sequence[_Side], scorer: LanguageScorer
) -> list[Finding]:
    wrong: list[tuple[_Side, str, list[int]]] = []
    for side in sides:
        judged = np.isfinite(side.doubt).sum()
        rows = side.find_foreign(PLAINLY_WRONG["language"] / 3)
        if judged >= MIN_LANGUAGE_LINES and len(rows) > MAJORITY * judged:
            wrong.append((side, side.name_language(rows, scorer), rows))
    for side, language, rows in wrong:
        if len(sides) > 1 and _is_swapped(side, language, sides, scorer):
            sentence = (
                f"the sides are swapped: the source is {sides[1].code}, and the target is "
                f"{sides[0].code}; exchange the two files or columns, or the languages"
            )
            return [show_finding("swapped", sentence, pairs, rows)]
    bases = [find_base(side.code) for side in sides]
    return [
        show_finding("wrong_language", _explain_language(side, language, bases), pairs, rows)
        for side, language, rows in wrong
    ]


def _is_swapped(side: _Side, language: str, sides: Sequence[_Side], scorer: LanguageScorer) -> bool:
    """Tell whether both sides are in the other's language; lines of the other may be short."""
    [other] = [each for each in sides if each is not side]
    own = find_base(side.code)
    if language != find_base(other.code) or own not in scorer.codes:
        return False
    columns = [scorer.codes.index(code) for code in (own, language)]
    starts = range(0, len(other.lines), JOINED_LINES)
    scores = scorer.score([" ".join(other.lines[at : at + JOINED_LINES]) for at in starts])
    judged = scores[scores.any(axis=1)][:, columns]
    return bool((judged[:, 0] > judged[:, 1]).sum() > MAJORITY * len(judged))


def _explain_language(side: _Side, language: str, bases: Sequence[str]) -> str:
    if language == NO_LANGUAGE:
        return (
            f"the {side.name} is {side.code} in few lines, and no language in most; give other text"
        )
    if side.name not in SIDES:
        advice = "give another file or language"
    elif language in bases:
        advice = "give another file or column"
    else:
        advice = f"give another file or column, or set download.languages.{side.name}={language}"
    return f"the {side.name} is {language} and not {side.code}; {advice}"


def _check_strays(
    pairs: Sequence[SampleRow], side: _Side, scorer: LanguageScorer
) -> Iterator[Finding]:
    if rows := side.find_foreign(PLAINLY_WRONG["language"]):
        language = side.name_language(rows, scorer)
        sentence = f"have a {side.name} that is not {side.code}, most often {language}"
        yield from report_rows("stray_language", sentence, BY_SCREEN, pairs, rows)


def _check_header(pairs: Sequence[SampleRow], languages: tuple[str, ...]) -> Iterator[Finding]:
    first = [side.strip().casefold() for side in pairs[0]] if pairs else []
    headings = [
        _HEADINGS | list_language_names(code, languages) | {code.casefold(), find_base(code)}
        for code in languages
    ]
    if first and all(line in known for line, known in zip(first, headings, strict=True)):
        unit, sides = ("pair", "both sides") if len(languages) > 1 else ("line", "the file")
        sentence = f"the first {unit} is a header; remove the line from {sides}"
        yield show_finding("header", sentence, pairs, [0])


def _check_writing(pairs: Sequence[SampleRow], side: _Side) -> Iterator[Finding]:
    lines = side.lines
    stops = [row for row, line in enumerate(lines) if _STOP.search(line)]
    tokenized = [row for row, line in enumerate(lines) if _TOKENIZED.search(line)]
    if len(tokenized) >= MIN_LINES and len(tokenized) > MAJORITY * len({*stops, *tokenized}):
        sentence = (
            f"the {side.name} was tokenized, with spaces before punctuation or subword marks; give "
            f"the original text"
        )
        yield show_finding("tokenized", sentence, pairs, tokenized)
    cased = [row for row, line in enumerate(lines) if line.lower() != line.upper()]
    capital = [row for row in cased if lines[row].lower() != lines[row]]
    if len(cased) >= MIN_LINES and len(capital) <= CAPITAL_SHARE * len(cased):
        sentence = f"the {side.name} is in lower case throughout; give the original text"
        yield show_finding("lower_case", sentence, pairs, cased)


class CorpusSample(NamedTuple):
    """Pairs of a corpus, in runs of neighbours."""

    pairs: list[Pair]
    lines: list[int]
    """The line, or unit, of each in its file."""


@dataclass(frozen=True)
class Inspection:
    """The result of inspecting a sample of a corpus."""

    pairs: list[Pair]
    """The sample, in the order of the corpus."""
    findings: list[Finding]
    screen: Screen | None
    """None if there are too few pairs to learn one."""
    dropped: list[FilterName | None]
    """The filter that drops each pair of the sample."""


def inspect_corpus(
    sample: CorpusSample,
    trusted: Sequence[Pair],
    languages: tuple[str, ...],
    config: ScreenConfig | None,
    accepted: Collection[FindingKind] = (),
) -> Inspection:
    """Check a sample, and learn a screen from it.

    Trusted pairs are those of given validation and test sets. Without settings, and for
    monolingual text, no screen is learnt; accepted findings do not prevent it.

    Raises:
        CorpusError: if py3langid is missing.
    """
    pairs = sample.pairs
    findings = inspect_sample(pairs, languages, sample.lines)
    findings += [
        finding._replace(
            sentence=f"{finding.sentence} in validation and test", setting="", stops=False
        )
        for finding in find_properties(trusted, languages)
    ]
    wholly_wrong = any(finding.kind in WHOLLY_WRONG - {*accepted} for finding in findings)
    unscreened = Inspection(pairs, findings, None, [None] * len(pairs))
    if config is None or len(pairs) < MIN_PAIRS or wholly_wrong or len(languages) == 1:
        return unscreened
    try:
        screen = learn_screen(pairs, trusted, (languages[0], languages[1]), config)
    except CorpusError:  # no two words occur together
        sentence = "the pairs teach no filter what goes together; give other text, or no screen"
        findings.append(show_finding("noise", sentence, pairs, range(len(pairs))))
        return unscreened
    dropped = screen.judge(pairs)
    rows = [row for row, name in enumerate(dropped) if name]
    if len(rows) > MAX_DROPPED * len(pairs):
        counts = Counter(name for name in dropped if name).most_common()
        filters = ", ".join(f"{name} {count:,}" for name, count in counts)
        sentence = (
            f"{len(rows) / len(pairs):.0%} of the pairs are noise (dropped by the filters "
            f"{filters}); give other text, or set thresholds under screen"
        )
        findings.append(show_finding("noise", sentence, pairs, rows))
    return Inspection(pairs, findings, screen, dropped)


def read_sample(
    rows: Sequence[PairRows],
    drop: Collection[Problem],
    limit: int,
    repair: Collection[RepairName] = (),
) -> CorpusSample:
    """Return a run of pairs from the beginning of each of many rows, about ``limit`` in all.

    Raises:
        CorpusError: if the text is unusable.
    """
    step = max(1, len(rows) * MIN_RUN // limit)
    chosen = rows[::step]
    run = -(-limit // max(len(chosen), 1))
    sample = CorpusSample([], [])
    for part in chosen:
        numbered = read_pairs(part, drop=drop, reading=CorpusReading(), repair=repair)
        for number, pair in islice(numbered, run):
            sample.pairs.append(pair)
            sample.lines.append(number + part.place.before)
    return sample
