import sys
from itertools import combinations

import pytest
import yaml
from jsonschema import Draft202012Validator
from omegaconf import OmegaConf

from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import download, paths
from stages.configure import compose, reference
from stages.configure.__main__ import main
from stages.configure.refresh import refresh_pins
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
# each two groups meet: composing takes a fifth of a second
CHOICES = [
    [f"{group}={name}", f"{other}={chosen}"]
    for group, other in combinations(GROUPS, 2)
    for name in GROUPS[group]
    for chosen in GROUPS[other]
    if other != "model" or name != "europarl_article" or "_article" in chosen
]


OF_EACH_KIND = {"model=transformer", "model=rnn_attention", "model=transformer_article"}
"""Presets of subwords and words, with and without recurrence; all others in make test."""


LISTED = [*reference.list_files()]
SCHEMA = Draft202012Validator(reference.make_schema())
COMMITTED = (PROJECT / "params.yaml").read_text(encoding="utf-8")


def sections(*overrides):
    return build_all(compose.compose_groups(list(overrides)), source="conf/")


def parse(text):
    return ParamsLoader(text).get_single_data()


def dumped(settings):
    return {name: section.model_dump(mode="json") for name, section in settings.items()}


@pytest.fixture
def project(project):
    """A project of two files of text, on which nothing was configured yet."""
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
def test_settings_read_back_as_they_were_composed(choice):
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
def test_words_that_look_like_something_else_stay_words(words):
    values = parse(COMMITTED) | {"promotion": {"glossary": words}}
    values["download"]["split"] = {"salt": words}

    assert values == parse(compose.render_params(build_all(values, source="test")))


@pytest.mark.parametrize("number", [1e-9, 1.5e-5, 2.0, 1e22])
def test_numbers_are_written_as_they_are_read(number):
    text = params_file.dump_yaml({"number": number})

    assert [number] == [*parse(text).values()] == [*yaml.safe_load(text).values()]
    assert isinstance(parse(text)["number"], float)


@pytest.mark.parametrize(
    ("filters", "own", "written"),
    [
        ({}, None, None),
        ({}, {}, {}),
        ({}, {"max_words": 50}, {"max_words": 50}),
        ({"max_words": 50}, {"max_words": 150}, {"max_words": 150}),  # the default of all
        ({"max_words": 50}, {"max_words": 50}, {}),
        ({"look": None}, {"look": {"accepted": ["noise"]}}, {"look": {"accepted": ["noise"]}}),
    ],
)
def test_filters_of_a_corpus_differ_from_those_of_all(filters, own, written):
    values = dumped(sections("data=demo"))
    values["download"]["filter"] |= filters
    values["download"]["corpora"]["demo"]["filter"] = own
    settings = build_all(values, source="test")
    document = parse(compose.render_params(settings))

    assert document["download"]["corpora"]["demo"].get("filter") == written
    assert build_all(document, source="written") == settings


def test_a_file_that_cannot_be_read_is_written_anew(project, monkeypatch):
    (project / "params.yaml").write_text("<<<<<<< HEAD\ntrain: {}\n")

    assert run(monkeypatch, "data=demo") == dumped(sections("data=demo"))


def test_several_values_are_no_list():
    with pytest.raises(ConfigError, match=r"=bleu,chrf is several values; write .*=\[a,b\], "):
        compose.apply_changes(dumped(sections()), ["evaluate.metrics=bleu,chrf"])


@pytest.mark.parametrize(
    ("section", "values"),
    [
        ("train", {"sede": 1}),
        ("train", {"seed": "1"}),
        ("train", {"schedule": {"kind": "linear"}}),
        ("download", {"corpora": {"own": {"kind": "demo", "pairs": 1}}}),
        ("trian", {}),
    ],
)
def test_an_editor_marks_what_is_refused(section, values):
    document = parse(COMMITTED)
    document[section] = document.get(section, {}) | values

    assert [*SCHEMA.iter_errors(document)]
    with pytest.raises(ConfigError):
        build_all(document, source="test")


