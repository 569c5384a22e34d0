"""Running text with markup in it, and the same markup in its translation.

As in Bergamot's translator for the web, the model sees the text alone. Each pair of tags is put
around the translations of its words, so whatever a model answers, no tag is lost, none is invented,
and none leaves its parent. https://github.com/browsermt/bergamot-translator
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from itertools import count, pairwise
from typing import NamedTuple

from nmt_core.text.alignment import (
    UNALIGNED,
    WORD,
    Translated,
    align_words,
    carry_cuts,
    find_words,
)
from nmt_core.text.sentences import space_sentences
from nmt_core.text.span import Span

BREAK = "\n"
"""The character for a line end that must be kept in the text of a passage."""

HARD_BREAK = "\f"
"""The character for a line end that ends a sentence, too."""


class Kind(Enum):
    """The role of a mark."""

    OPEN = auto()
    CLOSE = auto()
    POINT = auto()


class Mark(NamedTuple):
    """Markup at a place of a passage: the beginning or end of a pair, or a thing of its own.

    The two of a pair have the same number; all other numbers are different.
    """

    kind: Kind
    number: int


Item = str | Mark


@dataclass(frozen=True)
class Passage:
    """Running text and the marks in it, in order; pairs are nested.

    With ``breaks``, line ends in the text are kept: the translation has as many. A message is of a
    program, where figures alone are no text, but a version or a value.
    """

    items: tuple[Item, ...]
    breaks: bool = False
    is_message: bool = False

    @property
    def text(self) -> str:
        """The text alone."""
        return "".join(item for item in self.items if isinstance(item, str))


class Sentence(NamedTuple):
    """A sentence of a passage, with its span and its translation."""

    span: Span
    line: str
    """As the model got it."""
    translated: Translated


@dataclass
class _Node:
    """A pair or a point, with where it stood in the source; later, where it goes."""

    number: int
    start: int
    end: int = -1
    point: bool = False
    children: "list[_Node]" = field(default_factory=list)
    place: Span = field(default_factory=lambda: Span(0, 0))


@dataclass(frozen=True)
class _Words:
    """The words of a passage and of its translation, with their links."""

    source: list[Span]
    target: list[Span]
    links: list[int]
    pairs: list[tuple[Span, Span]]
    """Sentences: where each stood, and where its translation stands."""

    @cached_property
    def linked(self) -> dict[int, list[int]]:
        """The numbers of the words that stand for each word of the source."""
        linked: dict[int, list[int]] = defaultdict(list)
        for number, link in enumerate(self.links):
            linked[link].append(number)
        return linked

    def find_linked(self, held: Span, within: Span) -> list[int]:
        """Return the numbers within a span of the words that stand for those held, in order."""
        return sorted(
            number
            for link in range(*held)
            for number in self.linked.get(link, ())
            if within.start <= number < within.end
        )

    def find_sentence(self, at: int) -> tuple[Span, Span]:
        """Return the last sentence that begins at or before a place of the source, or the first."""
        after = bisect_right(self.pairs, at, key=lambda pair: pair[0].start)
        return self.pairs[max(after - 1, 0)]


def place_marks(passage: Passage, sentences: Sequence[Sentence]) -> tuple[Item, ...]:
    """Return the items of a passage's translation: the translated text and every mark.

    Args:
        passage: in the language it was written in.
        sentences: in order; the text between them is kept.
    """
    text = passage.text
    root = _parse(passage)
    answers = [_answer(text, sentence, breaks=passage.breaks) for sentence in sentences]
    if all(
        answer == text[sentence.span.start : sentence.span.end]
        for answer, sentence in zip(answers, sentences, strict=True)
    ):
        return passage.items
    pieces: list[str] = []
    pairs, last, length = [], 0, 0
    for sentence, answer in zip(sentences, answers, strict=True):
        before = pieces[-1] if pieces else ""
        between = space_sentences(text, Span(last, sentence.span.start), before)
        pieces += [between, answer]
        length += len(between)
        pairs.append((sentence.span, Span(length, length + len(answer))))
        last, length = sentence.span.end, length + len(answer)
    target = "".join([*pieces, text[last:]])
    if root.children:
        words = _link(text, target, sentences, pairs, _edges(root))
        root.place = Span(0, len(target))
        _place(root, words, Span(0, len(words.target)))
    return tuple(item for item in _write(root, target, 0, len(target)) if item != "")


def flatten(text: str) -> str:
    """Return a text as one line for the model, without white space at its ends."""
    return " ".join(text.split())


def _answer(text: str, sentence: Sentence, *, breaks: bool) -> str:
    """Return the translation of a sentence with its line ends, or itself if it has none."""
    before = text[sentence.span.start : sentence.span.end]
    after = flatten(sentence.translated.text)
    if after in ("", sentence.line):
        return before
    if not breaks:
        return after
    places = [offset / len(before) for offset, item in enumerate(before) if item == BREAK]
    return _wrap(after, places)


def _wrap(text: str, places: Sequence[float]) -> str:
    """Return a text cut into lines at about the given parts of its length, 0 to 1."""
    gaps = [offset for offset, character in enumerate(text) if character == " "]
    solid = not gaps
    if solid:  # no spaces are written in this language, or there is but one word
        gaps = [match.start() for match in WORD.finditer(text)][1:]
    chosen: list[int] = []
    for left, share in zip(range(len(places) - 1, -1, -1), places, strict=True):
        low = bisect_right(gaps, chosen[-1]) if chosen else 0
        high = len(gaps) - left
        if low < high:
            wanted = share * len(text)
            after = bisect_left(gaps, wanted, low, high)
            near = gaps[max(after - 1, low) : min(after + 1, high)]
            chosen.append(min(near, key=lambda gap: abs(gap - wanted)))
    parts = [
        text[start + (start > 0 and not solid) : end]
        for start, end in pairwise([0, *chosen, len(text)])
    ]
    return BREAK.join(parts) + BREAK * (len(places) - len(chosen))


def _parse(passage: Passage) -> _Node:
    """Return the tree of a passage's marks."""
    root = _Node(-1, 0)
    open_nodes, at = [root], 0
    for item in passage.items:
        if isinstance(item, str):
            at += len(item)
        elif item.kind is Kind.CLOSE:
            node = open_nodes.pop()
            assert node.number == item.number, "pairs must be nested"
            node.end = at
        else:
            node = _Node(item.number, at, at, point=item.kind is Kind.POINT)
            open_nodes[-1].children.append(node)
            if item.kind is Kind.OPEN:
                open_nodes.append(node)
    assert open_nodes == [root], "pairs must be closed"
    return root


