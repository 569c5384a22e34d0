"""A search for translations that keep the literals of their lines, around the search of an engine.

Lines whose best translation lost something are searched again: for other hypotheses, with symbols
for numbers, and without loops. The most probable translation that keeps all is taken, unless it is
much less probable than the first one, which is then returned with a report.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape

from nmt_core.literals.checking import Breach
from nmt_core.literals.quotes import QUOTATION
from nmt_core.text.side import Tokenized
from nmt_core.translation.figures import translate_figures
from nmt_core.translation.flaws import is_flaw
from nmt_core.translation.protection import ProtectedLine, Protector
from nmt_core.translation.text_search import TextSearch
from nmt_core.translation.translation import Translation

_log = logging.getLogger(__name__)

MARGIN = 0.1
"""Log-probability per token that a translation may be below the first one, which lost a literal."""
MARGIN_OF_FLAWED = 0.3
"""The same below one that loops or is empty."""

WITHOUT_LOOPS = tuple({"no_repeat_ngram_size": size} for size in (3, 2))
"""Settings of searches for what loops otherwise; the last lets no word stand three times in a row,
which costs others, too."""


@dataclass
class Repair:
    """The translations that are known of a line."""

    line: ProtectedLine
    raw: list[Translation]
    """The first ones, as the model wrote them."""
    found: list[Translation]
    """The same, with literals in the place of symbols."""
    others: list[Translation] = field(default_factory=list)
    """Those of later searches, and with terms put in."""

    def choose(self) -> Translation:
        """Return the most probable translation with the fewest breaches.

        One that is much less probable than the first is left out.
        """
        first = self.found[0]
        margin = MARGIN_OF_FLAWED if any(map(is_flaw, first.breaches)) else MARGIN
        others = (*self.found, *self.others)
        return min((first, *(o for o in others if o.score >= first.score - margin)), key=rank)

    @property
    def is_sound(self) -> bool:
        """True if the best translation has no problem."""
        return not self.choose().breaches

    @property
    def is_flawed(self) -> bool:
        """True if the best translation loops, is empty or too long, or copies its source."""
        return any(map(is_flaw, self.choose().breaches))


def rank(translation: Translation) -> tuple[int, int, float]:
    """Return what orders translations: their breaches, lost literals, and then probability."""
    breaches = translation.breaches
    return len(breaches), sum(map(is_loss, breaches)), -translation.score


def is_loss(breach: Breach) -> bool:
    """Tell whether a literal of the source is not in the translation as it should be."""
    return breach.problem in {"missing", "unit"} and breach.kind != QUOTATION


def search_protected(
    lines: Sequence[str | Tokenized],
    protector: Protector,
    search: TextSearch,
    n_best: int,
    most: int,
) -> list[list[Translation]]:
    """Return translations of lines, with their literals as far as can be.

    Lines without words are written, not searched for.

    Args:
        lines: what to translate.
        protector: makes lines ready, and checks translations.
        search: finds translations of texts.
        n_best: translations to return of each.
        most: translations to look at where the best one lost something; 0 where a beginning was
            asked for, and no others are wanted.
    """
    written = [write_figures(line, protector) if most else None for line in lines]
    wanted = [line for line, one in zip(lines, written, strict=True) if one is None]
    given = [protector.protect(line, unquoted=most > 0) for line in wanted]
    seen = {"n_best": max(n_best, most)}  # they cost less than to search again for some
    raw = search.run([one.text for one in given], seen) if given else []
    repairs = [
        Repair(line, several, [protector.finish(line, each) for each in several[:n_best]])
        for line, several in zip(given, raw, strict=True)
    ]
    repair_all([one for one in repairs if not one.is_sound], protector, search, most)
    found = iter([list_best(one, protector) for one in repairs])
    return [next(found) if one is None else [one] for one in written]


def write_figures(line: str | Tokenized, protector: Protector) -> Translation | None:
    """Return the translation of a line that no model has to read; None for others."""
    text, is_escaped = protector.resolve(line)
    found = translate_figures(text, protector.languages)
    if found is None or not is_escaped:
        return found
    return found._replace(text=escape(found.text, quote=False))


def repair_all(
    repairs: Sequence[Repair],
    protector: Protector,
    search: TextSearch,
    most: int,
) -> None:
    """Search again for lines whose best translation is not sound, as long as it is not."""
    for one in repairs:
        one.others += (protector.finish(one.line, each) for each in one.raw[len(one.found) :])
    if most:
        lost = [one for one in repairs if any(map(is_loss, one.choose().breaches))]
        if lost and not protector.symbols:
            warn_of_loss()
        search_again(lost, protector, search, {"n_best": most}, masked=True)
        for changes in WITHOUT_LOOPS:
            flawed = [one for one in repairs if one.is_flawed]
            search_again(flawed, protector, search, {"n_best": most, **changes})
            flawed = [one for one in flawed if one.is_flawed]
            search_again(flawed, protector, search, {"n_best": most, **changes}, masked=True)
    for one in repairs:
        if any(map(is_loss, one.choose().breaches)):
            one.others.append(protector.put_in_lost(one.line, one.raw[0]))


def search_again(
    repairs: Sequence[Repair],
    protector: Protector,
    search: TextSearch,
    changes: Mapping[str, int],
    *,
    masked: bool = False,
) -> None:
    """Add the translations of another search to those that are known of lines.

    Args:
        repairs: of the lines to search for.
        protector: masks lines, and checks translations.
        search: finds translations of texts.
        changes: of the settings of the search.
        masked: read symbols in the place of numbers and terms; lines without any are left out.
    """
    lines = [
        (one, protector.mask_all(one.line, one.choose().breaches) if masked else one.line)
        for one in repairs
    ]
    if masked:
        lines = [(one, line) for one, line in lines if line.text.line != one.line.text.line]
    made = search.run([line.text for _, line in lines], changes) if lines else []
    for (one, line), several in zip(lines, made, strict=True):
        one.others += (protector.finish(line, each) for each in several)


def list_best(repair: Repair, protector: Protector) -> list[Translation]:
    """Return as many translations of a line as were found first, the best one first."""
    best = repair.choose()
    ordered = [best, *(one for one in repair.found if one is not best)][: len(repair.found)]
    return [one._replace(text=protector.write_around(repair.line, one.text)) for one in ordered]


@cache
def warn_of_loss() -> None:
    """Say once that a model has no symbols."""
    _log.warning(
        "this model was trained without symbols for numbers, placeholders and addresses, some of "
        "which it loses; train it again to keep them"
    )
