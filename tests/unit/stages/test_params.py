"""Parameters are read strictly, and errors name their place."""

import copy

import pytest
import yaml

from nmt_core.base.config import list_kinds
from nmt_core.base.errors import ConfigError
from nmt_core.evaluation import registry
from nmt_core.server.settings import ServerConfig
from stages.configure.sections import build_all, check_all, read_settings
from stages.params import SECTIONS, TrainParams, load
from stages.runtime.params_file import read
from tests.support.projects import PROJECT

WRITTEN = read_settings(path=PROJECT / "params.yaml")
WIDTH = WRITTEN["train"]["model"]["width"]
TRAINED = {"kind": "train", "dimensions": WIDTH}
GIVEN = {"kind": "vectors"}
FILES = {"kind": "files", "train": {"source": "train.en", "target": "train.ja"}}


def changed(**values):
    """Return the project's parameters with changes by dotted name; ``...`` removes a value."""
    document = copy.deepcopy(WRITTEN)
    for name, value in values.items():
        *place, last = name.split("__")
        inner = document
        for key in place:
            inner = inner[key]
        if value is ...:
            del inner[last]
        else:
            inner[last] = value
    return document


def problems(**values):
    with pytest.raises(ConfigError) as told:
        build_all(changed(**values), source="params.yaml")
    return str(told.value).splitlines()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("train__sede", 2, "train.sede is not a parameter; did you mean 'seed'?"),
        ("train__seed", "1", "train.seed must be integer, got '1' (str)"),
        ("train__seed", 1.5, "train.seed must be integer, got 1.5 (float)"),
        ("train__seed", True, "train.seed must be integer, got True (bool)"),
        ("train__seed", -1, "train.seed must be greater than or equal to 0, got -1"),
        ("train__batching", ..., "train.batching is missing"),
        ("train__batching__kind", ..., "train.batching.kind is missing"),
        ("train__batching__kind", "token", "train.batching.kind must be one of 'tokens'"),
        ("train__model__heads", 3, f"train.model: width {WIDTH} is not divisible by 3 heads"),
        ("evaluate__beam__n_best", 9, "evaluate.beam: n_best (9)"),
        ("evaluate__metrics", ["bleu", "chr"], "evaluate.metrics.1: 'chr' is not a metric"),
        ("train__training__select_by", "los",
         "train: training.select_by 'los' is not a metric; did you mean 'loss'"),
        ("download__languages__target", "fr",
         "download: corpora.demo: the demo corpus has German (de)"),
        *(("train__initial_share", value, "train.initial_share ") for value in ("auto", 1, -0.1)),
        ("promotion__slices", {"nubmers": 1.0}, "promotion.slices.nubmers"),
    ],
)  # fmt: skip
def test_errors_name_the_parameter(name, value, message):
    [told] = problems(**{name: value})

    assert told.startswith(f"params.yaml: {message}")


def test_all_errors_are_reported_at_once():
    told = problems(trian={}, train__sede=1, train__budget__steps=0, export__golden_sentences="x")

    assert told == [
        "params.yaml: trian is not a section; did you mean 'train'?",
        "params.yaml: train.budget.steps must be greater than or equal to 1, got 0 (int)",
        "params.yaml: train.sede is not a parameter; did you mean 'seed'?",
        "params.yaml: export.golden_sentences must be integer, got 'x' (str)",
    ]


def kinds_within(kinds):
    """Yield the types of settings and all types within them."""
    for kind in kinds:
        yield kind
        for field in kind.model_fields.values():
            yield from kinds_within(list_kinds(field))


def test_no_setting_has_a_name_that_dvc_ignores():
    """DVC's run cache takes ``size`` and ``nfiles`` for facts about files (its issue 10296).

    A setting with such a name would bring back the results of another value.
    """
    names = {name for kind in kinds_within(SECTIONS.values()) for name in kind.model_fields}

    assert len(names) > 100
    assert not names & {"size", "nfiles"}


