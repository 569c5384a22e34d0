"""Entries of the bilingual lexicon: every German word has one English word in a construction."""

from dataclasses import dataclass, field
from enum import Flag, auto

from stages.demo.english import EnglishVerb
from stages.demo.german import Case, Gender, GermanNoun, GermanVerb
from stages.demo.wording import Wording


class Kind(Flag):
    """What a noun stands for, which decides what can be said of it."""

    BODY = auto()
    PERSON = auto()
    PEOPLE = auto()
    PROPOSAL = auto()
    REPORT = auto()
    LAW = auto()
    TREATY = auto()
    PLAN = auto()
    POLICY = auto()
    ILL = auto()
    ISSUE = auto()
    VALUE = auto()
    MEETING = auto()
    QUANTITY = auto()
    HUMAN = auto()
    SIZED = auto()


TEXT = Kind.PROPOSAL | Kind.REPORT | Kind.LAW | Kind.TREATY
SCHEME = Kind.PLAN | Kind.POLICY
PROBLEM = Kind.ILL | Kind.ISSUE


@dataclass(frozen=True)
class Noun:
    """A noun in both languages."""

    german: GermanNoun
    english: str
    kind: Kind
    bare: bool = False
    """Whether English leaves out the definite article: die Armut, poverty. A policy that is told
    from others keeps it: die gemeinsame Agrarpolitik, the common agricultural policy."""

    @property
    def countable(self) -> bool:
        """Whether there is a plural."""
        return bool(self.german.plural)


def noun(entry: str, english: str, kind: Kind, *, bare: bool = False) -> Noun:
    """Read an entry such as ``der Bericht, -s, -e``; ``=`` as a plural repeats the lemma.

    The genitive and the plural are the lemma with an ending after ``-``, or written out; a plural
    that is missing does not exist.
    """
    words, genitive, *plurals = entry.split(", ")
    article, lemma = words.split(" ")
    gender = {"der": Gender.MASCULINE, "die": Gender.FEMININE, "das": Gender.NEUTER}[article]
    forms = [
        lemma + form[1:] if form.startswith("-") else form.replace("=", lemma)
        for form in (genitive, *plurals)
    ]
    return Noun(GermanNoun(lemma, gender, *forms, *[""] * (2 - len(forms))), english, kind, bare)


def compound(modifier: Wording, head: Noun) -> Noun:
    """Compose two nouns: one German word, two English ones."""
    english = f"{modifier.english} {head.english}"
    return Noun(head.german.after(modifier.german), english, head.kind, head.bare)


@dataclass(frozen=True)
class Adjective:
    """An adjective in both languages, with the kinds of nouns that it suits."""

    german: str
    english: str
    kinds: Kind
    inflected_stem: str = ""
    """What endings are put to, if not the adjective itself: hoch, hoh-."""

    @property
    def stem(self) -> str:
        """What endings are put to."""
        return self.inflected_stem or self.german


_NO_KIND = Kind(0)


@dataclass(frozen=True)
class Verb:
    """A verb in both languages, with what its first object is and stands for."""

    entry: str
    translation: str
    objects: Kind = _NO_KIND
    third: str = ""
    perfect: str = ""
    auxiliary: str = "haben"
    preposition: str = ""
    """German preposition of the object; the English one, if any, is a part of the verb."""
    case: Case = Case.ACCUSATIVE
    progressive: bool = False
    """Whether the German present is the English progressive: prüft, is examining."""
    german: GermanVerb = field(init=False, repr=False)
    english: EnglishVerb = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        german = GermanVerb(self.entry, self.third, self.perfect, self.auxiliary)
        object.__setattr__(self, "german", german)
        object.__setattr__(self, "english", EnglishVerb(self.translation))

    @property
    def name(self) -> str:
        """What tells this verb from others: the infinitive and the preposition."""
        return f"{self.german.infinitive} {self.preposition}".strip()
