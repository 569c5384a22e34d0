from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import get_data_path, image
from matplotlib.colors import to_rgba
from matplotlib.font_manager import fontManager

from nmt_core.evaluation import pictures
from nmt_core.evaluation.fonts import choose_fonts
from nmt_core.evaluation.pictures import (
    Curve,
    Interval,
    draw_attention_map,
    draw_comparison,
    draw_learning_curve,
    draw_panels,
    draw_words,
)

SOURCE = ["▁Die", "▁Eule", "</s>"]
TARGET = ["▁The", "▁owl", "s", "</s>"]
WEIGHTS = np.eye(4, 3)


def draw(path, weights=WEIGHTS, source=SOURCE, target=TARGET, title="Die Eule"):
    draw_attention_map(path, weights, source=source, target=target, title=title)
    return path.read_bytes()


def test_a_picture_is_a_png_that_two_runs_draw_alike_and_others_otherwise(tmp_path):
    first = draw(tmp_path / "pictures" / "1.png")
    pixels = image.imread(tmp_path / "pictures" / "1.png")

    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 400
    assert pixels.std() > 0
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["1.png"]
    assert draw(tmp_path / "2.png") == first
    assert draw(tmp_path / "3.png", weights=1 - WEIGHTS) != first


def test_odd_tokens_are_drawn_as_they_are(tmp_path):
    """Neither a token nor a title is read as mathematics."""
    odd = ["$", "$x^$", "\\frac{", "_a_", "{}%", "a^b", "&<b>", "#", "▁$5"]
    draw(tmp_path / "1.png", np.eye(4, 9), source=odd, title="$x^$ costs \\frac{ $")

    assert image.imread(tmp_path / "1.png").size


