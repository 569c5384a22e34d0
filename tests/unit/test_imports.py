"""What runs before and after the stages is there at once: it imports nothing that takes seconds."""

import importlib
import os
import sys
from importlib.metadata import packages_distributions

import pytest

import nmt_core
from tests.support.processes import run_python
from tests.support.projects import PROJECT

SLOW = ("dvc", "hydra", "mlflow", "pandas", "prefect", "sacrebleu", "spacy", "torch")


@pytest.mark.parametrize("module", ["configure.__main__", "params", "reporting.summary"])
def test_nothing_slow_is_imported_around_the_stages(module):
    names = "from nmt_core.evaluation.registered import METRICS; METRICS.check('bleu')"
    program = (
        f"import sys, stages.{module}; {names}; print(*(n for n in {SLOW} if n in sys.modules))"
    )

    assert run_python(program) == "\n"


@pytest.mark.slow
def test_flows_and_what_reads_the_registry_begin_without_what_trains():
    """They start a process for each stage, and wait; torch alone takes more than a second."""
    modules = [f"flows.{name}" for name in ("train", "retrain", "learn", "synthesize")]
    modules += ["stages.download", "stages.registry.__main__", "stages.configure.refresh"]
    slow = {*SLOW, "lxml", "matplotlib", "scipy"} - {"prefect"}
    program = f"import sys, {', '.join(modules)}; print(*(n for n in {slow} if n in sys.modules))"

    assert run_python(program) == "\n"


def test_the_program_knows_its_commands_without_what_they_need():
    """Each of these takes a tenth of a second of the half that a short translation may take."""
    slow = ("asyncio", "ctranslate2", "importlib.metadata", "numpy", "pydantic", "rich", *SLOW)
    program = f"import sys, nmt_core.cli; print(*(n for n in {slow} if n in sys.modules))"

    assert run_python(program) == "\n"


@pytest.mark.slow
def test_no_training_and_no_model_imports_torchs_compiler():
    """It takes seconds, and has nothing to do."""
    program = """
import sys
from functools import partial
from nmt_core.models.architectures import build_model
from nmt_core.models.weights import compare_shapes
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.settings import AdamW, NesterovSgd
from tests.support.presets import PRESETS, VARIANTS, tiny_config

for name in [*PRESETS, *VARIANTS]:
    build = partial(build_model, tiny_config(name), source_size=9, target_size=9)
    compare_shapes(build, {})
    model = build()
    for config in (AdamW(), NesterovSgd()):
        optimizer = build_optimizer(model, config)
        sum(weight.sum() for weight in model.parameters()).backward()
        optimizer.step()
        optimizer.zero_grad()
        optimizer.load_state_dict(optimizer.state_dict())
print("torch._dynamo" in sys.modules)
"""

    assert run_python(program) == "False\n"


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", None, "32"),
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7", "7"),
        ("CUBLAS_WORKSPACE_CONFIG", None, ":4096:8"),
        ("GOMP_SPINCOUNT", None, "1000"),
    ],
)
def test_what_torchs_libraries_read_is_set_when_this_one_is_imported(
    name, given, read, monkeypatch
):
    """Before them, which it imports later; and not if a person has set it."""
    monkeypatch.setenv(name, given or "")
    if given is None:
        monkeypatch.delenv(name)
    importlib.reload(nmt_core)

    assert os.environ[name] == read


def test_no_file_of_a_flow_is_called_as_a_package():
    """A worker loads a flow by its file, whose folder then comes before all that is installed."""
    taken = {*packages_distributions(), *sys.stdlib_module_names}

    assert set() == taken & {path.stem for path in (PROJECT / "flows").glob("*.py")}
