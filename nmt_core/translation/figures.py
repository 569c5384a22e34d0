"""Lines of figures, names and signs, which need no model: only the form of the target language."""

from nmt_core.base.languages import Languages
from nmt_core.literals.checking import check_literals
from nmt_core.literals.finding import find_extent, find_literals
from nmt_core.literals.masking import write_literals
from nmt_core.text.normalize import normalize
from nmt_core.translation.translation import Translation


def translate_figures(line: str, languages: Languages) -> Translation | None:
    """Return the translation of a line of literals and marks, such as *12,50 €* in a table.

    Args:
        line: a line of the source.
        languages: of both sides.

    Returns:
        The line with its numbers and times in the form of the target, if they say the same then;
        None if it has words, which a model has to read, or is empty.
    """
    text = normalize(line)
    literals = find_literals(text, languages.source)
    rest = [*text]
    for literal in literals:
        start, end = find_extent(literal)
        rest[start:end] = " " * (end - start)
    if not text or any(map(str.isalpha, rest)):
        return None
    written = write_literals(text, literals, languages.codes, 0, len(text))
    breaches = check_literals(text, written, languages.codes, found=literals)
    return Translation(text if breaches else written, 0.0, (), (), (), confidence=1.0)
