"""Markdown: text is translated; headings, lists, tables, emphasis, links and code stay.

The parser markdown-it locates markup, and parses the result again: a passage whose markup would
change is written more loosely, or else left as it was.
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
    Group,
    Part,
    Piece,
    Role,
    Translations,
    Written,
    escape_by,
    make_parts,
    write_parts,
)
from nmt_core.text.words import Span

LINE_END = re.compile(r"\r\n?|\n")
BESIDE = re.compile(
    r"^(?:(?:\[!\w+\]|:{3,}[^\n]*)[ \t]*$|:[ \t]+|\*\[[^\]\n]+\]:[ \t]+)"
    r"|(?<![ \t])[ \t]*\{:?[#.][^{}\n]*\}[ \t]*\Z",
    re.MULTILINE,
)
"""Lines that begin a box or end it, the sign before a definition or an abbreviation, and the name
of a block at its end, as ``{#name}``: they are of other programs, and no part of a sentence."""

KEPT = re.compile(
    r"\$\$[^$`]+\$\$|(?<![\\$\w])\$(?!\s)[^$`\n]+(?<![\\\s])\$(?![$\w])"
    r"|\{%(?:(?!\{%)[^\n])*?%\}|\{\{[^{}\n]*\}\}|!?\[\[[^\[\]\n]{1,500}\]\](?![(\[:])"
    r"|\[\^[^\[\]\s]+\]:?|^\[[ xX]\](?=\s)"
)
"""Signs of other programs within sentences: a formula of LaTeX (*$5 and $6* is none), a command of
Jekyll or Hugo, a link of a wiki, a reference to a footnote, and a check box."""

FRONT_MATTER = re.compile(
    r"(?:---[ \t]*\r?\n[\w-]+:.*?\n(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n.*?\n\+\+\+)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
"""Settings of a page before its text, in YAML or TOML, which stay."""

SYNTAX = re.compile(
    r"\s*(?:(?P<box>!{3}|\?{3}\+?|={3}[!+]?)|(?P<sign>[:/+@^;<$%])(?P=sign){2,}|-+8<-+)(?:\s|$)"
    r"|\s*(?:[@{]?:?\[*_?toc_?\]*\}?|\{![^{}]*!\})\s*$"
    r"|(?-i:import\s(?:[\w\s*,{}$]+\sfrom\s)?\s*['\"][^'\"]+['\"];?\s*$)"
    r"|(?-i:export\s(?:default|const|let|var|function|async|class)\s|export\s*[{*])|\s*\{%.*%\}\s*$",
    re.IGNORECASE,
)
"""A line of MkDocs, Docusaurus, MDX or Jekyll that begins with a word of signs which are none of
Markdown, or is a command alone."""

INDENT = 4

SIMPLE = re.compile(r"!\[([^\[\]\\*_`<>&!\n]+)\]\(")
"""The beginning of an image whose description is plain text."""

ROLES = {"softbreak": Role.LINE_END, "hardbreak": Role.BLOCK, "text_special": Role.TEXT}
"""Roles of tokens without content of their own."""

TAG = re.compile(r"</?(?P<name>[a-zA-Z][a-zA-Z0-9-]*)")


def read_markdown(text: str) -> Document[str]:
    """Read a Markdown document, of CommonMark with tables and strikethrough."""
    return make_document(_Parser(text).parse())


class _Block(NamedTuple):
    """Text in a block, such as a paragraph or a cell, and the offsets of its characters."""

    content: str
    places: Sequence[Span]
    is_html: bool = False

    def raw(self, text: str, start: int, end: int) -> str:
        """Return a part of the content as it is written in a text."""
        return text[self.places[start].start : self.places[end - 1].end] if start < end else ""


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
        self.checker = make_plain_parser().disable("reference")  # which are links' already
        self.links: dict[str, Any] = {}

    def parse(self) -> Iterator[Part]:
        """Yield the parts that are kept and those that are translated."""
        at = 0
        for block in self._find_blocks():
            start, end = block.places[0].start, block.places[-1].end
            yield self.text[at:start]
            raw = self.text[start:end]
            if block.is_html:
                parts, holds = list(split_html(raw, LanguageMarks(None))), self._is_html
            else:
                parts = list(make_parts(list(self._find_pieces(block)), self._escape))
                holds = partial(self._holds, block.content)
            yield Group(parts, partial(_keep_unsound, parts=parts, raw=raw, holds=holds))
            at = end
        yield self.text[at:]

    def _show_lines(self) -> Iterator[str]:
        """Yield the lines as the parser is to see them.

        A line of syntax is blank, and the text of a box is indented no more than the box.
        """
        boxes: list[int] = []  # the indents of texts in open boxes
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

    def _is_html(self, text: str) -> bool:
        """Tell whether a text is a block of HTML and nothing else."""
        return [token.type for token in self.checker.parse(text)] == ["html_block"]

    def _escape(self, raw: str, written: Sequence[Written]) -> list[str] | None:
        """Write a translation so that it has the markup of the source; None if that cannot be."""
        solid = drop_blank_lines(written)
        for parts in (escape_text(solid), escape_text(loosen(solid))):
            if self._holds(raw, "".join(parts)):
                return parts
        return None

    def _holds(self, before: str, after: str) -> bool:
        """Tell whether two texts have the same markup."""
        wanted, got = (count_markup(self.checker, self.links, text) for text in (before, after))
        return wanted == got

    def _find_blocks(self) -> Iterator[_Block]:
        tokens = self.parser.parse("\n".join(self._show_lines()), self.links)
        cell, row = 0, -1
        for before, token in pairwise([*tokens[:1], *tokens]):
            if token.type == "html_block" and token.map:
                lines = self.lines[slice(*token.map)]
                whole = Span(lines[0].start, lines[-1].end)
                plain = self._plain[slice(*whole)]
                if plain.split() == token.content.split():
                    yield _Block(token.content, [whole], is_html=True)
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
                cell = block.places[-1].end

    def _find_cell(self, content: str, within: Span) -> _Block | None:
        """Locate the content of a cell of a table, where pipes are escaped."""
        at = self._plain.find(content.replace("|", r"\|"), *within)
        if at < 0:
            return None
        places = []
        for character in content:
            width = 2 if character == "|" else 1
            places.append(Span(at, at + width))
            at += width
        return _Block(content, places)

    def _find_lines(self, content: str, first: int) -> _Block | None:
        """Return where the lines of a content stand; beside each there may be other markup."""
        places: list[Span] = []
        for number, line in enumerate(content.split("\n"), start=first):
            text = line.strip()
            start = self._plain.rfind(text, *self.lines[number])
            if not text or start < 0:
                return None
            before = len(line) - len(line.lstrip())
            if places:
                places.append(Span(places[-1].end, start))
            places += [Span(start, start)] * before
            places += [Span(at, at + 1) for at in range(start, start + len(text))]
            end = start + len(text)
            places += [Span(end, end)] * (len(line) - before - len(text))
        return _Block(content, places)

    def _find_pieces(self, block: _Block) -> Iterator[Piece]:
        """Yield the pieces of a block's text."""
        marks = [*self._find_markup(block)]
        for role, pattern in ((Role.BLOCK, BESIDE), (Role.EMPTY, KEPT)):
            spans = [match.span() for match in pattern.finditer(block.content)]
            marks += [(*span, self._piece(role, block, *span)) for span in spans]
        at = 0
        end = len(block.content)
        for start, after, piece in [*sorted(marks, key=lambda mark: mark[:2]), (end, end, None)]:
            if start < at:  # within markup that is kept as one
                continue
            if at < start:
                yield self._piece(Role.TEXT, block, at, start)
            if piece:
                yield piece
            at = after

    def _piece(self, role: Role, block: _Block, start: int, end: int, name: str = "") -> Piece:
        raw, plain = block.raw(self.text, start, end), block.content[start:end]
        if role is Role.TEXT:
            return Piece(role, raw, plain)
        return Piece(role, raw, name=name, plain=plain)

    def _find_markup(self, block: _Block) -> Iterator[tuple[int, int, Piece]]:
        """Yield inline markup with its start and end; all else is text."""
        tokens: list[Token] = []
        self.parser.inline.parse(block.content, self.parser, self.links, tokens)
        at = 0
        links: list[tuple[int, int]] = []  # where the label begins and the link ends
        for before, token in pairwise([Token("", "", 0), *tokens]):
            is_auto, was_auto = token.info == "auto", before.info == "auto"
            if (was_auto and before.nesting > 0) or (is_auto and token.nesting < 0):
                continue  # the address is a part of the markup before it
            start = at
            if token.type == "link_close":
                label, at = links.pop()
            else:
                at = find_token_end(token, block.content, at, self.ends)
            if token.type == "link_open" and not is_auto:
                links.append((at, self.ends[block.content, start]))
            is_escape = token.type == "text_special" and token.content != token.markup
            if token.type in {"text", "text_special"} and not is_escape:
                continue
            piece = self._read_token(token, block, start, at)
            if piece.role is Role.CLOSE and piece.raw in {"]", "][]"}:  # the text is the address
                piece.rewritten = f"][{block.raw(self.text, label, start)}]"
            yield start, at, piece

    def _read_token(self, token: Token, block: _Block, start: int, end: int) -> Piece:
        usual = (Role.CLOSE, Role.EMPTY, Role.OPEN)[token.nesting + 1]
        role, name = ROLES.get(token.type, usual), token.tag
        if token.type == "html_inline":
            role, name = _read_tag(token.content)
        elif token.info == "auto":
            role = Role.EMPTY
        piece = self._piece(role, block, start, end, name)
        if piece.is_text:
            piece.text = BREAK if role is Role.LINE_END else token.content
        elif described := SIMPLE.match(piece.raw):
            alt = Piece(Role.TEXT, described[1], described[1])
            rest = described.end(1)
            after = Piece(Role.BLOCK, piece.raw[rest:], plain=block.content[start + rest : end])
            piece.parts = ["![", *make_parts([alt], escape_by(escape_markup)), after]
        return piece


def _read_tag(tag: str) -> tuple[Role, str]:
    """Return the role and the name of a tag of HTML."""
    match = TAG.match(tag)
    name = match["name"].lower() if match else COMMENT
    if name not in INLINE:
        return Role.BLOCK, name
    if name in VOID or name == COMMENT or tag.endswith("/>"):
        return Role.EMPTY, name
    return (Role.CLOSE if tag.startswith("</") else Role.OPEN), name


def _keep_unsound(
    translations: Translations, parts: Sequence[Part], raw: str, holds: Callable[[str], bool]
) -> str:
    """Return a block translated if its markup is the same, or else as it was."""
    output = write_parts(parts, translations)
    return output.raw if holds(output.plain) else raw
