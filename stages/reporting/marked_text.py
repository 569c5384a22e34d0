"""Words of sentences as HTML: what differs is marked, and what belongs together can be hovered."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from xml.etree.ElementTree import Element

from stages.reporting.hypertext import make

MOST_LINKED = 60
"""Source words that can be hovered."""

MOST_WORDS = 120
"""Of a sentence that is shown."""

LINK_STYLE = (
    "".join(
        f".linked:has(.w{number}:hover) .w{number}{',' if number < MOST_LINKED - 1 else ''}"
        for number in range(MOST_LINKED)
    )
    + " { outline: 2px solid var(--source); outline-offset: 1px; border-radius: 2px; }\n"
)
"""Within ``.linked``, all words of one number stand out where one of them is hovered."""


def mark_source(source: str, language: str) -> Element:
    """Return a source whose words can be hovered."""
    words = source.split()[:MOST_WORDS]
    return _join([("", word, f"w{number}") for number, word in enumerate(words)], source, language)


def mark_difference(
    old: str, new: str, language: str, links: Sequence[int] = ()
) -> tuple[Element, Element]:
    """Return two texts; what only the first has is ``del`` in it, what only the second, ``ins``.

    Args:
        old: the first, such as the reference.
        new: the second, such as the translation.
        language: code of both.
        links: for each word of the second, the number of its source word, or below 0 for none.
    """
    sides = [text.split()[:MOST_WORDS] for text in (old, new)]
    kept = SequenceMatcher(None, sides[0], sides[1], autojunk=False).get_matching_blocks()
    same = [{block[side] + step for block in kept for step in range(block.size)} for side in (0, 1)]
    first = [("" if n in same[0] else "del", word, "") for n, word in enumerate(sides[0])]
    second = [
        ("" if n in same[1] else "ins", word, f"w{link}" if link >= 0 else "")
        for n, (word, link) in enumerate(zip(sides[1], _fill(links, len(sides[1])), strict=True))
    ]
    return _join(first, old, language), _join(second, new, language)


def _fill(links: Sequence[int], count: int) -> list[int]:
    return [*links[:count], *[-1] * (count - len(links))]


def _join(words: Sequence[tuple[str, str, str]], whole: str, language: str) -> Element:
    """Return words, given by tag, text and class; one that has neither tag nor class is text."""
    text = make("bdi", lang=language)
    for number, part in enumerate(_make_words(words)):
        for content in (" ", part) if number else (part,):
            _append(text, content)
    if len(whole.split()) > MOST_WORDS:
        _append(text, " …")
    return text


def _make_words(words: Sequence[tuple[str, str, str]]) -> Iterator[Element | str]:
    for tag, word, name in words:
        if tag or name:
            yield make(tag or "span", word, **({"class_": name} if name else {}))
        else:
            yield word


def _append(element: Element, content: Element | str) -> None:
    holder = make("bdi", content)
    if isinstance(content, Element):
        element.append(content)
    elif len(element):
        element[-1].tail = (element[-1].tail or "") + (holder.text or "")
    else:
        element.text = (element.text or "") + (holder.text or "")
