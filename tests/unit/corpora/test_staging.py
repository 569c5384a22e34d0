"""Digests of pairs on disk are compared part by part, with the result of one comparison."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.corpora import staging
from nmt_core.corpora.staging import StagedPairs, mark_repeated, mark_shared

rows = st.lists(st.tuples(st.integers(0, 6), st.integers(2**63, 2**63 + 4)), max_size=40)


@pytest.fixture(params=[1, 3, 7, 1000])
def at_once(request, monkeypatch):
    monkeypatch.setattr(staging, "PAIRS_AT_ONCE", request.param)


def lay_down(folder, pairs):
    folder.mkdir()
    np.array(pairs, dtype="<u8").reshape(-1, 2).tofile(folder / "train.digests")
    return StagedPairs(folder, "train").digests()


@pytest.mark.usefixtures("at_once")
@given(pairs=rows)
def test_repeated_pairs_follow_an_equal_pair(tmp_path_factory, pairs):
    digests = lay_down(tmp_path_factory.mktemp("digests") / "pairs", pairs)
    expected = [pair in pairs[:place] for place, pair in enumerate(pairs)]
    assert mark_repeated(digests).tolist() == expected


@pytest.mark.usefixtures("at_once")
@given(pairs=rows, others=rows)
def test_shared_pairs_have_a_side_of_another(pairs, others):
    digests, other = (np.array(p, np.uint64).reshape(-1, 2) for p in (pairs, others))
    sources, targets = {source for source, _ in others}, {target for _, target in others}
    expected = [source in sources or target in targets for source, target in pairs]
    assert mark_shared(digests, other).tolist() == expected


@pytest.mark.usefixtures("at_once")
@given(flags=st.lists(st.booleans(), max_size=20))
def test_kept_lines_are_written(tmp_path_factory, flags):
    folder = tmp_path_factory.mktemp("pairs")
    pairs = StagedPairs(folder, "train")
    pairs.files["target"].write_text("".join(f"{row}\n" for row in range(len(flags))))
    (folder / "out").mkdir()
    pairs.write(folder / "out", np.array(flags, dtype=np.bool_))
    assert (folder / "out/train.target").read_text() == "".join(
        f"{row}\n" for row in np.flatnonzero(flags)
    )
