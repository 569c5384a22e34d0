"""Find Markdown markup with the parser markdown-it, and escape text that would become markup."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token

from nmt_core.documents.segments import BREAK, Role, Written

SOURCE_LINE_END = re.compile(r"(?: *|\\)\n[ \t]*")
"""A newline within a paragraph, with the white space that the parser skips."""

SPECIAL = re.compile(r"[\\`*\[\]<~|]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
SPECIAL_END = re.compile(r"(?<!#)#+$")
STARTS = re.compile(r"^\s*[-+>#=:]")
LIST_NUMBER = re.compile(r"^(\s*\d{1,9})([.)])(?=\s|$)")
"""Characters that may be markup, anywhere and at the beginning of a line."""

EMPHASIS = frozenset("*_~")


def make_plain_parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables and strikethrough."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


Ends = dict[tuple[str, int], int]
"""End of each link and image, by the block of text and the start."""


def make_parser() -> tuple[MarkdownIt, Ends]:
    """Return a parser, and the ends of links and images, which the parser fills in."""
    parser = make_plain_parser()
    parser.core.ruler.disable(["inline", "text_join"])
    ends: Ends = {}
    parser.inline.ruler.at("link", partial(_note_end, link, ends))
    parser.inline.ruler.at("image", partial(_note_end, image, ends))
    return parser, ends


def _note_end(
    rule: Callable[[StateInline, bool], bool],
    ends: Ends,
    state: StateInline,
    silent: bool,  # noqa: FBT001 - as the parser calls rules
) -> bool:
    start = state.pos
    applies = rule(state, silent)
    if applies and not silent:
        ends[state.src, start] = state.pos
    return applies


def find_token_end(token: Token, text: str, at: int, ends: Ends) -> int:
    """Return the end of a token at an offset; for a link, the end of its opening bracket."""
    if token.type in {"text", "html_inline"}:
        return at + len(token.content)
    if token.type == "image":
        return ends[text, at]
    if token.type == "link_open":
        return text.index(">", at) + 1 if token.info == "auto" else at + 1
    if token.type in {"softbreak", "hardbreak"}:
        match = SOURCE_LINE_END.match(text, at)
    elif token.type == "code_inline":
        code = re.compile(rf"{token.markup}.*?[^`]{token.markup}(?!`)", re.DOTALL)
        match = code.match(text, at)
    else:
        return at + len(token.markup)
    assert match, "the parser found the token at this offset"
    return match.end()


def count_markup(
    checker: MarkdownIt, links: dict[str, Any], text: str
) -> Counter[tuple[tuple[str, str], ...]]:
    """Return how often each kind of markup occurs within the same parents."""
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    inside: list[tuple[str, str]] = []
    for token in chain.from_iterable(
        token.children or () if token.type == "inline" else (token,)
        for token in checker.parse(text, links)
    ):
        if token.nesting < 0:
            inside.pop()
        elif token.type not in {"text", "softbreak"}:
            content = "" if token.type == "image" else token.content
            inside.append((token.type, f"{token.attrs} {content}"))
            counts[tuple(inside)] += 1
            if not token.nesting:
                inside.pop()
    return counts


def loosen(written: Sequence[Written]) -> list[Written]:
    """Return a translation with spaces outside of emphasis marks, and no spaces inside."""
    parts = [*written]
    for number, part in enumerate(parts):
        if not part.tag or not EMPHASIS.issuperset(part.text):
            continue
        outside = -1 if part.tag.kind is Role.OPEN else 1
        for side in (outside, -outside):
            if not 0 <= number + side < len(parts) or parts[number + side].tag:
                continue
            text = parts[number + side].text
            stripped = text.rstrip() if side < 0 else text.lstrip()
            if side == outside:
                stripped = f"{stripped} " if side < 0 else f" {stripped}"
            parts[number + side] = Written(stripped)
    return parts


def escape_text(written: Sequence[Written]) -> list[str]:
    """Return the parts of a translation, with characters escaped that may become markup."""
    parts: list[str] = []
    for number, part in enumerate(written):
        if part.tag:
            parts.append(part.text)
            continue
        lines = [
            SPECIAL_END.sub(r"\\\g<0>", escape_markup(line)) for line in part.text.split(BREAK)
        ]
        first = 1 if "".join(parts[-1:]) else 0
        lines[first:] = [
            LIST_NUMBER.sub(r"\1\\\2", STARTS.sub(r"\\\g<0>", line)) for line in lines[first:]
        ]
        if lines[-1].endswith("!"):  # it would turn a link into an image
            following = next((each.text for each in written[number + 1 :] if each.text), "")
            if following.startswith("["):
                lines[-1] = f"{lines[-1][:-1]}\\!"
        parts.append(BREAK.join(lines))
    return parts


def escape_markup(text: str) -> str:
    """Return a text with all characters escaped that may be markup at any position."""
    return SPECIAL.sub(r"\\\g<0>", text)
