"""What settings of the stages may be, at their bounds, and what follows from them."""

import re
from importlib import import_module
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.data.embeddings.settings import TrainedVectors
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.aligner.settings import AlignerConfig
from nmt_core.text.subwords import SubwordConfig
from nmt_core.training.schedule import Budget, InverseSquareRoot, WarmupDecay
from stages.configure import compose
from stages.configure.sections import build_all
from stages.params import (
    SECTIONS,
    BehaviourParams,
    EmbeddingsParams,
    EvaluateParams,
    ExportParams,
    ShardParams,
    TokenizeParams,
    TrainParams,
    VocabularyParams,
    build_section,
)
from tests.support.projects import PROJECT

LEAST_AND_MOST = {
    VocabularyParams: {"max_size": (1, 10_000_000), "min_count": (1, None)},
    EmbeddingsParams: {"seed": (0, None)},
    ShardParams: {"pairs_per_shard": (1, 100_000_000), "max_length": (1, 1_000_000)},
    TrainParams: {"seed": (0, None)},
    BehaviourParams: {"lines": (0, 1_000_000)},
    EvaluateParams: {
        "threads": (0, 4096),
        "batch_tokens": (1, 1_000_000),
        "resamples": (0, 1_000_000),
        "examples": (0, 10_000),
        "pictures": (0, 10_000),
        "seed": (0, None),
    },
    EncoderConfig: {
        "layers": (1, 1000),
        "width": (1, 65_536),
        "heads": (1, 1024),
        "feed_forward_width": (1, 1_000_000),
        "context": (4, 1_000_000),
    },
    AlignerConfig: {
        "max_words": (1, 1000),
        "stem_length": (1, 100),
        "model_1_iterations": (1, 100),
        "hmm_iterations": (0, 100),
        "agreement_iterations": (0, 100),
        "jump_width": (1, 100),
        "tail_length": (0, 100),
    },
    TrainedVectors: {
        "dimensions": (1, 10_000),
        "epochs": (1, 10_000),
        "min_count": (1, None),
        "min_n": (0, 100),
        "max_n": (0, 100),
        "buckets": (1, 100_000_000),
    },
    ExportParams: {"golden_sentences": (1, 10_000), "engine_sentences": (1, 1_000_000)},
}
SHARES = {
    (TrainParams, "initial_tolerance"): ([0, 5.0], [-0.001]),
    (EvaluateParams, "good_chrf"): ([0.001, 99.999], [0, 100]),
    (EvaluateParams, "good_share"): ([0, 1], [-0.001, 1.001]),
}


def fits(kind, name, value):
    """Tell whether a field takes a value, whatever the others are."""
    field = kind.model_fields[name]
    try:
        TypeAdapter(Annotated[field.annotation, field]).validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", LEAST_AND_MOST)
def test_numbers_of_settings_have_bounds(kind):
    for name, (least, most) in LEAST_AND_MOST[kind].items():
        assert fits(kind, name, least), name
        assert not fits(kind, name, least - 1), name
        assert fits(kind, name, 10**12 if most is None else most), name
        assert most is None or not fits(kind, name, most + 1), name
    whole = {name for name, field in kind.model_fields.items() if field.annotation is int}
    assert whole == LEAST_AND_MOST[kind].keys()


@pytest.mark.parametrize(("place", "values"), SHARES.items())
def test_shares_of_settings_have_bounds(place, values):
    inside, outside = values
    assert [fits(*place, value) for value in inside] == [True] * len(inside)
    assert [fits(*place, value) for value in outside] == [False] * len(outside)


def list_settings():
    """Yield every class of settings of the project."""
    for path in (
        path for room in ("nmt_core", "stages") for path in (PROJECT / room).rglob("*.py")
    ):
        names = re.findall(r"^class (\w+Config)\(", path.read_text(), re.MULTILINE)
        module = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
        yield from (getattr(import_module(module), name) for name in names)


UNBOUNDED = {"GrammarConfig.seed", "LearningConfig.champion_share"}
"""The latter is a number or a word, and bounded where it is read."""


def test_no_number_is_without_a_least():
    """Else what is too little is told by what fails for it, hours later."""
    found = set()
    for kind in list_settings():
        for name, told in kind.model_json_schema().get("properties", {}).items():
            for choice in told.get("anyOf", [told]):
                number = choice.get("type") in {"integer", "number"}
                if number and not {"minimum", "exclusiveMinimum"} & choice.keys():
                    found.add(f"{kind.__name__}.{name}")

    assert {name for name in found if not name.startswith("ScreenConfig.")} == UNBOUNDED


def list_defaults(kind, written, place):
    """Yield the place of each plain setting with a default, the default, and what is written."""
    for name, field in kind.model_fields.items():
        default = field.get_default(call_default_factory=True)
        said = written.get(name, default)
        if isinstance(default, Config) and isinstance(said, dict):
            yield from list_defaults(type(default), said, f"{place}.{name}")
        elif not field.is_required() and not isinstance(default, Config) and type(said) is not dict:
            yield f"{place}.{name}", list(default) if isinstance(default, tuple) else default, said


def test_what_nobody_changes_is_what_the_classes_say():
    """Else a params.yaml of an earlier version means something else than one made today."""
    written = yaml.safe_load((PROJECT / "conf/config.yaml").read_text())
    pairs = [
        pair for name, kind in SECTIONS.items() for pair in list_defaults(kind, written[name], name)
    ]
    assert len(pairs) > 80
    assert [place for place, default, said in pairs if default != said] == []


def test_lists_of_settings_are_not_empty():
    for kind, name, one in (
        (EvaluateParams, "metrics", "bleu"),
        (TrainParams, "initial_parts", "encoder"),
    ):
        assert fits(kind, name, [one])
        assert not fits(kind, name, [])


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
def test_both_languages_share_a_vocabulary_where_tokens_do(kind, joint, expected):
    params = TokenizeParams(kind=kind, subwords=SubwordConfig(joint=joint))
    assert params.joint is expected


@pytest.fixture(scope="module")
def values():
    return compose.compose_groups(["data=demo"], conf=PROJECT / "conf")


def test_what_follows_the_budget_needs_one_that_ends(values):
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


def test_a_training_does_not_start_from_its_own_result(values):
    own = {"kind": "bundle", "folder": "models/export"}
    changed = values["download"] | {"initial_model": own}
    with pytest.raises(ConfigError, match=r"initial_model\.folder models/export is what this"):
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
