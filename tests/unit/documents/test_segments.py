"""Parts of a document that are translated together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import drop_blank_lines
from nmt_core.documents.segments import (
    InlineTag,
    Piece,
    Role,
    Segment,
    Written,
    make_parts,
    write_plainly,
)

MARKUP = {"<b>": Role.OPEN, "</b>": Role.CLOSE, "<i>": Role.OPEN, "</i>": Role.CLOSE}


@given(st.lists(st.sampled_from([*MARKUP, *MARKUP, "one ", "two ", "<p>"]), max_size=12))
def test_segments_hold_nested_tags_alone(written):
    """Tags that open and close in the same passage form pairs; no tag is lost."""
    kinds = MARKUP | {"<p>": Role.BLOCK}
    pieces = [
        Piece(kinds.get(raw, Role.TEXT), raw, "" if raw in kinds else raw, name=raw.strip("</>"))
        for raw in written
    ]
    found = []
    for part in make_parts(pieces, write_plainly):
        members = part.pieces if isinstance(part, Segment) else [part]
        found += [piece.raw for piece in members]
        opened = []
        for piece in members if isinstance(part, Segment) else ():
            if piece.role is Role.OPEN:
                opened.append(piece.name)
            elif piece.role is Role.CLOSE:
                assert opened.pop() == piece.name
        assert not opened

    assert found == written


@given(st.lists(st.sampled_from(["a", "b c", "\n", " \n", "\n\n", " ", "<b>"]), max_size=8))
def test_blank_lines_are_dropped(texts):
    """A blank line would end a block, or start it with something else."""
    mark = InlineTag(Role.EMPTY, 0)
    written = [Written(text, mark if text == "<b>" else None) for text in texts]
    found = "".join(part.text for part in drop_blank_lines(written))

    assert found.split() == "".join(texts).split()
    assert not found.strip() or all(line.strip() for line in found.rstrip().split("\n"))


@pytest.mark.parametrize(
    ("text", "places", "translated"),
    [
        ("a <img> b.", ["A", "*", "."], "A <img>."),
        ("a <img> b.", ["A.", "*", ""], "A. <img>"),
        ("a <img> b.", ["A", "*", " (B)."], "A <img> (B)."),
        ("a <img> b.", ["", "*", "A B."], "<img> A B."),
        ("a <img> (b).", ["A ", "*", "(B)."], "A <img> (B)."),
        ("a <img><hr> b.", ["A", "*", ""], "A <img><hr> b."),
        ("a <img> <wbr> b.", ["A", "*", "", "*", "."], "A <img> <wbr>."),
        ("a <img> <wbr> b.", ["A ", "*", "", "*", "B."], "A <img> <wbr> B."),
        ("<img> b.", ["*", "B."], "<img> B."),
        ("a b <img>.", ["A ", "*", "B."], "A <img> B."),
        ("a b <img>.", ["A B", "*", "."], "A B <img>."),
        ("a<img> b.", ["A", "*", " (B)."], "A<img> (B)."),
        ("<i>a</i><img> b.", ["A", "*", " (B)."], "A<img> (B)."),
    ],
)
def test_space_around_empty_tags(text, places, translated):
    document = read_html(text)
    points = (
        item
        for passage in document.passages
        for item in passage.items
        if not isinstance(item, str) and item.kind is Role.EMPTY
    )
    items = tuple(next(points) if place == "*" else place for place in places)
    others = [passage.items for passage in document.passages[1:]]

    written = document.write([items, *others])

    assert written.replace("<i>", "").replace("</i>", "") == translated
