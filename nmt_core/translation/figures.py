"""Lines of figures and signs, which need no model: only the form of the target language."""

from collections.abc import Sequence

from nmt_core.base.languages import Languages
from nmt_core.literals.amount import list_with_amounts
from nmt_core.literals.checking import check_found
from nmt_core.literals.finding import KINDS, find_literals
from nmt_core.literals.kind import LiteralKind
from nmt_core.literals.masking import replace_literals
from nmt_core.text.normalize import normalize
from nmt_core.translation.translation import Translation


def translate_figures(line: str, languages: Languages) -> Translation | None:
    """Return the translation of a line of figures and signs, such as *12,50 €* in a table.

    Args:
        line: a line of the source.
        languages: of both sides.

    Returns:
        The line with its numbers, units and times in the form of the target, as far as they stand
        there then; None if it has letters, which a model has to read, or is empty.
    """
    if any(map(str.isalpha, line)) or not (text := normalize(line)):
        return None
    literals = find_literals(text, languages.source)
    amounts = list_with_amounts(KINDS, {one.text for one in literals})
    for kinds in (amounts, KINDS, ()):
        written = _write(text, languages, kinds)
        breaches = check_found(literals, written, languages.codes)
        if not breaches:
            break
    return Translation(written, 0.0, (), (), (), breaches=tuple(breaches), confidence=1.0)


def _write(line: str, languages: Languages, kinds: Sequence[LiteralKind]) -> str:
    """Return a line with literals of some kinds in the form of the target."""
    found = find_literals(line, languages.source, kinds)
    return replace_literals(
        line, ((one, one.kind.write(one.text, *languages.codes)) for one in found)
    )