def test_two_corpora_of_one_name_are_refused():
    """Whoever copies a setting and forgets to rename it would lose the first of them."""
    two = ["download.corpora.a=opus:a/v1", "+download.corpora.a={kind: dates}"]
    with pytest.raises(ConfigError, match=r"download\.corpora\.a is set twice; .*another name"):
        compose.apply_changes({}, two)
    assert list(compose.apply_changes({}, ["download.corpora.a=1", "download.corpora.b=2"])) == [
        "download"
    ]
    assert compose.apply_changes({}, ["a.b=1", "a.b=2"]) == {"a": {"b": 2}}


def test_a_later_group_wins():
    """The corpus chooses how long to train, unless told otherwise."""
    assert sections("data=europarl")["train"].budget.steps == 100_000
    assert sections("data=europarl", "train=quick")["train"].budget.steps == 1200
    assert sections("data=demo")["tokenize"].subwords.vocab_size == 2000


def read_preset(name):
    """What a preset starts from, and what it holds."""
    own, start = OmegaConf.load(PROJECT / f"conf/model/{name}.yaml"), OmegaConf.create()
    for base in own.pop("defaults", []):
        if base == "_self_":
            continue
        [(group, chosen)] = {"/model": base}.items() if isinstance(base, str) else base.items()
        start = OmegaConf.merge(start, *read_preset(f"..{group}/{chosen}"))
    return start, own


def leaves(value, place=()):
    if not isinstance(value, dict):
        yield place, value
        return
    for name, inner in value.items():
        yield from leaves(inner, (*place, name))


@pytest.mark.parametrize("name", GROUPS["model"])
def test_a_preset_holds_what_differs_and_nothing_else(name):
    start, own = (dict(leaves(OmegaConf.to_container(part))) for part in read_preset(name))

    assert own
    assert [] == [place for place in own if place in start and start[place] == own[place]]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("date=demo", "Could not override 'date'"),
        ("train.sede=2", "Could not override 'train.sede'"),
        ("train.seed", "Error parsing override 'train.seed'"),
    ],
)
def test_an_override_that_fits_nothing_is_told_the_groups(override, message):
    with pytest.raises(ConfigError) as told:
        compose.compose_groups([override])

    assert str(told.value).startswith(f"conf/: {message}; groups are ")
    for group, names in GROUPS.items():
        assert f"{group}={'|'.join(names)}" in str(told.value)


def test_a_preset_that_is_misspelt_is_named_whoever_composes():
    with pytest.raises(ConfigError, match=r"no model=tranformer; did you mean 'transformer'\?$"):
        compose.compose_groups(["data=demo", "model=tranformer"])


def test_without_arguments_nothing_changes(project, monkeypatch):
    """Not even the comments and the order of a person who edits by hand."""
    file = project / "params.yaml"
    edited = "# mine\n" + COMMITTED.replace("train:", "train:\n  seed: 5")
    file.write_text(edited)

    run(monkeypatch)

    assert edited == file.read_text()


def test_settings_alone_change_what_lies_there(project, monkeypatch):
    """Not what the groups compose to: a person's other choices stay."""
    run(monkeypatch, "data=demo", "model=transformer_article", "train.seed=7")
    written = run(
        monkeypatch, "train.model.heads=5", "~train.compute", "+export.golden_sentences=3"
    )

    expected = sections("data=demo", "model=transformer_article", "train.seed=7")
    assert written["train"]["model"] == dumped(expected)["train"]["model"] | {"heads": 5}
    assert written["train"]["seed"] == 7
    assert written["export"]["golden_sentences"] == 3


def test_a_group_composes_everything_anew(project, monkeypatch):
    run(monkeypatch, "data=demo", "model=transformer_article", "train.seed=7")

    assert dumped(sections("train=full")) == run(monkeypatch, "train=full")


