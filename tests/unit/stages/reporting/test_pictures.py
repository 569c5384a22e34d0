"""Pictures and elements of pages: drawn back to the numbers that they show."""

from xml.etree.ElementTree import tostring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.reporting.curves import draw_curves
from stages.reporting.histograms import BOTTOM, HEIGHT, LEFT, TOP, WIDTH, draw_histogram
from stages.reporting.hypertext import make, make_quote, make_table, write_page

FLOOR = HEIGHT - BOTTOM


def attributes(picture, tag):
    return [one.attrib for one in picture.iter(tag)]


counts = st.lists(st.integers(0, 50), min_size=3, max_size=3)


@given(counts, counts)
@settings(max_examples=40)
def test_bars_stand_side_by_side_as_high_as_their_shares(one, other):
    picture = draw_histogram({"one": one, "other": other}, {}, label="bars")
    shares = {
        name: [count / (sum(each) or 1) for count in each]
        for name, each in (("one", one), ("other", other))
    }
    most = max(map(max, shares.values())) or 1.0
    bars = {
        (bar["class"], number): bar
        for bar in attributes(picture, "rect")
        for number in [int((float(bar["x"]) - LEFT) // ((WIDTH - 2 * LEFT) / 3))]
    }
    assert {*bars} == {(name, at) for name, each in shares.items() for at in range(3) if each[at]}
    for (name, number), bar in bars.items():
        expected = max(0.5, shares[name][number] / most * (FLOOR - TOP))
        assert float(bar["height"]) == pytest.approx(expected, abs=0.06)
        assert float(bar["y"]) + float(bar["height"]) == pytest.approx(FLOOR, abs=0.11)
        begin = LEFT + number * (WIDTH - 2 * LEFT) / 3 + 1
        width = ((WIDTH - 2 * LEFT) / 3 - 2) / 2
        assert float(bar["width"]) == pytest.approx(width, abs=0.06)
        assert float(bar["x"]) == pytest.approx(begin + width * (name == "other"), abs=0.06)
    assert picture.find("text").text == f"{most:.0%}"


def test_a_histogram_has_its_edges_and_says_what_is_to_be_seen():
    picture = draw_histogram({"one": [1, 2, 3, 4]}, {0: "0", 2: "half"}, label="what")
    assert picture.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    assert (picture.get("role"), picture.get("aria-label")) == ("img", "what")
    grid, axis = attributes(picture, "line")
    ends = {"x1": str(LEFT), "x2": str(WIDTH - LEFT)}
    assert grid == {"class": "grid", "y1": str(TOP), "y2": str(TOP)} | ends
    assert axis == {"class": "axis", "y1": str(FLOOR), "y2": str(FLOOR)} | ends
    first, *ticks = picture.iter("text")
    assert first.attrib == {"x": str(LEFT), "y": str(TOP - 5)}
    places = [(one.text, one.get("x"), one.get("text-anchor")) for one in ticks]
    middle = f"{LEFT + (WIDTH - 2 * LEFT) / 2:.1f}"
    assert places == [("0", f"{LEFT}.0", "start"), ("half", middle, "middle")]
    assert all(0 < int(one.get("y")) - FLOOR < BOTTOM for one in ticks)


points = st.lists(
    st.tuples(st.floats(0, 1000).map(round), st.floats(-50, 50)), min_size=1, max_size=5
)


@given(points, points)
@settings(max_examples=40)
def test_curves_lie_between_their_extremes(one, other):
    picture = draw_curves({"one": one, "other": other}, label="curves")
    both = [*one, *other]
    furthest = max(x for x, _ in both) or 1
    lowest, highest = min(y for _, y in both), max(y for _, y in both)
    drawn = attributes(picture, "polyline")
    assert [each["class"] for each in drawn] == ["curve one", "curve other"]
    for each, expected in zip(drawn, (one, other), strict=True):
        places = [tuple(map(float, pair.split(","))) for pair in each["points"].split(" ")]
        for (across, up), (x, y) in zip(places, expected, strict=True):
            assert across == pytest.approx(LEFT + x / furthest * (WIDTH - 2 * LEFT), abs=0.06)
            share = (y - lowest) / ((highest - lowest) or 1.0)
            assert up == pytest.approx(FLOOR - share * (FLOOR - TOP), abs=0.06)
    top, bottom, last = picture.iter("text")
    assert (top.text, bottom.text, last.text) == (
        f"{highest:.4g}",
        f"{lowest:.4g}",
        f"{furthest:,}",
    )
    assert int(top.get("y")) == TOP - 5
    assert int(bottom.get("y")) == FLOOR - 4
    assert top.get("x") == bottom.get("x") == str(LEFT)
    assert (last.get("x"), last.get("text-anchor")) == (str(WIDTH - LEFT), "end")
    assert [line["y1"] for line in attributes(picture, "line")] == [str(TOP), str(FLOOR)]


def test_without_points_there_is_an_empty_picture():
    picture = draw_curves({"none": []}, label="nothing")
    assert [one["points"] for one in attributes(picture, "polyline")] == [""]
    assert [one.text for one in picture.iter("text")] == ["0", "0", "1"]


# elements


def shown(element):
    return tostring(element, encoding="unicode", method="html")


def test_contents_stand_in_their_order_and_text_is_no_tag():
    element = make("p", "a<", 1234.5, make("b", "x"), "c", "&", make("i"), 10**11, class_="one")
    assert shown(element) == ('<p class="one">a&lt;1,234.5<b>x</b>c&amp;<i></i>100,000,000,000</p>')
    assert make("p", aria_label="x", tabindex="0").attrib == {"aria-label": "x", "tabindex": "0"}


@given(st.characters())
def test_no_page_holds_what_is_no_character_of_a_page(sign):
    forbidden = sign not in "\t\n" and (
        ord(sign) < 32
        or 127 <= ord(sign) < 160
        or 0xD800 <= ord(sign) < 0xE000
        or ord(sign) in (0xFFFE, 0xFFFF)
    )
    element = make("p", sign, title=sign)
    assert element.text == element.get("title") == ("\ufffd" if forbidden else sign)


@pytest.mark.parametrize("total", [(), ("all", 3, "z")])
def test_a_table_has_its_heads_names_numbers_and_total(total):
    wide = make_table(
        "what", ["name", "n", "text"], [["a", 1, "x"], ["b", 2, "y"]], total=total, numbers=["n"]
    )
    assert wide.attrib == {"class": "wide", "role": "group", "tabindex": "0", "aria-label": "what"}
    [table] = wide
    assert [part.tag for part in table] == ["caption", "thead", "tbody", *["tfoot"] * bool(total)]
    assert table[0].text == "what"
    rows = [[(one.tag, one.text, one.attrib) for one in row] for row in table.iter("tr")]
    texts = [["name", "n", "text"], ["a", "1", "x"], ["b", "2", "y"]]
    texts += [["all", "3", "z"]] * bool(total)
    assert [[text for _, text, _ in row] for row in rows] == texts
    for number, row in enumerate(rows):
        assert [tag for tag, _, _ in row] == (["th"] * 3 if not number else ["th", "td", "td"])
        assert [what.get("class") for _, _, what in row] == [None, "number", None]
        scopes = ["col"] * 3 if not number else ["row", None, None]
        assert [what.get("scope") for _, _, what in row] == scopes


def test_a_quote_is_in_its_language():
    assert shown(make_quote("Wörter", "de")) == '<bdi lang="de">Wörter</bdi>'
    assert shown(make_quote("words")) == "<bdi>words</bdi>"


def test_a_page_has_its_title_style_and_contents():
    page = write_page("a < b", "p {}", [make("p", "one"), make("p", "two")])
    assert page.startswith('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">')
    for part in (
        "default-src 'none'; style-src 'unsafe-inline'",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>a &lt; b</title>",
        "<style>p {}</style>",
    ):
        assert part in page
    assert page.endswith("<body><p>one</p><p>two</p></body></html>\n")
