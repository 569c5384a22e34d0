"""Charts, read back as the numbers that they show."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.etree import fromstring

from stages.reporting.charts import (
    BOTTOM,
    FLOOR,
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    draw_curves,
    draw_histogram,
)

counts = st.lists(st.integers(0, 50), min_size=3, max_size=3)
points = st.lists(
    st.tuples(st.floats(0, 1000).map(round), st.floats(-50, 50)), min_size=1, max_size=5
)


@given(counts, counts)
@settings(max_examples=40)
def test_bars_are_as_high_as_their_shares(first, second):
    picture = fromstring(draw_histogram({"one": first, "other": second}, {}, label="bars"))
    shares = {
        name: [count / (sum(each) or 1) for count in each]
        for name, each in (("one", first), ("other", second))
    }
    highest = max(map(max, shares.values())) or 1.0
    step = (WIDTH - 2 * LEFT) / 3
    width = (step - 2) / 2
    bars = {}
    for bar in picture.iter("rect"):
        numbers = {name: float(bar.get(name)) for name in ("x", "y", "width", "height")}
        bars[bar.get("class"), int((numbers["x"] - LEFT) // step)] = numbers
    assert {*bars} == {(name, at) for name, each in shares.items() for at in range(3) if each[at]}
    for (name, at), bar in bars.items():
        tall = max(0.5, shares[name][at] / highest * (FLOOR - TOP))
        begin = LEFT + at * step + 1 + width * (name == "other")
        expected = {"x": begin, "y": FLOOR - tall, "width": width, "height": tall}
        assert bar == pytest.approx(expected, abs=0.06)
    assert picture.find("text").text == f"{highest:.0%}"


def test_histogram_has_ticks_and_a_text_alternative():
    picture = fromstring(
        draw_histogram({"one": [1, 2, 3, 4]}, {0: "0", 2: "half"}, label='a "label" <')
    )
    assert picture.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    assert (picture.get("role"), picture.get("aria-label")) == ("img", 'a "label" <')
    lines = [(line.get("class"), line.get("y1"), line.get("y2")) for line in picture.iter("line")]
    assert lines == [("grid", str(TOP), str(TOP)), ("axis", str(FLOOR), str(FLOOR))]
    _, *ticks = picture.iter("text")
    places = [(tick.text, float(tick.get("x")), tick.get("text-anchor")) for tick in ticks]
    assert places == [("0", LEFT, "start"), ("half", WIDTH / 2, "middle")]
    assert all(0 < int(tick.get("y")) - FLOOR < BOTTOM for tick in ticks)


@given(points, points)
@settings(max_examples=40)
def test_curves_lie_between_their_extremes(first, second):
    picture = fromstring(draw_curves({"one": first, "other": second}, label="curves"))
    both = [*first, *second]
    furthest = max(x for x, _ in both) or 1
    lowest, highest = min(y for _, y in both), max(y for _, y in both)
    curves = {line.get("class"): line.get("points") for line in picture.iter("polyline")}
    assert [*curves] == ["curve one", "curve other"]
    for drawn, expected in zip(curves.values(), (first, second), strict=True):
        places = [tuple(map(float, pair.split(","))) for pair in drawn.split(" ")]
        for place, (x, y) in zip(places, expected, strict=True):
            share = (y - lowest) / ((highest - lowest) or 1.0)
            across = LEFT + x / furthest * (WIDTH - 2 * LEFT)
            assert place == pytest.approx((across, FLOOR - share * (FLOOR - TOP)), abs=0.06)
    texts = [text.text for text in picture.iter("text")]
    assert texts == [f"{highest:.4g}", f"{lowest:.4g}", f"{furthest:,}"]


def test_without_points_the_picture_is_empty():
    picture = fromstring(draw_curves({"none": []}, label="nothing"))
    assert [line.get("points") for line in picture.iter("polyline")] == [""]
    assert [text.text for text in picture.iter("text")] == ["0", "0", "1"]
