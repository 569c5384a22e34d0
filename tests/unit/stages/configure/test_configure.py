"""Settings are composed, checked, pinned and written."""

import json
import sys
from itertools import combinations

import pytest
import yaml
from jsonschema import Draft202012Validator

from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.jobs import WorkersConfig
from stages import download, paths
from stages.configure import compose, reference, request
from stages.configure.__main__ import main
from stages.configure.sections import build_all, check_all, read_settings
from stages.params import SECTIONS
from stages.runtime import params_file
from stages.runtime.params_file import ParamsLoader
from tests.support.projects import PROJECT
from tests.support.slow_cases import mark_slow

GROUPS = {
    group: sorted(path.stem for path in (PROJECT / "conf" / group).glob("*.yaml"))
    for group in ("data", "model", "train", "start")
}
# each pair of groups together: composing takes a fifth of a second
CHOICES = [
    [f"{group}={name}", f"{other}={chosen}"]
    for group, other in combinations(GROUPS, 2)
    for name in GROUPS[group]
    for chosen in GROUPS[other]
    if other != "model" or name != "europarl_article" or "_article" in chosen
]


OF_EACH_KIND = {"model=rnn_attention", "model=transformer_article"}
"""Presets of subwords and words, with and without recurrence; `make test` tries all others."""


LISTED = [*reference.list_files()]
SCHEMA = Draft202012Validator(json.loads(LISTED[0][1]))
COMMITTED = (PROJECT / "params.yaml").read_text(encoding="utf-8")


def sections(*overrides):
    return build_all(compose.compose_groups(list(overrides)), source="conf/")


def parse(text):
    return ParamsLoader(text).get_single_data()


def dumped(settings):
    return {name: section.model_dump(mode="json") for name, section in settings.items()}


@pytest.fixture
def project(project):
    """A project of two text files without a configuration."""
    (project / "conf").symlink_to(PROJECT / "conf")
    (project / "text").mkdir()
    for split in paths.SPLITS:
        (project / "text" / f"{split}.de").write_text(f"Die Eule liest {split}.\n")
        (project / "text" / f"{split}.en").write_text(f"The owl reads {split}.\n")
    return project


def run(monkeypatch, *overrides):
    monkeypatch.setattr(sys, "argv", ["configure", *overrides])
    main()
    return read_settings()


@pytest.mark.parametrize(("path", "text"), LISTED, ids=[path.name for path, _ in LISTED])
def test_generated_files_are_current(path, text):
    """After a change of a setting, run: python -m stages.configure.reference."""
    assert (PROJECT / path).read_text(encoding="utf-8") == text


def test_params_are_those_of_the_default_groups():
    assert compose.render_params(sections()) == COMMITTED
    assert len(COMMITTED.splitlines()) < 60


@pytest.mark.parametrize(
    "choice",
    mark_slow(CHOICES, but=[choice for choice in CHOICES if OF_EACH_KIND & {*choice}]),
    ids=" ".join,
)
def test_settings_are_read_back_as_composed(choice):
    """So ``dvc exp run -S``, which writes what it composes, agrees with ``make repro``."""
    composition = compose.compose_groups(choice)
    settings = build_all(composition, source="conf/")

    assert composition == dumped(settings)
    written = parse(compose.render_params(settings))
    assert settings == build_all(written, source="written")
    assert [] == [*SCHEMA.iter_errors(written)] == [*SCHEMA.iter_errors(composition)]


@pytest.mark.parametrize(
    "words", ["no", "on", "1:30", "1_000", "010", "2024-11-01", "null", "1e5", "yes: #'ÿ\"no"]
)
def test_ambiguous_strings_stay_strings(words):
    values = parse(COMMITTED) | {"export": {"glossary": words}}
    values["download"]["split"] = {"salt": words}

    assert parse(compose.render_params(build_all(values, source="test"))) == values


@pytest.mark.parametrize("number", [1e-9, 1.5e-5, 2.0, 1e22])
def test_floats_stay_floats(number):
    text = params_file.dump_yaml({"number": number})

    assert [*parse(text).values()] == [*yaml.safe_load(text).values()] == [number]
    assert isinstance(parse(text)["number"], float)