def _edges(node: _Node) -> Iterator[int]:
    for child in node.children:
        yield from (child.start, child.end)
        yield from _edges(child)


def _link(
    text: str,
    target: str,
    sentences: Sequence[Sentence],
    pairs: list[tuple[Span, Span]],
    edges: Iterator[int],
) -> _Words:
    """Find the words of all sentences, and link them."""
    cuts = sorted(set(edges))
    all_source: list[Span] = []
    all_target: list[Span] = []
    links: list[int] = []
    for sentence, (src, tgt) in zip(sentences, pairs, strict=True):
        before, after = (
            text[src.start : src.end],
            target[tgt.start : tgt.end],
        )
        inner = [
            cut - src.start
            for cut in cuts[bisect_right(cuts, src.start) : bisect_left(cuts, src.end)]
        ]
        source = find_words(before, inner)
        words = find_words(after, carry_cuts(before, inner, after) if inner else ())
        aligned = align_words(before, source, sentence.translated, after, words)
        links += [UNALIGNED if word == UNALIGNED else len(all_source) + word for word in aligned]
        all_source += [Span(src.start + word.start, src.start + word.end) for word in source]
        all_target += [Span(tgt.start + word.start, tgt.start + word.end) for word in words]
    return _Words(all_source, all_target, links, pairs)


def _place(parent: _Node, words: _Words, within: Span) -> None:
    """Give every node below a parent its span within the parent's words.

    Args:
        parent: a node that has its span.
        words: of the passage.
        within: numbers of the first of its words, and of the first after them.
    """
    taken: list[Span] = []
    around = {id(node): _find_source(node, words) for node in parent.children if not node.point}
    for node in sorted(parent.children, key=lambda node: (-node.end + node.start, node.start)):
        held = around.get(id(node), Span(0, 0))
        if held.start == held.end:
            continue
        chosen = _choose(words, held, within, taken)
        if chosen is None:
            continue
        insort(taken, chosen)
        start, end = _widen(node, words, held, chosen)
        node.place = Span(max(start, parent.place.start), min(end, parent.place.end))
        _place(node, words, chosen)
    wide = sorted(node.place for node in parent.children if node.place.end > node.place.start)
    for node in parent.children:
        if node.place.end == node.place.start:
            at = min(max(_find_point(node.start, words), parent.place.start), parent.place.end)
            _collapse(node, _leave(at, wide))


