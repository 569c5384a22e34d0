"""Laws of protection: literals are preserved for any engine, or the translation reports them."""

from dataclasses import replace
from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_core.base.languages import Languages
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.literals.checking import check_literals
from nmt_core.literals.glossary import Glossary
from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.restoration import Restorer
from nmt_core.text.translation import Translation
from nmt_core.translation.protection import Protector, is_flaw
from nmt_core.translation.translator import Translator
from tests.support.scripted import LANGUAGES, scripted_translator

LITERALS = (
    "{name}",
    "%1$s",
    "https://example.org/a?b",
    "a.b@example.org",
    "😀",
    "A4-0317/98",
    "report.pdf",
    "@name",
    "`f(x)`",
    "+49 30 1234567",
    "2013/14",
    "1.234,5",
    "94",
    "6,5 €",
    "7 kg",
    "x $",
    "31.12.2006",
    "15.30 Uhr",
    "\ue000",
)
WORDS = ("das", "Haus", "steht,", "und", "Äpfel")


LINES = st.lists(st.sampled_from([*WORDS, *LITERALS]), min_size=1, max_size=8).map(" ".join)


class ThoroughProtector(Protector):
    """Has no fast path for plain lines."""

    def _is_plain(self, line):
        return False

    def _is_sound(self, line, translation):
        return False


PARTS = ("das", "Haus", "fur", "für", "d'été", "Ist", "da-rin", "HA", "x", "hahahahaha", "Straße")
MARKS = (" ", ", ", ". ", " - ", "! ", " 5 ", "  ", " „", "...", "& ", ":-) ")
PLAIN = st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(MARKS)), min_size=1).map(
    lambda pairs: "".join(f"{word}{mark}" for word, mark in pairs).strip()
)
LEARNT = Restorer.learn(["Das Haus ist für den Sommer, d'été."] * 12)


@given(PLAIN, PLAIN)
def test_plain_lines_are_treated_like_others(line, written):
    own = scripted_translator()
    given = own.source, own.target, LANGUAGES.codes, LEARNT, own.config.beam, lambda: None, ()
    fast, thorough = Protector(*given), ThoroughProtector(*given)
    assert fast.protect(line) == thorough.protect(line)

    translation = Translation(written, -1.0, (), (), tuple(range(len(written))))
    finished = [each.finish(each.protect(line), translation) for each in (fast, thorough)]
    assert finished[0] == finished[1]


@given(st.lists(LINES, max_size=4))
def test_copying_engine_keeps_all_literals(lines):
    for line, [best] in zip(lines, scripted_translator().search(lines), strict=True):
        assert check_literals(line, best.text.replace("<unk>", "€"), LANGUAGES.codes) == []
        assert best.breaches == () or "<unk>" in best.text


@given(LINES, st.sampled_from(["", "x", "x x 5 x x", "\ue011\ue000\ue000 y."]))
def test_lost_and_added_literals_are_reported(line, written):
    """Names are inserted, and no missing literal is omitted from the report."""
    own = scripted_translator(
        lambda text: written or "".join(c for c in text if c in " abcdehnstu") or "x"
    )
    [[best]] = own.search([line])
    reported = [one for one in best.breaches if one.problem != "placed" and not is_flaw(one)]
    assert reported == check_literals(line, best.text, LANGUAGES.codes)
    assert not {*ALL_SYMBOLS} & {*best.text} - {*line}


@given(
    st.lists(
        st.sampled_from(["12", "1.234,5", "6,5 €", "-", "(3)", "15:30", "😀", "?"]), min_size=1
    )
)
def test_line_of_digits_and_signs_skips_the_model(figures):
    own = scripted_translator(lambda _: "model")
    line = " ".join(figures)
    [[best]] = own.search([line])

    forms = {"1.234,5": "1,234.5", "6,5 €": "€6.5"}
    assert best.text == " ".join(forms.get(figure, figure) for figure in figures)
    assert (best.breaches, best.confidence, own.engine.asked) == ((), 1.0, [])
    assert own.translate([f"{line} a", line]) == [own.translate([f"{line} a"])[0], best.text]


SCRIPTED = scripted_translator()


@given(
    st.text("0123456789.,-/: %€$°½()'’", max_size=14),
    st.sampled_from([("de", "en"), ("fr", "en"), ("en", "de"), ("en", "fr")]),
)
@example("12€50", ("fr", "en"))
@example("7$%", ("fr", "en"))
def test_no_digit_beside_signs_is_lost(line, codes):
    languages = Languages(source=codes[0], target=codes[1])
    own = replace(SCRIPTED, languages=languages).protector
    found = own.write_figures(own.protect(line))
    assert (found is None) == (not line.strip())
    if found:
        assert found.breaches == ()
        assert check_literals(line, found.text, codes) == []


