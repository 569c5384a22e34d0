"""The commands of classifiers: ``nmt learn-classifier``, ``classify`` and ``neighbours``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmt_core.base import compute
from nmt_core.base.errors import ConfigError
from nmt_core.base.seal import digest_bundle, require_replaceable
from nmt_core.cli.lines import decode_argument, open_standard_input, read_chunks
from nmt_core.cli.options import Changes, Device, Threads
from nmt_core.extensions.classifiers import training
from nmt_core.extensions.classifiers.labelled import hold_out, read_labelled
from nmt_core.extensions.classifiers.model import describe_encoder
from nmt_core.extensions.classifiers.neighbours import (
    Neighbourhood,
    find_neighbours,
    normalize_rows,
    project_on_plane,
)
from nmt_core.extensions.classifiers.settings import (
    EncoderClassifierConfig,
    FineTuneConfig,
    LearnClassifierConfig,
)
from nmt_core.extensions.classifiers.text_classifier import (
    FORMAT,
    TextClassifier,
    load_classifier,
    write_classifier,
)
from nmt_core.extensions.classifiers.training import Start
from nmt_core.extensions.classifiers.words import (
    HashedWords,
    InitialTokens,
    learn_words,
    read_embeddings,
)
from nmt_core.extensions.language_models.bundle import load_masked_model
from nmt_core.extensions.language_models.commands import (
    place_checkpoints,
    remove_checkpoints,
    show_training,
)
from nmt_core.extensions.settings import change_settings, explain_settings

ClassifierFolder = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Classifier of nmt learn-classifier.")
]


@explain_settings("With `--initial-model`, but no `text`:", FineTuneConfig())
@explain_settings(
    "**Settings** and their defaults, first that of several kinds:", LearnClassifierConfig()
)
def learn_classifier(
    *,
    labelled: Annotated[
        Path, typer.Option(metavar="FILE", help="Lines of label, tab, text, UTF-8.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder to write the classifier to, new or of an older one."
        ),
    ],
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Word vectors to start from, .vec or .vec.gz, as fastText's."
        ),
    ] = None,
    initial_model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Masked language model of nmt learn to start from."),
    ] = None,
    settings: Changes = None,
    threads: Threads = None,
) -> None:
    """Learn which of some labels a text has, such as the sentiment of a review.

    The classifier embeds words and reads them by two layers of gated recurrent units. Rare words
    share embeddings by a hash.

    A tenth of the texts, drawn at random, is held out; the epoch with the best accuracy on them is
    kept. A training that is stopped, as by Ctrl-C, saves its state, and continues when the same
    command is given; one that is killed continues after its last whole epoch.

    With `--initial-model`, texts are read in the tokens of a masked language model and by its
    layers. `initial_parts` names the weights to copy; `[]` leaves all of them random.

    **Examples**

        nmt learn-classifier --labelled reviews.tsv --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --vectors wiki.en.vec --out models/wiki

        nmt learn-classifier --labelled reviews.tsv --initial-model models/masked --out models/fine
    """
    chosen = [*(settings or []), *([f"training.compute.threads={threads}"] if threads else [])]
    require_replaceable(out, known=FORMAT)
    texts = read_labelled(labelled)
    origin = {}
    config: LearnClassifierConfig | FineTuneConfig
    words: HashedWords | InitialTokens
    if initial_model:
        if vectors is not None:
            raise ConfigError("--initial-model brings its own embeddings; leave --vectors out")
        initial, units = load_masked_model(initial_model, device="cpu")
        shape = EncoderClassifierConfig(encoder=describe_encoder(initial.config))
        config = change_settings(FineTuneConfig(model=shape), chosen, at="learn-classifier")
        training_texts, held_out = hold_out(texts, config.held_out, seed=config.seed)
        words, start = InitialTokens(units, config.model.encoder.context), Start(None, initial)
        digest = digest_bundle(initial_model)
        origin = {"initial_model": {"folder": str(initial_model), "bundle_sha256": digest}}
    else:
        config = change_settings(LearnClassifierConfig(), chosen, at="learn-classifier")
        training_texts, held_out = hold_out(texts, config.held_out, seed=config.seed)
        config, words, start = learn_words_of(config, training_texts.texts, vectors)
    typer.echo(
        f"{len(training_texts):,} texts to learn from, {len(held_out):,} held out, labels "
        f"{', '.join(texts.classes)}, {len(words.vocabulary):,} words in the vocabulary",
        err=True,
    )
    fingerprint = training.compute_labelled_fingerprint(config, texts, start)
    checkpoints = place_checkpoints(out, fingerprint)
    classifier, points = training.train_classifier(
        config,
        words,
        training=training_texts,
        validation=held_out,
        start=start,
        checkpoints=checkpoints,
        display=show_training,
    )
    learning = config.model_dump(mode="json") | origin | {"points": [p.row() for p in points]}
    write_classifier(out, classifier, learning=learning)
    remove_checkpoints(checkpoints)
    best = max(point.validation_scores["accuracy"] for point in points)
    typer.echo(f"accuracy {best:.2f} % on held-out texts; the classifier is in {out}", err=True)


def learn_words_of(
    config: LearnClassifierConfig, texts: Sequence[str], vectors: Path | None
) -> tuple[LearnClassifierConfig, HashedWords, Start]:
    """Return settings of the width of given vectors, the words of texts, and their embeddings.

    Raises:
        ConfigError: if embeddings without vectors were to stay untrained.
    """
    words = learn_words(config.text, texts)
    if vectors is None:
        if config.model.frozen:
            raise ConfigError("model.frozen does not train the word vectors; add --vectors FILE")
        return config, words, Start()
    given = read_embeddings(vectors, words, seed=config.seed)
    shape = config.model.model_copy(update={"embedding_width": given.size(1)})
    return config.model_copy(update={"model": shape}), words, Start(vectors=given)


def classify(
    *,
    model: ClassifierFolder,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Measure accuracy on lines of label, tab, text."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --labelled: another classifier to compare with."),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Write the label of every line of standard input, and its probability.

    **Examples**

        nmt classify --model models/sentiment < reviews.txt

        nmt classify --model models/sentiment --labelled test.tsv

        nmt classify --model models/fine --labelled test.tsv --against models/sentiment

    **Output**, a line for each line of input: the label, a tab, its probability. With
    `--labelled`, instead of that, the accuracy on that file, with Wilson's 95 % interval, and
    that of every label; with `--against`, also how many texts only one of two classifiers labels
    correctly, and the p-value of the difference (McNemar's exact test, two-sided).
    """
    if against is not None and labelled is None:
        raise ConfigError("--against compares on labelled texts; add --labelled FILE")
    classifier = open_classifier(model, device, threads)
    if labelled is not None:
        other = open_classifier(against, device, threads) if against else None
        from nmt_core.extensions.classifiers.accuracy import measure_accuracy  # SciPy is slow

        typer.echo(measure_accuracy(classifier, labelled, other))
        return
    for lines in read_chunks(open_standard_input()):
        for judged in classifier.classify(lines):
            typer.echo(f"{judged.label}\t{judged.probability:.4f}")


