from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from nmt_core.base.errors import DocumentError
from nmt_core.documents import html
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.html import read_html
from tests.support.echoes import answer, keep, shout, show_passages

SIGNS = (
    "<b> </b> <i> </i> <p> </p> <br> <code> </code> <sup> </sup> <div> </div> <ul> <li> <!--"
    " <!--c--> --> <! <? < > </ </> & &amp; &nbsp; &lt ' \" = <script> </script> <![CDATA[ ]]> "
    "<![x[ <!doctype <title> </title> <textarea> </textarea> <table> <td>"
)
BITS = [
    *SIGNS.split(),
    *('<a href="x" title="Read me">', "</a>", '<img alt="a pic">', "<img alt='it''s' alt=two>"),
    *("<p translate=no>", '<span class="x notranslate">', "</span>"),
    *("word", " ", "\n", "Two words. Three", "本"),
]
documents = st.lists(st.sampled_from(BITS), max_size=15).map("".join)
answers = st.one_of(documents, st.text(max_size=20))

KEPT = "audio canvas iframe kbd math noembed noframes object pre samp style template var video xmp"

names = st.sampled_from(["b", "i", "a", "p", "div", "code", "sup", "h1", "my-tag"])
attributes = st.dictionaries(
    st.sampled_from(["href", "title", "class", "data-x"]),
    st.text("ab \"'&<>=", max_size=6),
    max_size=2,
)


@st.composite
def elements(draw, depth=3):
    """Return valid HTML."""
    kind = draw(st.sampled_from(["text", "point", "element"] if depth else ["text"]))
    if kind == "text":
        return draw(st.sampled_from(["One two. ", "three", " ", "&amp;", "four &lt;"]))
    if kind == "point":
        return draw(st.sampled_from(["<br>", "<img src=x>", "<!-- c -->", "<hr/>"]))
    name = draw(names)
    said = "".join(
        f' {key}="{value.replace("&", "&amp;").replace(chr(34), "&quot;")}"'
        for key, value in draw(attributes).items()
    )
    return f"<{name}{said}>{''.join(draw(st.lists(elements(depth - 1), max_size=3)))}</{name}>"


fragments = st.lists(elements(), max_size=3).map("".join)


def outline(text):
    """Count tags with their attributes by their parents, as a browser would."""
    counts = Counter()
    read = {"title", "alt", "placeholder", "aria-label"}

    def walk(node, inside):
        while node is not None:
            if node.is_element_node:
                told = [(k, "" if k in read else v) for k, v in node.attributes.items()]
                here = (*inside, (node.tag, *sorted(told, key=str)))
                counts[here] += 1
                walk(node.first_child, here)
            elif node.is_comment_node:
                counts[(*inside, node.comment_content)] += 1
            node = node.next

    walk(LexborHTMLParser(text).root, ())
    return counts


@given(st.one_of(documents, st.text()))
def test_unchanged_text_stays(text):
    assert keep(read_html(text)) == text


@given(fragments, answers)
def test_tags_are_neither_lost_nor_invented(text, answered):
    for translated in (answer(read_html(text), answered), shout(read_html(text))):
        assert outline(translated) == outline(text)


@given(documents, answers)
def test_broken_html_gains_no_tags(text, answered):
    translated = answer(read_html(text), answered)

    for sign in ("<", ">"):
        assert translated.count(sign) <= text.count(sign)


