"""Terms of a glossary in the place of the words by which a translation renders them."""

from collections.abc import Sequence

from nmt_core.literals.literal import Literal
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.aligner.words import ENDING
from nmt_core.text.alignment import UNALIGNED, find_words, list_words
from nmt_core.text.span import Span


def replace_terms(line: str, translation: str, terms: Sequence[Literal], aligner: Aligner) -> str:
    """Return a translation in which terms replace the words that are linked with them.

    A term stays as the translation has it where no word is linked with it, or others stand between.

    Args:
        line: the source.
        translation: its translation.
        terms: terms of the line, each with the form to write first.
        aligner: links words of both.
    """
    [links] = aligner.trace([(list_words(line), list_words(translation))])
    words, target_words = find_words(line), find_words(translation)
    replaced: list[tuple[Span, str]] = []
    for term in terms:
        own = {n for n, word in enumerate(words) if word.start < term.end and term.start < word.end}
        linked = [number for number, link in enumerate(links) if link in own]
        if linked and {*links[linked[0] : linked[-1] + 1]} <= own | {UNALIGNED}:
            form, first = term.forms[0], linked[0]
            before = translation[slice(*target_words[first - 1])] if first else ""
            first -= before.casefold() == form.split()[0].casefold()  # it brings its own article
            span = Span(target_words[first].start, target_words[linked[-1]].end)
            replaced.append((span, form))
    for span, form in sorted(replaced, reverse=True):
        old = translation[span.start : span.end]
        ending = ENDING.search(old)
        new = match_case(form, old, begins=not span.start) + (ending[0] if ending else "")
        translation = translation[: span.start] + new + translation[span.end :]
    return translation


def match_case(form: str, replaced: str, *, begins: bool) -> str:
    """Return a form in capitals if it replaces capitals, or with one where it begins a sentence."""
    if len(replaced) > 1 and replaced.isupper():
        return form.upper()
    return form[0].upper() + form[1:] if begins and replaced[0].isupper() else form