@pytest.mark.parametrize(
    ("filters", "own", "written"),
    [
        ({}, None, None),
        ({}, {}, {}),
        ({}, {"max_words": 50}, {"max_words": 50}),
        ({"max_words": 50}, {"max_words": 150}, {"max_words": 150}),  # the default of all corpora
        ({"max_words": 50}, {"max_words": 50}, {}),
        ({"look": None}, {"look": {"accepted": ["numbers"]}}, {"look": {"accepted": ["numbers"]}}),
    ],
)
def test_a_corpus_can_override_the_common_filters(filters, own, written):
    values = dumped(sections("data=demo"))
    values["download"]["filter"] |= filters
    values["download"]["corpora"]["demo"]["filter"] = own
    settings = build_all(values, source="test")
    document = parse(compose.render_params(settings))

    assert document["download"]["corpora"]["demo"].get("filter") == written
    assert build_all(document, source="written") == settings


def test_an_unreadable_file_is_written_again(project, monkeypatch):
    (project / "params.yaml").write_text("<<<<<<< HEAD\ntrain: {}\n")

    assert run(monkeypatch, "data=demo") == dumped(sections("data=demo"))


@pytest.mark.parametrize(
    ("section", "values"),
    [
        ("train", {"sede": 1}),
        ("train", {"seed": "1"}),
        ("train", {"schedule": {"kind": "linear"}}),
        ("train", {"initial_parts": []}),
        ("evaluate", {"metrics": []}),
        ("download", {"corpora": {"own": {"kind": "demo", "pairs": 1}}}),
        ("trian", {}),
    ],
)
def test_schema_and_check_refuse_the_same_values(section, values):
    document = parse(COMMITTED)
    document[section] = document.get(section, {}) | values

    assert [*SCHEMA.iter_errors(document)]
    with pytest.raises(ConfigError):
        build_all(document, source="test")


def test_a_corpus_cannot_be_set_twice():
    with pytest.raises(ConfigError, match=r"download\.corpora\.a is set twice; .*another name"):
        compose.apply_changes({}, ["download.corpora.a=opus:a/v1", "+download.corpora.a={kind: x}"])
    two = compose.apply_changes({}, ["download.corpora.a=1", "download.corpora.b=2"])
    assert two == {"download": {"corpora": {"a": 1, "b": 2}}}
    assert compose.apply_changes({}, ["a.b=1", "a.b=2"]) == {"a": {"b": 2}}


def test_a_later_group_wins():
    """The corpus chooses how long to train, unless a setting says otherwise."""
    assert sections("data=europarl")["train"].budget.steps == 100_000
    assert sections("data=europarl", "train=quick")["train"].budget.steps == 1400
    assert sections("data=demo")["tokenize"].subwords.vocab_size == 3000


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("date=demo", "Could not override 'date'; groups are "),
        ("train.sede=2", "Could not override 'train.sede'; groups are "),
        ("model=tranformer", "there is no model=tranformer; did you mean 'transformer'?"),
    ],
)
def test_composing_names_unknown_groups_and_presets(override, message):
    with pytest.raises(ConfigError) as raised:
        compose.compose_groups([override])

    assert str(raised.value).startswith(f"conf/: {message}")
    if "groups" in message:
        for group, names in GROUPS.items():
            assert f"{group}={'|'.join(names)}" in str(raised.value)


def test_without_arguments_nothing_changes(project, monkeypatch):
    """Comments and the order of entries stay."""
    file = project / "params.yaml"
    edited = "# mine\n" + COMMITTED.replace("train:", "train:\n  seed: 5")
    file.write_text(edited)
    run(monkeypatch)
    assert file.read_text() == edited


def test_settings_change_the_file_and_groups_replace_it(project, monkeypatch):
    chosen = ["data=demo", "model=transformer_article", "train.seed=7"]
    run(monkeypatch, *chosen)
    written = run(
        monkeypatch, "train.model.heads=5", "~train.compute", "+export.golden_sentences=3"
    )
    expected = dumped(sections(*chosen))
    assert written["train"]["model"] == expected["train"]["model"] | {"heads": 5}
    assert written["train"]["seed"] == 7
    assert written["export"]["golden_sentences"] == 3
    assert run(monkeypatch, "train=full") == dumped(sections("train=full"))


