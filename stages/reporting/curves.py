"""Curves as pictures within a page (SVG)."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

from stages.reporting.histograms import BOTTOM, HEIGHT, LEFT, TOP, WIDTH, draw_line
from stages.reporting.hypertext import make

Points = Sequence[tuple[float, float]]


def draw_curves(series: Mapping[str, Points], *, label: str) -> Element:
    """Draw curves over one axis, from 0 to the largest x, between the extremes of y.

    Args:
        series: points by name, which is also the class of their curve.
        label: what is to be seen, for those who cannot see it.
    """
    points = [point for each in series.values() for point in each]
    furthest = max((x for x, _ in points), default=0.0) or 1.0
    lowest, highest = (f((y for _, y in points), default=0.0) for f in (min, max))
    floor = HEIGHT - BOTTOM
    across = (WIDTH - 2 * LEFT) / furthest
    up = (floor - TOP) / ((highest - lowest) or 1.0)
    picture = make("svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)
    picture.append(draw_line(TOP, "grid"))
    for name, each in series.items():
        path = " ".join(f"{LEFT + x * across:.1f},{floor - (y - lowest) * up:.1f}" for x, y in each)
        picture.append(make("polyline", points=path, class_=f"curve {name}"))
    picture.append(draw_line(floor, "axis"))
    for text, height in ((f"{highest:.4g}", TOP - 5), (f"{lowest:.4g}", floor - 4)):
        picture.append(make("text", text, x=str(LEFT), y=str(height)))
    last = {"x": str(WIDTH - LEFT), "y": str(HEIGHT - 6), "text-anchor": "end"}
    picture.append(make("text", f"{furthest:,.0f}", **last))
    return picture
