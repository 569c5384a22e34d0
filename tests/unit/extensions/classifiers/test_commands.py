"""The commands that learn classifiers, apply them and look at their words."""

import json

import pytest
import torch

from nmt_core.base import seal
from nmt_core.extensions.classifiers.text_classifier import load_classifier
from nmt_core.extensions.language_models.bundle import load_masked_model
from tests.support.commands import refuse, run

TEXT = "".join(
    f"neg\tan awful film {number}\npos\ta superb film {number}\n" for number in range(20)
)
SMALL = [
    *("--set", "model.width=8", "--set", "model.embedding_width=8", "--set", "training.epochs=4"),
    *("--set", "training.rows=8", "--set", "training.schedule.learning_rate=0.05"),
    *("--threads", "1"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    (folder / "labelled.tsv").write_text(TEXT)
    result = run(
        "learn-classifier", "--labelled", folder / "labelled.tsv", "--out", folder / "out", *SMALL
    )
    assert result.exit_code == 0, result.stderr
    assert "36 texts to learn from, 4 held out, labels neg, pos" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["labelled.tsv", "out"]
    return folder


def test_every_line_has_a_label(folder):
    lines = ["a superb film", "", "an awful film"]
    result = run("classify", "--model", folder / "out", lines="\n".join(lines).encode())
    expected = load_classifier(folder / "out", device="cpu").classify(lines)

    assert result.exit_code == 0
    assert result.stdout == "".join(f"{one.label}\t{one.probability:.4f}\n" for one in expected)
    assert [expected[0].label, expected[2].label] == ["pos", "neg"]


def test_accuracy_is_told_with_its_interval(folder, tmp_path):
    """Two texts of three are labelled as they are; Wilson's interval of 2 in 3 is known."""
    (tmp_path / "test.tsv").write_text("pos\ta superb film\nneg\ta superb film\nneg\tawful\n")
    result = run("classify", "--model", folder / "out", "--labelled", tmp_path / "test.tsv")

    assert result.stdout.splitlines() == [
        "accuracy\t66.67 %\t20.77 to 93.85 %\t2 of 3",
        "of neg\t50.00 %\t9.45 to 90.55 %\t1 of 2",
        "of pos\t100.00 %\t20.65 to 100.00 %\t1 of 1",
    ]


def test_two_classifiers_are_compared_text_by_text(folder, tmp_path):
    """The other has learnt the opposite: of 40 texts it finds none."""
    swapped = TEXT.replace("neg", "x").replace("pos", "neg").replace("x", "pos")
    (tmp_path / "swapped.tsv").write_text(swapped)
    other = tmp_path / "other"
    learn = ("learn-classifier", "--labelled", tmp_path / "swapped.tsv", "--out", other, *SMALL)
    assert run(*learn).exit_code == 0
    compare = ("classify", "--model", folder / "out", "--against", other)
    result = run(*compare, "--labelled", folder / "labelled.tsv")

    *_, against, difference = result.stdout.splitlines()
    assert against.startswith("the other's accuracy\t0.00 %")
    assert difference == "right alone\t40, the other 0\tMcNemar's p = 1.8e-12"
    assert "add --labelled" in refuse(*compare)


def test_neighbours_are_a_table_and_a_picture(folder, tmp_path):
    pictures = [tmp_path / name for name in ("one.png", "two.png")]
    for picture in pictures:
        arguments = ("--model", folder / "out", "awful", "superb", "--count", 2)
        result = run("neighbours", *arguments, "--picture", picture)
        assert result.exit_code == 0, result.stderr

    shown = ("awful", "superb", "before learning", "0.")
    assert all(word in result.stdout for word in shown)
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


def test_vectors_bring_their_width(folder, tmp_path):
    (tmp_path / "a.vec").write_text("2 3\nfilm 1 2 3\nawful 0 1 0\n")
    arguments = ("--labelled", folder / "labelled.tsv", "--out", tmp_path / "out", *SMALL)
    frozen = ("--vectors", tmp_path / "a.vec", "--set", "model.frozen=true")
    result = run("learn-classifier", *arguments, *frozen)
    classifier = load_classifier(tmp_path / "out", device="cpu")
    film = classifier.words.number("film")

    assert result.exit_code == 0, result.stderr
    assert classifier.model.embedding.weight[film].tolist() == [1, 2, 3]
    assert "add --vectors" in refuse("learn-classifier", *arguments, "--set", "model.frozen=true")


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """A masked language model of the texts."""
    folder = tmp_path_factory.mktemp("masked")
    (folder / "text.txt").write_text("an awful film\na superb film\n" * 8)
    sizes = ("model.layers=1", "model.width=8", "training.epochs=2", "unit.min_count=1")
    result = run(
        *("learn", "--text", folder / "text.txt", "--kind", "masked", "--unit", "word"),
        *(word for size in sizes for word in ("--set", size)),
        *("--out", folder / "lm", "--threads", 1),
    )
    assert result.exit_code == 0, result.stderr
    return folder / "lm"


def test_a_classifier_starts_from_a_masked_language_model(folder, masked, tmp_path):
    """It names which one; without any of its weights it is another classifier of that shape."""
    made = []
    for number, parts in enumerate(('["embeddings","layers"]', "[]")):
        out = tmp_path / str(number)
        result = run(
            *("learn-classifier", "--labelled", folder / "labelled.tsv", "--out", out),
            *("--initial-model", masked, "--set", f"initial_parts={parts}"),
            *("--set", "training.epochs=1", "--threads", 1),
        )
        assert result.exit_code == 0, result.stderr
        learning = json.loads((out / "learning.json").read_text())
        origin = {"folder": str(masked), "bundle_sha256": seal.digest_bundle(masked)}
        assert learning["initial_model"] == origin
        assert learning["initial_parts"] == json.loads(parts)
        made.append(load_classifier(out, device="cpu"))

    given = load_masked_model(masked, device="cpu")[0].encoder.embedding.table.weight
    assert [torch.equal(one.initial, given) for one in made] == [True, False]
    assert made[0].words.vocabulary.tokens == made[1].words.vocabulary.tokens


def test_what_does_not_start_from_a_language_model_is_refused(folder, masked, tmp_path):
    given = ("learn-classifier", "--labelled", folder / "labelled.tsv", "--out", tmp_path / "out")
    start = (*given, "--initial-model", masked)

    assert "leave --vectors out" in refuse(*start, "--vectors", "a.vec")
    assert "text is not a parameter" in refuse(*start, "--set", "text.words=5")
    assert "set model.encoder.layers=1" in refuse(*start, "--set", "model.encoder.layers=2")
    assert "initial_parts" in refuse(*given, "--set", "initial_parts=[]")
    assert "and a language model is wanted" in refuse(*given, "--initial-model", folder / "out")


def test_what_cannot_be_is_refused(folder, tmp_path):
    (tmp_path / "strange.tsv").write_text("meh\ta film\n")
    (tmp_path / "one.tsv").write_text("pos\ta film\npos\ta film\n")
    out = tmp_path / "out"
    model = folder / "out"

    assert "has the label 'meh', which the classifier does not know" in refuse(
        "classify", "--model", model, "--labelled", tmp_path / "strange.tsv"
    )
    assert "labelled 'pos'" in refuse(
        "learn-classifier", "--labelled", tmp_path / "one.tsv", "--out", out
    )
    assert "'unheard' is not one of the" in refuse("neighbours", "--model", model, "unheard")
    assert "model.depth" in refuse(
        *("learn-classifier", "--labelled", folder / "labelled.tsv", "--out", out),
        *("--set", "model.depth=3"),
    )
    assert not out.exists()
