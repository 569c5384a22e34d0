"""Python, command, server and documents translate a text alike, sentence by sentence."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmt_core
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.cli import options
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.literals.checking import Breach
from nmt_core.text.translation import EMPTY_TRANSLATION
from nmt_core.translation.document_files import translate_document
from nmt_core.translation.memory.store import MemoryScope, MemoryUnit, TranslationMemory
from nmt_core.translation.translation import is_passage, join_translations
from nmt_core.translation.translator import Translator
from tests.support.commands import run
from tests.support.scripted import scripted_translator
from tests.support.stand_in import ask, in_a_loop, serve_stand_in

DE_EN = Languages(source="de", target="en")
KNOWN = [("Ja. Nein.", "Both"), ("Ein Haus!", "House & home")]
LINES = [
    "Der Hund schläft. Ein Haus! Wir essen 94 Brote.",
    "",
    "- Der Kaffee ist da.",
    "Ja. Nein.",
    "Ja. Nein. Wo ist das Haus?  ",
]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a memory and a glossary, and a translator to capitals that has both."""
    plain = scripted_translator(str.upper)
    monkeypatch.setattr(Translator, "load", lambda *_, **__: plain)
    monkeypatch.setattr(options, "try_once", lambda *_, **__: None)
    memory = TranslationMemory(tmp_path / "memory.db")
    memory.put(MemoryScope(DE_EN), [MemoryUnit(*pair) for pair in KNOWN])
    (tmp_path / "terms.tsv").write_text("Kaffee\tcoffee\n")
    terms = nmt_core.Glossary.load(str(tmp_path / "terms.tsv"), DE_EN)
    return tmp_path, plain.add_memory(memory).add_glossary(terms)


@in_a_loop
async def test_every_interface_gives_the_same(own):
    folder, translator = own
    text = "".join(f"{line}\n" for line in LINES)
    (folder / "text.txt").write_text(text)
    (folder / "page.html").write_text("".join(f"<p>{line}</p>\n" for line in LINES))
    given = [
        "--model",
        folder,
        "--glossary",
        folder / "terms.tsv",
        "--memory",
        folder / "memory.db",
    ]
    piped = run("translate", *given, lines=text)
    paragraphs = run("translate-file", *given, lines=text)
    asked = {"source": "de", "target": "en", "q": text, "glossary": "Kaffee\tcoffee"}
    app = serve_stand_in(Translator.load(folder), memory=folder / "memory.db")
    answer = (await ask(app=app, json=asked)).json()
    translate_document(folder / "text.txt", translator)
    translate_document(str(folder / "page.html"), translator, folder / "out.html")

    written = translator.translate(text)
    assert written == (
        "DER HUND SCHLÄFT. House & home WIR ESSEN 94 BROTE.\n\n- DER coffee IST DA.\nBoth\n"
        "JA. NEIN. WO IST DAS HAUS?  \n"
    )
    assert piped.stdout_bytes.decode() == paragraphs.stdout_bytes.decode() == written
    assert answer["translatedText"] == (folder / "text.en.txt").read_text() == written
    assert "".join(f"{line}\n" for line in translator.translate(LINES)) == written
    page = re.findall("<p>(.*)</p>", (folder / "out.html").read_text())
    assert [line.replace("&amp;", "&").split() for line in page] == [
        line.split() for line in written.splitlines()
    ]


def test_texts_and_sentences_are_looked_up(own):
    _, translator = own
    assert translator.translate("Ja. Nein.") == "Both"
    assert translator.translate(" Ein Haus! Ein Haus!\n") == " House & home House & home\n"


@pytest.mark.parametrize(
    ("text", "asked", "translated"),
    [
        ("", [], ""),
        (" \t\n", [], " \t\n"),
        (" Ja.  Nein. ", ["Ja.", "Nein."], " JA.  NEIN. "),
        ("* * *. Ja. 😀", ["Ja."], "* * *. JA. 😀"),
        ("1. Ja\n   noch", ["Ja", "noch"], "1. JA\n   NOCH"),
        ("Dr. Müller kam am 3. Mai.", ["Dr. Müller kam am 3. Mai."], "DR. MÜLLER KAM AM 3. MAI."),
    ],
)
def test_sentences_are_translated_alone(text, asked, translated):
    own = scripted_translator(str.upper)
    assert own.translate(text) == translated
    assert [line for lines in own.engine.asked for line in lines] == asked


@given(st.text("aB.1)-*>| \t\n\f\r\u2028(]", max_size=9))
def test_a_text_without_document_reading_is_one_passage(text):
    document = read_plain_text(text)
    if is_passage(text):
        assert [passage.items for passage in document.passages] == [(text,)]
        assert document.write([("X",)]) == "X"


def test_text_beyond_the_models_limit_is_split():
    own = scripted_translator(str.upper)
    config = own.config.model_copy(update={"max_source_tokens": 9})
    assert replace(own, config=config).translate("a" * 99) == "A" * 99
    assert max(len(line) for lines in own.engine.asked for line in lines) <= 9


def test_doubts_about_sentences_belong_to_the_text():
    lost, more = Breach("number", "94", "94", "missing"), Breach("number", "5", "", "added")
    first = EMPTY_TRANSLATION._replace(confidence=0.8, breaches=(lost,), unknown_words=("x", "y"))
    second = EMPTY_TRANSLATION._replace(confidence=0.4, breaches=(more,), unknown_words=("y",))
    third = EMPTY_TRANSLATION._replace(restored_words=("z",))

    assert join_translations("A B", [first, second]) == EMPTY_TRANSLATION._replace(
        text="A B", confidence=0.4, breaches=(lost, more), unknown_words=("x", "y")
    )
    assert join_translations("A C", [first, third]).confidence is None
    assert join_translations("A C", [first, third]).restored_words == ("z",)
    assert join_translations("A", [first]) == first._replace(text="A")
    assert join_translations("*", []).text == "*"


@pytest.mark.parametrize("texts", [None, b"Ja", 5, {"a": "b"}, ["Ja", None], [b"Ja"]])
def test_other_things_than_texts_are_refused(texts):
    with pytest.raises(ConfigError, match="translate requires a text or a list"):
        scripted_translator().translate(texts)


def test_public_names_are_visible():
    assert {"Glossary", "Memory", "Translator", "translate_document"} < {*dir(nmt_core)}
    assert all(getattr(nmt_core, name) is not None for name in dir(nmt_core))
    assert repr(scripted_translator()) == "Translator(de-en, scripted)"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nmt_core.nothing  # noqa: B018