def test_who_names_no_text_is_told_that_it_is_the_demo_again(project, monkeypatch, capsys):
    """DATA is a group like others: what is not named goes back to its default."""
    files = [f"download.corpora.files.{split}.source=text/{split}.de" for split in paths.SPLITS]
    files += [f"download.corpora.files.{split}.target=text/{split}.en" for split in paths.SPLITS]
    run(monkeypatch, "data=files", *files)
    run(monkeypatch, "train.seed=7")
    run(monkeypatch, "data=files", *files, "train=full")
    assert "DATA" not in capsys.readouterr().err

    run(monkeypatch, "train=full")
    told = "without DATA the text is that of demo now, and no longer files; "
    assert capsys.readouterr().err.count(told) == 1
    run(monkeypatch, "train=full")
    run(monkeypatch, "data=demo")
    assert "DATA" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.sede=2", "params.yaml: train.sede is not a parameter; did you mean 'seed'?"),
        ("train.seed=x", "params.yaml: train.seed must be integer, got 'x'"),
        ("train.seed.x=1", "params.yaml: train.seed must be integer, got {'x': 1}"),
        ("train.model.heads=3", "params.yaml: train.model: width 128 does not split"),
        ("date=demo", "date is no group of conf/; did you mean 'data'?"),
        ("dtaa=demo", "dtaa is no group of conf/; did you mean 'data'?"),
        ("shrad=1", "params.yaml: shrad is not a section; did you mean 'shard'?"),
        ("x=1", f"params.yaml: x is not a section; known here: {', '.join(SECTIONS)}"),
        ("data=eurparl", "conf/: there is no data=eurparl; did you mean 'europarl'?"),
        ("model=lstm", f"conf/: there is no model=lstm; known here: {', '.join(GROUPS['model'])}"),
        ("data=auto", f"conf/: there is no data=auto; known here: {', '.join(GROUPS['data'])}"),
        ("train.model.architecture=convs2s", "train.model.architecture=convs2s leaves the other"),
        ("train.model=3", "params.yaml: train.model must be an object, got 3"),
        ("~train.model", "params.yaml: train.model is missing"),
        ("train.seed", "Error parsing override 'train.seed'; write settings as section.key=value"),
    ],
)
def test_a_wrong_setting_is_named_and_nothing_is_written(project, monkeypatch, override, message):
    (project / "params.yaml").write_text(COMMITTED)
    with pytest.raises(ConfigError) as told:
        run(monkeypatch, override)
    assert str(told.value).startswith(message)
    assert (project / "params.yaml").read_text() == COMMITTED


@pytest.mark.parametrize("name", ["a (1).de", "a,b.de", "a=b.de", "a#b.de", "{a}.de"])
def test_a_name_with_signs_of_hydra_is_given_in_quotes(project, monkeypatch, name):
    """As the error says."""
    (project / name).write_text((project / "text/train.de").read_text())
    setting = "download.corpora.files.train.source"
    with pytest.raises(ConfigError, match=r"""in quotes within quotes: "a\.b='c \(1\)'\"$"""):
        run(monkeypatch, "data=files", f"{setting}={name}")
    written = run(monkeypatch, "data=files", f"{setting}='{name}'")
    assert written["download"]["corpora"]["files"]["train"]["source"] == name


@pytest.mark.parametrize("name", ["test.de", "test.en"])
def test_pins_follow_the_text(project, monkeypatch, name):
    """So DVC, which looks at params.yaml alone, sees that a file is another."""
    before = run(monkeypatch, "data=files")["download"]["corpora"]["files"]
    (project / "text" / name).write_text("The owl sleeps.\n")
    after = run(monkeypatch)["download"]["corpora"]["files"]

    assert all(len(before[split]["sha256"]) == 64 for split in paths.SPLITS)
    assert before["train"] == after["train"]
    assert before["validation"] == after["validation"]
    assert before["test"] != after["test"]


def test_pins_follow_new_files(project, monkeypatch):
    settings = [f"download.corpora.files.{split}=null" for split in ("validation", "test")]
    patterns = {"source": "text/*.de", "target": "text/*.en"}
    settings += [f"download.corpora.files.train.{side}={path}" for side, path in patterns.items()]
    before = run(monkeypatch, "data=files", *settings)["download"]["corpora"]["files"]["train"]
    again = run(monkeypatch)["download"]["corpora"]["files"]["train"]
    for side in ("de", "en"):
        (project / "text" / f"new.{side}").write_text("Uhu.\n")
    after = run(monkeypatch)["download"]["corpora"]["files"]["train"]

    assert before == again
    assert before != after == patterns | {"sha256": after["sha256"]}


