"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a corpus taken for another one of other filters",
        "nmt_core/corpora/reading.py",
        '"filter": rules.filters.model_dump(mode="json"),\n',
        "",
    ),
    (
        "pairs struck in one corpus alone",
        "nmt_core/corpora/cleaning.py",
        "for corpus, rows in self.ranges():\n            if struck",
        "for corpus, rows in [*self.ranges()][:1]:\n            if struck",
    ),
    (
        "sentences compared by lower case",
        "nmt_core/corpora/filters.py",
        "normalize(line).casefold()",
        "normalize(line).lower()",
    ),
    (
        "sentences compared with their symbols",
        "nmt_core/corpora/filters.py",
        'in "PSZC"',
        'in "PZC"',
    ),
    (
        "one piece too few, so that an edit in each hides a near duplicate",
        "nmt_core/corpora/near_duplicates.py",
        "cut_pieces(len(words), self._edits[number] + 1)",
        "cut_pieces(len(words), max(1, self._edits[number]))",
    ),
    (
        "near sentences of the same length alone",
        "nmt_core/corpora/near_duplicates.py",
        "and abs(len(words) - len(self._sentences[number])) <= most",
        "and len(words) == len(self._sentences[number])",
    ),
    (
        "near duplicates of one side",
        "nmt_core/corpora/near_duplicates.py",
        "if any(pair.near)",
        "if pair.near[0]",
    ),
    (
        "what left a split still strikes",
        "nmt_core/corpora/cleaning.py",
        "held_out[name] = joined.keys.only(keep)",
        "held_out[name] = joined.keys",
    ),
    (
        "an endless line on the other side of a pivot",
        "nmt_core/corpora/pivot.py",
        "chosen = chosen[:, short[0] & short[1]]",
        "chosen = chosen[:, short[0]]",
    ),
    (
        "entities of XML that a file defines",
        "nmt_core/corpora/formats/markup.py",
        "_refuse_entities(element, path)\n",
        "pass\n",
    ),
    (
        "the first variant of a language instead of the closest",
        "nmt_core/text/language_codes.py",
        "(abs(len(found) - len(parts)), index)",
        "(0, index)",
    ),
    (
        "a row numbered without its header",
        "nmt_core/corpora/formats/units.py",
        "{number + self.before}",
        "{number}",
    ),
    (
        "files that unpack without a bound",
        "nmt_core/base/compression.py",
        "if self._left < 0:",
        "if self._left < -(1 << 40):",
    ),
]
