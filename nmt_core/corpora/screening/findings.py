"""Problems of a corpus, detected in a sample before training."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from nmt_core.corpora.screening.finding import MOST, Finding, SampleRow, show_finding
from nmt_core.corpora.screening.flat_text import Array
from nmt_core.corpora.screening.language_scores import LanguageScorer, find_base, find_languages
from nmt_core.corpora.screening.properties import BY_SCREEN, Property, find_properties, report_rows
from nmt_core.corpora.screening.shifts import check_alignment
from nmt_core.corpora.screening.signals import LineList
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG
from nmt_core.text.language_codes import list_language_names

SideName = Literal["source", "target", "text"]

SIDES: tuple[SideName, ...] = ("source", "target")

ALONE: tuple[SideName] = ("text",)
"""The side of text of one language alone."""

NO_LANGUAGE = "zxx"
"""The code of text that is in none, such as noise."""

TELLING = 50
"""Fewest cased or punctuated lines that decide how a side is written."""

TELLING_LANGUAGE = 5
"""Fewest lines that decide the language of a side, if most of them agree. None of 2,400 samples of
ten pairs is misjudged so."""

READ_AS_ONE = 5
"""Lines that are read as one where they may be short."""

LOWER = 0.01
"""Share of lines with a capital in a side that is in lower case."""

_STOP = re.compile(r"\w ?[.,](?:\s|$)")
_APART = re.compile(r"\w [.,](?:\s|$)|@@ |\u2581|@-@")
_HEADINGS = frozenset({
    "source", "target", "src", "trg", "tgt", "source_text", "target_text", "text", "translation",
    "sentence",
})  # fmt: skip


def inspect_sample(
    pairs: Sequence[SampleRow], languages: tuple[str, ...], lines: Sequence[int] = ()
) -> list[Finding]:
    """Return what is wrong with a corpus as a whole, and then with more than a few of its pairs.

    Args:
        pairs: the first pairs and others, in runs of neighbours, up to some 20,000.
        languages: codes of source and target; or of text of one language alone, whose pairs are
            each a line with itself.
        lines: the line of each pair in its file; without, the sample is all of the file.

    Raises:
        CorpusError: if py3langid is missing.
    """
    scorer, sides = LanguageScorer(), []
    for at, (name, code) in enumerate(
        zip(SIDES if len(languages) > 1 else ALONE, languages, strict=True)
    ):
        own = [pair[at] for pair in pairs]
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

    def find_off(self, most: float) -> list[int]:
        """Return the lines that are rather in another language."""
        return np.flatnonzero(np.isfinite(self.doubt) & (self.doubt > most)).tolist()

    def name_language(self, rows: Sequence[int], scorer: LanguageScorer) -> str:
        """Return the language of most of some lines."""
        scores = scorer.score([self.lines[row] for row in rows])
        return find_languages(scores, scorer.codes).most_common(1)[0][0]


def _check_languages(
    pairs: Sequence[SampleRow], sides: Sequence[_Side], scorer: LanguageScorer
) -> list[Finding]:
    wrong: list[tuple[_Side, str, list[int]]] = []
    for side in sides:
        telling = np.isfinite(side.doubt).sum()
        rows = side.find_off(PLAINLY_WRONG["language"] / 3)
        if telling >= TELLING_LANGUAGE and len(rows) > MOST * telling:
            wrong.append((side, side.name_language(rows, scorer), rows))
    bases = [find_base(side.code) for side in sides]
    for side, found, rows in wrong:
        if len(sides) > 1 and _is_swapped(side, found, sides, scorer):
            sentence = (
                f"the sides are swapped: the source is {sides[1].code}, and the target is "
                f"{sides[0].code}; exchange the two files or columns, or the languages"
            )
            return [show_finding("swapped", sentence, pairs, rows)]
    return [
        show_finding("wrong_language", _tell_language(side, found, bases), pairs, rows)
        for side, found, rows in wrong
    ]


def _is_swapped(side: _Side, found: str, sides: Sequence[_Side], scorer: LanguageScorer) -> bool:
    """Tell whether a side is in the other's language, and the other side in that of this one.

    The lines of that one may be too short to tell, so some are read as one.
    """
    [other] = [each for each in sides if each is not side]
    own = find_base(side.code)
    if found != find_base(other.code) or own not in scorer.codes:
        return False
    columns = [scorer.codes.index(code) for code in (own, found)]
    starts = range(0, len(other.lines), READ_AS_ONE)
    scores = scorer.score([" ".join(other.lines[at : at + READ_AS_ONE]) for at in starts])
    telling = scores[scores.any(axis=1)][:, columns]
    return bool((telling[:, 0] > telling[:, 1]).sum() > MOST * len(telling))


def _tell_language(side: _Side, found: str, bases: Sequence[str]) -> str:
    if found == NO_LANGUAGE:
        return (
            f"the {side.name} is {side.code} in few lines, and no language in most; give other text"
        )
    if side.name not in SIDES:
        advice = "name another file or language"
    elif found in bases:
        advice = "name another file or column"
    else:
        advice = f"name another file or column, or set download.languages.{side.name}={found}"
    return f"the {side.name} is {found} and not {side.code}; {advice}"


def _check_strays(
    pairs: Sequence[SampleRow], side: _Side, scorer: LanguageScorer
) -> Iterator[Finding]:
    if rows := side.find_off(PLAINLY_WRONG["language"]):
        found = side.name_language(rows, scorer)
        sentence = f"have a {side.name} that is not {side.code}, most often {found}"
        stray = Property("stray_language", lambda *_: rows, sentence, BY_SCREEN)
        yield from report_rows(stray, pairs, rows)


def _check_header(pairs: Sequence[SampleRow], languages: tuple[str, ...]) -> list[Finding]:
    first = [side.strip().casefold() for side in pairs[0]] if pairs else []
    headings = [
        _HEADINGS | list_language_names(code, languages) | {code.casefold(), find_base(code)}
        for code in languages
    ]
    if first and all(line in known for line, known in zip(first, headings, strict=True)):
        one, sides = ("pair", "both sides") if len(languages) > 1 else ("line", "the file")
        sentence = f"the first {one} is a header and no text; remove the line from {sides}"
        return [show_finding("header", sentence, pairs, [0])]
    return []


def _check_writing(pairs: Sequence[SampleRow], side: _Side) -> Iterator[Finding]:
    lines = side.lines
    stops = [row for row, line in enumerate(lines) if _STOP.search(line)]
    apart = [row for row, line in enumerate(lines) if _APART.search(line)]
    if len(apart) >= TELLING and len(apart) > MOST * len({*stops, *apart}):
        sentence = (
            f"the {side.name} was tokenized, with spaces before its signs or marks of subwords; "
            f"give the text as it was before"
        )
        yield show_finding("tokenized", sentence, pairs, apart)
    cased = [row for row, line in enumerate(lines) if line.lower() != line.upper()]
    capital = [row for row in cased if lines[row].lower() != lines[row]]
    if len(cased) >= TELLING and len(capital) <= LOWER * len(cased):
        sentence = f"the {side.name} is in lower case all through; give the text as it was before"
        yield show_finding("lower_case", sentence, pairs, cased)
