"""Write the dependencies of each stage besides data: digests of its code, and all settings.

Usage: python -m stages.code
Reads:  the code of nmt_core/ and stages/, dvc.yaml, params.yaml
Writes: code/STAGE.json, a digest of each file without its comments and docstrings
        code/settings.json, all settings, including defaults
"""

import yaml

from nmt_core.base import files
from stages import paths
from stages.configure.sections import read_settings
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import digest_code


def write_code() -> None:
    """Write the code digests of the stages that list them in dvc.yaml, and all settings."""
    pipeline = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    outputs = {stage: paths.CODE / f"{stage}.json" for stage in pipeline}
    stages = [name for name, path in outputs.items() if str(path) in pipeline[name].get("deps", ())]
    for stage, digests in digest_code(stages).items():
        files.write_json(outputs[stage], digests)
    if stages:
        files.write_json(paths.SETTINGS, read_settings())


if __name__ == "__main__":
    run_stage(write_code)
