"""Numbers, placeholders and other literals that a test set's translations keep."""

from collections.abc import Sequence

from nmt_core.base.config import Config
from nmt_core.literals.checking import check_literals
from nmt_core.literals.finding import find_literals


class KeptLiterals(Config):
    """Lines with numbers, placeholders and other literals that their references keep."""

    lines: int
    """How many there are."""
    kept: int
    """Those whose hypotheses keep all of them, too, in the form of the target language."""


def count_kept_literals(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    languages: tuple[str, str],
) -> KeptLiterals:
    """Count lines whose literals came through, of those whose references keep them."""
    kept = find_kept_literals(sources, hypotheses, references, languages)
    return KeptLiterals(lines=len(kept), kept=sum(kept))


def find_kept_literals(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    languages: tuple[str, str],
) -> list[bool]:
    """Tell whether literals came through, of each line whose reference keeps them."""
    return [
        not check_literals(source, hypothesis, languages)
        for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True)
        if find_literals(source, languages[0]) and not check_literals(source, reference, languages)
    ]
