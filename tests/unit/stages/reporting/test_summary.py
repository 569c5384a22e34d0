"""The summary on the terminal: every number of a run, and the verdict at the end."""

import pytest
import yaml

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.reporting import summary
from stages.reporting.evaluation import Evaluation
from tests.support.run_pages import MEASURED, TRAINING, judge

pytestmark = pytest.mark.usefixtures("results")
SOURCES = ("das | ist *ein* langer Satz", "it's [b]")


def write_evaluation(verdict=None, **changes):
    evaluation = Evaluation.parse(MEASURED | changes)
    evaluation = evaluation.model_copy(update={"verdict": verdict or judge()})
    files.write_json(paths.REPORTS / "evaluate.json", evaluation.dump())


def write_lock(*corpora):
    download = {"languages": {"source": "de", "target": "en"}, "corpora": dict.fromkeys(corpora)}
    lock = {"stages": {"download": {"params": {"code/settings.json": {"download": download}}}}}
    paths.LOCK.write_text(yaml.safe_dump(lock))


@pytest.fixture
def results(project, monkeypatch):
    """Write the results of a run."""
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(summary, "tracking_uri", lambda: "sqlite:///x")
    write_evaluation()
    write_lock("own", "web")
    examples = [{"source": s, "hypothesis": "[red]h", "reference": "r"} for s in SOURCES]
    files.write_json(paths.TRAINED / "training.json", TRAINING)
    files.write_json(paths.REPORTS / "examples.json", examples)
    for name, size in (("model", 3_000_000), ("in/more", 4_000_000)):
        (paths.EXPORT / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.EXPORT / name).write_bytes(bytes(size))


@pytest.fixture
def show(capsys):
    def show():
        summary.main()
        return " ".join(capsys.readouterr().out.split())

    return show


def test_summary_contains_all_of_a_run(show):
    verdict = judge(good=10)
    write_evaluation(verdict)
    shown = show()
    parts = (
        "de → en: own, web",
        "BLEU 31.0 29.5 to 32.5",
        "chrF 55.0 54.0 to 56.0",
        "BLEU|nrefs:1",
        "chrF2|nrefs:1",
        "400 test sentences, perplexity 7.50, length ratio 0.980, unknown source words 1.00%",
        "160 updates, 2 epochs, 31,149 target tokens, best at update 160",
        "Unusable translations: 1 looping",
        "das | ist *ein* langer Satz",
        "[red]h",
        f"model {paths.EXPORT} (7 MB, sealed)",
        f"report {paths.REPORTS}/index.html",
        f"--model {paths.EXPORT} 'it'\"'\"'s [b]'",
        "make mlflow",
        *(f"{remark.what} {remark.advice}" for remark in verdict.remarks),
        verdict.summary,
    )
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert "TEXT=" not in shown


def test_summary_omits_empty_failures_and_examples(show):
    write_evaluation(failures=dict.fromkeys(MEASURED["failures"], 0))
    files.write_json(paths.REPORTS / "examples.json", [])
    assert "Unusable" not in show()


def test_demo_suggests_own_text_and_hides_passwords(show, monkeypatch):
    monkeypatch.setattr(summary, "tracking_uri", lambda: "http://me:secret@x.org")
    write_lock("demo")
    shown = show()
    assert "make repro TEXT=" in shown
    assert "http://x.org" in shown
    assert "secret" not in shown


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
