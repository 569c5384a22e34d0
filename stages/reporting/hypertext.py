"""HTML as a tree of elements, in which text is never taken for a tag."""

import re
from collections.abc import Collection, Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

Content = Element | str | float

_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that no page may hold."""


def make(tag: str, *contents: Content, **attributes: str) -> Element:
    """Return an element; a number is written with commas.

    Args:
        tag: its name.
        contents: what stands in it, in order.
        attributes: by names in which ``_`` stands for a hyphen, but for the last one of ``class_``.
    """
    names = {name.rstrip("_").replace("_", "-"): text for name, text in attributes.items()}
    element = Element(tag, {name: _clean(text) for name, text in names.items()})
    for content in contents:
        if isinstance(content, Element):
            element.append(content)
            continue
        text = _clean(content) if isinstance(content, str) else f"{content:,.12g}"
        if len(element):
            element[-1].tail = (element[-1].tail or "") + text
        else:
            element.text = (element.text or "") + text
    return element


def make_table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Content]],
    *,
    total: Sequence[Content] = (),
    numbers: Collection[str] = (),
) -> Element:
    """Return a table that can be scrolled where it is wider than the page.

    Args:
        caption: what it shows.
        head: names of the columns.
        rows: the first cell of each is its name.
        total: the last row, set apart.
        numbers: the columns of numbers.
    """
    classes = [{"class_": "number"} if name in numbers else {} for name in head]

    def make_row(cells: Sequence[Content]) -> Element:
        first, *others = cells
        row = make("tr", make("th", first, scope="row"))
        row.extend(make("td", cell, **one) for cell, one in zip(others, classes[1:], strict=True))
        return row

    columns = (
        make("th", name, scope="col", **one) for name, one in zip(head, classes, strict=True)
    )
    table = make("table", make("caption", caption), make("thead", make("tr", *columns)))
    table.append(make("tbody", *map(make_row, rows)))
    if total:
        table.append(make("tfoot", make_row(total)))
    return make("div", table, class_="wide", role="group", tabindex="0", aria_label=caption)


def make_quote(text: str, language: str = "") -> Element:
    """Return text in its language, set apart from that around it, whichever way it runs."""
    return make("bdi", text, **({"lang": language} if language else {}))


def write_page(title: str, style: str, contents: Iterable[Element]) -> str:
    """Return a page that runs no script and asks nobody for anything."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = make(
        "head",
        make("meta", charset="utf-8"),
        make("meta", **{"http-equiv": "Content-Security-Policy", "content": policy}),
        make("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make("title", title),
        make("style", style),
    )
    page = make("html", head, make("body", *contents), lang="en")
    return f"<!DOCTYPE html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _clean(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text)
