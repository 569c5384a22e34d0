"""Reports of runs, of test sets that a test writes."""

from nmt_core.base.languages import Languages
from stages.params import EvaluateParams
from stages.reporting.contest_page import compare_sentences, render_contest_page
from stages.reporting.judged import JudgedSentence
from stages.reporting.run_page import render_run_page
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
    "history": [
        {
            "step": step,
            "train_loss": loss + 0.5,
            "validation_loss": loss,
            "validation_scores": {"perplexity": 9.0, "bleu": 20.0 + step / 80},
        }
        for step, loss in ((80, 4.4), (160, 4.39))
    ],
}
DOWNLOAD = {
    "removed": {"train": {"duplicate": 3}, "validation": {}, "test": {"also_in_train": 1}},
    "corpora": {"own": {}},
}
SHARE = {"passed": 19, "total": 20, "low": 0.76, "high": 0.99}
MEASURED = {
    "bleu": 31.0,
    "bleu_low": 29.5,
    "bleu_high": 32.5,
    "bleu_signature": "BLEU|nrefs:1",
    "chrf": 55.0,
    "chrf_low": 54.0,
    "chrf_high": 56.0,
    "chrf_signature": "chrF2|nrefs:1",
    "novel": {},
    "sentences": 400,
    "perplexity": 7.5,
    "length_ratio": 0.98,
    "source_unknown_rate": 0.01,
    "failures": {"empty": 0, "copied": 0, "looping": 1, "too_long": 0, "detached_full_stop": 0},
    "literals": {"lines": 50, "kept": 49},
    "behaviour": {
        "literals as they come": {"kept": SHARE, "same": None},
        "capitals": {"kept": SHARE, "same": SHARE},
    },
    "confidence": {"missing": "20 validation sentences are too few to fit on; it takes 200"},
    "slices": {
        "numbers": {
            "label": "with a number, date or time",
            "sentences": 60,
            "scores": {"bleu": [30.0, 27.0, 33.0], "chrf": [54.0, 52.0, 56.0]},
        },
        "questions": {"label": "questions", "sentences": 0, "scores": {}},
    },
}
SENTENCES = [
    JudgedSentence(
        number,
        f"Das ist der Satz Nummer {number}.",
        f"This is sentence number {number}.",
        f"This is the sentence of number {number}.",
        score=40.0 + number,
        links=(0, 1, 2, 3, -1, 4, 5),
    )
    for number in range(1, 40)
]
HOSTILE_SENTENCE = JudgedSentence(40, HOSTILE, f"x {HOSTILE}", f"{HOSTILE} y", score=1.0)


def judge(measured=MEASURED, history=TRAINING["history"], **changes):
    """Return the verdict on a run."""
    budget = changes.pop("budget", TRAINING["params"]["budget"])
    training = {"history": history, "params": {"budget": budget}}
    params = EvaluateParams()
    told = {"good": 300, "good_chrf": params.good_chrf, "good_share": params.good_share}
    told |= {"errors": {}, "greedy": False}
    return judge_run(measured, training, **(told | changes))


def render(measured=MEASURED, sentences=(*SENTENCES, HOSTILE_SENTENCE), download=DOWNLOAD):
    """Return the report of a run."""
    verdict = judge(measured).model_dump(mode="json")
    return render_run_page(
        measured | {"verdict": verdict},
        TRAINING,
        download,
        sentences,
        languages=LANGUAGES,
        seed=1,
    )


def render_contest():
    """Return the page of a contest that has changed some sentences."""
    references = [one.reference for one in SENTENCES]
    changed = compare_sentences(
        [one.source for one in SENTENCES],
        references,
        [HOSTILE, *references[1:20], *(one.hypothesis for one in SENTENCES[20:])],
        [*(one.hypothesis for one in SENTENCES[:20]), *references[20:]],
        language=LANGUAGES.target,
    )
    told = {"outcome": "hold", "reason": "nothing is proved", "lines": [HOSTILE]}
    return render_contest_page(told, changed, LANGUAGES)
