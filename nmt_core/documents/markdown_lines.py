"""Lines and commands that other programs add to Markdown, hidden from the parser.

A line that is syntax is blank for the parser, and the text of a box below it (MkDocs) is indented
no more than the box. Lines stay as many as they are.
"""

import json
import re
from collections.abc import Iterator, Sequence

from nmt_core.documents.segments import Written
from nmt_core.text.words import Span

FRONT_MATTER = re.compile(
    r"(?:---[ \t]*\r?\n[\w-]+:.*?\n(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n.*?\n\+\+\+)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
"""Settings of a page before its text, in YAML or TOML; no part of Markdown, but common."""

SETTING = re.compile(
    r"^(?:title|subtitle|description|summary)[ \t]*[:=][ \t]*"
    r"(?P<value>(?:\"[^\"\\\r\n]+\"|'[^'\r\n]+')(?=[ \t]*\r?$)|[^\W\d_][^\r\n:#\"']*(?=\r?$))",
    re.MULTILINE,
)
"""A setting that people read, on one line."""

PLAIN_VALUE = re.compile(r"[^\W\d_][\w ,.()/-]*")
"""A text that YAML reads without quotes."""

TEMPLATE = re.compile(
    r"(?s:\{%-? *(highlight|comment)\b(?:(?!\{%-? *\1\b).)*?\{%-? *end\1 *-?%\})"
    r"|\{%(?:(?!\{%)[^\n])*?%\}|\{\{[<%](?:(?!\{\{)[^\n])*?[>%]\}\}"
    r"|(?<=\]\()\{\{[^{}\n]*\}\}|\{\{(?=[^{}\n]*[\\`*\[\]<~|&])[^{}\n]*\}\}"
    r"|!?\[\[[^\[\]\n]{1,500}\]\](?![(\[:])|(?s:(?<![\w%])%%(?!%).*?%%)"
)
"""A command of a program that makes pages (Jekyll, Hugo), with a sign that Markdown would read or
where no space may be, and code or a comment between two; a link or a comment of a wiki. Other
commands are placeholders, which a model reads."""

HIDDEN = "\ue000"
"""The parser reads this for each character of a command."""

SYNTAX = re.compile(
    r"\s*(?:(?P<box>!{3}|\?{3}\+?|={3}[!+]?)|(?P<sign>[:/+@^;<$%])(?P=sign){2,}|-+8<-+)(?:\s|$)"
    r"|\s*(?:[@{]?:?\[*_?toc_?\]*\}?|\{![^{}]*!\})\s*$",
    re.IGNORECASE,
)
"""A line that begins with a word of signs which are none of Markdown, or is a command alone."""

MODULE = re.compile(
    r"import\s[^'\"]*['\"]|import\s*\{|export\s+(?:default|const|let|var|function|async|class|[*{])"
)
"""The beginning of a block of JavaScript (MDX), up to the next blank line."""

FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
LIST = re.compile(r"(?:[-+*]|\d{1,9}[.)])\s")
INDENT = 4


def hide_commands(text: str) -> str:
    """Return a text with all characters of commands hidden."""
    return TEMPLATE.sub(lambda found: re.sub(r"[^\r\n]", HIDDEN, found[0]), text)


def hide_syntax(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the lines of a text, which stand at some places, as the parser is to see them."""
    shown: list[str] = []
    boxes: list[int] = []  # the indents of texts in open boxes
    fence, in_list, in_module = "", False, False
    for span in spans:
        line = text[slice(*span)]
        content = line.lstrip()
        indent = len(line.removesuffix(content).expandtabs(INDENT))
        while boxes and content and indent < boxes[-1]:
            boxes.pop()
        if boxes and content:
            line = " " * (indent - boxes[-1]) + content
        mark = FENCE.match(line)
        if fence or mark:
            is_end = fence and mark and mark["fence"].startswith(fence) and not line.strip("`~ ")
            fence = "" if is_end else fence or (mark["fence"] if mark else "")
            shown.append(line)
            continue
        is_first = not shown or not shown[-1].strip()
        in_module = bool(line.strip()) and (in_module or bool(is_first and MODULE.match(line)))
        if line[:1].strip():
            in_list = bool(LIST.match(line))
        is_code = line.startswith(" " * INDENT) and not in_list
        syntax = None if is_code else SYNTAX.match(line)
        if syntax and syntax["box"]:
            boxes.append(indent + INDENT)
        shown.append("" if syntax or in_module else line)
    return shown


def find_settings(matter: str) -> Iterator[Span]:
    """Yield where texts stand in the settings before a document, with their quotes."""
    for setting in SETTING.finditer(matter):
        yield Span(*setting.span("value"))


def read_setting(raw: str) -> str:
    """Return the text of a setting."""
    return raw[1:-1].replace("''", "'") if raw[0] in "\"'" else raw


def escape_setting(raw: str, written: Sequence[Written]) -> list[str]:
    """Write the text of a setting as YAML and TOML read it: in quotes where it needs them."""
    is_plain = raw[0] not in "\"'"
    return [
        part.text
        if is_plain and PLAIN_VALUE.fullmatch(part.text)
        else json.dumps(part.text, ensure_ascii=False)
        for part in written
    ]
