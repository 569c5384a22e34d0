"""German agreement of the demo language, against an oracle that does not read the grammar."""

import re
from functools import cache
from itertools import product
from random import Random

import pytest

from stages.demo.corpus import load_grammar
from stages.demo.grammar import DeadEndError
from tests.support.demo import narrow
from tests.support.projects import PROJECT

GENDERS: dict[str, str] = {}
"""``m``, ``n`` or ``f`` of nouns; of compounds, the last part decides."""
WEAK: list[str] = []
"""Masculine nouns with an ending in all cases but the nominative."""
for line in (PROJECT / "tests/support/german_genders.txt").read_text().splitlines():
    kind, *listed = line.split()
    WEAK += listed if kind == "weak" else []
    GENDERS |= dict.fromkeys(listed, kind.replace("weak", "m"))
ENDINGS = {
    r"(ung|heit|keit|schaft|ion|tät|enz|ik|ie|ur|ei|\w{3}in)$": "f",
    "(chen|ment|um|isch|utsch)$": "n",
    "(ling|ismus)$": "m",
    "e$": "f",
}
"""Genders of other nouns."""

CASES = {"nom": 0, "acc": 1, "dat": 2, "gen": 3}
STRONG = {"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"}
"""Endings of ``dieser``, by case; of an adjective after it, and after ``ein``."""
AFTER_DER = {"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"}
AFTER_EIN = {"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"}
STEMS = "dies|welch|all|ein|kein|mein|dein|sein|ihr|unser|eur|euer"
DER = {"der": "er", "die": "e", "das": "es", "den": "en", "dem": "em", "des": "es"}
PHRASE = re.compile(
    r"(?<!, )\b(der|die|das|den|dem|des|(?:dies|welch|all)e[rsnm]?|euer"
    r"|(?:k?ein|[mds]ein|ihr|unser|eur)(?:e[rsnm]?)?)((?: [a-zäöüß-]+e[nrsm]?)?) ([A-ZÄÖÜ][\w-]+)"
)
"""Determiner, at most one adjective, noun."""
PRONOUNS = {"alles", "das", "ihr", "sein"}
"""Determiners that may also be something else."""
NOUNS = [noun for symbol in ("word", "n") for noun in load_grammar().symbols[symbol] if noun.word]
VERBS = ("inseparable", "separable", "tverb", "tseparable")
PREFIXES = "ge|be|ver|er|ent|emp|zer|miss|über|unter|wider"
IRREGULAR = {"haben", "werden", "wissen", "mögen"}


def name(word):
    return next(iter(word.features["lemma"])).split()[0]


FORMS: dict[str, set[tuple[str, bool]]] = {}
"""The nouns that have a form, and whether it is a plural."""
for noun in NOUNS:
    for key, form in noun.sides[0][""].words.items():
        FORMS.setdefault(form, set()).add((name(noun), "p" in key))


@cache
def find_gender(noun):
    parts = [noun, *(noun[start:].capitalize() for start in range(1, len(noun) - 2))]
    found = [GENDERS[part] for part in parts if part in GENDERS]
    return next(iter(found + [ENDINGS[ending] for ending in ENDINGS if re.search(ending, noun)]))


def read_phrase(determiner, adjective, noun):
    """Return the cases in which the three agree."""
    like_der = determiner in DER or bool(re.match("dies|welch|all", determiner))
    after, cases = AFTER_DER if like_der else AFTER_EIN, set()
    for (lemma, plural), (case, column) in product(FORMS[noun], CASES.items()):
        gender = "p" if plural else find_gender(lemma)
        bare = not like_der and (gender, case) in {("m", "nom"), ("n", "nom"), ("n", "acc")}
        ending = "" if bare else STRONG[gender].split()[column]
        agrees = DER.get(determiner) == ending or re.fullmatch(f"({STEMS}){ending}", determiner)
        expected = re.sub("e[nrsm]?$", "", adjective) + after[gender].split()[column]
        cases |= {case} if agrees and adjective in {"", expected} else set()
    return cases


DEBATES = ("definite", "indefinite")
EVERYDAY = ("definite_", "indefinite_one", "none_", "relative_")
BARE = {"game", "instrument", "lesson", "subject"}
"""Sorts of nouns that never have a determiner."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("symbol", "phrases", "case"),
    [*product(["word"], [DEBATES], CASES), *product(["n"], [EVERYDAY], ["nom", "acc", "dat"])],
)
def test_each_noun_agrees_with_its_determiner(symbol, phrases, case):
    """Each noun in several phrases, some with an adjective; its dative plural ends in n, s or i."""
    asked = {"case": frozenset([case]), "own": frozenset(["mine"]), "person": frozenset(["he"])}
    grammar = narrow(lambda *_: True)
    for noun in load_grammar().symbols[symbol]:
        number, compound = noun.features["number"], noun.features.get("compound")
        singular = number != {"many"} and compound != {"bound"}
        singular &= not noun.features.get("sort", frozenset()) & BARE
        grammar.symbols[symbol], checked = [noun], not singular
        for _, known in grammar._fitting.values():
            known.clear()
        for phrase, seed in product(phrases * singular, range(8)):
            try:
                node = grammar.draw(Random(seed), phrase, **asked)
            except DeadEndError:  # nobody says this of such a noun
                continue
            text = " ".join(grammar.say(node)[0].split())
            found = PHRASE.match(text[0].lower() + text[1:])
            if found and (name(noun), False) in FORMS.get(found[3], ()):
                assert case in read_phrase(found[1], found[2], found[3]), text
                weak = name(noun) in WEAK and case != "nom"
                assert case == "gen" or weak == (found[3] != name(noun)), text
                checked = True
        plural = noun.sides[0][""].words.get(("dat", "p"), "n")
        assert (checked, plural[-1] in "nsi") == (True, True), name(noun)


def test_each_phrase_of_a_sample_agrees():
    """In whole sentences some case must fit."""
    grammar, count = load_grammar(), 0
    for number in range(1500):
        text = grammar.say(grammar.draw(Random(number)))[0]
        for found in PHRASE.finditer(text):
            if found[1] not in PRONOUNS and found[3] in FORMS and "bissch" not in found[2]:
                assert read_phrase(found[1], found[2], found[3]), (found[0], text)
                count += 1
    assert count > 400


@pytest.mark.parametrize("symbol", VERBS)
def test_each_verb_has_the_endings_of_its_persons(symbol):
    for verb in load_grammar().symbols[symbol]:
        finite = {key[0]: form for key, form in verb.sides[0]["finite"].words.items()}
        base, participle = (verb.sides[0][section].words[()] for section in ("base", "participle"))
        if base in IRREGULAR:
            continue
        assert base == finite["we"]
        assert re.fullmatch(".+e .+t .+n", f"{finite['i']} {finite['he']} {base}")
        if "du" in finite:
            stem = re.sub("(?<=[sßzx])t$|e?st$", "", finite["du"])
            assert finite["du"] != stem
            assert finite["he"] in {stem + "t", stem + "et", stem, finite["du"]}
            stem = re.sub("e?n$", "", base)
            linked = re.search("[td]$|(?:[gfkd]|ch)[nm]$", stem)
            assert finite["ihr"] == stem + ("et" if linked else "t")
        prefix = "" if base.endswith("ieren") else f"({PREFIXES})"
        assert re.fullmatch(f"{prefix}.+(t|en)", participle), participle
