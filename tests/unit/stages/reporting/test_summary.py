"""Reports on a terminal and in Markdown: every figure where it belongs."""

import io

import pytest
import yaml
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.reporting import summary
from stages.reporting.evaluation import Evaluation
from tests.support.run_pages import MEASURED, TRAINING, judge


def write(what, width=250):
    """Return what a terminal shows."""
    shown = io.StringIO()
    Console(file=shown, width=width).print(what)
    return shown.getvalue()


NOVEL = {
    "sentences": 300,
    **{f"{m}{e}": 20.0 for m in ("bleu", "chrf") for e in ("", "_low", "_high")},
}


@pytest.mark.parametrize("novel", [{}, NOVEL])
@pytest.mark.parametrize("looping", [0, 2])
def test_facts_are_a_line_for_each_topic(novel, looping):
    failures = MEASURED["failures"] | {"looping": looping, "too_long": looping}
    evaluation = Evaluation.parse(MEASURED | {"novel": novel, "failures": failures})
    lines = summary.render_facts(evaluation, TRAINING | {"epochs": 1}).plain.splitlines()

    assert lines[:2] == [
        "400 test sentences, perplexity 7.50, length ratio 0.980, unknown source words 1.00%",
        "160 updates, 1 epoch, 31,149 target tokens, best at update 160",
    ]
    assert ("BLEU 20.0, chrF 20.0 on the 300 test sentences" in lines[2 if novel else 1]) is bool(
        novel
    )
    assert lines[-1].endswith(": 2 looping, 2 too long") is bool(looping)


@pytest.mark.parametrize(("ready", "colour"), [(False, "red"), (True, "green")])
def test_verdict_is_coloured_and_blocking_remarks_are_bold(ready, colour):
    verdict = judge(good=10).model_copy(update={"ready": ready})
    text = summary.render_verdict_lines(verdict)
    styles = {text.plain[s.start : s.end].strip(" \n-"): str(s.style) for s in text.spans}

    remarks = [f"- {remark.what} {remark.advice}" for remark in verdict.remarks]
    assert text.plain.splitlines() == [verdict.summary, *remarks]
    assert {remark.blocks for remark in verdict.remarks} == {True, False}
    for remark in verdict.remarks:
        assert ("not bold" in styles.get(remark.what, "")) is not remark.blocks
    assert text.style == f"bold {colour}"
    assert "make repro" in summary.render_verdict_lines(None).plain


@pytest.mark.parametrize("corpus", ["demo", "own"])
@pytest.mark.parametrize(
    ("runs", "told"),
    [("sqlite:///x.db", "make mlflow"), ("http://me:secret@x.org", "http://x.org")],
)
def test_next_commands_are_those_of_this_run(monkeypatch, corpus, runs, told):
    monkeypatch.setattr(summary, "tracking_uri", lambda: runs)
    shown = write(summary.render_next_steps(corpus, "it's [b]"))
    assert f"--model {paths.EXPORT} 'it'\"'\"'s [b]'" in shown
    assert told in shown
    assert "secret" not in shown
    assert ("DATA=files" in shown) is (corpus == "demo")


@pytest.fixture
def results(project, monkeypatch):
    """Write what a run leaves."""
    monkeypatch.setattr(summary, "tracking_uri", lambda: "sqlite:///x")
    evaluation = Evaluation.parse(MEASURED).model_copy(update={"verdict": judge()})
    examples = [
        {"source": line, "hypothesis": "[red]h", "reference": "r"} for line in ("das ist", "kurz")
    ]
    files.write_json(paths.REPORTS / "evaluate.json", evaluation.dump())
    files.write_json(paths.TRAINED / "training.json", TRAINING)
    files.write_json(paths.REPORTS / "examples.json", examples)
    download = {"languages": {"source": "de", "target": "en"}, "corpora": {"own": {}, "web": {}}}
    lock = {"stages": {"download": {"params": {"code/settings.json": {"download": download}}}}}
    paths.LOCK.write_text(yaml.safe_dump(lock))
    for name, size in (("model", 3_000_000), ("in/more", 4_000_000)):
        (paths.EXPORT / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.EXPORT / name).write_bytes(bytes(size))


@pytest.mark.usefixtures("results")
def test_summary_holds_all_of_a_run(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "250")
    summary.main()
    shown = " ".join(capsys.readouterr().out.split())
    parts = (
        "de → en own, web",
        "BLEU 31.0 29.5 – 32.5 BLEU|nrefs:1",
        "chrF 55.0 54.0 – 56.0 chrF2|nrefs:1",
        "31,149 target tokens",
        "das ist",
        "[red]h",
        f"{paths.EXPORT} (7 MB, sealed)",
        f"{paths.EXPORT} kurz",
        judge().summary,
    )
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)  # the verdict is read last
    files.write_json(paths.REPORTS / "examples.json", [])
    summary.main()


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        (paths.LOCK.parent, paths.LOCK.name),
        (paths.REPORTS, "evaluate.json"),
        (paths.TRAINED, "training.json"),
        (paths.REPORTS, "examples.json"),
    ],
)
def test_missing_result_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(NmtError, match=rf"^{folder / name} .* make repro$"):
        summary.main()
