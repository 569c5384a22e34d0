import re
from xml.etree import ElementTree as ET

import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Reason
from nmt_core.documents.xliff import read_xliff_file
from tests.support.echoes import DOUBTFUL, Answer, Echo, garble, keep, shout, show_passages

CODES = ("en", "de")
HEAD = '<?xml version="1.0"?>\n<!-- x -->'
OLD = (
    f'{HEAD}<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    '<file source-language="en" original="a"%s><body>%s</body></file></xliff>\n'
)
NEW = (
    f'{HEAD}<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="en"%s>'
    '<x:file id="f">%s</x:file></x:xliff>\n'
)
UNITS = {
    OLD: '<trans-unit id="u"%s>%s\n <source>%s</source>%s<note>n</note></trans-unit>',
    NEW: '<x:unit id="u"><x:segment%s>%s\n <x:source>%s</x:source>%s</x:segment></x:unit>',
}
INLINE = {
    OLD: ' Hello there &amp; %s{n}<x id="1"/><g id="2">a</g><!-- c -->&lt;i&gt;so&lt;/i&gt;'
    '<bpt id="3">&lt;b></bpt>to<ept id="3">/b</ept><ph id="4">code</ph>\n  '
    '<mrk mtype="protected">Name</mrk><g id="5">of <g id="6">you</g> now</g>'
    '<bx id="7" rid="7"/>so<ex id="8" rid="7"/><bpt id="9">x</bpt>',
    NEW: ' Hello there &amp; %s{n}<x:ph id="1"/><x:pc id="2">a</x:pc><x:cp hex="001A"/>\n  '
    '<x:sc id="3"/>to<x:ec startRef="3"/><x:mrk id="5" translate="no">Name</x:mrk>'
    '<x:pc id="6">of <x:pc id="7">you</x:pc> now</x:pc>',
}
LANGUAGE = {OLD: ' target-language="de"', NEW: ' trgLang="de"'}
DONE = '<target state="translated">*</target>'
NEW_DONE = "<x:target>*</x:target>"
STATES = {
    OLD: [
        ("", "", "", f"\n {DONE}"),
        ("", "<target/>", "", DONE),
        ("", '<target id="t" state="new">old</target>', "", DONE.replace(" ", ' id="t" ', 1)),
        *((kept, "<target>old</target>") * 2 for kept in ("", ' approved="yes"')),
        (' translate="no"', "") * 2,
        (' approved="yes"', "<target/>") * 2,
        ("", '<target state="signed-off"></target>') * 2,
        ("", '<target state="final">old</target>') * 2,
    ],
    NEW: [
        ("", "", ' state="translated"', f"\n {NEW_DONE}"),
        ("", "<x:target />", ' state="translated"', NEW_DONE),
        (' state="initial"', "<x:target>old</x:target>", ' state="translated"', NEW_DONE),
        (' state="initial" subState="a:b"', "<x:target/>", ' state="translated"', NEW_DONE),
        *(
            (kept, "<x:target>old</x:target>") * 2
            for kept in ("", ' state="final"', ' id="s" state="reviewed"')
        ),
        (' state="final"', "<x:target/>") * 2,
    ],
}
"""Attributes and target of a unit before and after it is translated to its source (`*`)."""

REVIEW = {
    OLD: [' state="needs-review-translation"'],
    NEW: [' state="initial"', ' subState="nmt:needs-review"'],
}
both = pytest.mark.parametrize("file", [OLD, NEW], ids=["1.2", "2.1"])


def compose(file, end="\n"):
    """Return a file of units in all states, before and after translation to itself."""
    source = "Hi" + INLINE[file]
    texts = []
    for language, side in (("", 0), (LANGUAGE[file], 2)):
        pairs = [(row[side], row[side + 1].replace("*", source)) for row in STATES[file]]
        units = [UNITS[file] % (given, "<!-- n -->", source, target) for given, target in pairs]
        texts.append((file % (language, "".join(units))).replace("\n", end).encode())
    return texts


@both
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_but_targets_stays(file, end):
    before, after = compose(file, end)

    written = keep(read_xliff_file(before, CODES))
    assert written.replace(b"\r", b"") == after.replace(b"\r", b"")  # XML reads them alike
    assert keep(read_xliff_file(after, CODES)) == after


def list_codes(element):
    """Return what the target must keep of the source: tags, protected text, placeholders."""
    tags = [str((each.tag, *sorted(each.attrib.items()))) for each in element.iter()][1:]
    text = "".join(element.itertext())
    return sorted(tags), sorted(re.findall(r"%s|\{n\}|Name|code", text))


@both
@pytest.mark.parametrize("seed", range(15))
def test_tags_stay_and_lost_placeholders_need_review(file, seed):
    before, _ = compose(file)
    with_comments = ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))
    root = ET.fromstring(garble(read_xliff_file(before, CODES), seed), with_comments)

    for unit in root.iterfind(".//{*}target/.."):
        target = unit.find("{*}target")
        if target.text != "old" and (target.text or len(target)):
            tags, fields = list_codes(target)
            source_tags, source_fields = list_codes(unit.find("{*}source"))
            assert tags == source_tags
            state = target.get("state") or unit.get("state")
            assert fields == source_fields or state in {"needs-review-translation", "initial"}