def test_prefix_sends_a_line_of_digits_to_search():
    assert scripted_translator(lambda _: "model").search(["12"], prefixes=["12"])


def test_next_correct_hypothesis_wins():
    own = scripted_translator(lambda text: text.replace("94", "974"), lambda text: f"so {text}")
    found = own.search(["mit 94 Stimmen", "das Haus"])

    assert [best.text for [best] in found] == ["so mit 94 Stimmen", "das Haus"]
    assert own.engine.asked == [["mit 94 Stimmen", "das Haus"]]


def test_lines_with_seen_hypotheses_are_not_searched_again():
    own = scripted_translator(lambda text: text.replace("94", "974"))
    found = own.search(["mit 94 Stimmen", "das {x} Haus 5", "DA 94"], beam_size=1)

    assert [best.text for [best] in found] == ["mit 94 Stimmen", "das {x} Haus 5", "DA 94"]
    assert own.engine.asked[1:] == [[f"mit {ALL_SYMBOLS[0]} Stimmen", f"DA {ALL_SYMBOLS[0]}"]]


def test_names_are_symbols_and_surplus_ones_are_reported():
    own = scripted_translator()
    line = " und ".join(f"{{x{number}}}" for number in range(12))
    [[best]] = own.search([line])
    assert best.text == line
    assert sum(line.count(sign) for sign in ALL_SYMBOLS for line in own.engine.asked[0]) == 10


@pytest.mark.parametrize(
    ("line", "read", "written"),
    [
        ("DAS HAUS STEHT.", "Das Haus steht.", "DAS HAUS STEHT."),
        ("DAS HAUS {name} STEHT", "das Haus \ue010 steht", "DAS HAUS {name} STEHT"),
        ("Das Haus Steht Und Steht", "das Haus steht und steht", "das Haus steht und steht"),
        ("das haus steht.", "Das Haus steht.", "Das Haus steht."),
        ("Die Apfel", "Die Apfel", "Die Apfel"),  # a single word may be an exception
        ("Die Aepfel", "Die Äpfel", "Die Äpfel"),
        ("NATO", "NATO", "NATO"),
        ("DAS Haus", "DAS Haus", "DAS Haus"),
        (
            "D'haus Und L'haus Und N-haus",
            "d'Haus und l'Haus und n-Haus",
            "d'Haus und l'Haus und n-Haus",
        ),
        ("DAS " * 9 + "5 km HAUS", "das " * 9 + "5 km Haus", "DAS " * 9 + "5 KM HAUS"),
        (
            "Haus Haus Haus und x x x x x x x",
            "Haus Haus Haus und x x x x x x x",
            "Haus Haus Haus und x x x x x x x",
        ),
    ],
)
def test_odd_case_is_normalized_and_capitals_are_restored(line, read, written):
    own = scripted_translator(
        restorer=Restorer({"haus": "Haus"}, {"apfel": "äpfel", "aepfel": "äpfel"})
    )
    [[best]] = own.search([line])
    assert (own.engine.asked[0], best.text) == ([read], written)


def test_model_without_symbols_keeps_what_it_copies():
    own = scripted_translator(symbols=())
    assert own.translate(["mit {name} und 5", "das Haus"]) == ["mit {name} und 5", "das Haus"]
    [[best]] = scripted_translator(change("5", "6"), symbols=()).search(["mit 5"])
    assert [(breach.problem, breach.text) for breach in best.breaches] == [
        ("missing", "5"),
        ("added", "6"),
    ]


def test_copied_time_with_a_letter_gets_a_colon():
    french = replace(scripted_translator(), languages=Languages(source="fr", target="en"))
    assert french.translate(["à 9h30, 17 h 45"]) == ["à 9h30, 17 h 45"]


def test_first_hypothesis_with_all_literals_comes_first():
    own = scripted_translator(
        lambda text: text.replace("5", "6"), lambda text: f"a {text}", lambda text: f"b {text}"
    )
    [found] = own.search(["mit 5"], n_best=3)
    assert [each.text for each in found] == ["a mit 5", "mit 6", "b mit 5"]
    assert [bool(each.breaches) for each in found] == [False, True, False]
    assert len(own.engine.asked) == 1


def test_unknown_languages_turn_protection_off():
    own = scripted_translator()
    own = Translator(engine=own.engine, source=own.source, target=own.target)
    [[best]] = own.search(["DAS HAUS STEHT {name} 1.234,5"])
    assert (best.text, best.breaches) == ("DAS HAUS STEHT {name} 1.234,5", ())


