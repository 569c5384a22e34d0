"""What is wrong with a corpus as a whole, found on a sample before anything is trained on it."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.base.utf8 import is_mojibake
from nmt_core.corpora.parallel_text import ENTITY
from nmt_core.corpora.screening.flat_text import Array
from nmt_core.corpora.screening.language_scores import LanguageScorer, find_base, find_languages
from nmt_core.corpora.screening.settings import FindingKind
from nmt_core.corpora.screening.signals import LineList
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG
from nmt_core.corpora.screening.word_numbers import WordNumbers
from nmt_core.corpora.screening.word_pairs import WordPairs
from nmt_core.text.language_codes import list_language_names

SampleRow = tuple[str, ...]
"""A line of each side: a pair, or one of text of one language alone."""

SideName = Literal["source", "target", "text"]

SIDES: tuple[SideName, ...] = ("source", "target")

ALONE: tuple[SideName] = ("text",)
"""The side of text of one language alone."""

NO_LANGUAGE = "zxx"
"""The code of text that is in none, such as noise."""

MOST = 0.5
"""Share of the lines that tell anything from which a fault is one of the whole corpus."""

TELLING = 50
"""Lines that must tell anything, or nothing is said."""

LOOKED_AT = 4000
"""Lines of a side whose language is told."""

READ_AS_ONE = 5
"""Lines that are read as one where they may be short."""

SOME = 0.01
"""Least share of pairs with entities, with mojibake or in another language that is no accident.

