"""English inflection: plurals, the indefinite article and verbs."""

import re

from stages.demo.german import Agreement

IRREGULAR_PLURALS = {"fisherman": "fishermen", "child": "children", "crisis": "crises"}

IRREGULAR_VERBS = {
    "admit": ("admitted", "admitted", "admitting"),
    "be": ("was", "been", "being"),
    "begin": ("began", "begun", "beginning"),
    "cancel": ("cancelled", "cancelled", "cancelling"),
    "combat": ("combated", "combated", "combating"),
    "come": ("came", "come", "coming"),
    "cost": ("cost", "cost", "costing"),
    "draw": ("drew", "drawn", "drawing"),
    "fall": ("fell", "fallen", "falling"),
    "give": ("gave", "given", "giving"),
    "have": ("had", "had", "having"),
    "hear": ("heard", "heard", "hearing"),
    "know": ("knew", "known", "knowing"),
    "overcome": ("overcame", "overcome", "overcoming"),
    "read": ("read", "read", "reading"),
    "regret": ("regretted", "regretted", "regretting"),
    "rise": ("rose", "risen", "rising"),
    "say": ("said", "said", "saying"),
    "speak": ("spoke", "spoken", "speaking"),
    "spend": ("spent", "spent", "spending"),
    "submit": ("submitted", "submitted", "submitting"),
    "take": ("took", "taken", "taking"),
    "think": ("thought", "thought", "thinking"),
    "understand": ("understood", "understood", "understanding"),
    "withdraw": ("withdrew", "withdrawn", "withdrawing"),
}
"""Past, participle and gerund of verbs, also where only a consonant is doubled or not."""

BE = {Agreement.FIRST: "am", Agreement.THIRD: "is", Agreement.PLURAL: "are"}

_SIBILANT = re.compile(r"(s|x|z|ch|sh)$")
_CONSONANT_Y = re.compile(r"(?<=[^aeiou])y$")
_MUTE_E = re.compile(r"(?<!e)e$")
_VOWEL_SOUND = re.compile(r"(?!eu|uni|one)[aeiou]", re.IGNORECASE)


def plural(noun: str) -> str:
    """Return the plural of a noun; of a group of words, the last one changes."""
    before, space, last = noun.rpartition(" ")
    return before + space + IRREGULAR_PLURALS.get(last, _with_s(last))


def with_article(phrase: str) -> str:
    """Put a or an before a phrase, by its first sound."""
    return f"an {phrase}" if _VOWEL_SOUND.match(phrase) else f"a {phrase}"


def possessive(phrase: str) -> str:
    """Return the possessive: the Commission's, the Member States'."""
    return phrase + ("'" if phrase.endswith("s") else "'s")


class EnglishVerb:
    """A verb, perhaps with a particle that follows every form, such as draw up."""

    def __init__(self, entry: str) -> None:
        self.base = entry
        self._verb, self._space, self._particle = entry.partition(" ")

    def present(self, agreement: Agreement) -> str:
        """Return the simple present."""
        if self.base == "be":
            return BE[agreement]
        if agreement is not Agreement.THIRD:
            return self.base
        return self._with("has" if self._verb == "have" else _with_s(self._verb))

    def past(self, agreement: Agreement) -> str:
        """Return the simple past."""
        if self.base == "be" and agreement is Agreement.PLURAL:
            return "were"
        return self._principal(0)

    @property
    def participle(self) -> str:
        """The past participle."""
        return self._principal(1)

    @property
    def gerund(self) -> str:
        """The form in -ing."""
        return self._principal(2)

    def _principal(self, which: int) -> str:
        regular = (_with_ed(self._verb), _with_ed(self._verb), _MUTE_E.sub("", self._verb) + "ing")
        return self._with(IRREGULAR_VERBS.get(self._verb, regular)[which])

    def _with(self, form: str) -> str:
        return form + self._space + self._particle


def _with_s(word: str) -> str:
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) else "s")


def _with_ed(verb: str) -> str:
    if _CONSONANT_Y.search(verb):
        return verb[:-1] + "ied"
    return verb.removesuffix("e") + "ed"
