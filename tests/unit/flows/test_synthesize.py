"""What synthesizing does, in which order, without servers, teachers and training."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from flows import synthesize as flow_module
from flows.learn import learn
from flows.synthesize import synthesize_and_train
from nmt_core.base.errors import ConfigError, NmtError
from stages import paths
from stages.configure.sections import read_settings
from stages.synthesis.composition import SynthesisConfig
from stages.synthesis.synthesis import WrittenSynthesis
from tests.support.commands import invoke
from tests.support.projects import PROJECT

WRITTEN = WrittenSynthesis(teacher="t", backward=False, lines=500, kept=400, dropped={})


@pytest.fixture
def flow(stub_flow):
    """Run the flow with every step recorded with the corpora of that moment."""
    values = read_settings(path=PROJECT / "params.yaml")
    Path("params.yaml").write_text(yaml.safe_dump(values))
    Path("teacher").mkdir()
    Path("conf").symlink_to(PROJECT / "conf")
    state = stub_flow
    state.written, state.before = WRITTEN, values
    state.look = lambda: [*read_params()["download"]["corpora"]]

    def translate(config, name, languages):
        state.note("translate")
        return state.written

    return state.install(
        flow_module,
        translate_text=translate,
        count_weighted_pairs=lambda temperature: 1600.0,
        pin_all=lambda sections: sections,
    )


def list_steps(flow):
    """Return steps and corpora, without those of the clone and the report."""
    return [step for step in flow.done if step[0] in ("download", "translate", "export", "publish")]


def run(**given):
    config = SynthesisConfig(teacher=Path("teacher"), **given.pop("synthesis", {}))
    return synthesize_and_train.fn(config, **given)


def read_params():
    return yaml.safe_load(Path("params.yaml").read_text())


def test_text_is_downloaded_translated_and_learnt(flow):
    """In a second run, pairs of the first run are not translated."""
    assert run(settings=["train.seed=7"]) == [WRITTEN]
    without, there = ["demo"], ["demo", "distilled"]
    steps = [("download", without), ("translate", without), ("export", there), ("publish", there)]
    assert list_steps(flow) == steps
    params = read_params()
    assert params["download"]["corpora"]["distilled"]["weight"] == 4.0  # half of the lines read
    assert params["train"]["seed"] == 7
    assert read_settings()["train"]["model"] == flow.before["train"]["model"]
    flow.done.clear()
    run(student=True)
    assert list_steps(flow) == steps
    assert read_params()["train"]["model"]["decoder_layers"] == 1


@pytest.mark.parametrize("fails", ["download", "translate"])
def test_a_failure_restores_the_settings(flow, fails):
    for fail in (False, True):  # before and after a first success
        if fail:
            run(settings=["train.seed=7"])
        before, flow.fails = read_params(), fails
        with pytest.raises(NmtError, match="a step fails"):
            run()
        assert read_params() == before
        flow.fails = None


@pytest.mark.parametrize(
    "wrong", [{"settings": ["train.sede=1"]}, {"student": True, "synthesis": {"backward": True}}]
)
def test_errors_are_reported_before_translating(flow, wrong):
    with pytest.raises(ConfigError):
        run(**wrong)
    assert not list_steps(flow)
    assert read_params() == flow.before


def test_prefect_passes_paths_as_text():
    """As somebody types them in Prefect's page."""
    values = {"synthesis": {"teacher": "models/a", "text": ["a.de", "b.de"]}}
    config = synthesize_and_train.validate_parameters(values)["synthesis"]
    assert (config.teacher, config.text) == (Path("models/a"), (Path("a.de"), Path("b.de")))
    values = learn.validate_parameters({"learning": {"journal": "j.jsonl"}})
    assert values["learning"].journal == Path("j.jsonl")


def test_missing_files_are_reported_before_contacting_a_server(flow, patch):
    patch(flow_module, check_server=lambda: pytest.fail("a server"))
    for told, missing in (
        ("nobody", "teacher nobody is missing"),
        ("teacher --text none.de", "none.de is missing"),
    ):
        ran = invoke(flow_module.main, *told.split())
        assert ran.exit_code == 1
        assert missing in ran.stderr


def test_an_export_of_this_clone_is_copied_first(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(flow_module, "TEACHERS", tmp_path / "teachers")
    monkeypatch.setattr(flow_module, "digest_bundle", lambda _: "d" * 64)
    learnt = []
    monkeypatch.setattr(
        flow_module,
        "read_texts",
        lambda _: [SimpleNamespace(corpora=dict.fromkeys(names)) for names in (["own"], learnt)],
    )
    config = SynthesisConfig()
    keep_teacher = partial(flow_module.keep_teacher, corpora=["distilled"])
    assert keep_teacher(config) == config  # no export is there; the teacher is missing
    paths.EXPORT.mkdir(parents=True)
    (paths.EXPORT / "manifest.json").write_text("{}")
    kept = keep_teacher(SynthesisConfig(teacher=paths.EXPORT.resolve()))
    assert kept.teacher == tmp_path / "teachers" / ("d" * 16)
    assert (kept.teacher / "manifest.json").read_text() == "{}"
    assert keep_teacher(config) == kept
    assert keep_teacher(kept) == kept
    learnt.append("distilled")
    with pytest.raises(ConfigError, match=f"itself trained.*{kept.teacher}"):
        keep_teacher(config)
    assert flow_module.keep_teacher(config, ["backtranslated"]).teacher == kept.teacher
