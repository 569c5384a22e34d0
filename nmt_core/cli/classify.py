"""``nmt classify``: which label has each line, and how often is that right?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.cli.lines import open_standard_input, read_chunks, show_progress
from nmt_core.cli.program import Device, Threads

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.extensions.classifiers.labelled import LabelledTexts
    from nmt_core.extensions.classifiers.text_classifier import TextClassifier

ClassifierFolder = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Classifier of nmt learn-classifier.")
]

PORTION = 1024
"""Texts after which progress is shown."""


def classify(
    *,
    model: ClassifierFolder,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lines of label, tab, text: tell how many are right."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --labelled: another classifier to compare with."),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Tell the label of every line of standard input, and how probable it is.

    **Examples**

        nmt classify --model models/sentiment < reviews.txt

        nmt classify --model models/sentiment --labelled test.tsv

        nmt classify --model models/fine --labelled test.tsv --against models/sentiment

    **What is written**, a line for each line of input: the label, a tab, its probability. With
    `--labelled`, instead of all that, the accuracy on that file, with Wilson's 95 % interval, and
    that of every label; with `--against`, also how many texts each of two classifiers alone labels
    rightly, and how likely such a difference is by chance (McNemar's exact test, two-sided).
    """
    if against is not None and labelled is None:
        raise ConfigError("--against compares on labelled texts; add --labelled FILE")
    classifier = open_classifier(model, device, threads)
    if labelled is not None:
        other = open_classifier(against, device, threads) if against else None
        typer.echo(measure_accuracy(classifier, labelled, other))
        return
    for lines in read_chunks(open_standard_input()):
        for found in classifier.classify(lines):
            typer.echo(f"{found.label}\t{found.probability:.4f}")


def open_classifier(folder: Path, device: str, threads: int | None) -> "TextClassifier":
    """Load what ``nmt learn-classifier`` wrote."""
    from nmt_core.base import compute  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.bundle import load_classifier  # noqa: PLC0415 - takes seconds

    compute.set_threads(threads)
    return load_classifier(folder, device=device)


def measure_accuracy(
    classifier: "TextClassifier", labelled: Path, other: "TextClassifier | None" = None
) -> str:
    """Return how many labels of a file are found, of all texts and of those of every label.

    With another classifier, also how many it finds, and whether that differs beyond chance.

    Raises:
        CorpusError: if the file is no file of labelled texts, or has a label of its own.
    """
    from nmt_core.evaluation.statistics.proportion import compute_mcnemar_p  # noqa: PLC0415
    from nmt_core.extensions.classifiers.labelled import read_labelled  # noqa: PLC0415 - takes a moment

    texts = read_labelled(labelled)
    right = find_right(classifier, texts, labelled)
    counts = [("accuracy", sum(right), len(texts))]
    for label in texts.classes:
        found = [one for one, wanted in zip(right, texts.labels, strict=True) if wanted == label]
        counts.append((f"of {label}", sum(found), len(found)))
    lines = []
    if other is not None:
        against = find_right(other, texts, labelled)
        counts.append(("the other's accuracy", sum(against), len(texts)))
        pairs = list(zip(right, against, strict=True))
        first, second = pairs.count((True, False)), pairs.count((False, True))
        p = compute_mcnemar_p(first, second)
        lines = [f"right alone\t{first:,}, the other {second:,}\tMcNemar's p = {p:.2g}"]
    return "\n".join([*(describe_share(*count) for count in counts), *lines])


def find_right(classifier: "TextClassifier", texts: "LabelledTexts", path: Path) -> list[bool]:
    """Tell of every text whether its label is found.

    Raises:
        CorpusError: if there is a label that the classifier does not know.
    """
    if strange := sorted({*texts.classes} - {*classifier.classes}):
        raise CorpusError(
            f"{path} has the label {strange[0]!r}, which the classifier does not know; "
            f"it knows {', '.join(classifier.classes)}"
        )
    found: list[str] = []
    with show_progress() as advance:
        for at in range(0, len(texts), PORTION):
            portion = texts.texts[at : at + PORTION]
            found += [judged.label for judged in classifier.classify(portion)]
            advance(len(portion))
    return [label == answer for label, answer in zip(texts.labels, found, strict=True)]


def describe_share(name: str, good: int, total: int) -> str:
    """Return a line that tells a share with its interval."""
    from nmt_core.evaluation.statistics.proportion import compute_wilson_interval  # noqa: PLC0415

    low, high = compute_wilson_interval(good, total)
    share = f"{100 * good / total:.2f} %\t{100 * low:.2f} to {100 * high:.2f} %"
    return f"{name}\t{share}\t{good:,} of {total:,}"
