"""Commands that learn classifiers and apply them."""

import json
from random import Random

import pytest

from nmt_core.extensions.classifiers.model import load_classifier
from nmt_core.extensions.classifiers.texts import hold_out, read_labelled
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
    assert "36 training texts, 4 held-out texts, labels neg, pos" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["labelled.tsv", "out"]
    return folder


def test_every_line_has_a_label(folder):
    lines = ["a superb film", "", "an awful film"]
    result = run("classify", "--model", folder / "out", lines="\n".join(lines).encode())
    expected = load_classifier(folder / "out", device="cpu").classify(lines)

    assert result.exit_code == 0
    assert result.stdout == "".join(f"{label}\t{share:.4f}\n" for label, share in expected)
    assert [expected[0][0], expected[2][0]] == ["pos", "neg"]


def test_device_and_threads_are_used(folder, monkeypatch):
    counts = []
    monkeypatch.setattr("torch.set_num_threads", counts.append)
    words = ("classify", "--model", folder / "out")

    assert run(*words, "--threads", 3, lines="a film\n").exit_code == 0
    assert counts == [3]
    assert "cuda" in refuse(*words, "--device", "cuda:7")


def test_accuracy_is_reported_with_its_interval(folder, tmp_path):
    """Two of three texts get the right label; Wilson's interval of 2 in 3 is published."""
    (tmp_path / "test.tsv").write_text("pos\ta superb film\nneg\ta superb film\nneg\tawful\n")
    result = run("classify", "--model", folder / "out", "--labelled", tmp_path / "test.tsv")

    assert result.stdout.splitlines() == [
        "accuracy\t66.67 %\t20.77 to 93.85 %\t2 of 3",
        "of neg\t50.00 %\t9.45 to 90.55 %\t1 of 2",
        "of pos\t100.00 %\t20.65 to 100.00 %\t1 of 1",
    ]


def test_reported_accuracy_is_that_of_the_kept_epoch(tmp_path):
    """Labels are drawn, so accuracy comes and goes."""
    draw, text, out = Random(1), tmp_path / "a.tsv", tmp_path / "out"
    rows = ((draw.choice(["neg", "pos"]), *(draw.randint(0, 9) for _ in "abc")) for _ in range(60))
    text.write_text("".join("{}\t{} {} {}\n".format(*row) for row in rows))
    settings = ["--set=held_out=0.5", "--set=training.epochs=6", "--set=training.rows=4"]
    told = run("learn-classifier", "--labelled", text, "--out", out, *SMALL, *settings).stderr
    _, held_out = hold_out(read_labelled(text), 0.5, seed=1)
    text.write_text("".join(map("{0[0]}\t{0[1]}\n".format, held_out)))
    measured = run("classify", "--model", out, "--labelled", text).stdout.split("\t")[1]

    assert f"accuracy {measured} on held-out texts" in told
    points = json.loads((out / "learning.json").read_text())["points"]
    assert points[-1]["validation_accuracy"] < max(one["validation_accuracy"] for one in points)


def test_vectors_decide_the_width(folder, tmp_path):
    (tmp_path / "a.vec").write_text("2 3\nfilm 1 2 3\nawful 0 1 0\n")
    arguments = ("--labelled", folder / "labelled.tsv", "--out", tmp_path / "out", *SMALL)
    frozen = ("--vectors", tmp_path / "a.vec", "--set", "model.frozen=true")
    result = run("learn-classifier", *arguments, *frozen)
    classifier = load_classifier(tmp_path / "out", device="cpu")
    [film] = classifier.words.encode("film")

    assert result.exit_code == 0, result.stderr
    assert classifier.model.embedding.weight[film].tolist() == [1, 2, 3]
    assert "add --vectors" in refuse("learn-classifier", *arguments, "--set", "model.frozen=true")


def test_invalid_options_are_refused(folder, tmp_path):
    (tmp_path / "strange.tsv").write_text("meh\ta film\n")
    (tmp_path / "one.tsv").write_text("pos\ta film\npos\ta film\n")
    out = tmp_path / "out"
    model = folder / "out"

    assert "has the label 'meh', which the classifier does not have" in refuse(
        "classify", "--model", model, "--labelled", tmp_path / "strange.tsv"
    )
    assert "have the label 'pos'" in refuse(
        "learn-classifier", "--labelled", tmp_path / "one.tsv", "--out", out
    )
    assert "model.depth" in refuse(
        *("learn-classifier", "--labelled", folder / "labelled.tsv", "--out", out),
        *("--set", "model.depth=3"),
    )
    assert not out.exists()
