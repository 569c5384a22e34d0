"""Markdown: text is translated; headings, lists, tables, emphasis, links and code do not change.

The parser markdown-it locates markup and checks the result. If the markup of a passage would
change, it is written with spaces around emphasis, or else not translated.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from markdown_it.token import Token

from nmt_core.documents.document import Document, LanguageMarks, make_document
from nmt_core.documents.html import COMMENT, INLINE, VOID, split_html
from nmt_core.documents.markdown_markup import (
    count_markup,
    escape_markup,
    escape_text,
    find_token_end,
    loosen,
    make_parser,
    make_plain_parser,
)
from nmt_core.documents.plain_text import drop_blank_lines
from nmt_core.documents.segments import (
    BREAK,
    Part,
    Piece,
    Role,
    Written,
    escape_by,
    keep_unchanged,
    make_parts,
)
from nmt_core.text.words import Span

LINE_END = re.compile(r"\r\n?|\n")
BLOCK_SYNTAX = re.compile(
    r"^(?:(?:\[!\w+\]|:{3,}[^\n]*)[ \t]*$|:[ \t]+|\*\[[^\]\n]+\]:[ \t]+)"
    r"|(?<![ \t])[ \t]*\{:?[#.][^{}\n]*\}[ \t]*\Z",
    re.MULTILINE,
)
"""Extensions of Markdown that are not part of a sentence: the first and last line of a box, the
sign before a definition or an abbreviation, and the name at the end of a block, ``{#name}``."""

KEPT = re.compile(
    r"\$\$[^$`]+\$\$|(?<![\\$\w])\$(?!\s)[^$`\n]+(?<![\\\s])\$(?![$\w])"
    r"|\{%(?:(?!\{%)[^\n])*?%\}|\{\{[^{}\n]*\}\}|!?\[\[[^\[\]\n]{1,500}\]\](?![(\[:])"
    r"|\[\^[^\[\]\s]+\]:?|^\[[ xX]\](?=\s)"
)
"""Extensions of Markdown within sentences: a LaTeX formula (unlike *$5 and $6*), a command of
Jekyll or Hugo, a wiki link, a footnote reference, and a check box."""

FRONT_MATTER = re.compile(
    r"(?:---[ \t]*\r?\n[\w-]+:.*?\n(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n.*?\n\+\+\+)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
"""Metadata of a page before its text, in YAML or TOML, which is not translated."""

SYNTAX = re.compile(
    r"\s*(?:(?P<box>!{3}|\?{3}\+?|={3}[!+]?)|(?P<sign>[:/+@^;<$%])(?P=sign){2,}|-+8<-+)(?:\s|$)"
    r"|\s*(?:[@{]?:?\[*_?toc_?\]*\}?|\{![^{}]*!\})\s*$"
    r"|(?-i:import\s(?:[\w\s*,{}$]+\sfrom\s)?\s*['\"][^'\"]+['\"];?\s*$)"
    r"|(?-i:export\s(?:default|const|let|var|function|async|class)\s|export\s*[{*])|\s*\{%.*%\}\s*$",
    re.IGNORECASE,
)
"""A line of MkDocs, Docusaurus, MDX or Jekyll that begins with syntax that is not Markdown, or is
a command."""

INDENT = 4

PIPE = re.compile(r"(?<!\\)\|")
"""A pipe in a cell that is not escaped yet."""

SIMPLE = re.compile(r"!\[([^\[\]\\*_`<>&!\n]+)\]\(")
"""The beginning of an image with a plain-text description."""

ROLES = {"softbreak": Role.LINE_END, "hardbreak": Role.BLOCK, "text_special": Role.TEXT}
"""Roles of tokens without content."""

TAG = re.compile(r"</?(?P<name>[a-zA-Z][a-zA-Z0-9-]*)")


def read_markdown(text: str) -> Document[str]:
    """Return a Markdown document: CommonMark with tables and strikethrough."""
    return make_document(_Parser(text).parse())


class _Block(NamedTuple):
    """Text in a block, such as a paragraph or a cell."""

    content: str
    """The text without the marks around its lines, such as those of a quote."""
    place: Span
    """The span of the block in the document."""
    write: Callable[[str], str] = str
    """Adds the marks around its lines to a translation."""
    is_html: bool = False


class _Parser:
    """Finds the parts of a Markdown document."""

    def __init__(self, text: str) -> None:
        matter = FRONT_MATTER.match(text)
        start = matter.end() if matter else 0
        self.text = text
        self._plain = text.replace("\0", "\ufffd")
        ends = [match.span() for match in LINE_END.finditer(text, start)]
        starts = [start, *(end for _, end in ends)]
        self.lines = [
            Span(start, end)
            for start, end in zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
        ]
        self.parser, self.ends = make_parser()
        self.checker = make_plain_parser().disable("reference")  # references are known
        self.links: dict[str, Any] = {}

    def parse(self) -> Iterator[Part]:
        """Yield all parts of the document."""
        at = 0
        for block in self._find_blocks():
            yield self.text[at : block.place.start]
            if block.is_html:
                parts = [*split_html(block.content, LanguageMarks(None))]
            else:
                parts = [*make_parts([*self._find_pieces(block.content)], self._escape)]
            raw, at = self.text[slice(*block.place)], block.place.end
            yield keep_unchanged(parts, raw, block.content, partial(self._write, block, raw))
        yield self.text[at:]

    def _show_lines(self) -> Iterator[str]:
        """Yield the lines for the parser.

        Lines of other syntax are blank, and the text of a box has the indentation of the box.
        """
        boxes: list[int] = []  # indentation of the text in open boxes
        for span in self.lines:
            line = self._plain[slice(*span)]
            content = line.lstrip()
            indent = len(line.removesuffix(content).expandtabs(INDENT))
            while boxes and content and indent < boxes[-1]:
                boxes.pop()
            if boxes and content:
                line = " " * (indent - boxes[-1]) + content
            syntax = SYNTAX.match(line)
            if syntax and syntax["box"]:
                boxes.append(indent + INDENT)
            yield "" if syntax else line

    def _write(self, block: _Block, raw: str, content: str) -> str:
        """Return a translated block, or the source if the markup would change."""
        if block.is_html:
            is_valid = [token.type for token in self.checker.parse(content)] == ["html_block"]
        else:
            is_valid = self._has_same_markup(block.content, content)
        return block.write(content) if is_valid else raw

    def _escape(self, raw: str, written: Sequence[Written]) -> list[str] | None:
        """Return the parts of a translation with the markup of the source; None if impossible."""
        without_blanks = drop_blank_lines(written)
        for parts in (escape_text(without_blanks), escape_text(loosen(without_blanks))):
            if self._has_same_markup(raw, "".join(parts)):
                return parts
        return None

    def _has_same_markup(self, source: str, target: str) -> bool:
        """Return whether two texts have the same markup."""
        counts = [count_markup(self.checker, self.links, text) for text in (source, target)]
        return counts[0] == counts[1]

    def _find_blocks(self) -> Iterator[_Block]:
        tokens = self.parser.parse("\n".join(self._show_lines()), self.links)
        cell, row = 0, -1
        for before, token in pairwise([*tokens[:1], *tokens]):
            if token.type == "html_block" and token.map:
                lines = self.lines[slice(*token.map)]
                whole = Span(lines[0].start, lines[-1].end)
                if self._plain[slice(*whole)].split() == token.content.split():
                    yield _Block(self.text[slice(*whole)], whole, is_html=True)
                continue
            if token.type != "inline" or token.map is None or not token.content.strip():
                continue
            first = token.map[0]
            if first != row:
                cell, row = self.lines[first].start, first
            if before.type in {"th_open", "td_open"}:
                block = self._find_cell(token.content, Span(cell, self.lines[first].end))
            else:
                block = self._find_lines(token.content, first)
            if block:
                yield block
                cell = block.place.end

    def _find_cell(self, content: str, within: Span) -> _Block | None:
        """Return a table cell, in which pipes are escaped; None if it is not found."""
        raw = content.replace("|", r"\|")
        at = self._plain.find(raw, *within)
        if at < 0 or PIPE.sub(r"\\|", content) != raw:
            return None
        return _Block(content, Span(at, at + len(raw)), partial(PIPE.sub, r"\\|"))

    def _find_lines(self, content: str, first: int) -> _Block | None:
        """Return the lines of a content, which may have markup around them; None if not found."""
        spans: list[Span] = []
        for number, line in enumerate(content.split("\n"), start=first):
            text = line.strip()
            start = self._plain.rfind(text, *self.lines[number])
            if not text or start < 0:
                return None
            spans.append(Span(start, start + len(text)))
        gaps = [self.text[line.end : after.start].lstrip(" \t") for line, after in pairwise(spans)]
        whole = Span(spans[0].start, spans[-1].end)
        return _Block(content, whole, partial(_join_lines, gaps))

    def _find_pieces(self, content: str) -> Iterator[Piece]:
        """Yield the pieces of a block's text."""
        marks = [*self._find_markup(content)]
        for role, pattern in ((Role.BLOCK, BLOCK_SYNTAX), (Role.EMPTY, KEPT)):
            marks += [(*match.span(), Piece(role, match[0])) for match in pattern.finditer(content)]
        at = 0
        end = len(content)
        for start, after, piece in [*sorted(marks, key=lambda mark: mark[:2]), (end, end, None)]:
            if start < at:  # within another mark
                continue
            if at < start:
                yield Piece(Role.TEXT, content[at:start], content[at:start])
            if piece:
                yield piece
            at = after

    def _find_markup(self, content: str) -> Iterator[tuple[int, int, Piece]]:
        """Yield the start and end of inline markup, with its piece."""
        tokens: list[Token] = []
        self.parser.inline.parse(content, self.parser, self.links, tokens)
        at = 0
        links: list[tuple[int, int]] = []  # start of the label, end of the link
        for before, token in pairwise([Token("", "", 0), *tokens]):
            is_auto, was_auto = token.info == "auto", before.info == "auto"
            if (was_auto and before.nesting > 0) or (is_auto and token.nesting < 0):
                continue  # the address is part of the previous token
            start = at
            if token.type == "link_close":
                label, at = links.pop()
            else:
                at = find_token_end(token, content, at, self.ends)
            if token.type == "link_open" and not is_auto:
                links.append((at, self.ends[content, start]))
            is_escape = token.type == "text_special" and token.content != token.markup
            if token.type in {"text", "text_special"} and not is_escape:
                continue
            piece = _read_token(token, content[start:at])
            if piece.role is Role.CLOSE and piece.raw in {"]", "][]"}:  # the text is the address
                piece.rewritten = f"][{content[label:start]}]"
            yield start, at, piece


def _read_token(token: Token, raw: str) -> Piece:
    """Return the piece of a token as written."""
    usual = (Role.CLOSE, Role.EMPTY, Role.OPEN)[token.nesting + 1]
    role, name = ROLES.get(token.type, usual), token.tag
    if token.type == "html_inline":
        role, name = _read_tag(token.content)
    elif token.info == "auto":
        role = Role.EMPTY
    piece = Piece(role, raw, name=name)
    if piece.is_text:
        piece.text = BREAK if role is Role.LINE_END else token.content
    elif described := SIMPLE.match(raw):
        alt = Piece(Role.TEXT, described[1], described[1])
        piece.parts = ["![", *make_parts([alt], escape_by(escape_markup)), raw[described.end(1) :]]
    return piece


def _read_tag(tag: str) -> tuple[Role, str]:
    """Return the role and the name of an HTML tag."""
    match = TAG.match(tag)
    name = match["name"].lower() if match else COMMENT
    if name not in INLINE:
        return Role.BLOCK, name
    if name in VOID or name == COMMENT or tag.endswith("/>"):
        return Role.EMPTY, name
    return (Role.CLOSE if tag.startswith("</") else Role.OPEN), name


def _join_lines(gaps: Sequence[str], content: str) -> str:
    """Return lines with the text between them, such as the marks of a quote."""
    first, *lines = content.split("\n")
    following = (gap + line.lstrip() for gap, line in zip(gaps, lines, strict=False))
    return first + "".join(following)  # a translation may have fewer lines
