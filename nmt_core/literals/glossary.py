"""Glossaries: terms of a person's own, and how they are to be translated.

A line of a glossary is a term, its translation, and further forms that count as well, with tabs or
`` = `` between them. A term alone stays as it is, one of several words if a tab follows.
"""

import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    BYTE_ORDER_MARK,
    decode_utf8,
    explain_damage,
    require_regular_file,
)
from nmt_core.literals.finding import LiteralFinder, find_literals
from nmt_core.literals.terms import KeptTerms, TranslatedTerms

LONGEST_TERM = 200
"""Characters of a term."""

SEPARATOR = re.compile(r"\t|[^\S\t]=[^\S\t]")
"""Between a term and its translations; ``C=3`` is a term."""

OWN_PATTERN = re.compile("/.+/")
"""A regular expression in the glossary of an earlier export."""

MOST_ENTRIES = 200_000
"""Entries of a glossary."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Glossary:
    """Terms of one pair of languages.

    Attributes:
        translations: the translations of each term; none where it stays as it is.
        languages: codes of the source and the target.
    """

    translations: dict[str, tuple[str, ...]]
    languages: tuple[str, str]

    @classmethod
    def load(
        cls, path: Path | str, languages: Languages | tuple[str, str], *, sealed: bool = False
    ) -> "Glossary":
        """Read a glossary from a file in UTF-8; see :meth:`parse`.

        Raises:
            ConfigError: if it cannot be read, or a line of it is wrong, naming the line.
        """
        path = Path(path)
        codes = languages.codes if isinstance(languages, Languages) else languages
        try:
            with explain_damage(path):
                text = decode_utf8(require_regular_file(path).read_bytes(), path)
        except CorpusError as error:
            raise ConfigError(f"the glossary cannot be read: {error}") from None
        lines = text.removeprefix(BYTE_ORDER_MARK).splitlines()
        return cls.parse(lines, codes, name=str(path), sealed=sealed)

    @classmethod
    def parse(
        cls,
        lines: Iterable[str],
        languages: tuple[str, str],
        *,
        name: str = "the glossary",
        sealed: bool = False,
    ) -> "Glossary":
        """Read the lines of a glossary; empty ones and those after ``#`` and a space say nothing.

        Args:
            lines: a term each.
            languages: codes of the source and the target.
            name: what messages call it.
            sealed: accept several words without a tab, and leave regular expressions out, as
                earlier exports have them.

        Raises:
            ConfigError: if one is wrong, naming it.
        """
        translations: dict[str, tuple[str, ...]] = {}
        numbers: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("# "):
                continue
            place = f"{name}, line {number}"
            if sealed and OWN_PATTERN.fullmatch(line.strip()):
                _log.warning(
                    "%s is left out: a glossary has no regular expressions any more", place
                )
                continue
            cells = SEPARATOR.split(line)
            if len(cells) == 1 < len(line.split()) and not sealed:
                raise ConfigError(
                    f"{place}: {line.strip()[:60]!r} has no translation; separate it from the term "
                    f"by a tab or ' = ', or end the line with a tab if all of it stays as it is"
                )
            term, *forms = (unicodedata.normalize("NFC", cell.strip()) for cell in cells)
            while forms and not forms[-1]:
                forms.pop()
            check_entry(term, forms, languages[0], place=place)
            if translations.setdefault(term, tuple(forms)) != tuple(forms):
                raise ConfigError(
                    f"{place}: {term!r} stands in line {numbers[term]} with another translation; "
                    f"leave one of them out, or give both in one line as forms of it"
                )
            numbers.setdefault(term, number)
            if len(translations) > MOST_ENTRIES:
                raise ConfigError(f"{place}: a glossary has at most {MOST_ENTRIES:,} terms")
        return cls(translations, languages)

    def save(self, path: Path) -> None:
        """Write the glossary as :meth:`load` reads it."""
        lines = ("\t".join([term, *(forms or [""])]) for term, forms in self.translations.items())
        files.write_text(path, "".join(f"{line}\n" for line in lines))

    @cached_property
    def finders(self) -> Sequence[LiteralFinder]:
        """Find its terms in lines of both languages."""
        kept = (term for term, forms in self.translations.items() if not forms)
        translated = {term: forms for term, forms in self.translations.items() if forms}
        return KeptTerms(kept), TranslatedTerms(translated, self.languages)


def join_glossaries(glossaries: Sequence[Glossary]) -> Glossary:
    """Return glossaries of one pair as one; of equal terms, those of the first count."""
    translations = {
        term: forms for one in reversed(glossaries) for term, forms in one.translations.items()
    }
    return Glossary(translations, glossaries[0].languages)


def check_entry(term: str, forms: Sequence[str], language: str, *, place: str) -> None:
    """Make sure that an entry of a glossary says something.

    Raises:
        ConfigError: if it does not.
    """
    for cell in (term, *forms):
        if not cell:
            raise ConfigError(f"{place}: a term or a translation is empty; write both, or the term")
        if len(cell) > LONGEST_TERM:
            raise ConfigError(
                f"{place}: {cell[:40]!r}... has {len(cell):,} characters, and a term at most "
                f"{LONGEST_TERM}"
            )
        if any(unicodedata.category(sign) in {"Cc", "Co", "Cs"} for sign in cell):
            raise ConfigError(f"{place}: {cell!r} has a control character; take it out")
    literals = find_literals(term, language)
    if not forms and [literal.text for literal in literals] == [term]:
        raise ConfigError(f"{place}: {term!r} stays as it is without a glossary; leave it out")
