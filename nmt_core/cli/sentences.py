"""Lines of several sentences: each sentence is translated by itself, and a line comes of them.

Models are trained on sentences; of a line of several they lose some.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_core.cli.translate_options import Search
from nmt_core.documents.passage import flatten
from nmt_core.documents.plan import Segmenter
from nmt_core.text.sentences import space_sentences
from nmt_core.text.span import Span
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

BREAKING = re.compile(r"(?<!\s)\s*[\t-\r\x1c-\x1f\x85\u2028\u2029]\s*")
"""White space that ends a line, or a field of a record."""


@dataclass(frozen=True)
class LineCutter:
    """Cuts lines as documents are cut, but leaves one sentence as it is if the model reads it."""

    whole: Segmenter
    """Its sentences are as long as the model reads."""
    parts: Segmenter
    """Its sentences are as long as those of documents."""

    @classmethod
    def of(cls, translator: Translator) -> "LineCutter":
        """Return one for the lines of a translator."""
        language = translator.languages.codes[0] if translator.languages else ""
        side = translator.source
        room = translator.config.max_source_tokens - (side.tag is not None)
        most = min(room, Segmenter.most_tokens)
        return cls(Segmenter(language, side.tokens, room), Segmenter(language, side.tokens, most))

    def cut(self, line: str) -> list[Span]:
        """Return the sentences of a line; none of a line that goes to the model as it is."""
        if len(self.whole.find_sentences(line)) > 1:
            return self.parts.find_sentences(line)
        return []


def search_sentences(search: Search, translator: Translator) -> Search:
    """Return a search that translates lines sentence by sentence.

    Args:
        search: translates sentences, and lines that are not cut.
        translator: says how lines are cut.
    """
    cutter = LineCutter.of(translator)

    def search_cut(lines: Sequence[str], prefixes: Sequence[str]) -> list[list[Translation]]:
        assert not any(prefixes), "a prefix belongs to a whole line"
        cuts = [cutter.cut(line) for line in lines]
        asked = [
            sentence
            for line, spans in zip(lines, cuts, strict=True)
            for sentence in [flatten(line[start:end]) for start, end in spans] or [line]
        ]
        found = iter(search(asked, [""] * len(asked)))
        return [
            [join_sentences(line, spans, [next(found)[0] for _ in spans])] if spans else next(found)
            for line, spans in zip(lines, cuts, strict=True)
        ]

    return search_cut


def join_sentences(line: str, spans: Sequence[Span], found: Sequence[Translation]) -> Translation:
    """Return the translation of a line from those of its sentences.

    What stands between them stays, such as white space and numbers. Its confidence is the lowest,
    or None if one has none. It has no tokens, as what a memory holds.

    Args:
        line: as it was given.
        spans: of its sentences.
        found: the translation of each.
    """
    text, at = "", 0
    for span, one in zip(spans, found, strict=True):
        between = space_sentences(line, Span(at, span.start), text)
        text += between + one.text if one.text else between.rstrip()
        at = span.end
    known = [one.confidence for one in found if one.confidence is not None]
    return Translation(
        BREAKING.sub(" ", text + line[at:]).strip(),
        0.0,
        (),
        (),
        (),
        breaches=tuple(breach for one in found for breach in one.breaches),
        restored_words=tuple(dict.fromkeys(word for one in found for word in one.restored_words)),
        unknown_words=tuple(dict.fromkeys(word for one in found for word in one.unknown_words)),
        confidence=min(known) if len(known) == len(found) else None,
        origin="memory" if all(one.origin == "memory" for one in found) else "model",
    )