def test_text_changed_since_it_was_pinned_is_refused(project, monkeypatch):
    run(monkeypatch, "data=files")
    (project / "text" / "train.de").write_text("Eine andere Eule.\n")
    settings = check_all()["download"]

    with pytest.raises(CorpusError, match=r"text/train\.de"):
        download.run(
            settings,
            corpus=project / "corpus",
            vectors=project / "vectors",
            downloads=project / "downloads",
            workers=WorkersConfig(),
        )
    assert not (project / "corpus").exists()


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("promotion.glossary=gone.tsv", r"the glossary cannot be read: gone\.tsv"),
        ("promotion.slices={glossary:1.0}", "the slice 'glossary' cannot be told"),
        ("promotion.slices={short:1.0,unsure:1.0}", "the slice 'unsure' cannot be told"),
    ],
)
def test_what_no_model_could_be_judged_by_is_told_at_once(project, monkeypatch, setting, told):
    """And not by the gate, after a night of training."""
    with pytest.raises(NmtError, match=told):
        run(monkeypatch, "data=files", setting)
    (project / "terms.tsv").write_text("Eule\towl\n")
    slices = "promotion.slices={glossary:1.0,short:1.0,names:1.0,negation:1.0,questions:2.0}"
    assert run(monkeypatch, "data=files", "promotion.glossary=terms.tsv", slices)


def test_a_glossary_is_read_and_pinned(project, monkeypatch):
    """So that a wrong line costs a second and not a night, and a change exports anew."""
    terms = project / "terms.tsv"
    terms.write_text("Eule\towl\n")
    before = run(monkeypatch, "data=files", "export.glossary=terms.tsv")
    terms.write_text("Eule\towl\nUhu\n")
    fresh, said = refresh_pins(check_all())
    after = run(monkeypatch)

    assert said == ["terms.tsv changed"]
    assert fresh["export"].model_dump(mode="json") == after["export"]
    assert len(before["export"]["glossary_sha256"]) == 64
    assert before["export"] != after["export"]
    assert {name for name in after if after[name] != before[name]} == {"export"}
    terms.write_text("Eule\towl\nEule\tUhu\n")
    with pytest.raises(ConfigError, match=r"terms\.tsv, line 2: 'Eule' stands in line 1"):
        run(monkeypatch)
    terms.unlink()
    with pytest.raises(ConfigError, match="the glossary cannot be read"):
        run(monkeypatch)
    assert run(monkeypatch, "export.glossary=null")["export"]["glossary_sha256"] == ""


def test_missing_text_is_named(project, monkeypatch):
    (project / "text" / "test.en").unlink()

    with pytest.raises(CorpusError, match=r"text/test\.en cannot be read"):
        run(monkeypatch, "data=files")
    assert not (project / "params.yaml").exists()


@pytest.mark.parametrize("group", [[], ["data=europarl"]])
def test_what_cannot_be_understood_is_told_without_its_secrets(group):
    broken = "download.corpora.europarl.url={http://anna:canary@h/{pair}.tgz?t=canary"
    with pytest.raises(ConfigError) as told:
        compose.compose_settings([*group, broken])

    assert "canary" not in str(told.value)


def test_settings_of_one_kind_take_the_place_of_another():
    values = {"a": {"kind": "x", "old": 1}, "b": {"c": 1, "d": {"e": 2}}}
    compose.overlay(values, {"a": {"kind": "y"}, "b": {"d": {"f": 3}}})
    assert values == {"a": {"kind": "y"}, "b": {"c": 1, "d": {"e": 2, "f": 3}}}


@pytest.mark.parametrize(
    ("time", "seconds"), [("2h", 7200), ("1h30m", 5400), ("45m", 2700), ("90s", 90), ("1h1s", 3601)]
)
def test_a_time_is_a_budget_of_seconds_alone(time, seconds):
    values = compose.compose_settings(["data=demo", f"time={time}"], conf=PROJECT / "conf")
    limits = {"steps": None, "epochs": None, "tokens": None, "seconds": seconds}
    assert values["train"]["budget"] == limits


@pytest.mark.parametrize("time", ["", "2", "h", "0h", "2h30", "1m2h", "-1h", "2 h", "two hours"])
def test_what_is_no_time_is_told_with_one_that_is(time):
    with pytest.raises(ConfigError, match="is no time; write 2h, 1h30m, 45m or 90s"):
        compose.compose_settings(["data=demo", f"time={time}"], conf=PROJECT / "conf")
