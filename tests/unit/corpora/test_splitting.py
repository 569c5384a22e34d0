"""Splits by the hash of a sentence, and by sessions."""

import codecs
import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.corpora.splitting import (
    SessionSplit,
    SplitConfig,
    mark_unique,
    rank_sessions,
    split_of,
    take_last,
)

HALVES = SplitConfig(validation_per_10000=2500, test_per_10000=2500)
HELD_OUT = ("test", "validation")


@given(source=st.text(min_size=1, max_size=6), rate=st.floats(1, 4000), other=st.floats(1, 4000))
def test_the_size_of_one_split_does_not_touch_the_other(source, rate, other):
    small = SplitConfig(validation_per_10000=rate, test_per_10000=min(rate, other))
    large = SplitConfig(validation_per_10000=rate, test_per_10000=max(rate, other))

    if split_of(source, small) != "train":
        assert split_of(source, small) == split_of(source, large)


@pytest.mark.parametrize(("validation", "test"), [(2500, 2500), (1000, 3000)])
def test_splits_have_the_size_that_was_asked_for(validation, test):
    sizes = SplitConfig(validation_per_10000=validation, test_per_10000=test)
    counts = Counter(split_of(f"Satz {number}", sizes) for number in range(20_000))

    assert counts["test"] == pytest.approx(2 * test, rel=0.05)
    assert counts["validation"] == pytest.approx(2 * validation, rel=0.1)


def test_splits_never_change_between_versions():
    """These values are a promise: another hash would move sentences from test into train."""
    sentences = ["Guten Tag.", "Der Hund schläft.", "Wo ist das Buch?", "Danke!", "Ein Haus."]

    kept = [split_of(sentence, HALVES) for sentence in sentences]
    assert kept == ["validation", "test", "test", "test", "train"]
    other = HALVES.model_copy(update={"salt": "other"})
    differing = sum(split_of(f"{n}", HALVES) != split_of(f"{n}", other) for n in range(1000))
    assert differing > 400


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"validation_per_10000": 5e3, "test_per_10000": 5e3}, "nothing to train on"),
        ({"salt": "ä" * 33}, "at: salt is longer than 64 bytes"),
    ],
)
def test_contradictory_settings_are_refused(values, expected):
    with pytest.raises(ConfigError, match=expected):
        build(SplitConfig, values, at="at")


SESSIONS = ["ep-00-01-17", "ep-00-07-03", "ep-00-07-04", "ep-00-07-04", "ep-00-09-21", "ep-99-07"]


@pytest.fixture
def sessions(tmp_path):
    def sessions(content, *held_out, name="meta.tsv"):
        (tmp_path / name).write_bytes(content)
        return SessionSplit(file=tmp_path / name, held_out=held_out)

    return sessions


PLAIN = "".join(f"{name}\t{place}\tfr\n" for place, name in enumerate(SESSIONS)).encode()


@pytest.mark.parametrize(
    ("content", "held_out", "ranks"),
    [
        (PLAIN, ("ep-00-09", "ep-00-07"), [-1, 0, 1, 1, 2, -1]),
        (codecs.BOM_UTF8 + b"a\t0\nb\t1\na\t2\n", ("a",), [0, -1, 0]),
        (b"a\r\nb\na\n a \t1\r\n", ("a",), [0, -1, 0, 0]),
    ],
)
def test_sessions_are_ranked_by_their_names(sessions, content, held_out, ranks):
    packed = sessions(gzip.compress(content), *held_out, name="meta.tsv.gz")
    for split in (sessions(content, *held_out), packed):
        assert rank_sessions(split, len(ranks)).tolist() == ranks


@pytest.mark.parametrize(
    ("lines", "held_out", "error"),
    [
        (7, ("ep-00",), "meta.tsv has 6 lines but the corpus 7"),
        (6, ("ep-00", "ep-00-08"), "'ep-00-08'; did you mean 'ep-00-0"),
        (6, ("talk",), "'talk'; known here: ep-0, ep-9; it names ep-00-01-17 to ep-99-07"),
    ],
)
def test_unsuitable_sessions_are_refused(sessions, lines, held_out, error):
    with pytest.raises(CorpusError, match=error):
        rank_sessions(sessions(PLAIN, *held_out), lines)


def test_file_of_sessions_is_pinned(sessions, tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        rank_sessions(SessionSplit(file=tmp_path / "none", held_out=("ep",)), 6)
    split = sessions(PLAIN, "ep")
    with pytest.raises(CorpusError, match=r"changed since params\.yaml was written"):
        rank_sessions(split.model_copy(update={"sha256": "0" * 64}), 6)
    config = SplitConfig(sessions=split)
    assert config.pinned().pins() == {str(split.file): split.digest()}
    assert len(rank_sessions(config.pinned().sessions, 6)) == 6


@given(st.data())
def test_last_unique_pairs_are_held_out(data):
    """Test is the end, validation what comes before it, both in the order of the sessions."""
    size = data.draw(st.integers(1, 30))
    unique = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    ranks = np.array(drawn, dtype=np.int32)
    tests, validations = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    split = SessionSplit(
        file=Path("f"), held_out=("a",), test_pairs=tests, validation_pairs=validations
    )
    rows = [row for _, row in sorted((rank, row) for row, rank in enumerate(ranks) if unique[row])]
    if len(rows) < tests + validations:
        with pytest.raises(CorpusError, match="fewer than the"):
            take_last(unique, ranks, split, HELD_OUT)
        return
    taken = take_last(unique, ranks, split, HELD_OUT)

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

    assert expected == mark_unique(np.array(pairs, dtype=np.uint64)).tolist()
