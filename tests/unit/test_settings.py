"""Settings in all files: bounds, and defaults within them."""

from importlib import import_module

from omegaconf import MISSING, OmegaConf
from pydantic import ValidationError

from nmt_core.base.config import Config, list_kinds
from nmt_core.data.settings import TrainedVectors
from stages.demo.corpus import DemoCorpus
from stages.params import SECTIONS
from tests.support.projects import PROJECT

FILES = (
    "budget.py", "corpus.py", "filters.py", "initial_model.py", "jobs.py",
    "params.py", "schedule.py", "settings.py", "splitting.py", "subword_sampling.py",
    "subwords.py", "units.py", "vectors.py",
)  # fmt: skip
"""Modules that declare settings."""

MODULES = [
    import_module(".".join(path.relative_to(PROJECT).with_suffix("").parts))
    for room in ("nmt_core", "stages")
    for name in FILES
    for path in (PROJECT / room).rglob(name)
]
KINDS = {
    kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Config)
}


def find_errors(kind):
    """Yield faults in the defaults of settings."""
    checked = type(kind.__name__, (kind,), {"model_config": {"validate_default": True}})
    try:
        checked.model_validate({})
    except ValidationError as error:
        return [one["msg"] for one in error.errors() if one["type"] != "missing"]
    return []


def test_every_default_is_a_valid_value():
    """Only budgets have no valid default."""
    assert len(KINDS) > 60
    assert [
        ("Budget", "Value error, the budget has no limit; set steps, epochs, tokens or seconds")
    ] == [(kind.__name__, told) for kind in KINDS for told in find_errors(kind)]


def test_every_number_but_two_has_a_minimum():
    unbounded = {
        f"{kind.__name__}.{name}"
        for kind in KINDS
        for name, field in kind.model_fields.items()
        if field.annotation in (int, float, int | None, float | None)
        if not any(hasattr(bound, sign) for bound in field.metadata for sign in ("ge", "gt"))
    }

    assert unbounded == {"GrammarConfig.seed"}


def list_defaults(kind, values):
    """Yield each setting with its default and the value in a file."""
    for name, said in values.items():
        field = kind.model_fields[name]
        inner = [one for one in list_kinds(field) if isinstance(said, dict)]
        inner = [one for one in inner if {*said} <= {*one.model_fields}]
        if inner:
            yield from list_defaults(inner[0], said)
        elif not field.is_required() and name != "kind":
            default = field.get_default(call_default_factory=True)
            yield (
                f"{kind.__name__}.{name}",
                [*default] if isinstance(default, tuple) else default,
                said,
            )


FILES_OF_DEFAULTS = [
    *(("config.yaml", name, kind) for name, kind in SECTIONS.items()),
    ("model/_vectors/trained.yaml", "embeddings.vectors", TrainedVectors),
    ("data/demo.yaml", "download.corpora.demo", DemoCorpus),
]


def read(file, name):
    """Return a part of a file of conf/."""
    part = OmegaConf.select(OmegaConf.load(PROJECT / "conf" / file), name)
    return OmegaConf.to_container(part) if part else {}


def test_values_of_the_common_configuration_are_the_defaults():
    """Otherwise an older file without the setting would get another value."""
    found = [
        one
        for file, name, kind in FILES_OF_DEFAULTS
        for one in list_defaults(kind, read(file, name))
        if one[2] != MISSING
    ]

    assert len(found) > 100
    assert [] == [one for one in found if one[1] != one[2]]
