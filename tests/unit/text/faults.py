"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a side that reads lines as they are spelt",
        "nmt_core/text/side.py",
        "self.tokenizer.encode(normalize(line))",
        "self.tokenizer.encode(line)",
    ),
    (
        "compatibility characters folded",
        "nmt_core/text/normalize.py",
        'unicodedata.normalize("NFC", line)',
        'unicodedata.normalize("NFKC", line)',
    ),
    (
        "sentences compared by lower case",
        "nmt_core/text/filters.py",
        "normalize(line).casefold()",
        "normalize(line).lower()",
    ),
    ("sentences compared with their symbols", "nmt_core/text/filters.py", 'in "PSZC"', 'in "PZC"'),
    (
        "one piece too few, so that an edit in each hides a near duplicate",
        "nmt_core/text/near_duplicates.py",
        "cut_pieces(len(words), self._edits[place] + 1)",
        "cut_pieces(len(words), max(1, self._edits[place]))",
    ),
    (
        "near sentences of the same length alone",
        "nmt_core/text/near_duplicates.py",
        "and abs(len(words) - len(self._sentences[place])) <= most",
        "and len(words) == len(self._sentences[place])",
    ),
    (
        "near duplicates of one side",
        "nmt_core/text/near_duplicates.py",
        "if any(pair.near)",
        "if pair.near[0]",
    ),
    (
        "what left a split still strikes",
        "nmt_core/text/cleaning.py",
        "held_out[name] = keys.only(keep)",
        "held_out[name] = keys",
    ),
    (
        "an endless line on the other side of a pivot",
        "nmt_core/text/pivot.py",
        "chosen = chosen[:, short[0] & short[1]]",
        "chosen = chosen[:, short[0]]",
    ),
    (
        "subwords: merges left out for good",
        "nmt_core/text/segmentations.py",
        "        kept = [each for each in merges if",
        "        kept = [each for each in merges[number:] if",
    ),
    (
        "subwords: as many segmentations as there are, of equal chance",
        "nmt_core/text/segmentations.py",
        "totals[start] + self._alpha * score for",
        "totals[start] for",
    ),
]