@given(st.sampled_from(["b", "div", "code", "my-tag"]), fragments)
def test_untranslated_element_keeps_what_it_holds(name, text):
    marked = f"<{name} translate=no>{text}<{name}>{text}</{name}> one</{name}>"
    assert shout(read_html(f"{marked} after")) == f"{marked} AFTER"


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("<p>Hi</p>", "<p>HI</p>"),
        ("Hi <b>x</b>", "HI <b>X</b>"),
        ("Hi <b>x", "HI <b>X"),
        ("<td>x</td>", "<td>X</td>"),
        ("<b><i>x</b></i> y", "<b><i>X</b></i> Y"),
        ("a<b> bar </b>c", "A <b>BAR</b> C"),
        ("a &lt; b &amp; c", "A &lt; B &amp; C"),
        ("H<sub>2</sub>O is", "H<sub>2</sub>O IS"),
        ("nine<sup>1</sup>.", "NINE<sup>1</sup>."),
        ("E = m c<sup>two</sup>", "E = M C<sup>TWO</sup>"),
        ("Run <code>make it</code> now", "RUN <code>make it</code> NOW"),
        ("Use <code>x</code>, then go", "USE <code>x</code>, THEN GO"),
        ("One.<br>Two", "ONE.<br>TWO"),
        ("see <!-- not --> it", "SEE <!-- not --> IT"),
        ("<script>a b</script>c", "<script>a b</script>C"),
        ("<script><b></script>c", "<script><b></script>C"),
        *((f"<{name}>a b</{name}>c", f"<{name}>a b</{name}>C") for name in KEPT.split()),
        ("<textarea title=a>a</textarea>b", '<textarea title="A">a</textarea>B'),
        ('<p translate="no">a <b>c</b></p>d', '<p translate="no">a <b>c</b></p>D'),
        ("<p class='x notranslate'>a<p>b", "<p class='x notranslate'>a<p>B"),
        ("a <i class=icon>\N{BLACK STAR}</i>", "A <i class=icon>\N{BLACK STAR}</i>"),
        ("a <kbd>x</kbd> + <kbd>y</kbd> b", "A <kbd>x</kbd> + <kbd>y</kbd> B"),
        ("<title>a &amp; b</title>", "<title>A &amp; B</title>"),
        ("<!doctype html><p>a", "<!doctype html><p>A"),
        ("<![if a]> b", "<![if a]> B"),
        ("a <b c='d", "A <b c='d"),
        ("<script>a b", "<script>a b"),
        ("a</>b", "A</>B"),
        ("</>b", "</>B"),
        ("a <3 b", "A &lt;3 B"),
        ("a &am", "A &amp;AM"),
        ('it\'s "a"', 'IT\'S "A"'),
    ],
)
def test_only_text_is_translated(text, translated):
    assert shout(read_html(text)) == translated


@pytest.mark.parametrize(
    ("tag", "translated"),
    [
        ('<img alt="a &amp; b">', '<img alt="A &amp; B">'),
        ("<img alt='it' src=it>", "<img alt='IT' src=it>"),
        ("<img alt=one />", '<img alt="ONE" />'),
        ('<a data-x=\' title="no" \' TITLE = "yes">', '<a data-x=\' title="no" \' TITLE = "YES">'),
        ('<input value="v" placeholder="name">', '<input value="v" placeholder="NAME">'),
        ('<nav aria-label="main">', '<nav aria-label="MAIN">'),
        ('<code title="no">a</code>', '<code title="NO">a</code>'),
        ("<img alt= >", "<img alt= >"),
        ('<img alt="12">', '<img alt="12">'),
        ('<meta name="description" content="a page">',
         '<meta name="description" content="A PAGE">'),
        ("<meta property=og:title content=page>", '<meta property=og:title content="PAGE">'),
        ('<meta name="Author" content="me">', '<meta name="Author" content="me">'),
        ('<meta content="text/html">', '<meta content="text/html">'),
        ("<input type='submit' value='go'>", "<input type='submit' value='GO'>"),
        ('<input type="hidden" value="x">', '<input type="hidden" value="x">'),
        ('<a label="x" content="y" value="z">', '<a label="x" content="y" value="z">'),
        ('<i aria-valuetext="x">', '<i aria-valuetext="X">'),
    ],
)  # fmt: skip
def test_readable_attributes_are_translated(tag, translated):
    assert shout(read_html(tag)) == translated


@pytest.mark.parametrize(
    ("tag", "translated"),
    [
        ('<html lang="de">', '<html lang="en-GB">'),
        ("<html LANG=de-AT class='a b'>", "<html LANG=\"en-GB\" class='a b'>"),
        ("<html lang='de' xml:lang='DE_CH' >", '<html lang="en-GB" xml:lang="en-GB" >'),
        ('<p title="ab" lang="de">', '<p title="AB" lang="en-GB">'),
        ('<b lang="de">', '<b lang="en-GB">'),
        *((f'<{page} lang="fr">', f'<{page} lang="fr">') for page in ("html", "body")),
        ('<p lang="">', '<p lang="">'),
        ("<p lang>", "<p lang>"),
        ('<a hreflang="de" data-lang="de">', '<a hreflang="de" data-lang="de">'),
        ('<code lang="de">', '<code lang="de">'),
        ('<p translate="no" lang="de">', '<p translate="no" lang="de">'),
    ],
)
def test_target_replaces_source_language(tag, translated):
    assert shout(read_html(tag + "1", ("de", "en-GB"))) == translated + "1"
    known = FORMATS.load("html").read(f"\ufeff{tag}1".encode(), ("de", "en-GB"))
    assert shout(known).decode() == f"\ufeff{translated}1"
    for same in (read_html(tag + "1"), read_html(tag + "1", ("it", "en"))):
        assert shout(same).casefold() == f"{tag}1".casefold()


