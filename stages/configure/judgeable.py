"""Check that models can be judged by what ``promotion`` asks of them, before one is trained."""

from nmt_core.evaluation.slice import SlicedText
from nmt_core.evaluation.statistics.gate import find_judged_slice
from nmt_core.literals.glossary import Glossary
from stages.registry.settings import PromotionParams


def check_judgeable(promotion: PromotionParams, languages: tuple[str, str]) -> None:
    """Refuse a glossary that cannot be read, and a slice whose sentences nobody could tell.

    Raises:
        ConfigError: if the glossary cannot be read, or a line of it is wrong.
        GateError: if a slice cannot be told of a test set in these languages.
    """
    terms = Glossary.load(promotion.glossary, languages).finders if promotion.glossary else ()
    text = SlicedText([], [], languages, terms=terms)
    for name in promotion.slices:
        find_judged_slice(name, text)
