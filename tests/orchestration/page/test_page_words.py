"""Details of each word: its confidence and its source words."""

import pytest
from playwright.sync_api import expect

from tests.support.page_reading import TEXT, TRANSLATED, marked, shown, translated, word, write

# confidence and attention


def test_confidence_of_words_is_shown_and_announced(page):
    write(page, "Der Gerichtshof wird dem Präsidenten vertrauen.")
    translated(page, "The Court of Justice will the President trust.")

    looks = [underline(word(page, one)) for one in ("President", "Court", "trust")]
    assert ["none", "dotted", "wavy"] == [form for form, _ in looks]
    assert 3 == len({colour for _, colour in looks})
    expect(word(page, "Court").locator(".unseen")).to_have_text("(medium confidence, 64%)")
    expect(word(page, "trust").locator(".unseen")).to_have_text("(low confidence, 22%)")
    expect(page.locator("#status")).to_have_text("4 words to check")
    expect(page.locator("#legend")).to_be_visible()


def underline(element):
    return element.evaluate(
        "one => { const s = getComputedStyle(one); return ["
        "s.textDecorationLine === 'none' ? 'none' : s.textDecorationStyle, s.textDecorationColor] }"
    )


@pytest.mark.parametrize(
    ("text", "translation", "said", "doubtful"),
    [
        ("Zebra\nDer Bericht", "Zebra\nThe report", "1 sentence needs review", 1),
        ("Der BERICHT ist lang", "The report is long", "case or accents restored: “Bericht”", 0),
        ("Der Bericht\nEule", "The report\nEule", "not in the training text: “Eule”", 1),
        (
            "Eule\nUhu Eule\nEule Kauz Specht",
            "Eule\nUhu Eule\nEule Kauz Specht",
            "not in the training text: “Eule”, “Uhu”, “Kauz” and 1 more",
            3,
        ),
    ],
    ids=["low confidence", "mistyped", "unknown", "many unknown"],
)
def test_doubtful_translations_are_reported(page, text, translation, said, doubtful):
    write(page, text)
    translated(page, translation)

    expect(page.locator("#status")).to_have_text(said)
    assert doubtful == page.locator("#translation .doubtful").count()


def test_pointing_at_a_word_shows_its_source(page):
    write(page, TEXT)
    translated(page, TRANSLATED)
    word(page, "improved").hover()

    expect(page.locator("#note")).to_have_text(
        "Word: medium confidence (55%); check this wordTranslated from: verbessert"
    )
    assert ["verbessert"] == marked(page, "#backdrop")
    assert ["improved"] == marked(page, "#translation")

    page.mouse.move(2, 2)
    expect(page.locator("#note")).to_be_hidden()
    assert [] == marked(page, "#backdrop")


@pytest.mark.parametrize("width", [1280, 360])
def test_pointing_at_a_source_word_shows_its_translation(open_page, width):
    page = open_page(width=width)
    write(page, TEXT)
    translated(page, TRANSLATED)
    for origin, made in (("Gerichtshof", ["Court", "of", "Justice"]), ("lang", ["long"])):
        box = page.locator("#backdrop span", has_text=origin).first.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

        assert made == marked(page, "#translation")
        assert [origin] == marked(page, "#backdrop")


def test_marks_are_behind_the_typed_words(open_page):
    """Text area and copy must break lines alike, or marks would be misplaced."""
    for width in (1280, 700, 360):
        page = open_page(width=width)
        write(page, (TEXT + "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente\n") * 5)
        expect(page.locator("#translation:not(.old) .word").first).to_be_visible()
        area, copy = page.locator("#text"), page.locator("#backdrop")

        assert area.evaluate("one => one.scrollHeight <= one.clientHeight")
        assert area.bounding_box() == copy.bounding_box()
        assert area.evaluate("one => one.value") + "\u200b" == copy.evaluate(
            "one => one.textContent"
        )


# laws of words


@pytest.fixture
def words(page):
    """Call a function of words.js."""

    def words(name, *arguments):
        return page.evaluate(
            "async ([name, given]) => (await import('/words.js'))[name](...given)",
            [name, arguments],
        )

    return words


