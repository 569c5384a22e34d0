"""Settings of the stages at their bounds, and values derived from them."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from nmt_core.base.errors import ConfigError
from nmt_core.text.subwords import SubwordConfig
from nmt_core.training.settings import Budget, InverseSquareRoot, WarmupDecay
from stages.configure import compose
from stages.configure.sections import build_all
from stages.params import SECTIONS, TokenizeParams, TrainParams, build_section
from tests.support.projects import PROJECT


@pytest.mark.parametrize(
    ("kind", "joint", "expected"),
    [
        ("sentencepiece", True, True),
        ("sentencepiece", False, False),
        ("spacy", True, False),
        ("characters", False, True),
        ("initial_model", False, True),
    ],
)
def test_shared_tokens_share_a_vocabulary(kind, joint, expected):
    params = TokenizeParams(kind=kind, subwords=SubwordConfig(joint=joint))
    assert params.joint is expected


@pytest.fixture(scope="module")
def values():
    return compose.compose_groups(["data=demo"], conf=PROJECT / "conf")


def test_settings_that_follow_a_budget_need_one(values):
    params = build_all(values, source="conf")["train"]
    endless = params.model_dump() | {"budget": Budget(epochs=3).model_dump()}
    free = InverseSquareRoot().model_dump()
    bound = WarmupDecay().model_dump()
    assert TrainParams(**endless | {"schedule": free}).follows_budget == []
    with pytest.raises(ValidationError, match=r"a warmup_decay schedule needs budget\.steps"):
        TrainParams(**endless | {"schedule": bound})
    for limit in ({"steps": 5}, {"tokens": 5}, {"seconds": 5.0}):
        ends = params.model_dump() | {"budget": Budget(**limit).model_dump(), "schedule": bound}
        assert TrainParams(**ends).follows_budget == ["a warmup_decay schedule"]


def test_a_training_never_starts_from_its_result(values):
    own = {"kind": "bundle", "folder": "models/export"}
    changed = values["download"] | {"initial_model": own}
    with pytest.raises(ConfigError, match=r"initial_model\.folder models/export is the export"):
        build_section(SECTIONS["download"], {"download": changed}, "download", source="it")
    other = values["download"] | {"initial_model": own | {"folder": "models/initial"}}
    found = build_section(SECTIONS["download"], {"download": other}, "download", source="it")
    assert found.initial_model.folder == Path("models/initial")
    assert found.absolute().initial_model.folder == Path("models/initial").absolute()
    assert [*found.absolute().corpora] == [*found.corpora]


@pytest.mark.parametrize("name", SECTIONS)
def test_a_missing_section_has_its_defaults(name):
    kind = SECTIONS[name]
    if name in ("download", "train"):
        with pytest.raises(ConfigError, match=f"^it: {name}.* is missing; it has no default"):
            build_section(kind, {}, name, source="it")
    else:
        assert build_section(kind, {}, name, source="it") == kind()
    for wrong in ([1], None):
        with pytest.raises(ConfigError, match=rf"section {name!r} must be a mapping, got"):
            build_section(kind, {name: wrong}, name, source="it")
