"""Numbers in words that a translation says neither in words nor in digits.

Those from ten to ninety-nine, hundreds and thousands from two on, and smaller ones of millions, in
languages whose other words for them are known. Times of day, decades and what stands beside another
number in words are left out, since languages say these differently.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from pkgutil import resolve_name
from typing import Any, NamedTuple

import regex

from nmt_core.literals.added_numbers import (
    MOST,
    count_digits,
    format_number,
    has_numeral,
    load_spelling,
    write_roman,
)
from nmt_core.literals.checking import Breach
from nmt_core.literals.finding import find_literals
from nmt_core.literals.scales import SHORT
from nmt_core.literals.worth import count_worths, find_unsaid_words

SPELLED = "number in words"
"""The kind of these breaches."""
VALUES = [*range(2, 100), *range(200, 1000, 100), *range(2000, 10_000, 1000)]
SMALLEST_ALONE = 10
"""Smaller ones stand in many a phrase that says no number, but not before a million."""

_LIKELY = {
    language: re.compile(f"illi|{words}")
    for language, words in {
        "de": "zehn|elf|zwölf|zwanzig|dreißig|(?:vier|fünf|ech|sieb|acht|neun)zig|undert|tausend",
        "en": r"\bten\b|eleven|twelve|teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dred|thous",
        "fr": r"\bdix|\bonze|douze|treize|quat|quinze|\bseize|vingt|tren|[rux]ante|cents|\bmille",
    }.items()
}
"""What stands in a line of a language that has such a number, so that few lines are read."""

_HALF = r"\b(?:half|halves|demi|moitié|mi-)|halb|hälfte"
_QUARTER = r"\b(?:quarter|quart)|viertel"
_OTHERS = {
    2: r"couple|\bpair|\bpaar",
    10: r"decade|jahrzehnt|décenni|dizaine|dezen",
    12: r"dozen|dutzend|douzaine|\bnoon|midday|\bmidi|mittag|midnight|mitternacht|minuit|\byear",
    14: r"fortnight|two weeks|zwei wochen|deux semaines|quinz",
    15: rf"fortnight|two weeks|zwei wochen|deux semaines|vierzehn|{_QUARTER}",
    20: r"\bscore|vingtaine",
    24: r"\bday|\btag|\bjour",
    45: _QUARTER,
    99: r"\bnine",
}
_OTHER_WORDS = {value: regex.compile(f"{_HALF}|{_OTHERS.get(value, _HALF)}") for value in VALUES}
"""How translations say a number in another way, in any of the languages."""

_HUNDRED = {"hundert", "hundred", "cent", "cents"}
_BEFORE = {"halb", "half", "past", "anfang", "mitte", "ende", "années", "early", "late", "mid"}
_BEFORE |= {"tausend", "thousand", "mille", *_HUNDRED}
_BEHIND = {"uhr", "heure", "heures", "clock", *_HUNDRED}
"""Words before and behind a number that make it a part of another, a time of day or a decade."""
_LARGE = re.compile("milli|billi|trilli")
_LINKS = {"and", "und", "et"}
_WORD = regex.compile(r"\p{L}+")


class SpelledNumber(NamedTuple):
    """A number in words in a line."""

    value: int
    text: str
    start: int
    """Its first character."""


def find_lost_numbers(source: str, translation: str, languages: tuple[str, str]) -> list[Breach]:
    """Return the numbers in words of a line that its translation does not say.

    Args:
        source: a line.
        translation: its translation.
        languages: codes of both languages; nothing is found in some of them.
    """
    words = [
        Breach(SPELLED, word, "", "missing")
        for word in islice(find_unsaid_words(source, translation, languages), MOST)
    ]
    own, other = (_LIKELY.get(language.partition("-")[0]) for language in languages)
    if own is None or other is None or not own.search(source.lower()):
        return words
    lower = translation.lower()
    lost = (
        Breach(SPELLED, number.text, str(number.value), "missing")
        for number in find_spelled_numbers(source, languages[0])
        if not says_number(translation, lower, number, languages[1])
    )
    return [*islice(lost, MOST), *words]


def find_spelled_numbers(line: str, language: str) -> Iterator[SpelledNumber]:
    """Yield the numbers in words of a line that mean what they are, from left to right."""
    known, longest = load_number_words(language)
    parts = load_number_parts(language)
    words = [*_WORD.finditer(line)]
    lower = [word[0].lower() for word in words]
    at = 0
    while at < len(words):
        spans = range(min(longest, len(words) - at), 0, -1)
        count = next((n for n in spans if tuple(lower[at : at + n]) in known), 0)
        if not count:
            at += 1
            continue
        end = at + count
        before, behind = lower[max(0, at - 2) : at][::-1], lower[end : end + 2]
        is_part = touches(before, _BEFORE | parts) or touches(behind, _BEHIND | parts)
        start = words[at].start()
        is_name = start > 0 and (not words[at][0].islower() or line[start - 1] == "-")
        value = known[tuple(lower[at:end])]
        is_phrase = value < SMALLEST_ALONE and not _LARGE.match("".join(behind[:1]))
        if not (is_name or is_part or is_phrase):
            yield SpelledNumber(value, line[start : words[end - 1].end()], start)
        at = end


def write_in_digits(line: str, numbers: AbstractSet[str], language: str) -> str:
    """Return a line with some of its numbers in words written in digits."""
    found = [one for one in find_spelled_numbers(line, language) if one.text in numbers]
    for number in reversed(found):
        end = number.start + len(number.text)
        line = f"{line[: number.start]}{number.value}{line[end:]}"
    return line


def touches(beside: Sequence[str], words: AbstractSet[str]) -> bool:
    """Tell whether the nearest of some words is one of others, where *and* does not count."""
    nearest = beside[1:] if beside and beside[0] in _LINKS else beside[:1]
    return not words.isdisjoint(nearest)


def says_number(translation: str, lower: str, number: SpelledNumber, language: str) -> bool:
    """Tell whether a translation says a number in words, in digits, or in another way."""
    digits, numeral = str(number.value), write_roman(number.value)
    return (
        any(run.startswith(digits) or run.endswith(digits) for run in count_digits(translation))
        or compile_stems(number.value, language).search(lower) is not None
        or _OTHER_WORDS[number.value].search(lower) is not None
        or number.text.lower() in lower
        or has_numeral(translation, numeral)
        or number.value in count_worths(find_literals(translation, language), language)
    )


@lru_cache
def load_number_words(language: str) -> tuple[dict[tuple[str, ...], int], int]:
    """Return the numbers in words of a language, and how many words the longest have."""
    rules: Any = load_spelling(language)
    purpose = resolve_name("unicode_rbnf:FormatPurpose").CARDINAL
    known = {
        tuple(_WORD.findall(way.lower())): value
        for value in VALUES
        for way in rules.format_number(value, purpose).text_by_ruleset.values()
    }
    return known, max(map(len, known))


@lru_cache
def load_number_parts(language: str) -> frozenset[str]:
    """Return the words that these numbers consist of, their ordinals too."""
    ways = (way for value in VALUES for way in format_number(value, language))
    return frozenset(word for way in ways for word in _WORD.findall(way))


@lru_cache(maxsize=10_000)
def compile_stems(value: int, language: str) -> regex.Pattern[str]:
    """Return what finds the words of a number with any ending, as in *twenties*."""
    ways = {tuple(_WORD.findall(way)) for way in format_number(value, language)} - {()}
    stems = (
        "[ -]?".join([*way[:-1], way[-1][:-1] if len(way[-1]) > SHORT else way[-1]]) for way in ways
    )
    return regex.compile("|".join(rf"(?<!\p{{L}}){stem}" for stem in stems))
