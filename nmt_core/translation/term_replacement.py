"""Terms of a glossary in the place of the words by which a translation renders them."""

from collections.abc import Sequence

from nmt_core.alignment.aligner import Aligner
from nmt_core.alignment.words import ENDING
from nmt_core.literals.checking import Breach
from nmt_core.literals.kind import Literal
from nmt_core.literals.masking import Masked
from nmt_core.literals.terms import TranslatedTerms
from nmt_core.text.alignment import UNALIGNED, find_words, list_words
from nmt_core.text.span import Span

Term = tuple[Literal, str]
"""A term of a line, and the form to write."""


def choose_terms(literals: Sequence[Literal], languages: tuple[str, str]) -> list[Term]:
    """Return those literals that are terms with a translation."""
    return [(one, one.kind.write(one.text, *languages)) for one in literals if may_replace(one)]


def may_replace(literal: Literal) -> bool:
    """Tell whether a literal is a term with a translation."""
    return isinstance(literal.kind, TranslatedTerms)


def replace_terms(line: str, translation: str, terms: Sequence[Term], aligner: Aligner) -> str:
    """Return a translation in which terms replace the words that are linked with them.

    A term stays as the translation has it where no word is linked with it, or others stand between.

    Args:
        line: the source.
        translation: its translation.
        terms: terms of the line.
        aligner: links words of both.
    """
    [links] = aligner.trace([(list_words(line), list_words(translation))])
    words, target_words = find_words(line), find_words(translation)
    replaced: list[tuple[Span, str]] = []
    for term, form in terms:
        own = {n for n, word in enumerate(words) if word.start < term.end and term.start < word.end}
        linked = [number for number, link in enumerate(links) if link in own]
        if linked and {*links[linked[0] : linked[-1] + 1]} <= own | {UNALIGNED}:
            span = Span(target_words[linked[0]].start, target_words[linked[-1]].end)
            replaced.append((span, form))
    for span, form in sorted(replaced, reverse=True):
        old = translation[span.start : span.end]
        ending = ENDING.search(old)
        new = match_case(form, old, begins=not span.start) + (ending[0] if ending else "")
        translation = translation[: span.start] + new + translation[span.end :]
    return translation


def find_repeated_terms(
    terms: Sequence[Term], written: str, masked: Masked, text: str
) -> list[Breach]:
    """Return the terms that a translation repeats: side by side, or one symbol of it.

    Args:
        terms: those of the line.
        written: the translation with symbols, each of which stands once in its source.
        masked: what the symbols stand for.
        text: the translation with terms.
    """
    repeated = {one.text for symbol, one in masked.literals.items() if written.count(symbol) > 1}
    return [
        Breach(term.kind.name, term.text, form, "repeated")
        for term, form in dict(terms).items()
        if term.text in repeated or f"{form} {form}".casefold() in text.casefold()
    ]


def match_case(form: str, replaced: str, *, begins: bool) -> str:
    """Return a form in capitals if it replaces capitals, or with one where it begins a sentence."""
    if len(replaced) > 1 and replaced.isupper():
        return form.upper()
    return form[0].upper() + form[1:] if begins and replaced[0].isupper() else form
