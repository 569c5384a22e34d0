"""Placeholders of programs in messages: each comes through a translation once, whatever it was."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import regex

from nmt_core.documents.passage import Item, Passage
from nmt_core.literals.finding import find_literals
from nmt_core.literals.literal import Literal, LiteralKind

_SYNTAX = regex.compile(r"(?!\S*\{[^}]*$)(?![^{]*\}).*(?:[{%$@#`:_\\]|<.|\[\[).*")
"""A literal that stays as it is, and that a program may fill in; an open brace is none."""
_NAMED = regex.compile(r"%(?:L?[1-9]|n|\d{1,2}%|[a-zA-Z_][\w.\-]*%)")
"""Placeholders of Qt, Boost and Symfony that have a number or name."""

UNNUMBERED = regex.compile(r"%[^%({\d][^$]*|%\d+[^$\d]?")
"""Placeholders that a program fills in their order."""

BRACES = "{}"
SPACES = regex.compile(r"\s")


def find_placeholders(text: str) -> list[Literal]:
    """Return the placeholders of a text, in order; none overlap."""
    return [
        one
        for one in find_literals(text, "")
        if one.kind is LiteralKind.VERBATIM and _SYNTAX.fullmatch(one.text)
    ]


def keep_placeholders(
    passage: Passage, items: Sequence[Item], signs: str = BRACES
) -> tuple[Item, ...]:
    """Return a translation in which each placeholder stands as often as in its source.

    What is too much is dropped, what is missing is put at about its place, and those that a program
    fills in their order have that order.

    Args:
        passage: the source.
        items: of its translation.
        signs: characters that are dropped outside of placeholders if the source has none there.
    """
    if tuple(items) == passage.items:
        return passage.items
    wanted = [*_list_placeholders(passage.items)]
    free = "".join(_list_free(passage.items))
    signs = "".join(sign for sign in signs if sign not in free)
    left = Counter(text for text, _ in wanted)
    kept = [
        _drop_surplus(item, left, signs) if isinstance(item, str) else item
        for item in _move_marks(items)
    ]
    missing = []
    for text, share in wanted:
        if left[text]:
            left[text] -= 1
            missing.append((text, share))
    kept = _insert(kept, missing) if missing else kept
    return tuple(_put_in_order(kept, [text for text, _ in wanted if _is_unnumbered(text)]))


def _list_placeholders(items: Sequence[Item]) -> Iterator[tuple[str, float]]:
    """Yield each placeholder with its place, as a share of the text before it."""
    length, at = sum(len(item) for item in items if isinstance(item, str)), 0
    for item in items:
        if isinstance(item, str):
            for place in find_placeholders(item):
                yield item[place.start : place.end], (at + place.start) / length
            at += len(item)


def _list_free(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield from _cut(item)[::2]


def _cut(text: str) -> list[str]:
    """Return a text cut into what stands outside of placeholders and, between, each of them."""
    pieces, last = [], 0
    for place in find_placeholders(text):
        pieces += [text[last : place.start], text[place.start : place.end]]
        last = place.end
    return [*pieces, text[last:]]


def _move_marks(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items with those marks after a placeholder that stand within one."""
    text = "".join(item for item in items if isinstance(item, str))
    places, at, end = iter([*find_placeholders(text), None]), 0, 0
    place = next(places)
    for item in items:
        if not isinstance(item, str):
            yield item
            continue
        end += len(item)
        while place is not None and place.end <= end:
            place = next(places)
        to = place.end if place is not None and place.start < end else end
        yield text[at:to]
        at = max(at, to)


def _drop_signs(text: str, signs: str) -> str:
    """Return a text without some signs, of which those within a word become a space."""
    some = f"[{regex.escape(signs)}]+"
    return regex.sub(some, "", regex.sub(rf"(?<=\S){some}(?=\S)", " ", text))


def _drop_surplus(text: str, left: Counter[str], signs: str) -> str:
    """Return a text with those placeholders alone that are left, which are counted down."""
    pieces = _cut(text)
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            pieces[number] = _drop_signs(piece, signs) if signs else piece
        elif left[piece]:
            left[piece] -= 1
        else:
            before, after = pieces[number - 1], pieces[number + 1]
            pieces[number] = " " if before[-1:].strip() and after[:1].strip() else ""
            if before.endswith(" ") and after[:1] in ("", " "):
                pieces[number - 1] = before[:-1]
            elif not before:
                pieces[number + 1] = after.removeprefix(" ")
    return "".join(pieces)


def _insert(items: Sequence[Item], missing: Sequence[tuple[str, float]]) -> list[Item]:
    """Return items with placeholders between words, each where its share of the text is before."""
    gaps: list[tuple[int, int, int]] = []  # offset in the text, number of the item, offset in it
    length = 0
    for number, item in enumerate(items):
        if isinstance(item, str):
            gaps += [(length + at, number, at) for at in _find_gaps(item)]
            length += len(item)
    if not gaps:
        return [*items, " ".join(text for text, _ in missing)]
    chosen: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for text, share in missing:
        after = bisect_left(gaps, (round(share * length), -1, -1))
        near = gaps[max(after - 1, 0) : after + 1]
        _, number, at = min(near, key=lambda gap: abs(gap[0] - share * length))
        chosen[number][at].append(text)
    return [
        _insert_words(item, chosen[number]) if isinstance(item, str) else item
        for number, item in enumerate(items)
    ]


def _insert_words(text: str, words: Mapping[int, Sequence[str]]) -> str:
    """Return a text with words at some of its gaps, and spaces between them."""
    pieces, last = [], 0
    for at in sorted(words):
        before, after = text[last:at], text[at : at + 1]
        left = " " if at and not text[at - 1].isspace() else ""
        right = " " if after and not after.isspace() else ""
        pieces += [before, left, " ".join(words[at]), right]
        last = at
    return "".join([*pieces, text[last:]])


def _find_gaps(text: str) -> list[int]:
    """Return the offsets between words, none of which is within a placeholder."""
    places = iter([*find_placeholders(text), None])
    place, gaps = next(places), []
    for gap in [0, *(match.start() for match in SPACES.finditer(text)), len(text)]:
        while place is not None and place.end <= gap:
            place = next(places)
        if place is None or gap <= place.start:
            gaps.append(gap)
    return gaps


def _is_unnumbered(text: str) -> bool:
    return bool(UNNUMBERED.fullmatch(text) and not _NAMED.fullmatch(text))


def _put_in_order(items: Sequence[Item], wanted: Sequence[str]) -> Iterator[Item]:
    """Yield items with unnumbered placeholders in the order of the source."""
    following = iter(wanted)
    for item in items:
        if not isinstance(item, str) or len(set(wanted)) <= 1:  # no other order
            yield item
            continue
        pieces = _cut(item)
        pieces[1::2] = [
            next(following) if _is_unnumbered(piece) else piece for piece in pieces[1::2]
        ]
        yield "".join(pieces)
