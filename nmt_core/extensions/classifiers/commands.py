"""The commands of classifiers: ``nmt learn-classifier``, ``classify`` and ``neighbours``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import torch.nn.functional as F
import typer

from nmt_core.base import compute
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.random import find_share_interval
from nmt_core.base.seal import require_replaceable
from nmt_core.cli.lines import open_standard_input, read_chunks
from nmt_core.cli.options import Changes, Device, Threads
from nmt_core.extensions.classifiers.model import (
    FORMAT,
    LearnClassifierConfig,
    TextClassifier,
    load_classifier,
    train_classifier,
    write_classifier,
)
from nmt_core.extensions.classifiers.texts import (
    hold_out,
    learn_words,
    list_labels,
    read_embeddings,
    read_labelled,
)
from nmt_core.extensions.learning import (
    Out,
    change_settings,
    explain_settings,
    keep_checkpoints,
    show_training,
)
from nmt_core.text.vocabulary import SPECIALS

ClassifierFolder = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Classifier of nmt learn-classifier.")
]


@explain_settings("**Settings** and their defaults:", LearnClassifierConfig())
def learn_classifier(
    *,
    labelled: Annotated[
        Path, typer.Option(metavar="FILE", help="Lines of label, tab, text, UTF-8.")
    ],
    out: Out,
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Pretrained word vectors in fastText's format, .vec or .vec.gz."
        ),
    ] = None,
    settings: Changes = None,
    threads: Threads = None,
) -> None:
    """Train a text classifier, for example for the sentiment of reviews.

    A random tenth of the texts is held out; the epoch with the best accuracy on it is kept. After
    Ctrl-C, the same command continues where training stopped; after a crash, it continues from the
    last complete epoch.

    **Examples**

        nmt learn-classifier --labelled reviews.tsv --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --vectors wiki.en.vec --out models/wiki
    """
    require_replaceable(out, by=FORMAT)
    texts = read_labelled(labelled)
    config = change_settings(
        LearnClassifierConfig(), settings, at="learn-classifier", threads=threads
    )
    if config.model.frozen and vectors is None:
        raise ConfigError("model.frozen does not train the word vectors; add --vectors FILE")
    training_texts, held_out = hold_out(texts, config.held_out, seed=config.seed)
    words, pretrained = learn_words(config.text, (text for _, text in training_texts)), None
    if vectors is not None:
        pretrained = read_embeddings(vectors, words, seed=config.seed)
        shape = config.model.model_copy(update={"embedding_width": pretrained.size(1)})
        config = config.model_copy(update={"model": shape})
    typer.echo(
        f"{len(training_texts):,} training texts, {len(held_out):,} held-out texts, labels "
        f"{', '.join(list_labels(texts))}, {len(words.vocabulary):,} words in the vocabulary",
        err=True,
    )
    settings_used = config.model_dump(mode="json")
    vectors_read = [] if pretrained is None else [pretrained.numpy()]
    with keep_checkpoints(out, settings_used, texts, *vectors_read) as checkpoints:
        classifier, points = train_classifier(
            config,
            words,
            training=training_texts,
            validation=held_out,
            vectors=pretrained,
            checkpoints=checkpoints,
            display=show_training,
        )
        learning = settings_used | {"points": [point.row() for point in points]}
        write_classifier(out, classifier, learning=learning)
    best = max(point.validation_scores["accuracy"] for point in points)
    typer.echo(f"accuracy {best:.2f} % on held-out texts; the classifier is in {out}", err=True)


def classify(
    *,
    model: ClassifierFolder,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Measure the accuracy on lines of label, tab, text."),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Write the label of every line of standard input, and its probability.

    **Examples**

        nmt classify --model models/sentiment < reviews.txt

        nmt classify --model models/sentiment --labelled test.tsv

    **Output**, a line for each line of input: the label, a tab, its probability. With
    `--labelled`, the output is the accuracy on that file, of all texts and of each label, with
    Wilson's 95 % interval.
    """
    compute.set_threads(threads)
    classifier = load_classifier(model, device=device)
    if labelled is not None:
        typer.echo(measure_accuracy(classifier, labelled))
        return
    for lines in read_chunks(open_standard_input()):
        for label, probability in classifier.classify(lines):
            typer.echo(f"{label}\t{probability:.4f}")


