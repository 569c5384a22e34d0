"""A translator with an engine whose output is a function of the source text."""

from collections import Counter
from dataclasses import dataclass, field

from nmt_core.base.languages import Languages
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Engine, Hypothesis
from nmt_core.text import Characters
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.translation.translator import Translator

LETTERS = Counter({chr(code): 1 for code in range(0x21, 0x250)} | {"▁": 1})
LANGUAGES = Languages(source="de", target="en")


@dataclass
class ScriptedEngine(Engine):
    """Writes the results of functions of the source text, best first."""

    side: Side
    scripts: tuple = (lambda text: text,)
    asked: list = field(default_factory=list)
    scores: tuple = ()
    name = "scripted"
    has_attention = False

    def search(self, requests, search, *, batch_tokens, probabilities, attention):
        self.asked.append([self.side.text(one.source[:-1]) for one in requests])
        return [
            [
                Hypothesis(tuple(self.side.ids(script(text))), score, score, ())
                for script, score in zip(self.scripts, self.scores or [0.0] * 9, strict=False)
            ][: search.n_best]
            for text in self.asked[-1]
        ]


def scripted_translator(*scripts, symbols=ALL_SYMBOLS, restorer=None, glossary=None):
    side = Side(Characters(), Vocabulary.most_frequent(LETTERS, symbols=symbols))
    engine = ScriptedEngine(side, scripts or (lambda text: text,))
    own = Translator(
        engine=engine, source=side, target=side, languages=LANGUAGES, restorer=restorer
    )
    return own.add_glossary(Glossary(glossary, LANGUAGES.codes)) if glossary else own
