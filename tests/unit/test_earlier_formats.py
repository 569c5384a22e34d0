"""Files of earlier versions are read, or refused with an error of one sentence.

A change of a format adds files of the version before to ``tests/earlier``, and increases the
number.
"""

import shutil

import pytest

from nmt_core.base import seal
from nmt_core.base.errors import NmtError
from nmt_core.data import shards
from nmt_core.data.shards import ShardDataset
from nmt_core.extensions.language_models.training import load_language_model
from nmt_core.training import checkpoint
from nmt_core.training.checkpoint import CheckpointStore
from nmt_core.translation.translator import Translator
from tests.support.projects import PROJECT

EARLIER = PROJECT / "tests/earlier"


def newest(folder):
    return CheckpointStore(folder).newest()


READERS = {
    "bundle": (Translator.load, seal.FORMAT),
    "checkpoint": (newest, checkpoint.FORMAT),
    "language_model": (load_language_model, 1),
    "shards": (ShardDataset, shards.FORMAT),
}
WRITTEN = [path.name.rsplit("_", 1) for path in sorted(EARLIER.iterdir())]


def test_every_earlier_format_is_tested():
    kept = {tuple(one) for one in WRITTEN}
    assert kept >= {(kind, str(n)) for kind, (_, now) in READERS.items() for n in range(1, now)}


@pytest.mark.parametrize(("kind", "number"), WRITTEN)
def test_earlier_files_are_read_or_refused(kind, number, tmp_path):
    folder = shutil.copytree(EARLIER / f"{kind}_{number}", tmp_path / kind)
    read, now = READERS[kind]
    if int(number) == now:
        assert read(folder) is not None
        return
    with pytest.raises(NmtError) as told:
        read(folder)

    assert f"format {number}" in str(told.value)
    assert f"reads {now}" in str(told.value).replace("format ", "")
    assert "\n" not in str(told.value)


def test_contents_of_earlier_files_are_restored():
    store = CheckpointStore(EARLIER / "checkpoint_3")
    found = store.newest()
    text = load_language_model(EARLIER / "language_model_1", device="cpu")
    pairs = [[side.tolist() for side in pair] for pair in ShardDataset(EARLIER / "shards_1")]

    assert (found.progress, found.tensors["model.w"].tolist()) == (
        {"step": 7, "history": []},
        [0.25],
    )
    assert store.best().tensors["w"].tolist() == [1.5]
    assert text.units.vocabulary.tokens[4:] == ("the", "cat", "dog")
    assert pairs == [[[4, 5], [6]], [[], [7, 8, 9]]]