def test_a_return_to_the_demo_is_reported(project, monkeypatch, capsys):
    run(monkeypatch, "data=files", "train=full")
    run(monkeypatch, "train.seed=7")
    assert "DATA" not in capsys.readouterr().err
    run(monkeypatch, "train=full")
    assert "the text is demo; TEXT= or DATA= chooses other text" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.sede=2", "params.yaml: train.sede is not a parameter; did you mean 'seed'?"),
        ("train.seed=x", "params.yaml: train.seed must be integer, got 'x'"),
        ("train.seed.x=1", "params.yaml: train.seed must be integer, got {'x': 1}"),
        ("train.model.heads=3", "params.yaml: train.model: width 128 is not divisible"),
        ("langauges=de-en", "langauges= is unknown; did you mean 'languages'?"),
        ("dtaa=demo", "dtaa= is unknown; did you mean 'data'?"),
        ("shrad=1", "params.yaml: shrad is not a section; did you mean 'shard'?"),
        ("x=1", f"params.yaml: x is not a section; valid here: {', '.join(SECTIONS)}"),
        ("data=eurparl", "conf/: there is no data=eurparl; did you mean 'europarl'?"),
        ("model=lstm", f"conf/: there is no model=lstm; valid here: {', '.join(GROUPS['model'])}"),
        ("data=auto", f"conf/: there is no data=auto; valid here: {', '.join(GROUPS['data'])}"),
        ("train.model.architecture=convs2s", "params.yaml: train.model."),
        ("train.model=3", "params.yaml: train.model must be an object, got 3"),
        ("~train.model", "params.yaml: train.model is missing"),
        ("evaluate.metrics=bleu,chrf", "evaluate.metrics=bleu,chrf is several values; write a"),
        ("train.seed", "Error parsing override 'train.seed'; write settings as section.key=value"),
    ],
)
def test_a_wrong_setting_is_named_and_discarded(project, monkeypatch, override, message):
    (project / "params.yaml").write_text(COMMITTED)
    with pytest.raises(ConfigError) as told:
        run(monkeypatch, override)
    assert str(told.value).startswith(message)
    assert (project / "params.yaml").read_text() == COMMITTED


@pytest.mark.parametrize("name", ["a (1).de", "a,b.de", "a=b.de", "a#b.de", "{a}.de"])
def test_names_with_special_characters_need_quotes(project, monkeypatch, name):
    """The error says so."""
    (project / name).write_text((project / "text/train.de").read_text())
    setting = "download.corpora.files.train.source"
    with pytest.raises(ConfigError, match=r"""in quotes within quotes: "a\.b='c d'\"$"""):
        run(monkeypatch, "data=files", f"{setting}={name}")
    written = run(monkeypatch, "data=files", f"{setting}='{name}'")
    assert written["download"]["corpora"]["files"]["train"]["source"] == name


@pytest.mark.parametrize("name", ["test.de", "test.en"])
def test_pins_follow_the_text(project, monkeypatch, name):
    """DVC compares params.yaml alone, so a changed file must change a pin."""
    before = run(monkeypatch, "data=files")["download"]["corpora"]["files"]
    (project / "text" / name).write_text("The owl sleeps.\n")
    after = run(monkeypatch)["download"]["corpora"]["files"]

    assert all(len(before[split]["sha256"]) == 64 for split in paths.SPLITS)
    assert {split for split in paths.SPLITS if before[split] != after[split]} == {"test"}


def test_pins_follow_new_files(project, monkeypatch):
    settings = [f"download.corpora.files.{split}=null" for split in ("validation", "test")]
    patterns = {"source": "text/*.de", "target": "text/*.en"}
    settings += [f"download.corpora.files.train.{side}={path}" for side, path in patterns.items()]
    before = run(monkeypatch, "data=files", *settings)
    assert compose.refresh_pins(check_all()) == (check_all(), [])
    for side in ("de", "en"):
        (project / "text" / f"new.{side}").write_text("Uhu.\n")
    fresh, changes = compose.refresh_pins(check_all())
    after = run(monkeypatch)

    assert changes == ["text/*.de and text/*.en changed"]
    assert dumped(fresh) == after
    before, after = (each["download"]["corpora"]["files"]["train"] for each in (before, after))
    assert before != after == patterns | {"sha256": after["sha256"]}


