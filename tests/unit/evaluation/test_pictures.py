"""Charts are read back as their drawn elements; two runs draw the same bytes."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from nmt_core.evaluation import pictures
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.pictures import (
    Look,
    choose_fonts,
    draw_attention_map,
    draw_intervals,
    draw_learning_curve,
)

SOURCE = ["▁Die", "▁Eule", "</s>"]
TARGET = ["▁The", "▁owl", "s", "</s>"]
WEIGHTS = np.eye(4, 3)


def draw(path, weights=WEIGHTS, source=SOURCE, target=TARGET, title="Die Eule", fonts=None):
    draw_attention_map(path, Look(title, source, target, weights), fonts=fonts)
    return path.read_bytes()


def list_axes(monkeypatch, draw, *arguments, **more):
    """Return the axes of a chart."""
    figures = []
    monkeypatch.setattr(pictures, "save_figure", lambda figure, _: figures.append(figure))
    draw(Path("unwritten"), *arguments, **more)
    return figures[0].axes


def test_two_runs_draw_the_same_bytes(tmp_path):
    first = draw(tmp_path / "pictures" / "1.png")
    pixels = image.imread(tmp_path / "pictures" / "1.png")

    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 400
    assert pixels.std() > 0
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["1.png"]
    assert draw(tmp_path / "2.png") == first
    assert draw(tmp_path / "3.png", weights=1 - WEIGHTS) != first


def test_tokens_are_not_read_as_mathematics(tmp_path):
    odd = ["$", "$x^$", "\\frac{", "_a_", "{}%", "a^b", "&<b>", "#", "▁$5"]
    draw(tmp_path / "1.png", np.eye(4, 9), source=odd, title="$x^$ costs \\frac{ $")

    assert image.imread(tmp_path / "1.png").size


@pytest.mark.parametrize(
    ("fonts", "texts", "chosen", "missing"),
    [
        ({}, ["▁Die", "▁Eule"], [], 0),
        (
            {"A Few": "日本", "Most": "日本語の", "One More": "猫本"},
            ["日本語", "の猫"],
            ["Most", "One More"],
            0,
        ),
        ({}, ["日本語猫"] * 3, [], 4),
    ],
)
def test_fonts_are_chosen_by_their_characters(monkeypatch, caplog, fonts, texts, chosen, missing):
    known = {"DejaVu Sans": {*map(ord, "▁DieEul")}} | {
        family: {*map(ord, characters)} for family, characters in fonts.items()
    }
    monkeypatch.setattr(pictures, "_characters", known.__getitem__)
    monkeypatch.setattr(pictures.fontManager, "get_font_names", lambda: [*known])

    assert choose_fonts(texts) == ["DejaVu Sans", *chosen]
    assert [record.args[0] for record in caplog.records] == [missing] * bool(missing)


def test_learning_curve_has_losses_scores_and_rates(monkeypatch):
    rates = [1, 2, 3], [0.1, 0.2, 0.05]
    curves = {"validation": ([3], [2.0]), "training": ([3], [1.0])}, ([3], [5.0]), rates
    axes = list_axes(monkeypatch, draw_learning_curve, *curves, metric="chrF")

    assert [one.get_xlabel() for one in axes] == ["updates"] * 3
    assert "chrF" in axes[1].get_ylabel()
    lines = [[line.get_ydata().tolist() for line in one.lines] for one in axes]
    assert lines == [[[2.0], [1.0]], [[5.0]], [[0.1, 0.2, 0.05]]]
    legend = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert legend == ["validation", "training"]


def test_systems_have_a_point_and_an_interval(monkeypatch):
    scores = {
        "a": ScoreInterval(value=4.0, low=3.0, high=5.5),
        "b": ScoreInterval(value=2.0, low=1.0, high=3.0),
    }
    [axes] = list_axes(monkeypatch, draw_intervals, scores, label="BLEU")
    lines = [
        ([*map(float, np.ravel(line.get_xdata()))], np.ravel(line.get_ydata())[0])
        for line in axes.lines
    ]
    assert lines == [([3.0, 5.5], 0), ([4.0], 0), ([1.0, 3.0], 1), ([2.0], 1)]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b"]
    assert axes.yaxis_inverted()
    assert axes.get_xlabel() == "BLEU"


def test_attention_map_has_the_source_above_its_columns(monkeypatch):
    axes, bar = list_axes(monkeypatch, draw_attention_map, Look("x", SOURCE, TARGET, WEIGHTS))
    axes.figure.canvas.draw()

    assert ["·Die", "·Eule", "</s>"] == [tick.get_text() for tick in axes.get_xticklabels()]
    assert ["·The", "·owl", "s", "</s>"] == [tick.get_text() for tick in axes.get_yticklabels()]
    assert "top" == axes.xaxis.get_ticks_position()
    assert (0, 1) == axes.images[0].get_clim()
    assert axes.images[0].get_array().tolist() == WEIGHTS.tolist()
    assert "attention" == bar.get_ylabel()


def test_each_head_has_a_map_with_tokens(monkeypatch):
    weights = np.random.default_rng(1).random((2, 3, 4, 3))
    *maps, _ = list_axes(monkeypatch, draw_attention_map, Look("x", SOURCE, TARGET, weights))

    drawn = np.stack([axes.images[0].get_array() for axes in maps])
    assert np.array_equal(drawn.reshape(weights.shape), weights)
    above = [axes.xaxis.get_major_ticks()[0].label2.get_visible() for axes in maps]
    before = [axes.yaxis.get_major_ticks()[0].label1.get_visible() for axes in maps]
    assert (above, before) == ([True] * 3 + [False] * 3, [True, False, False] * 2)