@both
@pytest.mark.parametrize("answer", DOUBTFUL)
def test_states_say_what_needs_review(file, answer):
    data = file % ("", UNITS[file] % ("", "", "a", "") + UNITS[file] % ("", "", "b", ""))
    echo = Echo(lambda line: answer if line == "a" else Answer("y", confidence=0.4))

    written = echo.translate(read_xliff_file(data.encode(), CODES)).decode()

    assert re.findall(' (?:state|subState)="[^"]*"', written) == [
        *REVIEW[file],
        ' state="translated"',
    ]
    assert keep(read_xliff_file(written.encode(), CODES)).decode() == written


def compose_old(source):
    return (OLD % ("", f"<trans-unit><source>{source}</source></trans-unit>")).encode()


@pytest.mark.parametrize(
    ("source", "passages", "shouted"),
    [
        (
            'a <x id="START_TAG_B_1"/>b <x id="START_LINK"/>c<x id="CLOSE_LINK"/>'
            '<x id="CLOSE_TAG_B"/> d<x id="LINE_BREAK"/> e <x id="START_X"/>',
            ["a <b <c>> d* e "],
            None,
        ),
        ('<![CDATA[a <b>]]><x id="1"/> c <g id="2">d<![CDATA[ ]]]]><![CDATA[> &lt; e]]></g>',
         ["a ", "*c <d ]]> < e>"],
         '<![CDATA[A <b>]]><x id="1"/><![CDATA[ C ]]><g id="2"><![CDATA[D ]]&gt; &lt; E]]></g>'),
        ('<![CDATA[<p>a ]]]]><![CDATA[> b]</p>]]><ph id="1">&lt;</ph>c', ["a ]]> b]", "*c"],
         '<![CDATA[<p>A ]]]]><![CDATA[> B]]]><![CDATA[</p>]]><ph id="1">&lt;</ph><![CDATA[C]]>'),
        ('<ph id="1"><![CDATA[<]]></ph>c', ["*c"], '<ph id="1"><![CDATA[<]]></ph>C'),
    ],
)  # fmt: skip
def test_inline_elements(source, passages, shouted):
    assert show_passages(read_xliff_file(compose_old(source), CODES)) == passages
    if shouted:
        written = shout(read_xliff_file(compose_old(source), CODES)).decode()
        assert f'<target state="translated">{shouted}</target>' in written


@pytest.mark.parametrize(
    ("source", "passages", "count"),
    [
        ('<source>a <g id="1" xml:lang="fr">b <g id="2">c</g></g></source>', ["a*"], 1),
        ('<source>a <mrk mtype="x" xml:lang="EN_us">b</mrk></source>', ["a <b>"], 0),
        ('<source>a <g id="1" xml:lang="fr">1</g></source>', ["a*"], 0),
        ("<source>a {n, plural, other {b}}</source>", [], 1),
        ('<source>{n, plural, other {b}<x id="1"/>}</source>', [], 1),
        ('<source xml:lang="fr">a</source>', [], 1),
        ('<source xml:lang="en-GB">a</source>', ["a"], 0),
        ('<source xml:lang="und">a</source>', ["a"], 0),
        ('<source xml:lang="fr">a</source><target state="final">b</target>', [], 0),
        ('<source>a</source><target state="new"><g xml:lang="de">b</g></target>', ["a"], 0),
    ],
)
def test_other_languages_and_choices_stay_and_are_counted(source, passages, count):
    data = (OLD % ("", f"<trans-unit>{source}</trans-unit>")).encode()

    document = read_xliff_file(data, CODES)

    assert show_passages(document) == passages
    reason = Reason.CHOICE if "plural" in source else Reason.LANGUAGE
    assert document.untranslated == ({reason: count} if count else {})


@pytest.mark.parametrize(
    ("limits", "is_long"),
    [
        ('maxwidth="4" size-unit="char"', False),
        ('maxwidth="3"', True),
        ('maxwidth="4" size-unit="byte"', True),
        ('maxbytes="4"', True),
        ('maxbytes="4" maxwidth="9"', True),
        ('maxwidth="9" mq:maxlengthchars="3"', True),
        ('maxbytes="5"', False),
        ('mq:maxlengthchars="3"', True),
        ('mq:maxlengthchars="0"', False),
        ('slr:sizeRestriction="1,3"', True),
        ('slr:sizeRestriction="1,10"', False),
        ('slr:storageRestriction="4"', True),
    ],
)
@pytest.mark.parametrize("around", [False, True])
@both
def test_too_long_target_needs_review(file, limits, is_long, around):
    source = "ab<!-- comment -->c\xe9"
    unit = UNITS[file] % ("" if around else f" {limits}", "", source, "")
    text = f"<group {limits if around else ''}>{unit}</group>{UNITS[file] % ('', '', source, '')}"

    written = shout(read_xliff_file((file % ("", text)).encode(), CODES)).decode()

    assert written.count("needs-review") == is_long


