"""Inspect a sample of a corpus: find problems and their remedies."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, get_args

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.filters import PLAINLY_WRONG, FindingKind, make_comparison_key
from nmt_core.corpora.parallel_text import CorpusReading, Pair, PairRows, Problem, read_pairs
from nmt_core.corpora.repairs import REPAIRS, RepairName
from nmt_core.corpora.screening.alignment import find_misalignment
from nmt_core.corpora.screening.screen import count_differing_literals
from nmt_core.text.language_detection import Array, LanguageScorer, find_base, load_scorer

SampleRow = tuple[str, ...]
"""A line of each side: a pair, or one line of monolingual text."""

EXAMPLE_CHARACTERS = 60
"""Maximum length of an example, in characters."""

STOPPING_SHARE, STOPPING_PAIRS = 0.01, 10
"""Minimum share and number of pairs with entities or mojibake that stop a run."""

REPORTED_SHARE, REPORTED_PAIRS = 0.002, 3
"""Minimum share and number of pairs for a property to be reported."""

BY_SCREEN = "screen={}"
"""The setting that filters such pairs."""

MIN_REPETITIONS = 20
"""Minimum occurrences of a repeated sentence in a small sample."""

NO_LANGUAGE = "zxx"
"""The code of text without language, such as noise."""

MAJORITY = 0.5
"""Share of judged lines above which the whole corpus has a problem."""

MIN_LINES = 50
"""Minimum number of cased or punctuated lines to judge case or tokenization."""

MIN_LANGUAGE_LINES = 5
"""Minimum number of lines to judge the language of a side. In an experiment, all of 2,400 samples
of ten pairs were judged correctly."""

JOINED_LINES = 5
"""Number of lines, possibly short ones, that are judged together."""

CAPITAL_SHARE = 0.01
"""Maximum share of lines with a capital letter in a lower-case side."""

MIN_RUN = 100
"""Minimum number of neighbouring pairs in a run of a sample."""

BLOCK_LINES = 20_000
"""Lines of a block; a sample has at most one run of each, regardless of ``workers.chunk_lines``."""

_STOP = re.compile(r"\w ?[.,](?:\s|$)")
_TOKENIZED = re.compile(r"\w [.,](?:\s|$)|@@ |\u2581|@-@")

_REPAIRABLE: dict[RepairName, str] = {
    "entities": "contain entities of HTML",
    "mojibake": "are UTF-8 that was read as Windows-1252, such as Ã¤ for ä",
    "tags": "contain tags of HTML",
}
"""Descriptions of problems that a repair solves."""


class Finding(NamedTuple):
    """A problem of a corpus, or of some of its pairs."""

    kind: FindingKind
    sentence: str
    """The problem and its remedy."""
    examples: tuple[SampleRow, ...]
    setting: str = ""
    """The setting of the corpus's filter that solves the problem, such as ``repair=[tags]``."""
    stops: bool = True
    """Whether the finding stops the run; otherwise it is only reported."""

    def __str__(self) -> str:
        examples = (" beside ".join(map(repr, map(_cut, lines))) for lines in self.examples)
        return f"{self.sentence} (for example {'; '.join(examples)})"

    def advise(self, corpus: str) -> str:
        """Return the finding as text, with the setting to change for a corpus."""
        setting = self.setting and f"; set download.corpora.{corpus}.filter.{self.setting}"
        return f"{self}{setting}"


def settle_findings(
    name: str, findings: Sequence[Finding], accepted: Sequence[FindingKind] = ()
) -> list[str]:
    """Return the notices of a corpus.

    Raises:
        CorpusError: if a finding that is not accepted stops the run.
    """
    open_findings = [finding for finding in findings if finding.kind not in accepted]
    stopping = [finding for finding in open_findings if finding.stops]
    if not stopping:
        return [finding.advise(name) for finding in open_findings]
    setting = f"download.corpora.{name}.filter"
    kinds = ",".join(sorted({finding.kind for finding in stopping}))
    repairs = [each.kind for each in open_findings if each.kind in get_args(RepairName)]
    repair = f"; set {setting}.repair=[{','.join(repairs)}]" if repairs else ""
    raise CorpusError(
        f"the corpus {name} is not suitable for training: {'; '.join(map(str, stopping))}{repair}; "
        f"or, if this is intended, set {setting}.look.accepted=[{kinds}]"
    )


