"""German inflection: articles, adjective endings, nouns, pronouns and verbs, by rule and table."""

import re
from dataclasses import dataclass
from enum import StrEnum


class Gender(StrEnum):
    """The column of a declension table; the plural, which knows no gender, is a fourth one."""

    MASCULINE = "m"
    FEMININE = "f"
    NEUTER = "n"
    PLURAL = "p"


class Case(StrEnum):
    """The row of a declension table."""

    NOMINATIVE = "nominative"
    ACCUSATIVE = "accusative"
    DATIVE = "dative"
    GENITIVE = "genitive"


class Agreement(StrEnum):
    """What a verb agrees with; the polite ``Sie`` goes like every plural, in English too."""

    FIRST = "first person singular"
    THIRD = "third person singular"
    PLURAL = "plural"


Table = dict[tuple[Case, Gender], str]


def _table(rows: str) -> Table:
    """Read a table with a row for every case and a column for every gender; ``-`` is nothing."""
    cells = [cell.replace("-", "") for cell in rows.split()]
    keys = [(case, gender) for case in Case for gender in Gender]
    return dict(zip(keys, cells, strict=True))


WEAK = _table("e e e en  en e e en  en en en en  en en en en")
"""Adjective endings after an article that shows the case: der neue Plan."""

MIXED = _table("er e es en  en e es en  en en en en  en en en en")
"""Adjective endings after ein, kein and unser: ein neuer Plan."""

STRONG = _table("er e es e  en e es e  em er em en  en er en er")
"""Adjective endings without an article: neuer Streit, neue Pläne."""

DEFINITE = _table("der die das die  den die das die  dem der dem den  des der des der")
LIKE_DIESER = _table("er e es e  en e es e  em er em en  es er es er")
LIKE_EIN = _table("- e - e  en e - e  em er em en  es er es er")

PERSONAL = _table("er sie es sie  ihn sie es sie  ihm ihr ihm ihnen  - - - -")
RELATIVE = _table("der die das die  den die das die  dem der dem denen  dessen deren dessen deren")

CONTRACTIONS = {
    "an dem": "am",
    "bei dem": "beim",
    "in dem": "im",
    "von dem": "vom",
    "zu dem": "zum",
    "zu der": "zur",
}


def contracted(preposition: str, phrase: str) -> str:
    """Join a preposition to a noun phrase, as in zum Bericht; a relative pronoun never melts."""
    article, _, rest = phrase.partition(" ")
    head = CONTRACTIONS.get(f"{preposition} {article}")
    return f"{head} {rest}" if head and rest else f"{preposition} {phrase}"


@dataclass(frozen=True)
class GermanNoun:
    """A noun with the forms from which all others follow, as a dictionary gives them."""

    lemma: str
    gender: Gender
    genitive: str
    """Genitive singular."""
    plural: str
    """Nominative plural; empty if there is none."""

    def form(self, case: Case, gender: Gender) -> str:
        """Return the form for a case, plural if ``gender`` is PLURAL."""
        if gender is Gender.PLURAL:
            needs_n = case is Case.DATIVE and not self.plural.endswith(("n", "s"))
            return self.plural + "n" * needs_n
        weak = self.gender is Gender.MASCULINE and self.genitive.endswith("n")
        inflected = case is Case.GENITIVE or (weak and case is not Case.NOMINATIVE)
        return self.genitive if inflected else self.lemma

    def after(self, modifier: str) -> "GermanNoun":
        """Return the compound with ``modifier``, linking sound included: Haushalts+ausschuss."""
        lemma, genitive, plural = (
            word and modifier + word.lower() for word in (self.lemma, self.genitive, self.plural)
        )
        return GermanNoun(lemma, self.gender, genitive, plural)


def adjective(stem: str, endings: Table, case: Case, gender: Gender) -> str:
    """Return an adjective with the ending that the determiner before it leaves to it."""
    return stem + endings[case, gender]


_NEEDS_E = re.compile(r"([td]|(ch|[bdfgkpt])[mn])$")
"""Ends of stems that put an e before -t: arbeitet, öffnet, unterzeichnet."""

INSEPARABLE = ("be", "emp", "ent", "er", "ge", "unter", "über", "ver", "wider")


@dataclass(frozen=True)
class GermanVerb:
    """A verb as a dictionary writes it, with what is irregular; ``ab|lehnen`` is separable."""

    entry: str
    third: str = ""
    """Third person singular of the present without particle; empty if regular."""
    perfect: str = ""
    """Past participle without particle; empty if regular."""
    auxiliary: str = "haben"
    """What forms the perfect: haben or sein."""

    @property
    def particle(self) -> str:
        """The part that goes to the end of a main clause, often empty."""
        return self.entry.rpartition("|")[0]

    @property
    def infinitive(self) -> str:
        """The infinitive in one word."""
        return self.entry.replace("|", "")

    @property
    def zu_infinitive(self) -> str:
        """The infinitive with zu, which a particle takes inside: abzulehnen."""
        if self.particle:
            return f"{self.particle}zu{self._verb}"
        return f"zu {self._verb}"

    @property
    def participle(self) -> str:
        """The past participle: abgelehnt, geprüft, unterstützt, kritisiert."""
        if self.perfect:
            return self.particle + self.perfect
        bare = self._verb.startswith(INSEPARABLE) or self._verb.endswith("ieren")
        return self.particle + "ge" * (not bare) + self._stem + self._t

    def present(self, agreement: Agreement) -> str:
        """Return the present without the particle."""
        if self.entry in AUXILIARIES:
            return AUXILIARIES[self.entry][agreement]
        match agreement:
            case Agreement.FIRST:
                return self._first
            case Agreement.THIRD:
                return self.third or self._stem + self._t
            case Agreement.PLURAL:
                return self._verb

    @property
    def _verb(self) -> str:
        return self.entry.rpartition("|")[2]

    @property
    def _stem(self) -> str:
        return self._verb.removesuffix("n").removesuffix("e")

    @property
    def _t(self) -> str:
        return "et" if _NEEDS_E.search(self._stem) else "t"

    @property
    def _first(self) -> str:
        if self.third and not self.third.endswith("t"):  # like a past tense: ich weiß, er weiß
            return self.third
        if self._stem.endswith("el"):  # entwickeln: ich entwickle
            return self._stem[:-2] + "le"
        return self._stem + "e"


Forms = dict[Agreement, str]


def _forms(first: str, third: str, plural: str) -> Forms:
    return {Agreement.FIRST: first, Agreement.THIRD: third, Agreement.PLURAL: plural}


AUXILIARIES = {
    "haben": _forms("habe", "hat", "haben"),
    "sein": _forms("bin", "ist", "sind"),
    "werden": _forms("werde", "wird", "werden"),
}
PAST_AUXILIARIES = {
    "sein": _forms("war", "war", "waren"),
    "werden": _forms("wurde", "wurde", "wurden"),
}
MODALS = {
    "müssen": _forms("muss", "muss", "müssen"),
    "können": _forms("kann", "kann", "können"),
    "sollen": _forms("sollte", "sollte", "sollten"),
    "wollen": _forms("will", "will", "wollen"),
    "dürfen": _forms("darf", "darf", "dürfen"),
}
