"""Texts with labels, from a file of lines: label, tab, text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8

COLUMNS = ("label", "text")
"""Columns of a line; a first line with these names gives their places."""


@dataclass(frozen=True)
class LabelledTexts:
    """Texts and the label of each."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every label once, by the alphabet."""
        return tuple(sorted({*self.labels}))

    def take(self, rows: Sequence[int]) -> "LabelledTexts":
        """Return some of them, in this order."""
        texts, labels = [self.texts[row] for row in rows], [self.labels[row] for row in rows]
        return LabelledTexts(tuple(texts), tuple(labels))


def read_labelled(path: Path) -> LabelledTexts:
    """Read lines of label, tab and text, or of the columns that the first line names.

    Raises:
        CorpusError: if the file cannot be read, is not UTF-8, holds no text, or a line has another
            number of fields or no label.
    """
    try:
        content = decode_utf8(path.read_bytes(), path).removeprefix(BYTE_ORDER_MARK)
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror}); check its name") from None
    lines = [line.removesuffix("\r").split("\t") for line in content.split("\n")]
    if lines[-1] == [""]:
        lines.pop()
    header = lines[0] if lines and {*COLUMNS} <= {*lines[0]} else None
    columns = header or list(COLUMNS)
    label, text = (columns.index(name) for name in COLUMNS)
    first = 2 if header else 1
    rows = lines[first - 1 :]
    for number, fields in enumerate(rows, start=first):
        if len(fields) != len(columns):
            wanted = "the first line names" if header else "label, tab, text make"
            raise CorpusError(
                f"line {number} of {path} has {len(fields)} fields, but {wanted} {len(columns)}; "
                f"write label, tab, text, or name the columns in a first line"
            )
        if not fields[label].strip():
            raise CorpusError(f"line {number} of {path} has no label; write label, tab, text")
    if not rows:
        raise CorpusError(f"{path} holds no text; write lines of label, tab, text")
    return LabelledTexts(
        tuple(fields[text] for fields in rows), tuple(fields[label].strip() for fields in rows)
    )


def hold_out(
    labelled: LabelledTexts, share: float, *, seed: int
) -> tuple[LabelledTexts, LabelledTexts]:
    """Return texts to learn from, and a random share of distinct texts to validate on.

    Texts that differ only in capitals and spaces stay together.

    Raises:
        CorpusError: if a label, or any second label, is missing from the texts to learn from.
    """
    if len(labelled.classes) == 1:
        raise CorpusError(
            f"all {len(labelled):,} texts are labelled {labelled.classes[0]!r}; give texts of two "
            f"labels or more"
        )
    alike: dict[str, list[int]] = {}
    for row, text in enumerate(labelled.texts):
        alike.setdefault(" ".join(text.lower().split()), []).append(row)
    groups = list(alike.values())
    order = make_generator(seed, "held out").permutation(len(groups)).tolist()
    count = max(1, round(len(groups) * share))
    held = sorted(row for group in order[:count] for row in groups[group])
    training = labelled.take(sorted(row for group in order[count:] for row in groups[group]))
    if training.classes != labelled.classes:
        lost = sorted({*labelled.classes} - {*training.classes})
        raise CorpusError(
            f"once {len(held):,} of {len(labelled):,} texts are held out, none is left labelled "
            f"{', '.join(lost)}; give more of them, or set held_out lower"
        )
    return training, labelled.take(held)
