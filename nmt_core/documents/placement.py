"""Place the inline tags of a passage around the words of its translation.

The model only translates text, as in https://github.com/browsermt/bergamot-translator. Each pair
of tags is placed around the translations of its words. So for any output of a model, no tag is
lost, added, or moved out of its parent.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nmt_core.documents.segments import InlineTag, Item, Passage, Role
from nmt_core.text.translation import Translation
from nmt_core.text.words import UNALIGNED, Span, align_words, carry_cuts, find_words


@dataclass
class _Node:
    """A pair of tags or an empty tag, with its span in the source and in the translation."""

    number: int
    start: int
    end: int = -1
    is_empty: bool = False
    children: "list[_Node]" = field(default_factory=list)
    place: Span = field(default_factory=lambda: Span(0, 0))
    """The span in the translation."""

    def collapse(self, at: int) -> None:
        """Set the span of this node and its descendants to an offset."""
        self.place = Span(at, at)
        for child in self.children:
            child.collapse(at)


class _Words:
    """The words of a passage and of its translation, split at tags, with their links."""

    def __init__(
        self,
        text: str,
        target: str,
        sentences: Sequence[tuple[Span, Span]],
        translations: Sequence[Translation],
        cuts: Sequence[int],
    ) -> None:
        self.source: list[Span] = []
        self.target: list[Span] = []
        self.links: list[int] = []
        self.linked: dict[int, list[int]] = defaultdict(list)
        """Indices of the target words that are linked with each source word."""
        self.sentences = sentences
        """The span of each sentence and of its translation."""
        for (src, tgt), translation in zip(sentences, translations, strict=True):
            before, after = text[slice(*src)], target[slice(*tgt)]
            first, last = bisect_right(cuts, src.start), bisect_left(cuts, src.end)
            inner = [cut - src.start for cut in cuts[first:last]]
            source = find_words(before, inner)
            translated = find_words(after, carry_cuts(before, inner, after) if inner else ())
            first = len(self.source)
            for link in align_words(before, source, translation.links, after, translated):
                if link != UNALIGNED:
                    self.linked[first + link].append(len(self.links))
                self.links.append(UNALIGNED if link == UNALIGNED else first + link)
            self.source += [Span(src.start + start, src.start + end) for start, end in source]
            self.target += [Span(tgt.start + start, tgt.start + end) for start, end in translated]

    def find_sentence(self, at: int) -> tuple[Span, Span]:
        """Return the last sentence that starts at or before a source offset, or else the first."""
        after = bisect_right(self.sentences, at, key=lambda pair: pair[0].start)
        return self.sentences[max(after - 1, 0)]


def place_tags(
    passage: Passage,
    target: str,
    sentences: Sequence[tuple[Span, Span]],
    translations: Sequence[Translation],
) -> tuple[Item, ...]:
    """Return the items of a passage's translation: translated text and all tags.

    ``sentences`` are the spans of each sentence in the passage and in its translation, ``target``.
    """
    root, cuts = _parse(passage)
    root.place = Span(0, len(target))
    words = _Words(passage.text, target, sentences, translations, sorted(cuts))
    _place(root, words, Span(0, len(words.target)))
    return tuple([item for item in _write(root, target, root.place) if item != ""])


def _parse(passage: Passage) -> tuple[_Node, set[int]]:
    """Return the tree of a passage's tags, and the offsets of all tags."""
    root = _Node(-1, 0)
    open_nodes, at = [root], 0
    cuts = set()
    for item in passage.items:
        if isinstance(item, str):
            at += len(item)
            continue
        cuts.add(at)
        if item.kind is Role.CLOSE:
            node = open_nodes.pop()
            assert node.number == item.number, "pairs must be nested"
            node.end = at
        else:
            node = _Node(item.number, at, at, is_empty=item.kind is Role.EMPTY)
            open_nodes[-1].children.append(node)
            if item.kind is Role.OPEN:
                open_nodes.append(node)
    assert open_nodes == [root], "pairs must be closed"
    return root, cuts


