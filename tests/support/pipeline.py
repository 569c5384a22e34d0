"""Read the stages of the pipeline from ``dvc.yaml``."""

import yaml

from tests.support.projects import PROJECT

STAGES = yaml.safe_load((PROJECT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
CODE = STAGES.pop("code")  # always runs


def list_stages(pool=None):
    """Return the stages in order, or only those of a pool."""
    return [name for name, stage in STAGES.items() if pool in (None, stage["meta"]["pool"])]


def list_data_stages():
    """Return the stages before training."""
    return list_stages()[: list_stages().index("train")]