def neighbours(
    words: Annotated[
        list[str], typer.Argument(metavar="WORD...", help="Words or sums: 'king - man + woman'.")
    ],
    *,
    model: ClassifierFolder,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Neighbours of each word.")] = 8,
) -> None:
    """List the words nearest to words or sums of words, by their embeddings.

    **Examples**

        nmt neighbours --model models/sentiment awful wonderful

        nmt neighbours --model models/wiki 'king - man + woman'

    **Output**, a line for each neighbour: the word or sum, a tab, the neighbour, a tab, the cosine.
    """
    classifier = load_classifier(model, device="cpu")
    for expression in words:
        for word, cosine in find_neighbours(classifier, expression, count):
            typer.echo(f"{expression}\t{word}\t{cosine:.3f}")


def find_neighbours(
    classifier: TextClassifier, expression: str, count: int
) -> list[tuple[str, float]]:
    """Return the words nearest to a word or a sum of words, with their cosines (Mikolov 2013).

    Raises:
        ConfigError: if a word or a sign is missing in a sum.
        CorpusError: if a word is not in the vocabulary.
    """
    terms, vocabulary = ["+", *expression.split()], classifier.words.vocabulary
    if len(terms) % 2 or not {*terms[::2]} <= {"+", "-"}:
        raise ConfigError(f"{expression!r} is not a sum of words, such as 'king - man + woman'")
    rows = [row for word in terms[1::2] for row in classifier.words.encode(word)]
    if len(rows) != len(terms) // 2 or not all(len(SPECIALS) <= n < len(vocabulary) for n in rows):
        raise CorpusError(f"{expression!r} has a word without an embedding; use frequent words")
    weight = classifier.model.embedding.weight.detach()[: len(vocabulary)].double()
    vectors = F.normalize(weight, dim=1)
    signs = torch.tensor([1.0 if sign == "+" else -1.0 for sign in terms[::2]]).double()
    cosines = vectors @ F.normalize(signs @ vectors[rows], dim=0)
    cosines[[*range(len(SPECIALS)), *rows]] = -torch.inf
    best = cosines.topk(min(count, int(cosines.isfinite().sum())))
    nearest = [vocabulary.tokens[row] for row in best.indices.tolist()]
    return list(zip(nearest, best.values.tolist(), strict=True))


def measure_accuracy(classifier: TextClassifier, labelled: Path) -> str:
    """Return lines with the accuracy on a file, of all texts and of each label.

    Raises:
        CorpusError: if the file has no labelled texts, or an unknown label.
    """
    texts = read_labelled(labelled)
    labels = list_labels(texts)
    if unknown := sorted({*labels} - {*classifier.classes}):
        raise CorpusError(
            f"{labelled} has the label {unknown[0]!r}, which the classifier does not have; "
            f"its labels are {', '.join(classifier.classes)}"
        )
    predictions = classifier.classify([text for _, text in texts])
    hits = [label == answer for (label, _), (answer, _) in zip(texts, predictions, strict=True)]
    lines = [describe_share("accuracy", hits)]
    for label in labels:
        label_hits = [hit for hit, (each, _) in zip(hits, texts, strict=True) if each == label]
        lines.append(describe_share(f"of {label}", label_hits))
    return "\n".join(lines)


def describe_share(name: str, hits: Sequence[bool]) -> str:
    """Return a line with a share and its 95 % interval (Wilson 1927)."""
    count, total = sum(hits), len(hits)
    low, high = find_share_interval(count, total)
    share = f"{100 * count / total:.2f} %\t{100 * low:.2f} to {100 * high:.2f} %"
    return f"{name}\t{share}\t{count:,} of {total:,}"
