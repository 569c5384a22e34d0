"""Histograms as pictures within a page (SVG)."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

from stages.reporting.hypertext import make

WIDTH, HEIGHT = 480, 170
LEFT, BOTTOM, TOP = 8, 22, 18


def draw_histogram(
    series: Mapping[str, Sequence[int]], ticks: Mapping[int, str], *, label: str
) -> Element:
    """Draw how often values fall into bins, as shares, the bars of all series side by side.

    Args:
        series: counts of bins by name, which is also the class of their bars.
        ticks: what stands at the left edge of a bin.
        label: what is to be seen, for those who cannot see it.
    """
    bins = max(map(len, series.values()))
    totals = {name: max(1, sum(counts)) for name, counts in series.items()}
    most = max(max(counts) / totals[name] for name, counts in series.items()) or 1.0
    step, height = (WIDTH - 2 * LEFT) / bins, HEIGHT - BOTTOM - TOP
    floor = HEIGHT - BOTTOM
    picture = make("svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)
    picture.append(draw_line(TOP, "grid"))
    picture.append(make("text", f"{most:.0%}", x=str(LEFT), y=str(TOP - 5)))
    thick = (step - 2) / len(series)
    for place, (name, counts) in enumerate(series.items()):
        for number, count in enumerate(counts):
            if count:
                tall = max(0.5, count / totals[name] / most * height)
                picture.append(
                    make(
                        "rect",
                        class_=name,
                        x=f"{LEFT + number * step + 1 + place * thick:.1f}",
                        y=f"{floor - tall:.1f}",
                        width=f"{thick:.1f}",
                        height=f"{tall:.1f}",
                    )
                )
    picture.append(draw_line(floor, "axis"))
    for number, text in ticks.items():
        at = {"x": f"{LEFT + number * step:.1f}", "y": str(HEIGHT - 6)}
        picture.append(make("text", text, **at, **{"text-anchor": "middle" if number else "start"}))
    return picture


def draw_line(height: int, name: str) -> Element:
    """Return a level line across a picture; ``name`` is its class."""
    ends = {"x1": LEFT, "x2": WIDTH - LEFT, "y1": height, "y2": height}
    return make("line", class_=name, **{key: str(value) for key, value in ends.items()})
