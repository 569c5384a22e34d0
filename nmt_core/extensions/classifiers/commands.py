"""The commands of classifiers: ``nmt learn-classifier``, ``classify`` and ``neighbours``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

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
from nmt_core.extensions.classifiers.bundle import FORMAT, load_classifier, write_classifier
from nmt_core.extensions.classifiers.initial import InitialTokens, describe_encoder
from nmt_core.extensions.classifiers.labelled import hold_out, read_labelled
from nmt_core.extensions.classifiers.neighbours import (
    Neighbourhood,
    find_neighbours,
    normalize_rows,
    project_on_plane,
    read_sums,
)
from nmt_core.extensions.classifiers.settings import (
    BAG,
    ClassifierConfig,
    EncoderClassifierConfig,
    FineTuneConfig,
    LearnClassifierConfig,
)
from nmt_core.extensions.classifiers.text_classifier import TextClassifier
from nmt_core.extensions.classifiers.training import Start
from nmt_core.extensions.classifiers.vectors import read_embeddings
from nmt_core.extensions.classifiers.words import HashedWords, learn_words
from nmt_core.extensions.language_models.bundle import load_masked_model
from nmt_core.extensions.language_models.commands import remove_checkpoints, show_training
from nmt_core.extensions.language_models.masked import MaskedTextModel
from nmt_core.extensions.settings import change_settings, explain_settings

ClassifierFolder = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Classifier of nmt learn-classifier.")
]

DEFAULTS = LearnClassifierConfig()
"""What is learnt where nothing else is asked for."""


@explain_settings("With `--initial-model`, but no `text`:", FineTuneConfig(), beside=DEFAULTS)
@explain_settings("With `--kind bag`:", BAG, beside=DEFAULTS)
@explain_settings("**Settings** and their defaults, first that of several kinds:", DEFAULTS)
def learn_classifier(
    *,
    kind: Annotated[
        Literal["recurrent", "bag"], typer.Option(help="Encoder: recurrent layers, or a mean.")
    ] = "recurrent",
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

    **Kinds**: `recurrent` embeds words and reads them by two layers of gated recurrent units; `bag`
    judges by the mean of the embeddings of all words and of words in a row, which is several times
    as fast, and more often right where single words tell. Rare words share embeddings by a hash.

    A tenth of the texts, drawn by chance, is held out, though none that is learnt from, too; the
    epoch that finds most of their labels is kept. A training that is stopped, as by Ctrl-C, saves
    where it is, and goes on there when the same command is given; one that is killed goes on after
    its last whole epoch.

    With `--initial-model`, texts are read in the tokens of a masked language model and by its
    layers, whose weights `initial_parts` takes over; without any of them (`[]`), the same
    classifier learns from chance.

    A first line that names columns, `label` and `text` among them, says where these stand.

    **Examples**

        nmt learn-classifier --labelled reviews.tsv --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --kind bag --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --vectors wiki.en.vec --out models/wiki

        nmt learn-classifier --labelled reviews.tsv --initial-model models/masked --out models/fine
    """
    chosen = [*(settings or []), *([f"training.compute.threads={threads}"] if threads else [])]
    initial = load_masked_model(initial_model, device="cpu") if initial_model else None
    config = read_settings(kind, chosen, initial, vectors)
    require_replaceable(out, known=FORMAT)
    texts = read_labelled(labelled)
    learnt_from, held_out = hold_out(texts, config.held_out, seed=config.seed)
    origin = {}
    if isinstance(config, FineTuneConfig):
        assert initial is not None
        assert initial_model is not None
        words: HashedWords | InitialTokens = InitialTokens(
            initial.units, config.model.encoder.context
        )
        start = training.Start(language_model=initial.model)
        origin = {
            "initial_model": {
                "folder": str(initial_model),
                "bundle_sha256": digest_bundle(initial_model),
            }
        }
    else:
        config, words, start = learn_words_of(config, learnt_from.texts, vectors)
    console = Console(stderr=True, highlight=False)
    console.print(
        f"{len(learnt_from):,} texts to learn from, {len(held_out):,} held out, labels "
        f"{', '.join(texts.classes)}, {len(words.vocabulary):,} words in the vocabulary",
        soft_wrap=True,
        markup=False,
    )
    place = out.with_name(f"{out.name}.checkpoints")
    checkpoints = place / training.compute_labelled_fingerprint(config, texts, start)
    classifier, points = training.train_classifier(
        config,
        words,
        training=learnt_from,
        validation=held_out,
        start=start,
        checkpoints=checkpoints,
        display=show_training,
    )
    learning = config.model_dump(mode="json") | origin | {"points": [p.row() for p in points]}
    write_classifier(out, classifier, learning=learning)
    remove_checkpoints(checkpoints)
    best = max(point.validation_scores["accuracy"] for point in points)
    console.print(
        f"{best:.2f} % of the labels held out found; the classifier is in {out}",
        soft_wrap=True,
        markup=False,
    )