CUT = '<mrk mtype="seg" mid="1">{}</mrk> <mrk mtype="seg" mid="2">{}</mrk>'
BOLD = 'Two <g id="1">b</g>.'
UNCUT = f"<source>A. Two b.</source><seg-source>{CUT.format('A.', BOLD)}</seg-source>"


@pytest.mark.parametrize(
    ("target", "passages"),
    [
        ("", ["A.", "Two <b>."]),
        (f"<target>{CUT.format('', '')}</target>", ["A.", "Two <b>."]),
        (f"<target>{CUT.format('', '<x/>')}</target>", []),
        (f"<target>{CUT.format('', 'b')}</target>", []),
    ],
)
def test_segments_are_translated_separately(target, passages):
    data = (OLD % ("", f"<trans-unit>{UNCUT}{target}</trans-unit>")).encode()

    assert show_passages(read_xliff_file(data, CODES)) == passages
    if passages:
        segments = CUT.format("A.", BOLD.upper().replace('<G ID="1">', '<g id="1">'))
        done = segments.replace("</G>", "</g>")
        assert f"{done}</target>" in shout(read_xliff_file(data, CODES)).decode()


def test_translate_no_is_inherited():
    unit = UNITS[OLD] % ("", "", "a", "")
    wanted = UNITS[OLD] % (' translate="yes"', "", "b", "")
    data = OLD % ("", f'<group translate="no">{unit}{wanted}</group>{unit}')

    assert show_passages(read_xliff_file(data.encode(), CODES)) == ["b", "a"]


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16"])
def test_encoding_stays(encoding):
    text = OLD.replace('"1.0"', f'"1.0" encoding="{encoding}"')
    data = (text % ("", UNITS[OLD] % ("", "", "é", ""))).encode(encoding)

    written = Echo(lambda _: "É \N{SNOWMAN}<").translate(read_xliff_file(data, CODES))

    target = '\n <target state="translated">É ☃&lt;</target>'
    assert written.decode(encoding).replace("&#9731;", "☃") == text % (
        LANGUAGE[OLD],
        UNITS[OLD] % ("", "", "é", target),
    )


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><xliff version="1.2">&b;</xliff>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1 of this document is not well-formed XML"),
        (b"<a>", "not well-formed XML"),
        (b"<a/>", "not XLIFF 1 or 2"),
        (b'<xliff version="3.0"/>', "not XLIFF 1 or 2"),
        (BOMB.encode(), "DOCTYPE"),
        (b'<?xml version="1.0" encoding="rot13"?><xliff version="1.2"/>',
         "'rot13' is not an encoding"),
        (b"<xliff>\xff</xliff>", "is not UTF-8"),
        ((OLD % (' target-language="fr"', "")).encode(), "translates into 'fr', and not 'de'"),
        ((OLD % ("", "")).replace('"en"', '"it"').encode(), "is in 'it', and not 'en'"),
        ((NEW % (' trgLang="fr"', "")).encode(), "translates into 'fr', and not 'de'"),
        ((OLD % ("", UNITS[OLD] % ("", "", "a" * 10**6, ""))).encode(), "unit of .* 100,000"),
        (b"<a>" * 10_000, "too deeply"),
    ],
)  # fmt: skip
def test_wrong_file_is_refused(data, message):
    with pytest.raises(DocumentError, match=message):
        read_xliff_file(data, CODES)


@both
def test_escaped_tags_go_around_their_words(file):
    text = 'a &lt;b>b&lt;/b> &lt;a href="x"&gt;c&lt;/a&gt;&lt;br/&gt;1 &lt; d'
    unit = UNITS[file] % ("", "", text, "")

    assert show_passages(read_xliff_file((file % ("", unit)).encode(), CODES)) == [
        "a <b> <c>",
        "1 < d",
    ]


@both
@pytest.mark.parametrize(
    ("text", "passages", "shouted"),
    [
        ("<p>A b.</p><p>C.</p>", ["A b.", "C."], "<p>A B.</p><p>C.</p>"),
        ('a <a href="%s?x&amp;y">b</a> &lt; c', ["a <b> < c"],
         'A <a href="%s?x&amp;y">B</a> &lt; C'),
        ("<style>p {a: b}</style><p>c</p>", ["*", "c"], "<style>p {a: b}</style><p>C</p>"),
        ("a & b", ["a & b"], "A & B"),
    ],
)  # fmt: skip
def test_cdata_is_read_as_escaped_markup(file, text, passages, shouted):
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    for source in (f"<![CDATA[{text}]]>", escaped):
        data = (file % ("", UNITS[file] % ("", "", source, ""))).encode()
        assert show_passages(read_xliff_file(data, CODES)) == passages
        written = shout(read_xliff_file(data, CODES))
        assert ET.fromstring(written).find(".//{*}target").text == shouted
        assert written.count(b"<![CDATA[") == data.count(b"<![CDATA[") * 2