In sound text, short sentences and names included, the last is below 0.001."""

FEW = 10
"""Least number of such pairs that is none."""

READ_FOR_STRAYS = 2000
"""Pairs in which others of another language are looked for."""

OFFSETS = (-3, -2, -1, 1, 2, 3)
"""Lines by which one side may be late."""

BLOCK = 500
"""Neighbouring pairs that are compared with shifted ones together."""

LEARNT_PAIRS = 5000
"""Pairs that an aligner learns from for that, the first of the sample."""

RELATED = 0.4
"""Nats that a word of sound text is explained better than by chance, at least, on average; in
text shifted by a line it is 0.0 or less."""

SHOWN = 60
"""Characters of an example."""

_SPOILT: Sequence[tuple[FindingKind, Callable[[str], object], str]] = (
    (
        "entities",
        ENTITY.search,
        "hold entities of HTML; replace them in the text, as html.unescape of Python does",
    ),
    (
        "mojibake",
        is_mojibake,
        "are UTF-8 that was read as Windows-1252, as Ã¤ for ä; give the text as it was before",
    ),
)
"""What should stand in few lines, and what is said of it."""

_STOP = re.compile(r"\w ?[.,](?:\s|$)")
_APART = re.compile(r"\w [.,](?:\s|$)|@@ |\u2581|@-@")
_HEADINGS = frozenset(
    (
        "source",
        "target",
        "src",
        "trg",
        "tgt",
        "source_text",
        "target_text",
        "text",
        "translation",
        "sentence",
    )
)


class Finding(NamedTuple):
    """A fault of a whole corpus."""

    kind: FindingKind
    sentence: str
    """What is wrong, and what mends it."""
    examples: tuple[SampleRow, ...]

    def __str__(self) -> str:
        shown = "; ".join(" beside ".join(map(repr, map(_cut, lines))) for lines in self.examples)
        return f"{self.sentence} (for example {shown})"


def inspect_sample(pairs: Sequence[SampleRow], languages: tuple[str, ...]) -> list[Finding]:
    """Return what is wrong with a corpus as a whole, the worst first.

    Args:
        pairs: the first pairs and others, in runs of neighbours, up to some 20,000.
        languages: codes of source and target; or of text of one language alone, whose pairs are
            each a line with itself.

    Raises:
        CorpusError: if py3langid is missing.
    """
    names, unit = (SIDES, "pairs") if len(languages) > 1 else (ALONE, "lines")
    pairs = [pair[: len(names)] for pair in pairs]
    sides = [[pair[side] for pair in pairs] for side in range(len(names))]
    findings = _check_languages(pairs, names, sides, languages)
    if not findings and names == SIDES:
        findings += _check_shift(pairs)
    findings += _check_header(pairs, languages)
    for kind, is_spoilt, what in _SPOILT:
        rows = [row for row, pair in enumerate(pairs) if any(map(is_spoilt, pair))]
        if not _are_accident(len(rows), pairs):
            sentence = f"{len(rows) / len(pairs):.0%} of the {unit} {what}"
            findings.append(show_finding(kind, sentence, pairs, rows))
    for side, lines in zip(names, sides, strict=True):
        findings += _check_writing(pairs, lines, side)
    return findings


def describe_strays(pairs: Sequence[SampleRow], languages: tuple[str, ...]) -> str | None:
    """Return a sentence on lines in another language than the rest, None if there are hardly any.

    Args:
        pairs: a sample of a corpus of which nothing is wrong as a whole.
        languages: codes of source and target, or of text of one language alone.

    Raises:
        CorpusError: if py3langid is missing.
    """
    names = SIDES if len(languages) > 1 else ALONE
    pairs = [pair[: len(names)] for pair in pairs[:: max(1, len(pairs) // READ_FOR_STRAYS)]]
    scorer, told = LanguageScorer(), []
    for at, (name, code) in enumerate(zip(names, languages, strict=True)):
        doubt = scorer.measure_doubt([pair[at] for pair in pairs], code)
        off = np.isfinite(doubt) & (doubt > PLAINLY_WRONG["language"])
        if not _are_accident(off.sum(), pairs):
            share = f"{off.sum() / len(pairs):.0%} of the {name} is not {code}"
            told.append(str(show_finding("noise", share, pairs, np.flatnonzero(off).tolist())))
    return " and ".join(told) or None


def _are_accident(count: int, pairs: Sequence[SampleRow]) -> bool:
    return count < max(FEW, SOME * len(pairs))


def refuse_findings(
    name: str, findings: Sequence[Finding], accepted: Sequence[FindingKind] = ()
) -> None:
    """Stop for what is wrong with a corpus.

    Args:
        name: of the corpus.
        findings: what was found.
        accepted: faults that a person knows of and wants.

    Raises:
        CorpusError: naming the findings, if there are others than the accepted ones.
    """
    wrong = [finding for finding in findings if finding.kind not in accepted]
    if wrong:
        kinds = ",".join(sorted({finding.kind for finding in wrong}))
        raise CorpusError(
            f"the corpus {name} is not fit to train on: {'; '.join(map(str, wrong))}; or, if it is "
            f"to be so, set download.corpora.{name}.filter.look.accepted=[{kinds}]"
        )


def _check_languages(
    pairs: Sequence[SampleRow],
    names: Sequence[SideName],
    sides: Sequence[LineList],
    languages: tuple[str, ...],
) -> list[Finding]:
    scorer = LanguageScorer()
    wrong: list[tuple[SideName, str, list[int]]] = []
    for side, lines, code in zip(names, sides, languages, strict=True):
        doubt = scorer.measure_doubt(lines[:LOOKED_AT], code)
        telling, off = np.isfinite(doubt), doubt > PLAINLY_WRONG["language"] / 3
        if telling.sum() >= TELLING and off.sum() > MOST * telling.sum():
            rows = np.flatnonzero(off).tolist()
            scores = scorer.score([lines[row] for row in rows])
            named = find_languages(scores, scorer.codes).most_common(1)[0][0]
            wrong.append((side, named, rows))
    bases = [*map(find_base, languages)]
    if len(bases) > 1 and any(_is_swapped(one, sides, bases, scorer) for one in wrong):
        sentence = (
            f"the sides are swapped: the source is {languages[1]}, and the target is "
            f"{languages[0]}; exchange the two files or columns, or the languages"
        )
        return [show_finding("swapped", sentence, pairs, wrong[0][2])]
    return [
        show_finding(
            "wrong_language",
            _tell_language(side, languages[names.index(side)], named, bases),
            pairs,
            rows,
        )
        for side, named, rows in wrong
    ]


def _is_swapped(
    wrong: tuple[SideName, str, list[int]],
    sides: Sequence[LineList],
    bases: Sequence[str],
    scorer: LanguageScorer,
) -> bool:
    """Tell whether a side is in the other's language, and the other side in that of this one.

    The lines of that one may be too short to tell, so some are read as one.
    """
    side, named, _ = wrong
    own = SIDES.index(side)
    if named != bases[1 - own] or bases[own] not in scorer.codes:
        return False
    columns = [scorer.codes.index(code) for code in (bases[own], named)]
    lines = sides[1 - own][:LOOKED_AT]
    joined = [" ".join(lines[at : at + READ_AS_ONE]) for at in range(0, len(lines), READ_AS_ONE)]
    scores = scorer.score(joined)[:, columns]
    telling = scores[scores.any(axis=1)]
    return bool((telling[:, 0] > telling[:, 1]).sum() > MOST * len(telling))


def _tell_language(side: SideName, wanted: str, found: str, bases: Sequence[str]) -> str:
    if found == NO_LANGUAGE:
        return f"the {side} is {wanted} in few lines, and no language in most; give other text"
    if side not in SIDES:
        advice = "name another file or language"
    elif found in bases:
        advice = "name another file or column"
    else:
        advice = f"name another file or column, or set download.languages.{side}={found}"
    return f"the {side} is {found} and not {wanted}; {advice}"


def _check_shift(pairs: Sequence[SampleRow]) -> list[Finding]:
    """Compare how well neighbours explain each other with how well pairs do."""
    if len(pairs) < 2 * BLOCK:
        return []
    words = _learn(pairs, 0)
    scores = {0: _score_blocks(words, pairs, 0)}
    sound = np.median(scores[0]) >= RELATED  # what was learnt of wrong pairs says nothing
    for offset in OFFSETS:
        learnt = words if sound else _learn(pairs, offset)
        scores[offset] = _score_blocks(learnt, pairs, offset)
    best = max(OFFSETS, key=lambda offset: int((scores[offset] > scores[0] + RELATED).sum()))
    late = np.flatnonzero(scores[best] > scores[0] + RELATED)
    rows = [int(block) * BLOCK + row for block in late for row in (7, 8)]
    if len(late):
        side, lines = ("target", best) if best > 0 else ("source", -best)
        sentence = (
            f"the {side} is late by {lines} line{'s' if lines > 1 else ''} in "
            f"{len(late) / len(scores[0]):.0%} of the pairs, so that they are no translations; "
            f"mend the file where a line is missing or was added"
        )
        return [show_finding("shifted", sentence, pairs, rows)]
    # signs that stand in many words, as those of Japanese, explain little, but more in pairs
    by_chance = np.median([scores[offset] for offset in OFFSETS], axis=0)
    unrelated = np.flatnonzero(scores[0] < np.minimum(RELATED / 4, by_chance + RELATED / 2))
    if len(unrelated) > MOST * len(scores[0]):
        sentence = (
            f"the sides have nothing to do with each other in {len(unrelated)} of {len(scores[0])} "
            f"parts; name two files of which line N of one translates line N of the other"
            if words
            else "hardly a word stands in several pairs, so nothing tells whether the sides are "
            "translations; give other text"
        )
        return [
            show_finding("unrelated", sentence, pairs, [int(block) * BLOCK for block in unrelated])
        ]
    return []


def _shift(pairs: Sequence[SampleRow], offset: int) -> list[tuple[str, str]]:
    """Return each source with the target so many lines later."""
    sources, targets = pairs[max(-offset, 0) :], pairs[max(offset, 0) :]
    return [(one[0], other[1]) for one, other in zip(sources, targets, strict=False)]


def _learn(pairs: Sequence[SampleRow], offset: int) -> WordPairs | None:
    try:
        return WordPairs.learn(_shift(pairs[:LEARNT_PAIRS], offset))
    except CorpusError:  # there is nothing to learn from
        return None


def _score_blocks(words: WordPairs | None, pairs: Sequence[SampleRow], offset: int) -> Array:
    """Return by how many nats a word is explained better than by chance, of each block."""
    blocks = len(pairs) // BLOCK
    if words is None:
        return np.zeros(blocks)
    numbers, scores = WordNumbers(words.words), np.zeros(blocks)
    for block in range(blocks):
        shifted = _shift(pairs[block * BLOCK : (block + 1) * BLOCK], offset)
        read = [numbers.read([pair[side] for pair in shifted]) for side in (0, 1)]
        explained = words.explain(read[0], read[1])
        scores[block] = min(side.score.sum() / max(side.words.sum(), 1) for side in explained)
    return scores


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


def _check_writing(
    pairs: Sequence[SampleRow], lines: LineList, side: SideName
) -> Iterator[Finding]:
    stops = [row for row, line in enumerate(lines) if _STOP.search(line)]
    apart = [row for row, line in enumerate(lines) if _APART.search(line)]
    if len(apart) >= TELLING and len(apart) > MOST * len({*stops, *apart}):
        sentence = (
            f"the {side} was tokenized, with spaces before its signs or marks of subwords; give "
            f"the text as it was before"
        )
        yield show_finding("tokenized", sentence, pairs, apart)
    cased = [row for row, line in enumerate(lines) if line.lower() != line.upper()]
    capital = [row for row in cased if lines[row].lower() != lines[row]]
    if len(cased) >= TELLING and len(capital) <= SOME * len(cased):
        sentence = f"the {side} is in lower case all through; give the text as it was before"
        yield show_finding("lower_case", sentence, pairs, cased)


def show_finding(
    kind: FindingKind, sentence: str, pairs: Sequence[SampleRow], rows: Sequence[int]
) -> Finding:
    """Return a finding with two of its pairs, from the middle of them."""
    middle = rows[len(rows) // 2 :][:2]
    return Finding(kind, sentence, tuple(pairs[row] for row in middle))


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