def read_sample(
    rows: Sequence[PairRows],
    drop: Collection[Problem],
    limit: int,
    repair: Collection[RepairName] = (),
) -> tuple[list[Pair], list[int]]:
    """Return a sample of about ``limit`` pairs, from the beginning of evenly selected blocks.

    The sample does not depend on how the files were cut into ``rows``.

    Returns:
        Runs of neighbouring pairs, and the line or unit number of each in its file.
    """
    whole = (part for part in rows if part.spans[0].first == 1)
    blocks = [block for part in whole for block in part.cut_files(BLOCK_LINES)]
    chosen = blocks[:: max(1, len(blocks) * MIN_RUN // limit)]
    run = -(-limit // max(len(chosen), 1))
    pairs: list[Pair] = []
    lines: list[int] = []
    for part in chosen:
        numbered = read_pairs(part, drop=drop, reading=CorpusReading(), repair=repair)
        for number, pair in islice(numbered, run):
            pairs.append(pair)
            lines.append(number + part.place.before)
    return pairs, lines


def inspect_sample(
    pairs: Sequence[SampleRow], languages: tuple[str, ...], lines: Sequence[int] = ()
) -> list[Finding]:
    """Return the problems of a whole corpus, and then those of more than a few pairs.

    Args:
        pairs: sample of up to about 20,000 pairs, in runs of neighbouring pairs.
        languages: codes of source and target, or of monolingual text, whose lines are paired with
            themselves.
        lines: line number of each pair in its file; empty if the sample is the whole file.
    """
    scorer, sides = load_scorer(), list[_Side]()
    names = ("source", "target") if len(languages) > 1 else ("text",)
    for column, (name, code) in enumerate(zip(names, languages, strict=True)):
        texts = [pair[column] for pair in pairs]
        sides.append(_Side(name, code, texts, scorer.measure_doubt(texts, code)))
    pairs = [pair[: len(sides)] for pair in pairs]
    findings = _check_languages(pairs, sides, scorer)
    if not findings:
        lines = lines or range(1, len(pairs) + 1)
        if len(sides) > 1 and (wrong := find_misalignment(pairs, lines)):
            kind, sentence, rows = wrong
            findings.append(_show(kind, sentence, pairs, rows))
        for side in sides:
            if rows := side.find_foreign(PLAINLY_WRONG["language"]):
                language = side.name_language(rows, scorer)
                sentence = f"have a {side.name} that is not {side.code}, most often {language}"
                findings += _report("stray_language", sentence, BY_SCREEN, pairs, rows)
    for name, sentence in _REPAIRABLE.items():
        repair = REPAIRS[name]
        rows = [row for row, pair in enumerate(pairs) if any(repair(line) != line for line in pair)]
        findings += _report(name, sentence, f"repair=[{name}]", pairs, rows)
    if len(languages) > 1:
        codes = languages[0], languages[1]
        differing = count_differing_literals([Pair(*pair) for pair in pairs], codes)
        rows = np.flatnonzero(differing > PLAINLY_WRONG["literals"]).tolist()
        findings += _report("numbers", "have different numbers", BY_SCREEN, pairs, rows)
    rows = _find_repeated(pairs)
    findings += _report("repeated", "contain a sentence of many other pairs", "", pairs, rows)
    for side in sides:
        findings += _check_writing(pairs, side)
    return findings


class _Side(NamedTuple):
    name: str
    code: str
    lines: Sequence[str]
    doubt: Array
    """The advantage of the most likely other language over this one, for each line."""

    def find_foreign(self, limit: float) -> list[int]:
        """Return the indices of lines whose doubt exceeds a limit."""
        rows: list[int] = np.flatnonzero(np.isfinite(self.doubt) & (self.doubt > limit)).tolist()
        return rows

    def name_language(self, rows: Sequence[int], scorer: LanguageScorer) -> str:
        """Return the code of the most frequent language of some lines."""
        return scorer.count_languages([self.lines[row] for row in rows]).most_common(1)[0][0]


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
            return [_show("swapped", sentence, pairs, rows)]
    bases = [find_base(side.code) for side in sides]
    return [
        _show("wrong_language", _explain_language(side, language, bases), pairs, rows)
        for side, language, rows in wrong
    ]


def _is_swapped(side: _Side, language: str, sides: Sequence[_Side], scorer: LanguageScorer) -> bool:
    """Return whether each side is in the language of the other, whose lines may be short."""
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
            f"most lines of the {side.name} are not in any language, few in {side.code}; use other "
            f"text"
        )
    if side.name == "text":
        advice = "use another file or language"
    elif language in bases:
        advice = "use another file or column"
    else:
        advice = f"use another file or column, or name {language} in LANGUAGES="
    return f"the {side.name} is {language} and not {side.code}; {advice}"


def _find_repeated(pairs: Sequence[SampleRow]) -> list[int]:
    """Return the indices of pairs with a repeated sentence, ignoring case and punctuation."""
    keys = [[*enumerate(map(make_comparison_key, pair))] for pair in pairs]
    counts = Counter(key for pair in keys for key in pair)
    minimum = max(MIN_REPETITIONS, REPORTED_SHARE * len(pairs))
    return [row for row, pair in enumerate(keys) if any(counts[key] >= minimum for key in pair)]


def _check_writing(pairs: Sequence[SampleRow], side: _Side) -> Iterator[Finding]:
    lines = side.lines
    stops = [row for row, line in enumerate(lines) if _STOP.search(line)]
    tokenized = [row for row, line in enumerate(lines) if _TOKENIZED.search(line)]
    if len(tokenized) >= MIN_LINES and len(tokenized) > MAJORITY * len({*stops, *tokenized}):
        sentence = (
            f"the {side.name} was tokenized, with spaces before punctuation or subword marks; use "
            f"the original text"
        )
        yield _show("tokenized", sentence, pairs, tokenized)
    cased = [row for row, line in enumerate(lines) if line.lower() != line.upper()]
    capital = [row for row in cased if lines[row].lower() != lines[row]]
    if len(cased) >= MIN_LINES and len(capital) <= CAPITAL_SHARE * len(cased):
        sentence = f"the {side.name} is entirely in lower case; use the original text"
        yield _show("lower_case", sentence, pairs, cased)


def _report(
    kind: FindingKind, sentence: str, setting: str, pairs: Sequence[SampleRow], rows: Sequence[int]
) -> Iterator[Finding]:
    """Yield a finding if more than a few rows have a property.

    ``sentence`` is the predicate after the number of pairs.
    """
    if len(rows) < max(REPORTED_PAIRS, REPORTED_SHARE * len(pairs)):
        return
    unit = "pairs" if len(pairs[0]) > 1 else "lines"
    counted = f"{len(rows):,} {unit} ({len(rows) / len(pairs):.1%}) {sentence}"
    frequent = len(rows) >= max(STOPPING_PAIRS, STOPPING_SHARE * len(pairs))
    stops = kind in ("entities", "mojibake") and frequent
    yield _show(kind, counted, pairs, rows)._replace(setting=setting, stops=stops)


def _show(
    kind: FindingKind, sentence: str, pairs: Sequence[SampleRow], rows: Sequence[int]
) -> Finding:
    """Return a finding with two different pairs as examples, from the middle of its rows."""
    different = dict.fromkeys(pairs[row] for row in rows[len(rows) // 2 :])
    return Finding(kind, sentence, tuple(islice(different, 2)))


def _cut(line: str) -> str:
    return line if len(line) <= EXAMPLE_CHARACTERS else f"{line[: EXAMPLE_CHARACTERS - 1]}…"
