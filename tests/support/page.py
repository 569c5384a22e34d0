"""The real server for tests of its page, with translators that know some words."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn

from nmt_core.server.run import listen
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, Translation, serve_stand_in

PAIRS = [("de", "en"), ("de", "ar"), ("en", "de"), ("ar", "en")]

WORDS = {
    "der": ("the", 0.97),
    "die": ("the", 0.95),
    "das": ("the", 0.96),
    "gerichtshof": ("Court of Justice", 0.64),
    "wird": ("will", 0.93),
    "dem": ("the", 0.88),
    "präsidenten": ("President", 0.91),
    "vertrauen": ("trust", 0.22),
    "ausschuss": ("committee", 0.86),
    "hat": ("has", 0.98),
    "gesetz": ("law", 0.81),
    "gestern": ("yesterday", 0.9),
    "verbessert": ("improved", 0.55),
    "bericht": ("report", 0.94),
    "ist": ("is", 0.99),
    "lang": ("long", 0.78),
}
"""The translation of each word, and the probabilities of its tokens."""

ARABIC = {"the": "ال", "has": "لديه", "law": "قانون"}

BIRDS = ("Eule", "Uhu", "Kauz", "Specht")
"""Words that are not in the training text."""

SLOW = "Langsam"
"""A text with this word takes one and a half seconds."""


class WordsAndSigns:
    """Splits lines into words and signs; it can be sent to another process."""

    tags = ()

    def tokens(self, line):
        found = re.findall(r"\w+|[^\w\s]", line)
        return [f"▁{one}" if one[0].isalnum() else one for one in found]


class WordByWord(StandIn):
    """The tokens of each word attend to its source word; unknown words are copied."""

    def __init__(self, source, target):
        super().__init__(languages=(source, target))
        self.source = WordsAndSigns()
        self.terms = {}

    def add_glossary(self, glossary):
        own = WordByWord(self.languages.source, self.languages.target)
        own.terms = {term.lower(): forms[0] for term, forms in glossary.translations.items()}
        return own

    def read(self, line):
        """Return each word and sign with its translation."""
        return [
            (token, self.look_up(token.removeprefix("▁"))) for token in self.source.tokens(line)
        ]

    def look_up(self, word):
        if word.lower() in self.terms:
            return self.terms[word.lower()], 0.9
        text, probability = WORDS.get(word.lower(), (word, 0.9))
        if self.languages.target == "ar" and word[0].isalnum():
            text = ARABIC.get(text, "كلمة")
        return text, probability

    def search(self, lines, **wanted):
        if any(SLOW in line for line in lines):
            time.sleep(1.5)
        return super().search(lines, **wanted)

    def translate(self, line, rank, probabilities, links):
        restored = ("Bericht",) if "BERICHT" in line else ()
        unknown = tuple(word for word in BIRDS if word in line)
        tokens, shares, origins = [], [], []
        for number, (read, (text, probability)) in enumerate(self.read(line)):
            for piece in text.split():
                tokens.append(f"▁{piece}" if read.startswith("▁") else piece)
                shares.append(probability)
                origins.append(number)
        tokens[0] = re.sub(r"\w", lambda first: first[0].upper(), tokens[0], count=1)
        if rank:
            tokens, shares, origins = [*tokens, f"▁{rank}"], [*shares, 0.5], [*origins, 0]
        return Translation(
            text="".join(tokens).replace("▁", " ").strip(),
            score=-0.3,
            confidence=None if unknown else 0.1 if "Zebra" in line else 0.9,
            unknown_words=unknown or ("Zebra",) * ("Zebra" in line),
            tokens=tuple(tokens),
            token_probabilities=(*shares, 0.99) if probabilities else (),
            ids=(),
            links=origins if links else None,
            restored_words=restored,
        )


@contextmanager
def serving(pairs=PAIRS, keys=None, **settings) -> Iterator[str]:
    """Run the server in a thread, and yield its address."""
    listening = listen(ServerConfig(port=0))
    app = serve_stand_in(*(WordByWord(*pair) for pair in pairs), **settings)
    app.state.service.keys = keys
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
