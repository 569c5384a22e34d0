"""Three ways to run the pipeline give the same bytes: by hand, as a flow, on two workers."""

import pytest

from tests.support.pipeline import list_stages
from tests.support.projects import Untracked


@pytest.fixture(scope="module")
def ways(fleet):
    """The three runs, one after another; only the last two clones share a remote."""
    begun = fleet.clone("by-hand")
    by_hand = Untracked(begun.folder, begun.shared).run("dvc repro")
    flow = fleet.clone("flow").run("python -m flows.train")
    cpu, gpu = fleet.clone("cpu"), fleet.clone("gpu")
    for clone in (cpu, gpu):
        clone.remote(fleet.folder / "remote-of-ways")
    with fleet.worker(cpu, "cpu"), fleet.worker(gpu, "gpu"):
        pools = fleet.submit("train/train-on-pools")
        fleet.wait(pools, "Completed", seconds=900)
    return {"by hand": by_hand, "flow": flow, "pool cpu": cpu, "pool gpu": gpu, "run": pools}


@pytest.mark.parametrize("way", ["flow", "pool cpu", "pool gpu"])
def test_every_way_makes_the_same_bytes(ways, way):
    expected = ways["by hand"].digests()

    assert "models/export/model.safetensors" in expected
    assert expected == ways[way].digests()
    assert ways["by hand"].lock == ways[way].lock


def test_each_stage_ran_only_in_its_pool(ways, fleet):
    """Results of the other pool came through the remote."""
    ran = {
        name: (ways[f"pool {name}"].folder / "worker.log").read_text() for name in ("cpu", "gpu")
    }
    stages = {pool: list_stages(pool) for pool in ran}

    for pool, theirs in (("cpu", "gpu"), ("gpu", "cpu")):
        assert all(f"Running stage '{stage}'" in ran[pool] for stage in stages[pool])
        assert not any(f"Running stage '{stage}'" in ran[pool] for stage in stages[theirs])


def test_run_shows_scores_and_translations(ways, fleet):
    report = fleet.artifacts(ways["run"])["report"]

    assert "| BLEU |" in report
    assert "| source | hypothesis | reference |" in report
