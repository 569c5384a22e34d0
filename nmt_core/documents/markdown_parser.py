"""The parser markdown-it, made to say where it finds markup."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

TOP = "top"
"""Key of the parser's environment for the tokens of the block, without those of its images."""


class RuleMatch(NamedTuple):
    """A match of a parser's rule in a block."""

    rule: str
    start: int
    end: int
    tokens: Sequence[tuple[Token, int]]
    """With the length of each as it was found."""
    label_end: int


def make_plain_parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables and strikethrough."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def make_parser() -> tuple[MarkdownIt, list[RuleMatch]]:
    """Return a parser, and the list to which it adds its matches in a block."""
    parser = make_plain_parser()
    parser.core.ruler.disable(["inline", "text_join"])
    parser.inline.ruler2.disable("fragments_join")
    matches: list[RuleMatch] = []
    ruler = parser.inline.ruler
    for name, rule in zip(ruler.get_active_rules(), ruler.getRules(""), strict=True):
        ruler.at(name, partial(_apply, name, rule, matches))
    return parser, matches


def _apply(
    name: str,
    rule: Callable[[StateInline, bool], bool],
    matches: list[RuleMatch],
    state: StateInline,
    silent: bool,  # noqa: FBT001 - as the parser calls rules
) -> bool:
    """Apply a rule of the parser, and record its match."""
    start, before = state.pos, len(state.tokens)
    label_end = -1
    if name == "link" and not silent and state.src[start] == "[":
        label_end = state.md.helpers.parseLinkLabel(state, start, True)
    applies = rule(state, silent)
    if applies and not silent and state.env.get(TOP) is state.tokens:
        tokens = [(token, len(token.content)) for token in state.tokens[before:]]
        matches.append(RuleMatch(name, start, state.pos, tokens, label_end))
    return applies


def count_markup(
    checker: MarkdownIt, links: dict[str, Any], text: str
) -> Counter[tuple[tuple[str, str], ...]]:
    """Count markup by its kind and its parents, in any order."""
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
