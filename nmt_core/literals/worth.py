"""What numbers are worth with the words of scale behind them, and words that are lost or added."""

from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal

import regex

from nmt_core.literals.finding import find_literals, group_by_value
from nmt_core.literals.kind import Literal
from nmt_core.literals.number import Number
from nmt_core.literals.scales import ScaleWords, load_scale_words
from nmt_core.literals.units import is_money

_NO_LETTER = r"(?:[^\p{L}.!?]|\.(?=\p{Nd}))*+"
_FEW_WORDS = regex.compile(rf"{_NO_LETTER}(?:\p{{L}}++{_NO_LETTER}){{0,5}}")
"""What stands behind a number that another with a word of scale is coordinated with."""
TEN = Decimal(10)
POINT_LANGUAGE = "en"
"""Writes numbers as this program does."""


def name_scaled(number: str, scale: str) -> str:
    """Return a number with its words of scale as a finding names it."""
    return f"{number} {scale}"


def find_worth(literal: Literal, language: str) -> Decimal | None:
    """Return what a number is worth with its words of scale; None for another literal."""
    if literal.kind.name != Number.name:
        return None
    return read_worth(literal.text, literal.scale, language)


def read_worth(number: str, scale: str, language: str) -> Decimal | None:
    """Return what a number is worth with words of scale; None if it cannot be read."""
    value = Number().read(number, language)
    if not isinstance(value, Decimal):
        return None
    words = load_scale_words(language) if scale else None
    return value.scaleb(words.read(scale)).normalize() if words else value


def write_worth(number: str, scale: str, source: str, target: str) -> str:
    """Return a number and its words of scale in digits alone, as the target language has them."""
    worth = read_worth(number, scale, source)
    if worth is None:
        return f"{Number().write(number, source, target)} {scale}"
    return Number().write(f"{worth:,f}", POINT_LANGUAGE, target)


def count_worths(literals: Iterable[Literal], language: str) -> Counter[Decimal]:
    """Return how often literals say each worth."""
    worths = (find_worth(literal, language) for literal in literals)
    return Counter(worth for worth in worths if worth is not None)


def says_all(
    source: Iterable[Literal], target: Iterable[Literal], languages: tuple[str, str]
) -> bool:
    """Tell whether numbers are said in worth by others, as *1.5 million* and *1,500,000*."""
    said = count_worths(target, languages[1])
    wanted = count_worths(source, languages[0])
    return bool(wanted) and wanted <= said


def find_unsaid_words(line: str, other: str, languages: tuple[str, str]) -> Iterator[str]:
    """Yield words of a million and more of a line that another says neither so nor in digits.

    Those behind digits are none of them, see :func:`find_unsaid_scales`.

    Args:
        line: a line.
        other: what should say the same.
        languages: of both.
    """
    own = load_scale_words(languages[0])
    large = own.find_large(line) if own else []
    words = load_scale_words(languages[1]) if large else None
    if own is None or words is None:
        return
    said = words.list_powers(other)
    worths = count_worths(find_literals(other, languages[1]), languages[1])
    for word in large:
        power = own.read(word)
        if said.isdisjoint({power, power - 1}) and all(
            worth < TEN ** (power - 1) for worth in worths
        ):
            yield word


def may_add_scale(line: str, other: str, languages: tuple[str, str]) -> bool:
    """Tell whether a word of scale behind digits of a line is one that another does not have.

    Args:
        line: a line with digits.
        other: what should say the same.
        languages: of both.
    """
    own, words = map(load_scale_words, languages)
    if own is None or words is None:
        return False
    powers = own.list_behind_digits(line)
    return bool(powers) and not Counter(powers) <= Counter(words.list_behind_digits(other))


def find_unsaid_scales(
    literals: Iterable[Literal],
    others: Iterable[Literal],
    line: str,
    languages: tuple[str, str],
) -> Iterator[Literal]:
    """Yield the numbers whose words of scale a line does not say, nor their worth otherwise.

    A word anywhere may serve several numbers, as in *36 million, of which 10*, but one behind a
    number serves none of money behind it: *5 million euros and 250 euros*.

    Args:
        literals: of a line.
        others: those of the line that should say the same.
        line: that line.
        languages: that of the literals, then that of the line; nothing is yielded where its words
            of scale are not known.
    """
    scaled = [literal for literal in literals if literal.scale]
    own, words = map(load_scale_words, languages) if scaled else (None, None)
    if own is None or words is None:
        return
    said = words.list_powers(line)
    worths = count_worths(others, languages[1])
    alone = words.list_alone(line)
    numbers = group_by_value(others, languages[1])
    for literal in scaled:
        power, powers = own.read(literal.scale), own.list_powers(literal.scale)
        same = numbers.get(literal.kind.read(literal.text, languages[0]), [])
        is_served = not same or any(
            serves(words, power, line, one.end) or not is_money(line, one) for one in same
        )
        is_said = power in alone or (is_served and (power in said or powers <= said))
        worth = find_worth(literal, languages[0])
        if not is_said and worth is not None and worth not in worths:
            yield literal


def serves(words: ScaleWords, power: int, line: str, end: int) -> bool:
    """Tell whether a word of scale serves a number that ends there, or stands behind others.

    Args:
        words: of the language.
        power: what the word stands for.
        line: where the number stands.
        end: where it ends.
    """
    behind = _FEW_WORDS.match(line, end)
    return behind is not None and power in words.list_powers(line[end - 1 : behind.end()])
