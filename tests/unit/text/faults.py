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
        "subwords: merges left out for good",
        "nmt_core/text/segmentations.py",
        "        others = [each for each in merges if",
        "        others = [each for each in merges[number:] if",
    ),
    (
        "subwords: as many segmentations as there are, of equal chance",
        "nmt_core/text/segmentations.py",
        "totals[start] + self._alpha * score for",
        "totals[start] for",
    ),
]