JOINT = "train.model.tie 'all' needs one vocabulary for both languages"
TIED = "train.model.tie must be 'none' with embeddings.vectors.kind 'train'"
NO_VECTORS = "download.vectors.kind is 'none' but embeddings.vectors.kind or vocabulary.words"
DRAWS = "train.subword_sampling.kind 'bpe_dropout' draws"
UNTIED = {"train__model__tie": "none"}
DROPPED, UNIGRAM = (
    {"train__subword_sampling": {"kind": kind}} for kind in ("bpe_dropout", "unigram")
)
CHAMPION = {"download__initial_model": {"kind": "champion", "sha256": "", "replay": 0.5}}
OF_ITS_TOKENS = {"tokenize__kind": "initial_model", "vocabulary__words": "initial_model"}
DOWNLOADED = {"vocabulary__words": "vectors", "download__vectors": {"kind": "download"}}


@pytest.mark.parametrize(
    ("values", "messages"),
    [
        ({"tokenize__kind": "spacy"}, [JOINT]),
        ({"tokenize__kind": "characters", "tokenize__subwords__joint": False}, []),
        (DOWNLOADED | {"tokenize__kind": "characters"},
         ["vocabulary.words 'vectors' takes words, but tokenize.kind is 'characters'"]),
        ({"tokenize__subwords__joint": False}, [JOINT]),
        ({"tokenize__subwords__joint": False, "train__model__tie": "output"}, []),
        ({"embeddings__vectors": TRAINED}, [TIED]),
        ({"embeddings__vectors": TRAINED, "train__model__tie": "output"}, [TIED]),
        (UNTIED | {"embeddings__vectors": TRAINED}, []),
        (UNTIED | {"embeddings__vectors": TRAINED | {"dimensions": 8}},
         [f"embeddings.vectors.dimensions is 8 but train.model.width is {WIDTH}"]),
        (DROPPED, []),
        (UNIGRAM | {"tokenize__subwords__model_type": "unigram"}, []),
        (UNIGRAM,
         ["train.subword_sampling.kind 'unigram' needs tokenize.subwords.model_type 'unigram'"]),
        *(
            (
                UNTIED | DROPPED | {"tokenize__kind": kind},
                [f"{DRAWS} subwords, but tokenize.kind is {kind!r}"],
            )
            for kind in ("characters", "spacy")
        ),
        (UNTIED | DROPPED | {"embeddings__vectors": TRAINED},
         [f"{DRAWS} subwords, but embeddings.vectors.kind 'train' has no vectors for them"]),
        (CHAMPION | OF_ITS_TOKENS, []),
        (OF_ITS_TOKENS, ["tokenize.kind requires", "vocabulary.words requires"]),
        (CHAMPION | {"train__initial_share": 0.4}, []),
        ({"train__initial_share": 0.4}, ["train.initial_share requires an initial model, but"]),
        (UNTIED | {"embeddings__vectors": GIVEN}, [NO_VECTORS]),
        ({"vocabulary__words": "vectors"}, [NO_VECTORS]),
        (UNTIED | DOWNLOADED | {"embeddings__vectors": GIVEN}, []),
    ],
)  # fmt: skip
def test_contradictions_between_sections_are_refused(values, messages):
    if not messages:
        build_all(changed(**values), source="params.yaml")
        return
    for told, message in zip(problems(**values), messages, strict=True):
        assert told.startswith(f"params.yaml: {message}")