@pytest.mark.parametrize(
    ("text", "tokens", "spans"),
    [
        ("Ein ☃ Ende", ["▁ein", "▁", "<unk>", "▁End", "e"], [[0, 3], None, None, [6, 9], [9, 10]]),
        ("سل Ä 語", ["▁س", "ل", "▁Ä▁語"], [[0, 1], [1, 2], [3, 6]]),
    ],
)
def test_missing_tokens_do_not_affect_other_tokens(words, text, tokens, spans):
    assert spans == words("locateTokens", text, tokens)


def test_word_has_its_tokens_probability_and_links(words):
    sentence = {
        "source": "Das Haus",
        "sourceWords": ["Das", "Haus"],
        "text": "The houses",
        "tokens": ["▁The", "▁house", "s"],
        "probabilities": [0.9, 0.5, 0.4, 1.0],
        "words": ["The", "houses"],
        "links": [0, 1],
    }
    described = words("describe", sentence, "de", "en")

    assert [0.9, 0.2] == [round(one["probability"], 9) for one in described["words"]]
    assert [[1, 0], [0, 1]] == described["weights"]


@pytest.mark.parametrize(
    ("text", "language", "cut"),
    [
        ("Don't, she said.", "en", ["Don't", "she", "said"]),
        ("日本語です。", "ja", ["日本語", "です"]),
        ("Um, não.", "pt_BR", ["Um", "não"]),
        ("Ei", "no such language", ["Ei"]),
    ],
)
def test_words_are_split_by_their_languages_rules(words, text, language, cut):
    assert cut == [one["text"] for one in words("cutWords", text, language)]


# keyboard


def test_everything_is_reachable_by_keyboard(page):
    write(page, TEXT)
    translated(page, TRANSLATED)
    page.focus("#from")
    reached = ["from"]
    while (name := focus_next(page)) not in reached:
        reached.append(name)

    assert ["from", "swap", "to", "text", "clear", "The", "copy"] == reached[:7]
    assert {"file", "API", "The Court of Justice will the President trust. 1"} <= {*reached}


def focus_next(page):
    page.keyboard.press("Tab")
    return page.evaluate(
        "() => { const at = document.activeElement; return at.id || at.firstChild?.textContent }"
    )


def test_arrow_keys_move_between_words(page):
    write(page, TEXT)
    translated(page, TRANSLATED)
    page.locator(".word").first.focus()
    expect(page.locator("#note")).to_contain_text("Word: high confidence (97%)")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home"):
        page.keyboard.press(key)
        seen.append(page.evaluate("() => document.activeElement.firstChild.textContent"))
    assert ["Court", "of", "Court", "Zebra", "Zebra", "The"] == seen
    assert "note" == page.locator(".word:focus").get_attribute("aria-describedby")
    assert 1 == page.locator(".word[tabindex='0']").count()

    page.keyboard.press("Escape")
    expect(page.locator("#note")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#alternatives button").first).to_be_focused()
    page.keyboard.press("Enter")
    assert shown(page).startswith("The Court of Justice will the President trust. 1")


# terms


def test_own_terms_are_used_and_stored_by_languages(page):
    page.locator("#terms summary").click()
    page.fill("#glossary", "Ausschuss = panel\nBericht=dossier")
    write(page, "Der Ausschuss hat der Bericht")
    translated(page, "The panel has the dossier")

    page.reload()
    expect(page.locator("#glossary")).to_have_value("Ausschuss = panel\nBericht=dossier")
    write(page, "Der Ausschuss")
    translated(page, "The panel")
    page.click("#swap")
    expect(page.locator("#glossary")).to_have_value("")


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ("missing", "94 is missing"),
        ("unit", "the unit of 94 is missing"),
        ("added", "94 is not in the source"),
        ("looping", "a sentence repeats itself"),
        ("empty", "a sentence is empty"),
        ("too long", "a sentence was cut off"),
        ("copied", "a sentence is not translated"),
    ],
)
def test_problems_of_a_translation_are_described(page, problem, told):
    said = page.evaluate(
        "async check => (await import('./words.js')).describeCheck(check)",
        {"text": "94", "problem": problem},
    )
    assert said == told
