"""Numbers in words that a translation says neither in words nor in digits.

Those from ten to 999, but a hundred, thousands from two on, and smaller ones of millions, in
languages whose other words for them are known. Times of day, decades and what stands beside another
number in words are left out, since languages say these differently.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import regex

from nmt_core.literals.added_numbers import (
    MOST,
    count_digits,
    format_number,
    has_numeral,
    list_spellings,
    write_roman,
)
from nmt_core.literals.checking import Breach
from nmt_core.literals.finding import find_literals
from nmt_core.literals.scales import SHORT
from nmt_core.literals.worth import count_worths, find_unsaid_words

SPELLED = "number in words"
"""The kind of these breaches."""
VALUES = [*range(2, 100), *range(101, 1000), *range(2000, 10_000, 1000)]
PARTS = [*range(2, 100), *range(100, 1000, 100), *range(1000, 10_000, 1000)]
SMALLEST_ALONE = 10
"""Smaller ones stand in many a phrase that says no number, but not before a million."""

_LIKELY = {
    language: re.compile(f"illi|{words}")
    for language, words in {
        "de": "zehn|elf|zwölf|zwanzig|dreißig|(?:vier|fünf|ech|sieb|acht|neun)zig|undert|tausend",
        "en": r"\bten\b|eleven|twelve|teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dred|thous",
        "fr": r"\bdix|onze\b|douze|treize|quat|quinz|seize|vingt|tren|[rux]ante|\bcents?\b|\bmille",
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
_OTHER_WORDS = {value: regex.compile(f"{_HALF}|{words}") for value, words in _OTHERS.items()}
"""How translations say a number in another way, in any of the languages."""
_ANY_OTHER_WORDS = regex.compile(_HALF)

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
        or _OTHER_WORDS.get(number.value, _ANY_OTHER_WORDS).search(lower) is not None
        or number.text.lower() in lower
        or has_numeral(translation, numeral)
        or number.value in count_worths(find_literals(translation, language), language)
    )


@lru_cache
def load_number_words(language: str) -> tuple[dict[tuple[str, ...], int], int]:
    """Return the numbers in words of a language, and how many words the longest have."""
    known = {
        tuple(_WORD.findall(words)): value
        for value in VALUES
        for way in list_spellings(value, language, ("CARDINAL",))
        for words in list_english_ways(way)
    }
    return known, max(map(len, known))


def list_english_ways(words: str) -> Iterator[str]:
    """Yield a number in words, and if it is English as *a hundred and one*, too."""
    for way in (words, words.replace("hundred ", "hundred and ")):
        yield way
        if way.startswith("hundred"):
            yield f"a {way}"


@lru_cache
def load_number_parts(language: str) -> frozenset[str]:
    """Return the words that these numbers consist of, and those of their ordinals."""
    ways = (way for value in PARTS for way in format_number(value, language))
    return frozenset(word for way in ways for word in _WORD.findall(way))


@lru_cache(maxsize=10_000)
def compile_stems(value: int, language: str) -> regex.Pattern[str]:
    """Return what finds the words of a number with any ending, as in *twenties*."""
    ways = {tuple(_WORD.findall(way)) for way in list_spellings(value, language)} - {()}
    stems = (
        "[ -]?(?:and )?".join([*way[:-1], way[-1][:-1] if len(way[-1]) > SHORT else way[-1]])
        for way in ways
    )
    return regex.compile("|".join(rf"(?<!\p{{L}}){stem}" for stem in stems))
