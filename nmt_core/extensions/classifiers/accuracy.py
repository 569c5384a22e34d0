"""Accuracy of a classifier, and tests of its difference from another."""

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
    """Return how many labels of a file are found, of all texts and of those of every label.

    With another classifier, also how many it finds, and whether that differs beyond chance.

    Raises:
        CorpusError: if the file is no file of labelled texts, or has a label of its own.
    """
    texts = read_labelled(labelled)
    right = find_right(classifier, texts, labelled)
    counts = [("accuracy", sum(right), len(texts))]
    for label in texts.classes:
        hits = [hit for hit, wanted in zip(right, texts.labels, strict=True) if wanted == label]
        counts.append((f"of {label}", sum(hits), len(hits)))
    lines = []
    if other is not None:
        against = find_right(other, texts, labelled)
        counts.append(("the other's accuracy", sum(against), len(texts)))
        pairs = list(zip(right, against, strict=True))
        first, second = pairs.count((True, False)), pairs.count((False, True))
        # the exact test of McNemar 1947: where one alone is right, a fair coin says which
        p = min(1.0, 2 * find_tail(max(first, second), first + second))
        lines = [f"right alone\t{first:,}, the other {second:,}\tMcNemar's p = {p:.2g}"]
    return "\n".join([*(describe_share(*count) for count in counts), *lines])


def find_right(classifier: TextClassifier, texts: LabelledTexts, path: Path) -> list[bool]:
    """Tell of every text whether its label is found.

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


def describe_share(name: str, good: int, total: int) -> str:
    """Return a line that tells a share with its interval (Wilson 1927)."""
    low, high = find_share_interval(good, total)
    share = f"{100 * good / total:.2f} %\t{100 * low:.2f} to {100 * high:.2f} %"
    return f"{name}\t{share}\t{good:,} of {total:,}"
