import numpy as np
import pytest
from matplotlib import image

from nmt_core.evaluation.pictures import (
    Curve,
    Interval,
    draw_attention,
    draw_comparison,
    draw_learning_curve,
)

SOURCE = ["▁Die", "▁Eule", "</s>"]
TARGET = ["▁The", "▁owl", "s", "</s>"]
WEIGHTS = np.eye(4, 3)


def draw(path, weights=WEIGHTS, source=SOURCE, target=TARGET, title="Die Eule"):
    draw_attention(path, weights, source=source, target=target, title=title)
    return path.read_bytes()


def test_a_picture_is_a_png(tmp_path):
    draw(tmp_path / "pictures" / "1.png")
    pixels = image.imread(tmp_path / "pictures" / "1.png")

    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 400
    assert pixels.std() > 0
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["1.png"]


def test_two_runs_draw_the_same_bytes(tmp_path):
    assert draw(tmp_path / "1.png") == draw(tmp_path / "2.png")


def test_weights_are_seen(tmp_path):
    """Attention elsewhere is another picture."""
    assert draw(tmp_path / "1.png") != draw(tmp_path / "2.png", weights=1 - WEIGHTS)


@pytest.mark.parametrize("odd", ["$", "$x^$", "\\frac{", "_a_", "{}%", "a^b", "&<b>", "#", "▁$5"])
def test_odd_tokens_are_drawn_as_they_are(tmp_path, odd):
    """Neither a token nor a title is read as mathematics."""
    draw(tmp_path / "1.png", source=[odd, "b", "c"], title=f"{odd} costs {odd}")

    assert image.imread(tmp_path / "1.png").size


def test_many_tokens_make_a_large_picture(tmp_path):
    weights = np.full((30, 30), 1 / 30)
    draw(tmp_path / "1.png", weights=weights, source=["x"] * 30, target=["y"] * 30)

    assert image.imread(tmp_path / "1.png").shape[1] > 1500


def compare(path, names=("transformer", "rnn"), value=40.0):
    intervals = [Interval(name, value, value - 1, value + 1, [value]) for name in names]
    curves = [Curve(name, [1.0, 2.0], [10.0, value - 5]) for name in names]
    draw_comparison(path, intervals, curves, unit="minutes")
    return path.read_bytes()


def test_systems_are_drawn_alike_twice_and_other_scores_otherwise(tmp_path):
    assert compare(tmp_path / "1.png") == compare(tmp_path / "2.png")
    assert compare(tmp_path / "1.png") != compare(tmp_path / "2.png", value=30.0)


def test_many_systems_are_drawn(tmp_path):
    names = [f"system_{number}" for number in range(12)]

    assert compare(tmp_path / "1.png", names)


@pytest.mark.parametrize("validations", [0, 1, 50])
def test_a_training_is_drawn_alike_twice_and_another_otherwise(tmp_path, validations):
    """However short it was."""
    steps, falling = list(range(validations)), [9.0 / (step + 1) for step in range(validations)]
    pictures = []
    for number, bleu in enumerate(([10.0], [10.0], [20.0])):
        path = tmp_path / f"{number}.png"
        draw_learning_curve(path, steps, falling, falling, bleu * validations)
        pictures.append(path.read_bytes())

    assert pictures[0] == pictures[1]
    assert (pictures[0] == pictures[2]) == (validations == 0)
