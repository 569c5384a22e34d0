"""Reports of runs, with test sets of a test."""

from nmt_core.base.languages import Languages
from stages.params import EvaluateParams
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import JudgedSentence, render_run_page
from stages.reporting.verdict import judge_run
from tests.support.data_pages import HOSTILE

LANGUAGES = Languages(source="de", target="en")
TRAINING = {
    "params": {"budget": {"steps": 1200}},
    "fingerprint": "a83a62732bb996f9-65be2621",
    "steps": 160,
    "best_step": 160,
    "epochs": 2,
    "target_tokens": 31149,
    "parameters": 34944,
    "curve": [],
    "history": [
        {"step": step, "train_loss": loss + 0.5, "validation_loss": loss, "learning_rate": 0.1}
        | {"validation_scores": {"perplexity": 9.0, "bleu": 20.0 + step / 80}}
        for step, loss in ((80, 4.4), (160, 4.39))
    ],
}
DOWNLOAD = DownloadReport(
    pairs={"train": 10, "validation": 2, "test": 3},
    removed={"train": {"duplicate": 3}, "validation": {}, "test": {"also_in_train": 1}},
    corpora={},
)
RELIABILITY = {
    "sentences": 300,
    "good": 0.5,
    "area": 0.8,
    "error": 0.02,
    "curve": [{"sentences": 1200, "confidence": 0.55, "good": 0.5}],
}
NUMBERS = {"bleu": [30.0, 27.0, 33.0], "chrf": [54.0, 52.0, 56.0]}
MEASURED = {
    "bleu": 31.0,
    "bleu_low": 29.5,
    "bleu_high": 32.5,
    "bleu_signature": "BLEU|nrefs:1",
    "chrf": 55.0,
    "chrf_low": 54.0,
    "chrf_high": 56.0,
    "chrf_signature": "chrF2|nrefs:1",
    "sentences": 400,
    "cross_entropy": 2.0,
    "perplexity": 7.5,
    "length_ratio": 0.98,
    "source_unknown_rate": 0.01,
    "failures": {"empty": 0, "copied": 0, "looping": 1, "too_long": 0, "detached_full_stop": 0},
    "literals": {"lines": 50, "kept": 49},
    "confidence": {"missing": "fitting needs 200 validation sentences, but there are 20"},
    "slices": {
        "numbers": {"label": "with a number, date or time", "sentences": 60, "scores": NUMBERS},
        "names": {"label": "with a name", "sentences": 0, "scores": {}},
    },
}
SENTENCES = [
    JudgedSentence(
        number,
        f"Das ist der Satz Nummer {number}.",
        f"This is sentence number {number}.",
        f"This is the sentence of number {number}.",
        score=40.0 + number,
    )
    for number in range(1, 40)
]
HOSTILE_SENTENCE = JudgedSentence(40, HOSTILE, f"x {HOSTILE}", f"{HOSTILE} y", score=1.0)


def make_confidence(**reliability):
    """Return the confidence of an evaluation; ``none=True`` omits its reliability."""
    tested = None if reliability == {"none": True} else RELIABILITY | reliability
    model = {
        "good_chrf": 50.0,
        "sentences": 400,
        "sentences_unknown": 5,
        "intercept": 1.0,
        "features": {"score": {"mean": 0.0, "scale": 1.0, "weight": 1.0}},
        "validation": [40] * 10,
        "reliability": tested,
    }
    return {"model": model}


def judge(measured=MEASURED, history=TRAINING["history"], **changes):
    """Return the verdict on a run."""
    budget = changes.pop("budget", TRAINING["params"]["budget"])
    training = {"history": history, "params": {"budget": budget}}
    good = changes.pop("good", 300)
    return judge_run(Evaluation.parse(measured), training, EvaluateParams(**changes), good=good)


def render(measured=MEASURED, sentences=(*SENTENCES, HOSTILE_SENTENCE), download=DOWNLOAD, **more):
    """Return the report of a run."""
    verdict = more.get("verdict") or judge(measured)
    evaluation = Evaluation.parse(measured).model_copy(update={"verdict": verdict})
    return render_run_page(
        evaluation,
        TRAINING,
        download,
        sentences,
        languages=LANGUAGES,
        seed=1,
        learning_curve=b"\x89PNG",
    )
