from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nmt_core.documents.markdown import read_markdown
from tests.support.echoes import Echo, answer, keep, shout, show_passages

SIGNS = "# - 1. > ` `` ** * _ ~~ [ ] ![ <b> </b> <br> &amp; & \\ | === --- word wort. é 本"
BITS = [
    *SIGNS.split(),
    *["](http://a.b)", '](u "t")', "[^1]", "[r]", "<http://a.b>", "<!-- c -->", "1", "!"],
    *["\n", "\n\n", "\n", " ", "  \n", "\r\n", "    ", "```\n", "|-|-|\n", "\n[r]: /x\n", "\0"],
    *["a b c. D e", "more words", "<div>\n", "</p>", "{{< a >}}", "{% b %}", "]({{ c }})"],
]
TRANSLATED_WITHIN = {"inline", "image", "html_block"}
documents = st.lists(st.sampled_from(BITS), max_size=20).map("".join)

PAGE = """\
---
title: read as it is
---
# One *two* three #

Some **bold text** and _it_ with `code x` and a [link text](http://a.b/c "T") here.
The second line of it has [ref], [x][ref] and <http://auto.link>. A ***both*** b.
Hard break \x20
next \\* escaped &amp; entity.[^1]

> quoted text
> goes on **and
> on** here

1. one
   - two nested
     more
2. three ~~gone~~ four

| name | value |
|------|:-----:|
| a\\|b | some *thing* |

Setext
======

```python
kept = 1
```

    kept

![alt text](img.png) and <b>html</b> here<br>there

<div translate="no">kept</div>

- [ ] to do

[ref]: http://x.y "Kept"
[^1]: a note here.
"""

KEPT = """title: read as it is|code x|http://a.b/c "T"|[ref]: http://x.y "Kept"|][ref]|
http://auto.link|python|kept = 1|    kept|img.png|<b>|</b>|<br>|
<div translate="no">kept</div>"""
TRANSLATED = PAGE.upper().replace("&AMP;", "&").replace("[REF],", "[REF][ref],")
for kept in KEPT.replace("\n", "").split("|"):
    TRANSLATED = TRANSLATED.replace(kept.upper(), kept)


def outline(text):
    """Count the Markdown elements other than text, by their parents."""
    counts, inside = Counter(), []

    def walk(tokens):
        for token in tokens:
            if token.nesting < 0:
                inside.pop()
            elif token.type not in {"text", "softbreak"}:
                content = "" if token.type in TRANSLATED_WITHIN else token.content
                inside.append((token.type, token.tag, str(token.attrs), content))
                counts[tuple(inside)] += 1
                walk(token.children if token.type == "inline" else [])
                if not token.nesting:
                    inside.pop()

    walk(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text))
    return counts


@given(st.one_of(documents, st.text()))
def test_unchanged_text_stays(text):
    assert keep(read_markdown(text)) == text


@example("~~<b>~~s~~", "</b>")  # two passages have other markup than both together
@example("`<br>a\\\n<br>]", " `")
@example("x\n\\ \n&", "/b>")  # a backslash that is no line break at the end of a line
@given(documents, documents)
def test_markup_is_neither_lost_nor_invented(text, answered):
    echo = Echo(lambda line: line[::-1])

    assert outline(answer(read_markdown(text), answered)) == outline(text)
    assert outline(echo.translate(read_markdown(text))) == outline(text)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_page_keeps_its_markup(end):
    assert shout(read_markdown(PAGE.replace("\n", end))) == TRANSLATED.replace("\n", end)


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("+++\ntitle = 'a'\nx = 'y'\n+++\nb\n", ["b"]),
        ("*[a b]: c d\n", ["c d"]),
        ("> [!NOTE]\n> a b\n", ["a b"]),
        (":::note a\nb c\n:::\n", ["b c"]),
        ("# a b {#name}\n", ["a b"]),
        ("a\n: b c\n:   d\n", ["a", "b c", "d"]),
        ("a $x_1 \\{y\\}$ b $$z$$ c $5 and $6 d\n", ["a *b *c $5 and $6 d"]),
        ("a `$` b $x `$` c\n", ["a *b $x *c"]),
        ("# a | b\n", ["a | b"]),
    ],
)
def test_extensions_are_not_text(text, passages):
    document = read_markdown(text)

    assert show_passages(document) == passages
    assert keep(document) == text


def test_block_of_html_stays_one():
    text = "<i>\na b\n</i>\n"

    assert answer(read_markdown(text), "<x>\n\n# y").endswith("\n</i>\n")


@pytest.mark.parametrize(
    ("answered", "written"),
    [
        ("a *b* `c` [d](e) <f> &amp; |", "a \\*b\\* \\`c\\` \\[d\\](e) \\<f> \\&amp; \\|"),
        ("snake_case is _not_", "snake_case is \\_not\\_"),
        ("# no title", "\\# no title"),
        ("- no item", "\\- no item"),
        ("12. no item", "12\\. no item"),
        ("12.", "12\\."),
        ("9.8%", "9.8%"),
        ("> no quotation", "\\> no quotation"),
        ("a \\ b", "a \\\\ b"),
        ("5 + 3 - 2", "5 + 3 - 2"),
    ],
)
def test_answer_is_escaped(answered, written):
    assert answer(read_markdown("Some text"), answered) == written


def test_backslash_that_escapes_nothing_is_text():
    echo = Echo(str.upper)

    assert echo.translate(read_markdown("in C:\\dir \\* x")) == "IN C:\\\\DIR \\* X"
    assert echo.calls == [(["in C:\\dir * x"], False)]


