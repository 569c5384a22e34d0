"""Charts within a page (SVG): places of bars, curves and labels."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 480, 170
LEFT, BOTTOM, TOP = 8, 22, 18
FLOOR = HEIGHT - BOTTOM
"""Place of the horizontal axis."""

Points = Sequence[tuple[float, float]]


def draw_histogram(
    series: Mapping[str, Sequence[int]], ticks: Mapping[int, str], *, label: str
) -> Markup:
    """Draw how often values fall into bins, as shares, the bars of all series side by side.

    Args:
        series: counts of bins by name, which is also the class of their bars.
        ticks: labels at the left edge of a bin.
        label: text alternative.
    """
    shares = {
        name: [count / (sum(counts) or 1) for count in counts] for name, counts in series.items()
    }
    highest = max(map(max, shares.values())) or 1.0
    step = (WIDTH - 2 * LEFT) / max(map(len, series.values()))
    thick = (step - 2) / len(series)
    bar = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"></rect>')
    bars = [
        bar.format(name, LEFT + number * step + 1 + place * thick, FLOOR - tall, thick, tall)
        for place, (name, each) in enumerate(shares.items())
        for number, share in enumerate(each)
        if share and (tall := max(0.5, share / highest * (FLOOR - TOP)))
    ]
    labels = [_write(f"{highest:.0%}", LEFT, TOP - 5)]
    labels += [
        _write(text, LEFT + number * step, HEIGHT - 6, "middle" if number else "start")
        for number, text in ticks.items()
    ]
    return _draw(label, bars, labels)


def draw_curves(series: Mapping[str, Points], *, label: str) -> Markup:
    """Draw curves over one axis, from 0 to the largest x, between the extremes of y.

    Args:
        series: points by name, which is also the class of their curve.
        label: text alternative.
    """
    points = [point for curve in series.values() for point in curve]
    furthest = max((x for x, _ in points), default=0.0) or 1.0
    lowest = min((y for _, y in points), default=0.0)
    highest = max((y for _, y in points), default=0.0)
    across = (WIDTH - 2 * LEFT) / furthest
    span = (highest - lowest) or 1.0
    lines = []
    for name, curve in series.items():
        path = " ".join(
            f"{LEFT + x * across:.1f},{FLOOR - (y - lowest) / span * (FLOOR - TOP):.1f}"
            for x, y in curve
        )
        lines.append(
            Markup('<polyline points="{}" class="curve {}"></polyline>').format(path, name)
        )
    labels = [
        _write(f"{highest:.4g}", LEFT, TOP - 5),
        _write(f"{lowest:.4g}", LEFT, FLOOR - 4),
        _write(f"{furthest:,.0f}", WIDTH - LEFT, HEIGHT - 6, "end"),
    ]
    return _draw(label, lines, labels)


def _write(text: str, x: float, y: float, anchor: str = "start") -> Markup:
    return Markup('<text x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(
        round(x, 1), y, anchor, text
    )


def _draw(label: str, shapes: Sequence[Markup], labels: Sequence[Markup]) -> Markup:
    line = Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"></line>')
    grid, axis = (
        line.format(kind, LEFT, WIDTH - LEFT, height, height)
        for kind, height in (("grid", TOP), ("axis", FLOOR))
    )
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, Markup("").join([grid, *shapes, axis, *labels])
    )
