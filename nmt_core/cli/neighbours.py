"""``nmt neighbours``: what a classifier has learnt about words."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.cli.classify import ClassifierFolder, open_classifier
from nmt_core.cli.lines import decode_argument

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.extensions.classifiers.neighbours import Neighbourhood
    from nmt_core.extensions.classifiers.text_classifier import TextClassifier


def neighbours(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to look up.")],
    *,
    model: ClassifierFolder,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Neighbours of each word.")] = 8,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw them, as a PNG, there.")
    ] = None,
) -> None:
    """Tell which words are nearest to some, before a classifier learnt and after.

    Near is what has nearly the same direction: the cosine is 1 for the same, 0 for nothing in
    common, -1 for the opposite. The picture shows all of them twice, before and after, on the plane
    in which they differ most.

    **Example**

        nmt neighbours --model models/sentiment awful wonderful --picture neighbours.png
    """
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.table import Table  # noqa: PLC0415 - slow to import
    from rich.text import Text  # noqa: PLC0415 - slow to import

    from nmt_core.extensions.classifiers.neighbours import find_neighbours  # noqa: PLC0415 - takes seconds

    asked = [decode_argument(word, name="WORD") for word in words]
    classifier = open_classifier(model, "cpu", None)
    found = find_neighbours(classifier, asked, count=count)
    table = Table("word", "before learning", "cosine", "after learning", "cosine")
    for one in found:
        for place, (before, after) in enumerate(zip(one.before, one.after, strict=True)):
            name = "" if place else one.word
            cells = [name, before.word, f"{before.similarity:.3f}"]
            table.add_row(*map(Text, [*cells, after.word, f"{after.similarity:.3f}"]))
        table.add_section()
    Console().print(table)
    if picture is not None:
        draw(picture, classifier, found)


def draw(path: Path, classifier: "TextClassifier", found: "Sequence[Neighbourhood]") -> None:
    """Write a picture of words and their neighbours after learning."""
    from nmt_core.evaluation.fonts import choose_fonts  # noqa: PLC0415 - takes seconds
    from nmt_core.evaluation.pictures import draw_words  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.neighbours import normalize_rows, project_on_plane  # noqa: PLC0415

    group = {one.word: number for number, one in enumerate(found)}
    for number, one in enumerate(found):
        for neighbour in one.after:
            group.setdefault(neighbour.word, number)
    rows = classifier.words.vocabulary.encode(group)
    weights = (classifier.initial, classifier.model.embedding.weight.detach().cpu())
    places = [project_on_plane(normalize_rows(weight[rows])) for weight in weights]
    panels = dict(zip(("before learning", "after learning"), places, strict=True))
    draw_words(
        path, panels, words=list(group), groups=list(group.values()), fonts=choose_fonts(group)
    )
