"""What fastText is asked to learn, by its own account."""

import pytest

from nmt_core.embeddings.fasttext import _train
from nmt_core.embeddings.settings import TrainedVectors

fasttext = pytest.importorskip("fasttext")


@pytest.mark.parametrize(("most", "least"), [(5, 2), (0, 0)])
def test_fasttext_learns_as_the_settings_say(tmp_path, monkeypatch, most, least):
    """In one thread on any machine, for the same vectors again."""
    monkeypatch.setitem(fasttext.FastText.unsupervised_default, "thread", 9)
    text = tmp_path / "text"
    text.write_text("__label__a b c\n" * 20)
    config = TrainedVectors(
        objective="cbow",
        dimensions=4,
        epochs=3,
        min_count=2,
        learning_rate=0.25,
        min_n=2,
        max_n=most,
        buckets=10,
    )
    model = _train(text, config)
    told = model.f.getArgs()

    assert told.model.name == "cbow"
    assert (told.dim, told.epoch, told.minCount, told.lr) == (4, 3, 2, 0.25)
    assert (told.minn, told.maxn, told.thread) == (least, most, 1)
    assert most == 0 or told.bucket == 10
    assert {"__label__a", "b", "c"} <= {*model.words}
