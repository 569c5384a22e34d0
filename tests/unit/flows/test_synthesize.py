"""What synthesizing does, in which order, without servers, teachers and training."""

import logging
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
import yaml

from flows import synthesize as flow_module
from flows.synthesize import keep_teacher, synthesize_and_train
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages
from stages import paths
from stages.configure.sections import read_settings
from stages.synthesis.settings import SynthesisConfig
from stages.synthesis.synthesis import WrittenSynthesis
from tests.support.commands import invoke
from tests.support.projects import PROJECT

WRITTEN = WrittenSynthesis(
    teacher="t", backward=False, lines=500, kept=400, dropped={}, least_score=None, examples={}
)


@pytest.fixture
def flow(monkeypatch, tmp_path):
    """The flow with all that it does noted in the place of being done."""
    values = read_settings(path=PROJECT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(values))
    Path("teacher").mkdir()
    Path("conf").symlink_to(PROJECT / "conf")
    state = SimpleNamespace(done=[], written=WRITTEN, fails=None, before=values)

    def read_corpora():
        return [*yaml.safe_load(Path("params.yaml").read_text())["download"]["corpora"]]

    @contextmanager
    def hold_clone(_):
        yield

    def note(what):
        state.done.append((what, read_corpora()))
        if what == state.fails:
            raise NmtError("it fails")

    def translate(config, languages, look):
        note("translate")
        state.look = look
        state.config = config
        return state.written

    clone = SimpleNamespace(hold_clone=hold_clone, put_params=Path("params.yaml").write_text)
    for name, value in {
        "clone": clone,
        "introduce": lambda: None,
        "run_stages": lambda stages, *, shared, nodes=None: note(
            f"{stages} on {nodes}" if nodes else stages
        ),
        "plan_stages": lambda until: until,
        "load": lambda *_: SimpleNamespace(languages="l"),
        "translate_text": translate,
        "count_weighted_pairs": lambda temperature: 1600.0,
        "pin_all": lambda sections: sections,
        "publish": lambda: note("publish"),
        "get_run_logger": lambda: logging.getLogger("test"),
        "create_markdown_artifact": lambda *_, **__: None,
    }.items():
        monkeypatch.setattr(flow_module, name, value)
    return state


def run(**given):
    config = SynthesisConfig(teacher="teacher", **given.pop("synthesis", {}))
    return synthesize_and_train.fn(config, **given)


def read_params():
    return yaml.safe_load(Path("params.yaml").read_text())


def test_text_is_downloaded_translated_and_learnt(flow):
    assert run(settings=["train.seed=7"]) == WRITTEN
    without, there = ["demo"], ["demo", "distilled"]
    assert flow.done == [
        ("download", without),
        ("translate", without),
        ("export", there),
        ("publish", there),
    ]
    params = read_params()
    assert params["download"]["corpora"]["distilled"]["weight"] == 4.0  # half of what is read
    assert params["train"]["seed"] == 7
    assert read_settings()["train"]["model"] == flow.before["train"]["model"]


def test_a_second_time_the_pairs_of_the_first_are_not_translated(flow):
    run(student=True)
    flow.done.clear()
    run(student=True)
    assert [corpora for _, corpora in flow.done] == [["demo"]] * 2 + [["demo", "distilled"]] * 2
    assert read_params()["train"]["model"]["decoder_layers"] == 1


@pytest.mark.parametrize("phases", ["[{tokens:9},{corpora:[demo]}]", "[{corpora:[distilled]}]"])
def test_phases_that_read_the_pairs_stay_a_second_time_too(flow, phases):
    """Though no corpus has the name while there is nothing but the text."""
    run(settings=[f"train.mixture.phases={phases}"])
    once = read_params()
    run()
    assert read_params() == once
    assert once["train"]["mixture"]["phases"]


def test_phases_of_which_none_reads_the_pairs_are_told(flow):
    phases = "train.mixture.phases=[{corpora:[demo],tokens:9},{corpora:[demo]}]"
    with pytest.raises(ConfigError, match=r"none names distilled.*train.mixture.phases=\[\]$"):
        run(settings=[phases])
    assert not flow.done
    run(settings=[phases, "train.mixture.phases=[]"])
    assert read_settings()["train"]["mixture"]["phases"] == []