def test_answer_is_escaped():
    text = '<p title="a">One <b>two</b></p>'

    translated = answer(read_html(text), "<script>&\"'</p>")

    assert "<script" not in translated
    assert outline(translated) == outline(text)
    assert 'title="&lt;script&gt;&amp;&quot;&#x27;&lt;/p&gt;"' in translated


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("a <b>b</b> <i>c <u>d</u></i> e", ["a <b> <c <d>> e"]),
        ("a <img> b <i/> c <!-- c --> <code>x</code> d", ["a *b ", " c **d"]),
        ("a <br> b <hr> c <div> d", ["a ", " b ", " c ", " d"]),
        ("nine<sup>1</sup>.", ["nine*."]),
        ("nine<sup>1</sup>. <sup><a>2</a></sup> <sup>th</sup> <sup>3", ["nine*. *<th>", "3"]),
        ("<b>a <i>b</b>", ["a ", "b"]),
        ('a <i></i> b <a><img alt="d"><b></b></a> c', ["a *b *c", "d"]),
        ("a<img><img> b <i>c</i><img> d", ["a** b <c>* d"]),
        ("a <img><img> b <i>c </i><img> d", ["a **b <c >*d"]),
        ("a <svg/> b <svg><svg/>c</svg> d", ["a *b *d"]),
        ("a <b>\u2192</b> <b>?</b> <b>5</b> <b>\u20ac</b> b", ["a *<?> <5> <\u20ac> b"]),
    ],
)
def test_inline_tags_of_passages(text, passages):
    assert show_passages(read_html(text)) == passages


@pytest.mark.parametrize(
    "begin", ["<?xml version='1.0'?><html>", "\n<html xmlns='http://www.w3.org/1999/xhtml'>"]
)
@pytest.mark.parametrize("doctype", ["", "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.1//EN'>"])
def test_empty_element_of_xhtml_holds_nothing(begin, doctype):
    head = begin.replace("<html", f"{doctype}<html")
    text = f"{head}<script/><title/><p>a <a id='p9'/>b <i/>c</p>"

    assert show_passages(read_html(text)) == ["a *b *c"]
    assert show_passages(read_html("<p>a <a id='p9'/>b</p><script/>c")) == ["a ", "b"]


@pytest.mark.parametrize(
    "bit",
    [
        *("<a ", "<!--", '<a b="', "<a b='><", "<b>", "</b>", "<sup>", "<i>a ", "<code>", "&#x"),
        *("<kbd>a</kbd>+", "<i translate=no><b translate=yes>"),
    ],
)
def test_broken_html_takes_no_time(bit):
    text = bit * 3000

    assert keep(read_html(text)) == text


def test_number_of_tags_is_limited(monkeypatch):
    monkeypatch.setattr(html, "MAX_TAGS", 4)

    assert shout(read_html("<p>a</p>")) == "<p>A</p>"  # and tags that are open at the end
    with pytest.raises(DocumentError, match="more than 4 tags"):
        read_html("<p>a<br></p>")


@pytest.mark.parametrize(
    ("text", "translated", "count"),
    [
        ("a <q lang=en>b</q> c", "A <q lang=en>b</q> C", 1),
        ('<p xml:lang="fr-CA">b <i lang=de>c</i> d</p>',) * 2 + (1,),
        ("<div lang=en><p>a</p></div><p>b", "<div lang=en><p>a</p></div><p>B", 1),
        ("<b lang=en>5</b>", "<b lang=en>5</b>", 0),
        ("<b lang=und>a</b> <b lang=DE_at>b</b>", '<b lang=und>A</b> <b lang="en">B</b>', 0),
        ("<a hreflang=de>Deutsch</a> <a hreflang=de>a</a>",
         "<a hreflang=de>Deutsch</a> <a hreflang=de>A</a>", 0),
        ("<a lang=de> Deutsch</a>", "<a lang=de> Deutsch</a>", 0),
    ],
)  # fmt: skip
def test_other_language_stays_and_is_counted(text, translated, count):
    document = read_html(text, ("de", "en"))

    assert shout(document) == translated
    assert document.untranslated.total() == count