def font(path, family, characters):
    """A font in which every character is a triangle of its own width."""
    builder = FontBuilder(1000, isTTF=True)
    names = {ord(character): f"u{ord(character):X}" for character in characters}
    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    pen.lineTo((500, 800))
    pen.lineTo((900, 0))
    pen.closePath()
    glyphs = [".notdef", *names.values()]
    builder.setupGlyphOrder(glyphs)
    builder.setupCharacterMap(names)
    builder.setupGlyf(dict.fromkeys(glyphs, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (1000, 100)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Which fonts there are: matplotlib's own, and what is added."""
    own = Path(get_data_path())
    listed = [one for one in fontManager.ttflist if own in Path(one.fname).parents]
    monkeypatch.setattr(fontManager, "ttflist", listed)

    def add(family, characters):
        fontManager.addfont(font(tmp_path / f"{family}.ttf", family, characters))

    return add


def test_a_text_is_written_in_matplotlibs_own_font_where_that_has_all(installed, tmp_path):
    fonts = choose_fonts(["▁Die", "▁Eule"])
    draw_attention_map(tmp_path / "1.png", WEIGHTS, source=SOURCE, target=TARGET, fonts=fonts)

    assert fonts == ["DejaVu Sans"]
    assert (tmp_path / "1.png").read_bytes() == draw(tmp_path / "2.png", title="")


def test_fonts_are_chosen_by_the_characters_that_they_have(installed, caplog):
    installed("A Few", "日本")
    installed("Most", "日本語の")
    installed("One More", "猫本")

    assert choose_fonts(["日本語", "の猫", "cat"]) == ["DejaVu Sans", "Most", "One More"]
    assert not caplog.records


def test_text_in_another_font_is_drawn(installed, tmp_path):
    boxes = draw(tmp_path / "1.png", target=["日", "本", "語", "</s>"])
    installed("Japanese", "日本語")
    fonts = choose_fonts(["日本語"])
    draw_attention_map(
        tmp_path / "2.png", WEIGHTS, source=SOURCE, target=["日", "本", "語", "</s>"], fonts=fonts
    )

    assert fonts == ["DejaVu Sans", "Japanese"]
    assert boxes != (tmp_path / "2.png").read_bytes()


def test_what_no_font_has_is_told_once_and_drawn_as_boxes(installed, tmp_path, caplog):
    fonts = choose_fonts(["日本語猫"] * 3)
    draw_attention_map(tmp_path / "1.png", np.eye(1), source=["日"], target=["猫"], fonts=fonts)

    assert fonts == ["DejaVu Sans"]
    assert "no installed font has 4 characters of the attention pictures" in caplog.text
    assert len(caplog.records) == 1


def test_many_tokens_make_a_large_picture(tmp_path):
    weights = np.full((30, 30), 1 / 30)
    draw(tmp_path / "1.png", weights=weights, source=["x"] * 30, target=["y"] * 30)

    assert image.imread(tmp_path / "1.png").shape[1] > 1500


def compare(path, names=("transformer", "rnn"), value=40.0):
    intervals = [Interval(name, value, value - 1, value + 1, [value]) for name in names]
    curves = [Curve(name, [1.0, 2.0], [10.0, value - 5]) for name in names]
    draw_comparison(
        path, intervals, curves, unit="minutes", metrics=("BLEU", "BLEU"), over="sentences"
    )
    return path.read_bytes()


def test_systems_are_drawn_alike_twice_and_other_scores_otherwise(tmp_path):
    assert compare(tmp_path / "1.png") == compare(tmp_path / "2.png")
    assert compare(tmp_path / "1.png") != compare(tmp_path / "2.png", value=30.0)


@pytest.mark.parametrize("validations", [0, 1, 50])
def test_a_training_is_drawn_alike_twice_and_another_otherwise(tmp_path, validations):
    """However short it was; by its scores, and by its rates."""
    steps, falling = list(range(validations)), [9.0 / (step + 1) for step in range(validations)]
    drawn = []
    for number, (bleu, rate) in enumerate([(10.0, 0.1), (10.0, 0.1), (20.0, 0.1), (10.0, 0.2)]):
        path = tmp_path / f"{number}.png"
        draw_learning_curve(
            path,
            [Curve("validation", steps, falling), Curve("training", steps, falling)],
            Curve("BLEU", steps, [bleu] * validations),
            Curve("learning rate", steps, [rate * step for step in steps]),
        )
        drawn.append(path.read_bytes())

    assert drawn[0] == drawn[1]
    assert (drawn[0] == drawn[2]) == (validations == 0)
    assert (drawn[0] == drawn[3]) == (validations <= 1)


def drawn_panels(monkeypatch, draw, *arguments, **more):
    """What is drawn on each axes: the arrays of its images and lines."""
    figures = []
    monkeypatch.setattr(pictures, "save_figure", lambda figure, _: figures.append(figure))
    draw(Path("unwritten"), *arguments, **more)
    return figures[0].axes


def test_the_learning_rate_stands_beside_losses_and_scores(monkeypatch):
    rates = Curve("learning rate", [1, 2, 3], [0.1, 0.2, 0.05])
    losses = [Curve("validation", [3], [2.0]), Curve("training", [3], [1.0])]
    axes = drawn_panels(monkeypatch, draw_learning_curve, losses, Curve("chrF", [3], [5.0]), rates)

    assert [one.get_ylabel() for one in axes] == [
        "cross entropy in nats per token",
        "validation chrF, greedy search",
        "learning rate",
    ]
    assert all(one.get_xlabel() for one in axes)
    assert list(axes[2].lines[0].get_ydata()) == [0.1, 0.2, 0.05]
    assert [line.get_ydata().tolist() for line in axes[0].lines] == [[2.0], [1.0]]
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == [
        "validation",
        "training",
    ]


def test_words_stand_at_their_points_in_the_fonts_that_have_them(monkeypatch):
    words, points = ["owl", "本"], np.array([[1.0, 2.0], [3.0, 4.0]])
    panels = {"trained": points, "random": points[::-1]}
    more = {"words": words, "groups": [0, 1], "fonts": ["DejaVu Sans", "Japanese"]}
    axes = drawn_panels(monkeypatch, draw_words, panels, **more)

    assert [one.get_title() for one in axes] == [*panels]
    for one, expected in zip(axes, panels.values(), strict=True):
        assert [(text.get_text(), text.xy) for text in one.texts] == [
            (word, tuple(point)) for word, point in zip(words, expected, strict=True)
        ]
        assert [[*line.get_xydata()[0]] for line in one.lines] == expected.tolist()
        assert all(text.get_fontfamily() == more["fonts"] for text in one.texts)
        assert not any(one.spines[edge].get_visible() for edge in ("top", "right"))


def test_many_systems_have_a_colour_each_and_few_keep_theirs():
    """Up to seven have those that people tell apart who see few colours."""
    for count in range(1, 21):
        assert len({*map(to_rgba, pictures._colors(count))}) == count
        assert pictures._colors(min(count, 7)) == pictures._colors(7)[:count]


def test_every_axis_says_what_it_shows(monkeypatch):
    """Of systems: no number stands there without its unit."""
    scores, learning = drawn_panels(
        monkeypatch,
        draw_comparison,
        [Interval("rnn", 4.0, 3.0, 5.0, [4.0])],
        [Curve("rnn", [1, 2], [3.0, 4.0])],
        unit="minutes",
        metrics=("BLEU", "chrF"),
        over="sentences",
    )
    assert "test BLEU, 95 % interval over sentences" == scores.get_xlabel()
    assert ("minutes", "validation chrF, greedy search") == (
        learning.get_xlabel(),
        learning.get_ylabel(),
    )


def test_a_system_has_one_colour_over_all_costs_which_are_drawn_by_factors(monkeypatch):
    panels = {
        ("seconds", "BLEU"): [Curve("ours", [1, 10], [3.0, 4.0]), Curve("theirs", [5], [2.0])],
        ("lines", "BLEU"): [Curve("theirs", [7], [2.0]), Curve("ours", [2, 3], [4.0, 3.5])],
    }
    drawn = drawn_panels(monkeypatch, draw_panels, panels)
    colors = [{line.get_label(): line.get_color() for line in axes.lines} for axes in drawn]
    points = [{line.get_label(): [*line.get_xdata()] for line in axes.lines} for axes in drawn]

    assert colors[0] == colors[1]
    assert len({*colors[0].values()}) == 2
    assert points == [{"ours": [1, 10], "theirs": [5]}, {"ours": [2, 3], "theirs": [7]}]
    assert ["seconds", "lines"] == [axes.get_xlabel() for axes in drawn]
    assert {("BLEU", "log")} == {(axes.get_ylabel(), axes.get_xscale()) for axes in drawn}
    assert {"ours", "theirs"} == {text.get_text() for text in drawn[0].get_legend().get_texts()}


def test_words_of_the_source_stand_above_their_columns(monkeypatch):
    """Where one begins to read; those of the target stand beside their rows."""
    drawn = drawn_panels(monkeypatch, draw_attention_map, WEIGHTS, source=SOURCE, target=TARGET)
    axes, *others = drawn
    axes.figure.canvas.draw()
    assert ["·Die", "·Eule", "</s>"] == [tick.get_text() for tick in axes.get_xticklabels()]
    assert ["·The", "·owl", "s", "</s>"] == [tick.get_text() for tick in axes.get_yticklabels()]
    assert "top" == axes.xaxis.get_ticks_position()
    assert (0, 1) == axes.images[0].get_clim()
    assert ["attention"] == [one.get_ylabel() for one in others]