ALIGNER = learn_aligner([("das", "das"), ("Haus", "house"), ("5", "5"), ("94", "94")] * 9)
GLOSSARY = {"Haus": ("mansion", "manor"), "Tee": ()}
RESTORER = Restorer({"haus": "Haus"}, {})


def lose(characters):
    """Return a translator that copies, except some characters."""
    return lambda text: text.translate(str.maketrans(dict.fromkeys(characters, "")))


def change(old, new):
    return lambda text: text.replace(old, new)


NUMBERS = [str(number) for number in range(100, 115)]


@pytest.mark.parametrize(
    ("line", "scripts", "options", "text", "problems"),
    [
        ("das {x} Haus", [lose(ALL_SYMBOLS)], {}, "das {x} Haus", [("{x}", "placed")]),
        (
            "mit 94 Stimmen",
            [change("94", "974"), "b {}".format, "a {}".format],
            {},
            "a mit 94 Stimmen",
            [],
        ),
        (
            "mit 94 Stimmen",
            [lambda _: "mit 974", "a {}".format],
            {"scores": (-0.1, -0.3)},
            "mit 974",
            [("94", "missing"), ("974", "added")],
        ),
        ("mit 94 Stimmen", [lose("94")], {}, "mit 94 Stimmen", []),
        ("elf und 5", ["17 {}".format, "a {}".format, "b {}".format], {}, "b elf und 5", []),
        ("elf und 5", ["11 {}".format], {}, "11 elf und 5", []),
        (
            " und ".join(NUMBERS),
            [lambda _: "x"],
            {},
            "x",
            [(number, "missing") for number in NUMBERS],
        ),
        ("das kostet 12,50 €", [lose("€")], {}, "das kostet €12.50", []),
        ("mit 5 % Rabatt, nicht 5", [lose("%")], {}, "mit 5% Rabatt, nicht 5", []),
        ("bei 37,5 °C", [lose("°C37,")], {}, "bei 37.5 °C", []),
        ("5 %s und 6 €", [lose("€")], {}, "5 %s und €6", []),
        # terms of a glossary
        (
            "das Haus",
            [change("Haus", "Block 7")],
            {"glossary": {"Haus": ("Block 7",)}},
            "das Block 7",
            [],
        ),
        ("das Haus", [change("Haus", "manors")], {"glossary": GLOSSARY}, "das manors", []),
        (
            "das Haus steht, 5",
            [change("Haus", "house")],
            {"glossary": GLOSSARY, "aligner": ALIGNER},
            "das mansion steht, 5",
            [],
        ),
        (
            "das Haus, 94",
            [lambda text: text.replace("Haus", "house").replace("94", "974")],
            {"glossary": GLOSSARY, "aligner": ALIGNER},
            "das mansion, 94",
            [],
        ),
        ("Haus am See", [change("mansion", "x")], {"glossary": GLOSSARY}, "Mansion am See", []),
        ("Tee am See", [str], {"glossary": GLOSSARY}, "Tee am See", []),
        ("das Haus 5 {x}", [str], {"glossary": GLOSSARY}, "das mansion 5 {x}", []),
        ("Häuser, Haus", [str], {"glossary": GLOSSARY}, "Mansion, mansion", []),
        (
            "DAS HAUS STEHT",
            [str],
            {"glossary": GLOSSARY, "restorer": RESTORER},
            "DAS MANSION STEHT",
            [],
        ),
    ],
)
def test_literals_and_terms_are_preserved(line, scripts, options, text, problems):
    """This holds for any changes of the line by each hypothesis."""
    given = {name: options[name] for name in ("glossary", "restorer") if name in options}
    own = scripted_translator(*scripts, **given)
    own = replace(own, load_aligner=lambda: options.get("aligner"))
    own.engine.scores = options.get("scores", (-0.1, -0.15, -0.12))
    [[best]] = own.search([line], beam_size=len(scripts), n_best=1)

    assert best.text == text
    assert [(breach.text, breach.problem) for breach in best.breaches] == problems


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("die Maus steht", ()),
        ("die Eule steht und die Eule", ("Eule", "und")),
        ("DIE EULE STEHT UND STEHT", ("eule", "und")),
        ("die Kaffe steht", ()),
        ("eule@example.org steht", ()),
        ("die Eule steht mit 12", ("Eule", "mit")),
    ],
)
def test_unknown_words_are_reported_for_every_search(line, unknown):
    """Unknown words in terms and literals are not reported."""
    words = ["die", "steht", "maus", "haus"]
    restorer = Restorer({"maus": "Maus"}, {}, words)
    for script in (str, lambda text: text.replace("12", "7")):
        own = scripted_translator(script, restorer=restorer, glossary={"Kaffe": ("coffee",)})
        [[best]] = own.search([line])
        assert best.unknown_words == unknown
    assert replace(own, restorer=None).search([line])[0][0].unknown_words == ()