def test_missing_and_changed_text_is_refused(project, monkeypatch):
    (project / "text/test.en").rename(project / "kept")
    with pytest.raises(CorpusError, match=r"text/test\.en cannot be read"):
        run(monkeypatch, "data=files")
    assert not (project / "params.yaml").exists()
    (project / "kept").rename(project / "text/test.en")
    run(monkeypatch, "data=files")
    (project / "text/train.de").write_text("Eine andere Eule.\n")
    places = {name: project / name for name in ("corpus", "vectors", "downloads")}
    with pytest.raises(CorpusError, match=r"text/train\.de"):
        download.run(check_all()["download"], workers=WorkersConfig(), **places)
    assert not (project / "corpus").exists()


def test_unknown_slices_are_refused(project, monkeypatch):
    with pytest.raises(NmtError, match=r"promotion\.slices\.names"):
        run(monkeypatch, "data=files", "promotion.slices={names:1.0}")
    assert run(monkeypatch, "data=files", "promotion.slices={short:1.0,negation:1.0}")


def test_a_glossary_is_checked_and_pinned(project, monkeypatch):
    """A wrong line is reported after a second, not after a night; a change exports again."""
    terms = project / "terms.tsv"
    terms.write_text("Eule\towl\n")
    before = run(monkeypatch, "data=files", "export.glossary=terms.tsv")
    terms.write_text("Eule\towl\nUhu\n")
    fresh, said = compose.refresh_pins(check_all())
    after = run(monkeypatch)

    assert said == ["terms.tsv changed"]
    assert fresh["export"].model_dump(mode="json") == after["export"]
    assert len(before["export"]["glossary_sha256"]) == 64
    assert before["export"] != after["export"]
    assert {name for name in after if after[name] != before[name]} == {"export"}
    terms.write_text("Eule\towl\nEule\tUhu\n")
    with pytest.raises(
        ConfigError, match=r"terms\.tsv, line 2: 'Eule' has another translation in line 1"
    ):
        run(monkeypatch)
    terms.unlink()
    with pytest.raises(ConfigError, match="the glossary cannot be read"):
        run(monkeypatch)
    assert run(monkeypatch, "export.glossary=null")["export"]["glossary_sha256"] == ""


@pytest.mark.parametrize("group", [[], ["data=europarl"]])
def test_errors_hide_secrets(group):
    broken = "download.corpora.europarl.url={http://anna:canary@h/{pair}.tgz?t=canary"
    with pytest.raises(ConfigError) as told:
        request.compose_settings([*group, broken])

    assert "canary" not in str(told.value)


def test_another_kind_replaces_all_its_settings():
    values = {"a": {"kind": "x", "old": 1}, "b": {"c": 1, "d": {"e": 2}}}
    compose.overlay(values, {"a": {"kind": "y"}, "b": {"d": {"f": 3}}})
    assert values == {"a": {"kind": "y"}, "b": {"c": 1, "d": {"e": 2, "f": 3}}}


@pytest.mark.parametrize(
    ("time", "seconds"), [("2h", 7200), ("1h30m", 5400), ("45m", 2700), ("90s", 90), ("1h1s", 3601)]
)
def test_a_time_is_a_budget_of_seconds_alone(time, seconds):
    values = request.compose_settings(["data=demo", f"time={time}"], conf=PROJECT / "conf")
    limits = {"steps": None, "epochs": None, "tokens": None, "seconds": seconds}
    assert values["train"]["budget"] == limits


@pytest.mark.parametrize("time", ["2", "h", "0h", "2h30", "1m2h", "-1h", "2 h", "two hours"])
def test_wrong_times_are_refused(time):
    with pytest.raises(ConfigError, match="is not a time; write 2h, 1h30m, 45m or 90s"):
        request.compose_settings(["data=demo", f"time={time}"], conf=PROJECT / "conf")
