"""Validation and test from the end of sessions."""

import codecs
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.corpora.sessions import mark_unique, rank_sessions, take_last
from nmt_core.corpora.splitting import SessionSplit

NAMES = ["ep-00-01-17", "ep-00-07-03", "ep-00-07-04", "ep-00-07-04", "ep-00-09-21", "ep-99-07-20"]


def write(path, names=NAMES):
    path.write_text("".join(f"{name}\t{place}\tfr\n" for place, name in enumerate(names)))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_sessions_are_ranked_by_their_names(tmp_path, packed):
    path = write(tmp_path / "meta.tsv")
    if packed:
        (tmp_path / "meta.tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "meta.tsv.gz"
    split = SessionSplit(file=path, held_out=("ep-00-09", "ep-00-07"))

    assert [-1, 0, 1, 1, 2, -1] == rank_sessions(split, len(NAMES)).tolist()


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = write(tmp_path / "meta.tsv", names=["a", "b", "a"])
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())

    assert [0, -1, 0] == rank_sessions(SessionSplit(file=path, held_out=("a",)), 3).tolist()


def test_spaces_and_ends_of_lines_are_no_part_of_a_name(tmp_path):
    """Whoever joins files of Windows and others has both, and one session."""
    (tmp_path / "meta.tsv").write_bytes(b"a\r\nb\na\n a \t1\r\n")
    split = SessionSplit(file=tmp_path / "meta.tsv", held_out=("a",))

    assert [0, -1, 0, 0] == rank_sessions(split, 4).tolist()


@pytest.mark.parametrize(
    ("lines", "held_out", "said"),
    [
        (7, ("ep-00",), "meta.tsv has 6 lines but the corpus 7; line N must name the session"),
        (6, ("ep-00", "ep-00-08"), "begins with 'ep-00-08'; did you mean 'ep-00-0"),
        (6, ("talk",), "begins with 'talk'; known here: ep-0, ep-9"),
    ],
)
def test_a_file_that_does_not_fit_is_told(tmp_path, lines, held_out, said):
    split = SessionSplit(file=write(tmp_path / "meta.tsv"), held_out=held_out)
    with pytest.raises(CorpusError, match=said):
        rank_sessions(split, lines)


def test_a_file_that_is_not_there_or_another_is_told(tmp_path):
    split = SessionSplit(file=tmp_path / "meta.tsv", held_out=("ep",))
    with pytest.raises(CorpusError, match="does not exist"):
        rank_sessions(split, 6)
    write(split.file)
    with pytest.raises(CorpusError, match=r"changed since params\.yaml was written"):
        rank_sessions(split.model_copy(update={"sha256": "0" * 64}), 6)
    pinned = split.model_copy(update={"sha256": split.digest()})
    assert len(rank_sessions(pinned, 6)) == 6


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"file": "f", "held_out": []}, "at.held_out must"),
        (
            {"file": "f", "held_out": ["a"], "test_pairs": 0},
            "at.test_pairs must be greater than or",
        ),
        ({"file": "f"}, "at.held_out is missing"),
    ],
)
def test_settings_without_sense_are_refused(values, said):
    with pytest.raises(ConfigError, match=said):
        build(SessionSplit, values, at="at")


@given(st.data())
def test_what_is_taken_are_the_last_unique_pairs(data):
    """Test is the end, validation what comes before it, both in the order of the sessions."""
    size = data.draw(st.integers(1, 30))
    unique = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    ranks = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), dtype=np.int32
    )
    tests, validations = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    split = SessionSplit(
        file=Path("f"), held_out=("a",), test_pairs=tests, validation_pairs=validations
    )
    order = sorted((rank, row) for row, rank in enumerate(ranks) if unique[row])
    if len(order) < tests + validations:
        with pytest.raises(CorpusError, match="fewer than the"):
            take_last(unique, ranks, split, ["validation", "test"])
        return
    taken = take_last(unique, ranks, split, ["validation", "test"])

    rows = [row for _, row in order]
    assert sorted(rows[-tests:]) == np.flatnonzero(taken["test"]).tolist()
    assert sorted(rows[-tests - validations : -tests]) == (
        np.flatnonzero(taken["validation"]).tolist()
    )


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_unique_pairs_share_no_side_with_another(pairs):
    columns = list(zip(*pairs, strict=True))
    expected = [
        all(column.count(value) == 1 for column, value in zip(columns, pair, strict=True))
        for pair in pairs
    ]

    assert expected == mark_unique(np.array(column, dtype=np.uint64) for column in columns).tolist()
