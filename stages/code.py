"""Write digests of the code that each stage runs, so that DVC reruns what a change affects.

Usage: python -m stages.code
Reads:  the code of nmt_core/ and stages/, dvc.yaml
Writes: code/STAGE.json, a digest of each file without its comments and docstrings
"""

import yaml

from nmt_core.base import files
from stages import paths
from stages.runtime.code_digests import digest_code
from stages.runtime.entry import run_stage


def write_digests() -> None:
    """Write the digests for each stage of dvc.yaml that depends on its own."""
    pipeline = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    outputs = {stage: paths.CODE / f"{stage}.json" for stage in pipeline}
    stages = [name for name, path in outputs.items() if str(path) in pipeline[name].get("deps", ())]
    for stage, digests in digest_code(stages).items():
        files.write_json(outputs[stage], digests)


if __name__ == "__main__":
    run_stage(write_digests)