def test_emphasis_within_a_word_gets_spaces():
    echo = Echo(lambda _: "das(ist)es")

    assert outline(echo.translate(read_markdown("a **b** c"))) == outline("a **b** c")
    assert echo.translate(read_markdown("a **b** c")) != "a **b** c"


def test_reference_of_a_translated_link_stays():
    text = "see [this] and [that][] and ![it]\n\n[this]: /a\n[that]: /b\n[it]: /c\n"

    assert shout(read_markdown(text)).startswith("SEE [THIS][this] AND [THAT][that] AND ![it]")
    assert outline(shout(read_markdown(text))) == outline(text)


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("a *b* __c__ ~~d~~ e", ["a <b> <c> <d> e"]),
        ("x [a](b) <b>c</b> d", ["x <a> <c> d"]),
        ("x [a][b] c\n\n[b]: /u", ["x <a> c"]),
        ("a `b` c <img/> d <!-- c --> e <http://f> g", ["a *c *d *e *g"]),
        ("a ![b](c) d", ["a *d", "b"]),
        ("a <br> b <div> c", ["a ", " b ", " c"]),
        ("x ***a*** **b *c* d** ***e** f* g", ["x <<a>> <b <c> d> <<e> f> g"]),
        ("a *b c_d_e f", ["a *b c_d_e f"]),
        ("> one two\n> three *four*\n\nfive\n", ["one two\nthree <four>", "five"]),
    ],
)
def test_inline_tags_of_passages(text, passages):
    assert show_passages(read_markdown(text)) == passages


BOX = """!!! note
    a b

    - c

        d

=== "e f"

    g
"""


@pytest.mark.parametrize(
    ("text", "shouted"),
    [
        (BOX, '!!! note\n    A B\n\n    - C\n\n        D\n\n=== "e f"\n\n    G\n'),
        ("??? tip 'x'\n    !!! x \"a\"\n        b\nc\n",
         "??? tip 'x'\n    !!! x \"a\"\n        B\nC\n"),
        ("1. a\n\n    !!! x\n        b\n", "1. A\n\n    !!! x\n        B\n"),
        ("!!! x\n    ```\n    a\n    ```\n    b\n", "!!! x\n    ```\n    a\n    ```\n    B\n"),
        ("!!! x\n\ta\n\tb\n", "!!! x\n\tA\n\tB\n"),
        ("/// x | a b\nc\n///\n", "/// x | a b\nC\n///\n"),
        (":::x\na\n:::\nb\n", ":::x\nA\n:::\nB\n"),
        ("a\n[TOC]\nb\n", "A\n[TOC]\nB\n"),
        ('--8<-- "x.md"\na\n', '--8<-- "x.md"\nA\n'),
        ("import {a} from 'b'\nimport c from \"d\"\n\ne\n",
         "import {a} from 'b'\nimport c from \"d\"\n\nE\n"),
        ("import the 'a'\n", "IMPORT THE 'A'\n"),
        ('Export it as "b";\n', 'EXPORT IT AS "B";\n'),
        ("export default {\n\na\n", "export default {\n\nA\n"),
        ("{% b %}\na\n", "{% b %}\nA\n"),
        ("a!!! b ??? === 5 % :::\n", "A!!! B ??? === 5 % :::\n"),
        ("```\n!!! x\n    a\n```\nb\n", "```\n!!! x\n    a\n```\nB\n"),
        ("a | b\n--|--\nc | d\n", "A | B\n--|--\nC | D\n"),
        ("| | a |\n|--|--|\n| b | |\n", "| | A |\n|--|--|\n| B | |\n"),
        ("|a|\n|--|\n|see `x\\|y` now|\n", "|A|\n|--|\n|SEE `x\\|y` NOW|\n"),
        ("> see `x\n> y` now\n", "> SEE `x\n> y` NOW\n"),
        ("> see [it](x 'y\n> z') now\n", "> SEE [IT](x 'y\n> z') NOW\n"),
        ("<p align='x'>\n<b>a</b> b\n</p>\n\nc", "<p align='x'>\n<b>A</b> B\n</p>\n\nC"),
        ("- a\n\n  <div>b\n  c</div>\n", "- A\n\n  <div>B C</div>\n"),
        ("<!-- a -->\n\n<script>\na\n</script>", "<!-- a -->\n\n<script>\na\n</script>"),
        ("> <div>a</div>", "> <div>a</div>"),
        ('a {{< ref "b" >}} c', 'A {{< ref "b" >}} C'),
        ("a\\![b](c)\n", "A\\![B](c)\n"),
        ("a {% b *c* %} d", "A {% b *c* %} D"),
        ("a {{ b | c }} d", "A {{ b | c }} D"),
        ("a [[b]] c ![[d.png]] [[e|f]]\n", "A [[b]] C ![[d.png]] [[e|f]]\n"),
    ],
)  # fmt: skip
def test_markup_of_all_dialects_stays(text, shouted):
    for end in ("\n", "\r\n"):
        document = read_markdown(text.replace("\n", end))
        assert shout(document) == shouted.replace("\n", end)


@pytest.mark.parametrize("bit", ["{%", "{{", "[[", "$$a", "$a ", "import a ", "!!! ", "%}"])
def test_long_line_takes_no_time(bit):
    text = bit * 5_000

    assert keep(read_markdown(text)) == text