def open_classifier(folder: Path, device: str, threads: int | None) -> TextClassifier:
    """Load a classifier of ``nmt learn-classifier``."""
    compute.set_threads(threads)
    return load_classifier(folder, device=device)


def neighbours(
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORD...", help="Words or sums: 'king - man + woman'."),
    ],
    *,
    model: ClassifierFolder,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Neighbours of each word.")] = 8,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a PNG of them to this file.")
    ] = None,
) -> None:
    """List the words nearest to some words, before a classifier learnt and after.

    Similarity is the cosine: 1 for the same direction, -1 for the opposite. The picture shows all
    words before and after, each on the plane of their two principal components.

    **Examples**

        nmt neighbours --model models/sentiment awful wonderful --picture neighbours.png

        nmt neighbours --model models/sentiment 'king - man + woman'
    """
    classifier = open_classifier(model, "cpu", None)
    arguments = [decode_argument(word, name="WORD") for word in words]
    neighbourhoods = find_neighbours(classifier, arguments, count=count)
    table = Table("word", "before learning", "cosine", "after learning", "cosine")
    for near in neighbourhoods:
        for rank, (before, after) in enumerate(zip(near.before, near.after, strict=True)):
            cells = ["" if rank else near.expression, before.word, f"{before.similarity:.3f}"]
            table.add_row(*map(Text, [*cells, after.word, f"{after.similarity:.3f}"]))
        table.add_section()
    Console().print(table)
    if picture is not None:
        draw(picture, classifier, neighbourhoods)


def draw(path: Path, classifier: TextClassifier, neighbourhoods: Sequence[Neighbourhood]) -> None:
    """Write a picture of words and their neighbours after learning."""
    from nmt_core.evaluation.pictures import (
        choose_fonts,  # Matplotlib is slow to import
        draw_words,
    )

    tokens = classifier.words.vocabulary.tokens
    group = {tokens[row]: number for number, near in enumerate(neighbourhoods) for row in near.rows}
    for number, near in enumerate(neighbourhoods):
        for neighbour in near.after:
            group.setdefault(neighbour.word, number)
    rows = classifier.words.vocabulary.encode(group)
    weights = (classifier.initial, classifier.model.embedding.weight.detach().cpu())
    places = [project_on_plane(normalize_rows(weight[rows])) for weight in weights]
    panels = dict(zip(("before learning", "after learning"), places, strict=True))
    draw_words(
        path, panels, words=list(group), groups=list(group.values()), fonts=choose_fonts(group)
    )
