"""The weight of a corpus that a program makes, by which it is the share that is asked for."""

import pytest

from nmt_core.base import files
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import MixtureConfig
from stages.configure.text_size import count_weighted_pairs, find_weight, read_temperature


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_a_made_corpus_is_its_share_at_any_temperature(tmp_path, temperature, share):
    """As the mixture of the training reads it."""
    sizes, weights = {"web": 50_000, "own": 1000, "made": 300}, {"web": 1.0, "own": 3.0}
    common = {"kind": "files", "licence": "", "removed": {}}
    corpora = {
        name: common | {"weight": weight, "pairs": {"train": sizes[name]}}
        for name, weight in weights.items()
    }
    report = {"pairs": {}, "removed": {}, "corpora": corpora}
    files.write_json(tmp_path / "download.json", report)
    others = count_weighted_pairs(temperature, reports=tmp_path)
    weights["made"] = find_weight(share, pairs=300, others=others, temperature=temperature)
    config = MixtureConfig(temperature=temperature)
    ranges = {name: range(size) for name, size in sizes.items()}
    shares = Mixture(ranges, weights, config, seed=1).compute_shares(0)
    assert shares["made"] == pytest.approx(share)


def test_the_temperature_of_settings_of_before_is_one():
    assert read_temperature({"train": {}}) == 1
    assert read_temperature({"train": {"mixture": {"temperature": 2.5}}}) == 2.5
