"""Imports: which layers import which, also by strings of registries, and what starts fast."""

import ast
import importlib
import os
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pkgutil import resolve_name

import pytest

import nmt_core
from tests.support.processes import run_python
from tests.support.projects import PROJECT

SLOW = ("dvc", "hydra", "mlflow", "pandas", "prefect", "sacrebleu", "spacy", "torch")

PLACE = re.compile(r"((?:nmt_core|stages|flows|infra|benchmarks)[\w.]*):\w+")
"""How a registry names an object of ours."""

QUOTED = re.compile(rf'"(?P<place>{PLACE.pattern})"')


def read_strings():
    """Yield the module of each string that names an object of ours, and the string."""
    for top in ("nmt_core", "stages", "flows", "infra", "benchmarks"):
        for path in (PROJECT / top).rglob("*.py"):
            module = path.relative_to(PROJECT).with_suffix("").as_posix().replace("/", ".")
            for quoted in QUOTED.finditer(path.read_text()):
                yield module, quoted["place"]


def read_layers():
    """Return the layers of each contract of import-linter from the top, each a list of modules."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [[layer.split(" | ") for layer in contract] for contract in layers]


def find_layer(module, layers):
    """Return the number of a module's layer, and its module in the layer."""
    for number, names in enumerate(layers):
        for name in names:
            if f"{module}.".startswith(f"{name}."):
                return number, name
    return None


@pytest.mark.parametrize(("module", "place"), [*read_strings()])
def test_string_names_an_existing_object_below(module, place):
    """import-linter checks imports; registries name what they load by strings."""
    for layers in read_layers():
        importer, imported = find_layer(module, layers), find_layer(place.split(":")[0], layers)
        if importer and imported:
            assert importer == imported or importer[0] < imported[0]
    resolve_name(place)


def test_no_string_hides_an_import():
    """A local import is visible to mypy, editors and import-linter."""
    hidden = [
        f"{path.relative_to(PROJECT)}:{call.lineno}"
        for top in ("nmt_core", "stages", "flows", "infra", "benchmarks")
        for path in (PROJECT / top).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", getattr(call.func, "attr", ""))
        in ("resolve_name", "import_module")
        and isinstance(call.args[0], ast.Constant)
        and PLACE.match(f"{call.args[0].value}:x")
    ]

    assert hidden == []


@pytest.mark.parametrize("module", ["configure.__main__", "params", "reporting.summary"])
def test_nothing_slow_is_imported_around_the_stages(module):
    names = "from nmt_core.evaluation.registry import METRICS; METRICS.check('bleu')"
    program = (
        f"import sys, stages.{module}; {names}; print(*(n for n in {SLOW} if n in sys.modules))"
    )

    assert run_python(program) == "\n"


@pytest.mark.slow
def test_flows_and_registry_import_no_training_code():
    """They start a process for each stage, and wait; torch alone takes more than a second."""
    modules = [f"flows.{name}" for name in ("train", "retrain", "learn", "synthesize")]
    modules += ["stages.download", "stages.registry.__main__", "stages.configure.compose"]
    slow = {*SLOW, "lxml", "matplotlib", "scipy"} - {"prefect"}
    program = f"import sys, {', '.join(modules)}; print(*(n for n in {slow} if n in sys.modules))"

    assert run_python(program) == "\n"


def test_the_program_lists_commands_without_their_imports():
    """Each import takes a tenth of a second of the half that a short translation may take."""
    slow = ("asyncio", "ctranslate2", "importlib.metadata", "numpy", "pydantic", "rich", *SLOW)
    program = f"import sys, nmt_core.cli; print(*(n for n in {slow} if n in sys.modules))"

    assert run_python(program) == "\n"


@pytest.mark.slow
def test_models_and_training_import_no_torch_compiler():
    """The import takes seconds, and is not used."""
    program = """
import sys
from functools import partial
from nmt_core.models.settings import build_model
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
def test_environment_variables_are_set_before_torch(name, given, read, monkeypatch):
    """The library sets them before it imports torch, and keeps values that a person has set."""
    monkeypatch.setenv(name, given or "")
    if given is None:
        monkeypatch.delenv(name)
    importlib.reload(nmt_core)

    assert os.environ[name] == read


def test_no_flow_has_the_name_of_a_package():
    """A worker loads a flow by its file, whose folder then precedes all installed packages."""
    taken = {*packages_distributions(), *sys.stdlib_module_names}

    assert set() == taken & {path.stem for path in (PROJECT / "flows").glob("*.py")}