def read_settings(
    kind: str, chosen: Sequence[str], initial: MaskedTextModel | None, vectors: Path | None
) -> LearnClassifierConfig | FineTuneConfig:
    """Build the settings of learning from ``name=value`` for those that differ from the defaults.

    Raises:
        ConfigError: naming what is unknown, of the wrong type or at odds with the rest.
    """
    if initial is not None:
        if vectors is not None:
            raise ConfigError("--initial-model brings embeddings of its own; leave --vectors out")
        if kind != "recurrent":
            raise ConfigError("--initial-model brings layers of its own; leave --kind out")
        encoder = describe_encoder(initial.model.config)
        default = FineTuneConfig(model=EncoderClassifierConfig(encoder=encoder))
        return change_settings(default, chosen, at="learn-classifier")
    start = BAG if kind == "bag" else DEFAULTS
    config = change_settings(start, chosen, at="learn-classifier")
    shape = config.model
    if isinstance(shape, ClassifierConfig) and shape.frozen and vectors is None:
        raise ConfigError("model.frozen leaves word vectors as given; add --vectors FILE")
    return config


def learn_words_of(
    config: LearnClassifierConfig, texts: Sequence[str], vectors: Path | None
) -> tuple[LearnClassifierConfig, HashedWords, Start]:
    """Return the words of texts, their vectors if there are any, and settings that fit these."""
    words = learn_words(config.text, texts)
    if vectors is None:
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
        typer.Argument(metavar="WORD...", help="Words to look up, or sums: king - man + woman."),
    ],
    *,
    model: ClassifierFolder,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Neighbours of each word.")] = 8,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a PNG of them to this file.")
    ] = None,
) -> None:
    """Tell which words are nearest to some, before a classifier learnt and after.

    Near is what has nearly the same direction: the cosine is 1 for the same, 0 for nothing in
    common, -1 for the opposite. The picture shows all of them twice, before and after, on the plane
    in which they differ most.

    **Examples**

        nmt neighbours --model models/sentiment awful wonderful --picture neighbours.png

        nmt neighbours --model models/sentiment king - man + woman
    """
    asked = [decode_argument(word, name="WORD") for word in words]
    classifier = open_classifier(model, "cpu", None)
    neighbourhoods = find_neighbours(classifier, read_sums(asked), count=count)
    table = Table("word", "before learning", "cosine", "after learning", "cosine")
    for near in neighbourhoods:
        for rank, (before, after) in enumerate(zip(near.before, near.after, strict=True)):
            name = "" if rank else str(near)
            cells = [name, before.word, f"{before.similarity:.3f}"]
            table.add_row(*map(Text, [*cells, after.word, f"{after.similarity:.3f}"]))
        table.add_section()
    Console().print(table)
    if picture is not None:
        draw(picture, classifier, neighbourhoods)


def draw(path: Path, classifier: TextClassifier, neighbourhoods: Sequence[Neighbourhood]) -> None:
    """Write a picture of words and their neighbours after learning."""
    from nmt_core.evaluation.fonts import choose_fonts  # Matplotlib is slow to import
    from nmt_core.evaluation.pictures import draw_words

    group = {term.word: number for number, near in enumerate(neighbourhoods) for term in near.terms}
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