@pytest.mark.parametrize("fails", ["download", "translate"])
def test_what_fails_leaves_the_settings_as_they_were(flow, fails):
    flow.fails = fails
    with pytest.raises(NmtError, match="it fails"):
        run()
    assert read_params() == flow.before
    flow.fails = None
    run(settings=["train.seed=7"])
    before = read_params()
    flow.fails = fails
    with pytest.raises(NmtError, match="it fails"):
        run()
    assert read_params() == before != flow.before


def test_nothing_is_trained_before_all_machines_have_translated(flow):
    flow.written = None
    assert run(synthesis={"part": "1/2"}) is None
    assert [what for what, _ in flow.done] == ["download", "translate"]
    assert read_params() == flow.before
    flow.written = WRITTEN
    run()
    before, flow.written = read_params(), None
    run(synthesis={"part": "1/2"})
    assert read_params() == before != flow.before


@pytest.mark.parametrize(
    "wrong",
    [
        {"settings": ["train.sede=1"]},
        {"student": True, "synthesis": {"backward": True}},
    ],
)
def test_what_is_wrong_is_told_before_anything_is_translated(flow, wrong):
    with pytest.raises(ConfigError):
        run(**wrong)
    assert not flow.done
    assert read_params() == flow.before


def test_what_is_missing_is_told_before_a_server_is_looked_for(flow, monkeypatch):
    languages = Languages(source="de", target="en")
    monkeypatch.setattr(flow_module, "load", lambda *_: SimpleNamespace(languages=languages))
    monkeypatch.setattr(flow_module, "check_server", lambda: pytest.fail("a server"))
    for told, missing in (
        ("nobody", "the teacher nobody is not there"),
        ("teacher --text none.de", "none.de is not there"),
    ):
        ran = invoke(flow_module.main, *told.split())
        assert ran.exit_code == 1
        assert missing in ran.stderr


def test_the_command_says_all_of_it(flow, monkeypatch, capsys):
    given, checked = [], []
    monkeypatch.setattr(
        flow_module, "check_inputs", lambda config, languages: checked.append(config)
    )
    monkeypatch.setattr(flow_module, "check_server", lambda: None)
    monkeypatch.setattr(flow_module, "leave_nothing_behind", nullcontext)
    monkeypatch.setattr(
        flow_module, "synthesize_and_train", lambda *a, **k: given.append((*a, k)) or WRITTEN
    )
    told = "teacher train.seed=7 --student --text a.de --text b.de --name mine --share 0.3"
    told += " --lowest 0.2 --part 2/4 --sampling --backward"
    application = typer.Typer()
    application.command()(flow_module.main)
    application(told.split(), standalone_mode=False)
    config = SynthesisConfig(
        teacher="teacher", text=(Path("a.de"), Path("b.de")), name="mine", share=0.3, lowest=0.2,
        part="2/4", sampling=True, backward=True,
    )  # fmt: skip
    assert given == [(config, {"student": True, "settings": ["train.seed=7"]})]
    assert checked == [config]
    assert "| kept | 400 |" in capsys.readouterr().out


def test_an_export_of_this_clone_is_copied_for_its_student_takes_its_place(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(flow_module, "TEACHERS", tmp_path / "teachers")
    monkeypatch.setattr(flow_module, "digest_bundle", lambda _: "d" * 64)
    learnt = []
    monkeypatch.setattr(
        flow_module, "read_texts", lambda _: [SimpleNamespace(corpora=dict.fromkeys(learnt))]
    )
    config = SynthesisConfig()
    assert keep_teacher(config) == config  # there is none; the teacher is looked for, and missed
    paths.EXPORT.mkdir(parents=True)
    (paths.EXPORT / "manifest.json").write_text("{}")
    kept = keep_teacher(SynthesisConfig(teacher=str(paths.EXPORT.resolve())))
    assert kept.teacher == str(tmp_path / "teachers" / ("d" * 16))
    assert (Path(kept.teacher) / "manifest.json").read_text() == "{}"
    assert keep_teacher(config) == kept
    assert keep_teacher(kept) == kept
    learnt.append("distilled")
    with pytest.raises(ConfigError, match=f"itself learnt.*{kept.teacher}"):
        keep_teacher(config)
    assert keep_teacher(SynthesisConfig(name="other")).teacher == kept.teacher