def _find_source(node: _Node, words: _Words) -> Span:
    """Return the numbers of the first word of the source in a node, and of the first after it."""
    first = bisect_left(words.source, Span(node.start, node.start))
    return Span(first, max(first, bisect_left(words.source, Span(node.end, node.end))))


def _choose(words: _Words, held: Span, within: Span, taken: list[Span]) -> Span | None:
    """Return the run of free words with the most links to those held, else a near word.

    A word of a run counts 1 if it is linked with one that is held, -1 if it is linked with another.

    Returns:
        Numbers of the first word and of the first after it, or None if no word is free.
    """
    best, best_score = None, 0
    start, score, last = 0, 0, -1
    for number in words.find_linked(held, within):
        if _is_taken(number, taken):
            continue
        gap = sum(words.links[between] != UNALIGNED for between in range(last + 1, number))
        if score > gap and _is_free(Span(last, number), taken):
            score += 1 - gap
        else:
            start, score = number, 1
        last = number
        if score > best_score:
            best, best_score = Span(start, number + 1), score
    if best:
        return best
    point = _find_point(words.source[held.start].end, words)
    wanted = bisect_left(words.target, Span(point, 0))
    for away in range(max(wanted - within.start, within.end - wanted) + 1):
        for number in (wanted - away - 1, wanted + away):
            if within.start <= number < within.end and not _is_taken(number, taken):
                return Span(number, number + 1)
    return None


def _is_taken(number: int, taken: list[Span]) -> bool:
    before = bisect_right(taken, Span(number, 2**62)) - 1
    return before >= 0 and number < taken[before].end


def _is_free(span: Span, taken: list[Span]) -> bool:
    after = bisect_left(taken, span)
    return after == len(taken) or taken[after].start >= span.end


def _widen(node: _Node, words: _Words, held: Span, chosen: Span) -> Span:
    """Return the span of chosen words, with the white space around sentences that a node held."""
    start, end = words.target[chosen.start].start, words.target[chosen.end - 1].end
    first, last = words.source[held.start].start, words.source[held.end - 1].end
    source, target = words.find_sentence(first)
    if (first, start) == (source.start, target.start):
        start -= first - node.start
    source, target = words.find_sentence(last - 1)
    if (last, end) == (source.end, target.end):
        end += node.end - last
    return Span(start, end)


def _find_point(at: int, words: _Words) -> int:
    """Return the offset in the translation for an offset in the source."""
    source, target = words.find_sentence(at)
    if at <= source.start:  # it stands before the first
        return max(target.start - (source.start - at), 0)
    if at < source.end:
        return _find_inner_point(at, words, target)
    return target.end + at - source.end


def _find_inner_point(at: int, words: _Words, target: Span) -> int:
    """Map an offset within a sentence: after the word it follows, or before the next."""
    after = bisect_left(words.source, Span(at, at))
    first = bisect_left(words.target, Span(target.start, target.start))
    last = bisect_left(words.target, Span(target.end, target.end))
    if words.source[after - 1].end == at:
        ends = [n for n in range(first, last) if words.links[n] == after - 1]
        ends = ends or [n for n in range(first, last) if UNALIGNED < words.links[n] < after]
        return words.target[ends[-1]].end if ends else target.start
    starts = [n for n in range(first, last) if words.links[n] == after]
    starts = starts or [n for n in range(first, last) if words.links[n] > after]
    return words.target[starts[0]].start if starts else target.end


def _leave(at: int, wide: Sequence[Span]) -> int:
    """Move an offset out of another node's span, to its nearer end."""
    before = bisect_left(wide, Span(at, at)) - 1
    if before >= 0 and at < wide[before].end:
        start, end = wide[before]
        return start if at - start < end - at else end
    return at


def _collapse(node: _Node, at: int) -> None:
    """Put a node and all below it at one offset."""
    node.place = Span(at, at)
    for child in node.children:
        _collapse(child, at)


def _write(node: _Node, target: str, start: int, end: int) -> Iterator[Item]:
    """Yield text and marks of a node between two offsets."""
    order = count()
    at = start
    for child in sorted(node.children, key=lambda child: (child.place, next(order))):
        yield target[at : child.place.start]
        if child.point:
            yield Mark(Kind.POINT, child.number)
        else:
            yield Mark(Kind.OPEN, child.number)
            yield from _write(child, target, *child.place)
            yield Mark(Kind.CLOSE, child.number)
        at = child.place.end
    yield target[at:end]
