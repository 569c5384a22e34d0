"""Accuracy of a classifier, and tests of its difference from another."""

from collections.abc import Sequence
from pathlib import Path

from nmt_core.base.binomial import find_share_interval, find_tail
from nmt_core.base.errors import CorpusError
from nmt_core.cli.lines import show_progress
from nmt_core.extensions.classifiers.labelled import LabelledTexts, read_labelled
from nmt_core.extensions.classifiers.text_classifier import TextClassifier

PORTION = 1024
"""Texts after which progress is shown."""


def measure_accuracy(
    classifier: TextClassifier, labelled: Path, other: TextClassifier | None = None
) -> str:
    """Return the accuracy on a file, of all texts and of those of every label, as lines.

    With another classifier, also its accuracy, and McNemar's test of the difference.

    Raises:
        CorpusError: if the file does not hold labelled texts, or has an unknown label.
    """
    texts = read_labelled(labelled)
    right = find_right(classifier, texts, labelled)
    lines = [describe_share("accuracy", right)]
    for label in texts.classes:
        hits = [hit for hit, expected in zip(right, texts.labels, strict=True) if expected == label]
        lines.append(describe_share(f"of {label}", hits))
    if other is not None:
        against = find_right(other, texts, labelled)
        pairs = list(zip(right, against, strict=True))
        first, second = pairs.count((True, False)), pairs.count((False, True))
        # exact test of McNemar (1947): a fair coin decides which of two differing ones is right
        p = min(1.0, 2 * find_tail(max(first, second), first + second))
        lines += [
            describe_share("the other's accuracy", against),
            f"right alone\t{first:,}, the other {second:,}\tMcNemar's p = {p:.2g}",
        ]
    return "\n".join(lines)


def find_right(classifier: TextClassifier, texts: LabelledTexts, path: Path) -> list[bool]:
    """Return for every text whether its label is found.

    Raises:
        CorpusError: if there is a label that the classifier does not know.
    """
    if strange := sorted({*texts.classes} - {*classifier.classes}):
        raise CorpusError(
            f"{path} has the label {strange[0]!r}, which the classifier does not know; "
            f"it knows {', '.join(classifier.classes)}"
        )
    labels: list[str] = []
    with show_progress() as advance:
        for at in range(0, len(texts), PORTION):
            portion = texts.texts[at : at + PORTION]
            labels += [judged.label for judged in classifier.classify(portion)]
            advance(len(portion))
    return [label == answer for label, answer in zip(texts.labels, labels, strict=True)]


def describe_share(name: str, hits: Sequence[bool]) -> str:
    """Return a line of a share with its interval (Wilson 1927)."""
    good, total = sum(hits), len(hits)
    low, high = find_share_interval(good, total)
    share = f"{100 * good / total:.2f} %\t{100 * low:.2f} to {100 * high:.2f} %"
    return f"{name}\t{share}\t{good:,} of {total:,}"