def test_missing_packages_of_metrics_are_reported(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    japanese = {"source": "en", "target": "ja"}
    [told] = problems(download__corpora={"own": FILES}, download__languages=japanese)

    assert told.startswith("params.yaml: download.languages.target: scores of Japanese")
    assert "pip install 'sacrebleu[ja]'" in told


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="does not exist; change to the top"):
        check_all(path=tmp_path / "params.yaml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read(tmp_path)


def read_text(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding=encoding)
    with pytest.raises(ConfigError) as told:
        read(path)
    assert "\n" not in str(told.value)
    return str(told.value).removeprefix(f"{path} ")


@pytest.mark.parametrize(
    ("encoding", "hint"), [("utf-16", "looks like UTF-16"), ("latin-1", "(byte 4 is 0xe4)")]
)
def test_other_encodings_are_refused(tmp_path, encoding, hint):
    message = read_text(tmp_path, "# x\u00e4", encoding)
    assert "not UTF-8" in message
    assert hint in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: " + "[" * 900 + "]" * 900, "is not YAML: maximum recursion depth"),
        ("train: {}\nshard: {}\ntrain: {}", "is not YAML: 'train' is given twice"),
        ("train:\n  seed: 1\n  model: {}\n  seed: 2", "is not YAML: 'seed' is given twice"),
        ("a: {b: 1, b: 2}\nc: [1]", "is not YAML: 'b' is given twice"),
        ("a: &a [*a]", "is not YAML: it has an alias"),
        ("a: &a {x: 1}\nb: {<<: *a}", "is not YAML: it has an alias"),
        (f"a: {'9' * 5000}", "is not YAML: Exceeds the limit"),
        ("train: [1", "is not YAML: while parsing a flow sequence"),
        ("- train\n", "must have one mapping per stage, got list"),
        ("", "must have one mapping per stage, got NoneType"),
    ],
)
def test_ambiguous_yaml_is_refused(tmp_path, text, message):
    assert read_text(tmp_path, text).startswith(message)


def test_scalars_follow_yaml_1_2(tmp_path):
    """DVC reads them so; in YAML 1.1 the first is false, the fourth a time."""
    path = tmp_path / "params.yaml"
    path.write_text(
        "a: no\nb: 2024-11-01\nc: 1e-9\nd: 1:30\ne: [1_000, 010, true, null, ~, -2, .5]\n"
    )
    assert read(path) == {
        "a": "no",
        "b": "2024-11-01",
        "c": 1e-9,
        "d": "1:30",
        "e": ["1_000", "010", True, None, None, -2, 0.5],
    }


ANY_SIZE = {
    "seed", "steps", "epochs", "tokens", "validate_every", "log_every", "patience", "warmup_steps",
    "first_steps", "min_count", "min_words", "max_words", "max_characters", "no_repeat_ngram_size",
    "n_best", "ratio_floor_characters", "max_bytes", "boundaries",
}  # fmt: skip
"""Numbers whose size costs nothing, or which another setting limits."""


def test_numbers_that_cost_memory_are_bounded():
    """The check reports an additional digit, before the machine runs out of memory."""
    unbounded = {
        field
        for kind in kinds_within(SECTIONS.values())
        for field, schema in numbers(kind.model_json_schema())
        if "maximum" not in schema
    }

    assert unbounded <= ANY_SIZE


MAY_BE_NONE = {
    "added_pieces", "examples", "lines", "max_alternatives", "max_characters", "max_n", "max_words",
    "min_n",
    "min_words", "no_repeat_ngram_size", "pictures", "port", "processes",
    "ratio_floor_characters", "resamples", "sampled_softmax", "seed", "threads",
}  # fmt: skip
"""Numbers of settings in which 0 has a meaning."""


def test_numbers_have_sensible_minimums():
    """The server's numbers are included."""
    wrong = {
        field
        for kind in kinds_within([*SECTIONS.values(), ServerConfig])
        for field, schema in numbers(kind.model_json_schema())
        if schema.get("minimum", 0) < (field not in MAY_BE_NONE)
    }

    assert wrong == set()


def numbers(schema):
    """Yield the integers among the settings of a schema, by name."""
    for part in (schema, *schema.get("$defs", {}).values()):
        for name, field in part.get("properties", {}).items():
            for option in (field, *field.get("anyOf", [])):
                if option.get("type") == "integer":
                    yield name, option


def test_errors_shorten_values_and_hide_secrets():
    [told] = problems(train__seed="x" * 10_000)
    [secret] = problems(download__corpora__demo="http://anna:canary@h/a?token=canary")

    assert len(told) < 300
    assert "canary" not in secret


def test_sections_are_read_independently(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(changed(export__golden_sentences="x")))

    assert load(TrainParams, "train", path=path).seed == 1