@given(LINES)
def test_source_tokens_match_the_attention(line):
    """They are those of the version of the line whose translation is returned."""

    def lose_digits(text):
        return "".join(sign for sign in text if not sign.isdigit())

    for script in (str, lose_digits):
        own = scripted_translator(script, restorer=Restorer({"haus": "Haus"}, {}))
        for one in (line, line.upper()):
            own.engine.asked.clear()
            [[best]] = own.search([one])
            asked = (text.replace("<unk>", "€") for [text] in own.engine.asked)
            read = [len(own.source.tokens(text)) for text in asked]
            assert len(best.source_tokens) in (read or [0])
            assert not {*ALL_SYMBOLS} & {*"".join(best.source_tokens)} - {*one}
        [[plain]] = replace(own, languages=None).search([line])
        assert [*plain.source_tokens] == own.source.tokens(line)


def test_source_tokens_are_those_of_the_returned_translation():
    own = scripted_translator(lambda text: text.replace("12", "7"))
    [[best]] = own.search(["mit 12 an"])
    assert own.engine.asked[0] == ["mit 12 an"]
    assert best.text == "mit 12 an"
    assert best.source_tokens == ("m", "i", "t", "▁", "12", "▁", "a", "n")


def test_last_added_glossary_has_precedence():
    own = scripted_translator(glossary=GLOSSARY)
    more = own.add_glossary(Glossary({"Haus": ("hut",)}, LANGUAGES.codes))
    assert more.translate(["das Haus Tee"]) == ["das hut Tee"]
    assert own.translate(["das Haus"]) == ["das mansion"]


CHARACTERS = {
    "&#39;": "'",
    "&#x27;": "'",
    "&quot;": '"',
    "&nbsp;": "\N{NO-BREAK SPACE}",
    "&auml;": "ä",
    "&amp;": "&",
    "&lt;": "<",
    "&unheard;": "&unheard;",
}


@given(st.lists(st.sampled_from([*WORDS, *CHARACTERS, "{x}", "5", "39"]), min_size=1, max_size=5))
def test_character_and_its_reference_are_read_alike(written):
    """In the translation, too, characters with a meaning in HTML are written as references."""
    meant = " ".join(CHARACTERS.get(word, word) for word in written)
    own, other = scripted_translator(), scripted_translator()
    [[named]], [[plain]] = own.search([" ".join(written)]), other.search([meant])
    assert own.engine.asked == other.engine.asked
    assert named.breaches == plain.breaches == ()
    has_names = any(CHARACTERS.get(word, word) != word for word in written)
    assert named.text == (escape(plain.text, quote=False) if has_names else plain.text)
    assert named._replace(text=plain.text) == plain


def test_tokenized_line_also_has_its_characters():
    own = scripted_translator()
    line = own.source.tokenize("d&#39;Haus")
    assert own.search([line]) == own.search(["d'Haus"])


def test_model_trained_on_references_reads_them_unchanged():
    for known, read in (("quot", "das &quot;Haus&quot;"), ("haus", 'das "Haus"')):
        restorer = Restorer({}, {}, [known])
        own = scripted_translator(restorer=restorer)
        own.search(["das &quot;Haus&quot;"])
        assert own.engine.asked[0] == [read]


@pytest.mark.parametrize(
    ("line", "read", "written"),
    [
        ("das „Haus“ steht", 'das "Haus" steht', 'das "Haus" steht'),
        ("„das Haus steht.“", "das Haus steht.", '"das Haus steht."'),
        ("&quot;das Haus steht.&quot;", "das Haus steht.", '"das Haus steht."'),
        ("&quot;a &lt; b&quot;", "a \ue010 b", '"a &lt; b"'),
        ("„das {x} steht 5.“", "das \ue010 steht 5.", '"das {x} steht 5."'),
        ("„das“ „Haus“", '"das" "Haus"', '"das" "Haus"'),
    ],
)
def test_unknown_quotation_marks_are_replaced_and_restored(line, read, written):
    own = scripted_translator()
    [[best]] = own.search([line])
    assert own.engine.asked[0] == [read]
    assert (best.text, best.breaches) == (written, ())


def test_translation_with_a_prefix_gets_no_quotation_marks():
    own = scripted_translator()
    [[best]] = own.search(["„das Haus“"], prefixes=["das"])
    assert own.engine.asked == [['"das Haus"']]
    assert best.text.startswith("das")