def _place(parent: _Node, words: _Words, within: Span) -> None:
    """Set the spans of a parent's descendants, within the target words of the parent."""
    taken: list[Span] = []
    for node in sorted(parent.children, key=lambda node: (node.start - node.end, node.start)):
        first, last = (bisect_left(words.source, Span(at, at)) for at in (node.start, node.end))
        inner = Span(0, 0) if node.is_empty else Span(first, max(first, last))
        chosen = _choose(words, inner, within, taken) if inner.start < inner.end else None
        if chosen is None:
            continue
        insort(taken, chosen)
        start, end = _widen(node, words, inner, chosen)
        node.place = Span(max(start, parent.place.start), min(end, parent.place.end))
        _place(node, words, chosen)
    wide = sorted([node.place for node in parent.children if node.place.end > node.place.start])
    for node in parent.children:
        if node.place.end == node.place.start:
            at = min(max(_map_offset(node.start, words), parent.place.start), parent.place.end)
            node.collapse(_move_out(at, wide))


def _choose(words: _Words, inner: Span, within: Span, taken: list[Span]) -> Span | None:
    """Return the best run of free target words for the source words ``inner``, or a near word.

    A word of a run counts 1 if it is linked with an inner word, -1 if it is linked with another.

    Returns:
        Indices of the first word and of the word after the last; None if no word is free.
    """
    best, best_score = None, 0
    start, score, last = 0, 0, -1
    linked = [number for link in range(*inner) for number in words.linked.get(link, ())]
    for number in sorted(linked):
        if not within.start <= number < within.end or not _is_free(number, number + 1, taken):
            continue
        between = words.links[last + 1 : number] if score else ()
        gap = sum([link != UNALIGNED for link in between])
        if score > gap and _is_free(last, number, taken):
            score += 1 - gap
        else:
            start, score = number, 1
        last = number
        if score > best_score:
            best, best_score = Span(start, number + 1), score
    if best:
        return best
    point = _map_offset(words.source[inner.start].end, words)
    nearest = bisect_left(words.target, Span(point, 0))
    for distance in range(max(nearest - within.start, within.end - nearest) + 1):
        for number in (nearest - distance - 1, nearest + distance):
            if within.start <= number < within.end and _is_free(number, number + 1, taken):
                return Span(number, number + 1)
    return None


def _is_free(start: int, end: int, taken: list[Span]) -> bool:
    """Return whether no span of other nodes contains any of these words."""
    after = bisect_left(taken, Span(end, 0))
    return after == 0 or taken[after - 1].end <= start


def _widen(node: _Node, words: _Words, inner: Span, chosen: Span) -> Span:
    """Return the span of chosen words, with white space around sentences as in the source node."""
    start, end = words.target[chosen.start].start, words.target[chosen.end - 1].end
    first, last = words.source[inner.start].start, words.source[inner.end - 1].end
    source, target = words.find_sentence(first)
    if (first, start) == (source.start, target.start):
        start -= first - node.start
    source, target = words.find_sentence(last - 1)
    if (last, end) == (source.end, target.end):
        end += node.end - last
    return Span(start, end)


def _map_offset(at: int, words: _Words) -> int:
    """Return the offset in the translation for an offset in the source.

    Within a sentence, this is the end of the translated previous word, or the start of the next.
    """
    source, target = words.find_sentence(at)
    if at <= source.start:  # before the first sentence
        return max(target.start - (source.start - at), 0)
    if at >= source.end:
        return target.end + at - source.end
    after = bisect_left(words.source, Span(at, at))
    first = bisect_left(words.target, Span(target.start, target.start))
    last = bisect_left(words.target, Span(target.end, target.end))
    links = words.links
    if words.source[after - 1].end == at:
        ends = [n for n in range(first, last) if links[n] == after - 1]
        ends = ends or [n for n in range(first, last) if UNALIGNED < links[n] < after]
        return words.target[ends[-1]].end if ends else target.start
    starts = [n for n in range(first, last) if links[n] == after]
    starts = starts or [n for n in range(first, last) if links[n] > after]
    return words.target[starts[0]].start if starts else target.end


def _move_out(at: int, wide: Sequence[Span]) -> int:
    """Return an offset, moved out of another node's span to the nearer end."""
    before = bisect_left(wide, Span(at, at)) - 1
    if before >= 0 and at < wide[before].end:
        start, end = wide[before]
        return start if at - start < end - at else end
    return at


def _write(node: _Node, target: str, within: Span) -> Iterator[Item]:
    """Yield the text and tags of a node within a span of the translation."""
    at = within.start
    for child in sorted(node.children, key=lambda child: child.place):  # stable
        yield target[at : child.place.start]
        if child.is_empty:
            yield InlineTag(Role.EMPTY, child.number)
        else:
            yield InlineTag(Role.OPEN, child.number)
            yield from _write(child, target, child.place)
            yield InlineTag(Role.CLOSE, child.number)
        at = child.place.end
    yield target[at : within.end]
