"""What runs before and after the stages is there at once: it imports nothing that takes seconds."""

import subprocess
import sys

import pytest

SLOW = ("dvc", "hydra", "mlflow", "pandas", "prefect", "sacrebleu", "spacy", "torch")


@pytest.mark.parametrize("module", ["configure.__main__", "params", "reporting.summary"])
def test_nothing_slow_is_imported_around_the_stages(module):
    labels = "from nmt_core.evaluation.metrics.registered import find_label; find_label('bleu')"
    program = (
        f"import sys, stages.{module}; {labels}; print(*(n for n in {SLOW} if n in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "\n" == done.stdout


def test_the_program_knows_its_commands_without_what_they_need():
    """Each of these takes a tenth of a second of the half that a short translation may take."""
    slow = ("asyncio", "ctranslate2", "importlib.metadata", "numpy", "pydantic", "rich", *SLOW)
    program = f"import sys, nmt_core.cli; print(*(n for n in {slow} if n in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "\n" == done.stdout
