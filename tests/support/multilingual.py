"""Translators of several directions: scripted ones, and an exported one."""

from dataclasses import dataclass, replace

from nmt_core.base.languages import read_languages
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Hypothesis
from nmt_core.text.aligner.learning import Shortlist
from nmt_core.text.vocabulary import EOS, name_target
from nmt_core.translation.directions import DirectionConfig
from nmt_core.translation.engine_export import HeldOutText, prepare_engines
from tests.support.scripted import ScriptedEngine, scripted_translator
from tests.support.tagged import tagged_translator
from tests.support.tiny import LINES, MODEL, export

GERMAN = "Wir haben die Sitzung auf die nächste Woche verschoben."
FRENCH = "Nous avons reporté la réunion à la semaine prochaine."
ENGLISH = "We have postponed the meeting until the end of next week."
PAIRS = ("de-en", "fr-en", "en-de", "en-fr")


def list_directions(*pairs, pivot=()):
    """Return the settings of directions; those of ``pivot`` go through English."""
    return (
        *(DirectionConfig(languages=pair) for pair in pairs),
        *(DirectionConfig(languages=pair, pivot="en") for pair in pivot),
    )


@dataclass
class EngineOfTags(ScriptedEngine):
    """Writes the tags of a line in capitals, then the line: ``FR Ja.``"""

    def search(self, requests, search, **options):
        names = {number: name for name, number in self.side.vocabulary.tags.items()}
        written = []
        for request in requests:
            tags = [names[each].lstrip(">").upper() for each in request.source if each in names]
            text = " ".join([*tags, self.side.text(request.source[:-1])])
            written.append([Hypothesis((*self.side.ids(text),), -1.0, -1.0, ())] * search.n_best)
        return written


def multilingual_translator(*pairs, pivot=("de-fr",), tags=("news",)):
    """Return a translator that writes the target language before each line."""
    plain = scripted_translator()
    directions = list_directions(*(pairs or PAIRS), pivot=pivot)
    targets = dict.fromkeys(name_target(each.languages.target) for each in directions)
    vocabulary = plain.source.vocabulary.with_tags([*targets, *tags])
    side = replace(plain.source, vocabulary=vocabulary)
    return replace(
        plain, engine=EngineOfTags(side), source=side, languages=None, directions=directions
    )


def export_multilingual(folder):
    """Return an export with a glossary and a second engine, and its untrained Transformer.

    Its directions are those of ``PAIRS``, and de-fr through English.
    """
    plain = tagged_translator([*map(name_target, ("de", "en", "fr"))])
    terms = Glossary({"Haus": ("manor",)}, ("de", "en"))
    directions = list_directions(*PAIRS, pivot=("de-fr",))
    translator = replace(plain, directions=directions, glossaries=(terms,))
    words = range(EOS, min(translator.target.vocabulary.tags.values()))
    golden = ["de-en", "en-fr", "fr-en", "de-fr"]
    engines, _ = prepare_engines(
        ["int8"],
        translator=translator,
        model_config=MODEL,
        folder=folder,
        text=HeldOutText(LINES, LINES, [*map(read_languages, golden)]),
        threads=1,
        shortlist=Shortlist([*words], {}),
    )
    bundle = folder / "export"
    return export(bundle, translator=translator, engines=engines, directions=golden), translator
