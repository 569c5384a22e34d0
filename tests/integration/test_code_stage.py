"""Changes of code and settings, and the stages that DVC reruns for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from stages.code import write_code
from tests.support.pipeline import CODE, STAGES
from tests.support.projects import copy_project

pytestmark = pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")  # inside DVC

ALL = [*STAGES]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A pipeline with real code and settings; stages copy their digests and previous output."""
    folder = tmp_path_factory.mktemp("pipeline")
    copy_project(folder, parts=("nmt_core", "stages"), names=["params.yaml"])
    stages = {"code": CODE}
    for before, stage in zip(["", *ALL], ALL, strict=False):
        deps = [f"code/{stage}.json", *([f"{before}.txt"] if before else [])]
        outs = [f"{stage}.txt"]
        params = STAGES[stage]["params"]
        command = f"cat {' '.join(deps)} code/settings.json > {outs[0]}"
        stages[stage] = {"cmd": command, "deps": deps, "params": params, "outs": outs}
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        patch.setenv("PYTHONPATH", str(folder))
        repo = Repo.init(no_scm=True)
        assert ["code", *ALL] == [stage.name for stage in repo.reproduce()]
        yield repo


NEW_LINE = ("\n\n\n", "\n\n\nNEW = 1\n")
WITHOUT_EFFECT = [
    ("stages/shard.py", "", ""),
    ("nmt_core/text/subwords.py", '"""', '"""Once more: '),
    ("nmt_core/text/subwords.py", "\n\n\n", "\n\n\n# A comment.\n"),
    ("nmt_core/base/errors.py", *NEW_LINE),  # does not affect results
    ("params.yaml", "train:\n", "shard: {pairs_per_shard: 100000}\ntrain:\n"),  # a default
    ("params.yaml", "train:\n", "workers: {processes: 1}\ntrain:\n"),
    ("stages/params.py", "Field(100_000, ge=1, le=100_000_000)", "Field(90_000, ge=1)"),  # set
]
CHANGES = [
    (WITHOUT_EFFECT, []),
    ([("nmt_core/training/trainer.py", *NEW_LINE)], ["train", "evaluate", "export"]),
    ([("nmt_core/corpora/formats/tables.py", *NEW_LINE)], ALL),  # named in a registry
    ([("stages/export.py", *NEW_LINE)], ["export"]),
    ([("params.yaml", "train:\n", "train:\n  seed: 2\n")], ["train", "evaluate", "export"]),
    ([("params.yaml", "source: de, target: en", "source: en, target: de")], ALL),
    ([("stages/params.py", "Field(200, ge=1", "Field(180, ge=1")], ALL[ALL.index("shard") :]),
]


@pytest.mark.parametrize(
    ("changes", "stages"),
    [*CHANGES[:2], *(pytest.param(*change, marks=pytest.mark.slow) for change in CHANGES[2:])],
)
def test_changes_rerun_the_stages_that_use_them(pipeline, changes, stages):
    before = {path: Path(path).read_text() for path, *_ in changes}
    for path, old, new in changes:
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new, 1))

    if "stages/params.py" in before:  # this process has its own defaults
        subprocess.run([sys.executable, "-m", "stages.code"], check=True)
    else:
        write_code()
    status = pipeline.status()
    for path, text in before.items():
        Path(path).write_text(text)
    first = next((number for number, stage in enumerate(ALL) if stage in status), len(ALL))
    assert stages == ALL[first:]
