"""The report of a run: a verdict, then all that it rests on, in one file that asks nobody."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from nmt_core.base.languages import Languages
from nmt_core.evaluation.registered import find_label, find_metric_names
from stages.reporting.confidence import describe_reliability, read_confidence
from stages.reporting.curves import draw_curves
from stages.reporting.hypertext import Content, make, make_table, write_page
from stages.reporting.judged import JudgedSentence, choose_best, choose_random, choose_worst
from stages.reporting.page_style import STYLE
from stages.reporting.removed_table import tabulate_removed
from stages.reporting.sentence_tables import (
    SENTENCE_STYLE,
    list_sentences,
    tabulate_sentences,
)
from stages.reporting.verdict import RunVerdict, read_verdict

SHOWN = 10
"""Sentences of each table."""

EVALUATE = ".venv/bin/dvc repro --single-item --force evaluate"
"""Computes all that the evaluate stage measures."""

CELLS = "tail -n +2 reports/translations.tsv | cut -f"
"""Begins the command that prints a column of the translations."""


def render_run_page(
    measured: Mapping[str, Any],
    record: Mapping[str, Any],
    download: Mapping[str, Any],
    sentences: Sequence[JudgedSentence],
    *,
    languages: Languages,
    seed: int,
) -> str:
    """Return a page about a run that needs nothing but itself.

    Args:
        measured: metrics of the evaluate stage, with its ``verdict`` and ``slices``.
        record: ``training.json``.
        download: metrics of the download stage; empty if they are not at hand.
        sentences: the test set, in order; those that are shown have links.
        languages: of the two sides.
        seed: draws what is shown at random.
    """
    verdict = read_verdict(measured)
    assert verdict is not None
    title = f"Report of a run, {languages.source} to {languages.target}"
    header = make(
        "header",
        make("h1", verdict.summary, class_=f"verdict {'ready' if verdict.ready else 'wrong'}"),
        make("p", f"{title}: {measured['sentences']:,} test sentences, run "),
    )
    header[-1].append(make("code", record["fingerprint"]))
    sections = [
        _show_verdict(verdict, sentences, languages),
        _show_scores(measured, languages),
        _show_slices(measured),
        _show_behaviour(measured),
        _show_confidence(measured),
        _show_translations(sentences, languages, seed),
        _show_training(record),
        _show_text(download),
    ]
    return write_page(title, STYLE + SENTENCE_STYLE, [header, make("main", *sections)])


def _show_verdict(
    verdict: RunVerdict, sentences: Sequence[JudgedSentence], languages: Languages
) -> Element:
    remarks = make("ul", class_="remarks")
    for remark in verdict.remarks:
        what = make("strong", remark.what) if remark.blocks else make("span", remark.what)
        remarks.append(make("li", what, f" {remark.advice}"))
    reasons = make("div", make("h2", "Why, and what to do next"))
    reasons.append(remarks if verdict.remarks else make("p", "Nothing speaks against it."))
    reasons.append(
        make(
            "p",
            "Bold: for this it is not ready. A verdict holds for text like that of the test set, "
            "and proves of no single translation that it is right.",
            class_="soft",
        )
    )
    reasons.append(_tell_command(EVALUATE))
    worst = make("div", make("h2", f"The {SHOWN} worst sentences"))
    worst.append(list_sentences(choose_worst(sentences, SHOWN), languages))
    return make("section", make("div", reasons, worst, class_="two"), id="verdict")


def _show_scores(measured: Mapping[str, Any], languages: Languages) -> Element:
    rows: list[Sequence[Content]] = [
        [
            find_label(name),
            f"{measured[name]:.1f}",
            f"{measured[f'{name}_low']:.1f} to {measured[f'{name}_high']:.1f}",
            make("span", measured[f"{name}_signature"], class_="origin"),
        ]
        for name in find_metric_names(measured)
    ]
    if novel := measured["novel"]:
        rows += [
            [
                f"{find_label(name)}, near nothing in training",
                f"{novel[name]:.1f}",
                f"{novel[f'{name}_low']:.1f} to {novel[f'{name}_high']:.1f}",
                f"{novel['sentences']:,} sentences",
            ]
            for name in find_metric_names(measured)
        ]
    literals = measured["literals"]
    facts: dict[str, str] = {
        "perplexity": f"{measured['perplexity']:.2f}",
        "length ratio": f"{measured['length_ratio']:.3f}",
        "unknown source words": f"{measured['source_unknown_rate']:.2%}",
        "literals kept": f"{literals['kept']:,} of {literals['lines']:,}",
        **{kind.replace("_", " "): f"{count:,}" for kind, count in measured["failures"].items()},
    }
    described = (make("div", make("dt", what), make("dd", text)) for what, text in facts.items())
    pair = f"{languages.source}-{languages.target}"
    command = f".venv/bin/sacrebleu <({CELLS}3) -i <({CELLS}4) -l {pair} -m bleu chrf"
    return make(
        "section",
        make("h2", "Scores"),
        make_table("On the test set", ["Metric", "score", "95 %", "signature"], rows),
        make("h3", "Further measures"),
        make("dl", *described),
        _tell_command(command),
        id="scores",
    )


def _show_slices(measured: Mapping[str, Any]) -> Element:
    names = find_metric_names(measured)
    tested = {name for one in measured["slices"].values() for name in one["scores"]}
    columns = [name for name in names if name in tested]
    rows: list[Sequence[Content]] = [
        [one["label"], one["sentences"], *(_tell_interval(one["scores"], n) for n in columns)]
        for one in measured["slices"].values()
    ]
    whole = {n: (measured[n], measured[f"{n}_low"], measured[f"{n}_high"]) for n in columns}
    total = ["all", measured["sentences"], *(_tell_interval(whole, n) for n in columns)]
    head = ["Sentences", "number", *(find_label(name) for name in columns)]
    return make(
        "section",
        make("h2", "Slices"),
        make_table(
            "Sentences that have something in common, with 95 % intervals",
            head,
            rows,
            total=total,
            numbers=["number"],
        ),
        make(
            "p",
            "Where an interval does not reach the score of all sentences, the slice differs; of "
            "twenty slices about one seems to by chance. BLEU of few sentences says little.",
            class_="soft",
        ),
        _tell_command(EVALUATE),
        id="slices",
    )


def _tell_interval(scores: Mapping[str, Sequence[float]], name: str) -> str:
    if name not in scores:
        return "none"
    value, low, high = scores[name]
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _show_behaviour(measured: Mapping[str, Any]) -> Element:
    section = make("section", make("h2", "Behaviour"), id="behaviour")
    if not measured["behaviour"]:
        section.append(make("p", "It was not asked for (evaluate.behaviour.lines is 0)."))
        return section
    rows: list[Sequence[Content]] = [
        [name, one["kept"]["total"], _tell_share(one["kept"]), _tell_share(one["same"])]
        for name, one in measured["behaviour"].items()
    ]
    head = ["Change", "sentences", "kept", "otherwise the same"]
    section.extend(
        [
            make_table(
                "What comes through when a sentence changes, with 95 % intervals",
                head,
                rows,
                numbers=["sentences"],
            ),
            _tell_command(
                f".venv/bin/nmt check --model models/export --source <({CELLS}2)"
                f" for the exported model, on the first sentences; here, drawn ones: {EVALUATE}"
            ),
        ]
    )
    return section


def _tell_share(share: Mapping[str, Any] | None) -> str:
    if share is None:
        return ""
    low, high = 100 * share["low"], 100 * share["high"]
    return f"{100 * share['passed'] / share['total']:.1f} % ({low:.1f} to {high:.1f})"


def _show_confidence(measured: Mapping[str, Any]) -> Element:
    section = make("section", make("h2", "Confidence"), id="confidence")
    judging = read_confidence(measured)
    if judging is None:
        section.append(make("p", f"There is none: {measured['confidence']['missing']}."))
    elif judging.reliability is None:
        section.append(make("p", "Test text has sentences of one kind only, so nothing is known."))
    else:
        tested = judging.reliability
        rows: list[Sequence[Content]] = [
            [f"{one.confidence:.2f}", one.sentences, f"{one.good:.2f}"] for one in tested.curve
        ]
        section.extend(
            [
                make("p", f"On test text: {describe_reliability(tested)}."),
                make_table(
                    "Sentences by confidence, and the share of them that is translated well",
                    ["Confidence", "sentences", "good"],
                    rows,
                    numbers=["sentences", "good"],
                ),
            ]
        )
    section.append(_tell_command(EVALUATE))
    return section


def _show_translations(
    sentences: Sequence[JudgedSentence], languages: Languages, seed: int
) -> Element:
    shown = {
        "At random": choose_random(sentences, SHOWN, seed),
        "Best": choose_best(sentences, SHOWN),
        "Worst": choose_worst(sentences, SHOWN),
    }
    tables = (tabulate_sentences(name, some, languages) for name, some in shown.items())
    return make(
        "section",
        make("h2", "Translations"),
        make(
            "p",
            make("ins", "Underlined"),
            ": the reference has it not. ",
            make("del", "Dotted"),
            ": the translation has it not. A word that the pointer is over shows those that it "
            "belongs to, by attention. Losses and gains against the champion stand in "
            "promotion.html beside the run (runs/, and in MLflow) once the two have met.",
            class_="soft",
        ),
        *tables,
        _tell_command("sort -t \"$(printf '\\t')\" -k1g reports/translations.tsv", "all, by score"),
        id="translations",
    )


def _show_training(record: Mapping[str, Any]) -> Element:
    history = record["history"]
    losses = {
        "validation": [(point["step"], point["validation_loss"]) for point in history],
        "train": [(point["step"], point["train_loss"]) for point in history],
    }
    metric = next(reversed(history[0]["validation_scores"]))
    scores = {metric: [(p["step"], p["validation_scores"][metric]) for p in history]}
    best = next(point for point in history if point["step"] == record["best_step"])
    facts = {
        "updates": f"{record['steps']:,}",
        "best at": f"{record['best_step']:,}",
        "passes": f"{record['epochs']:,}",
        "target tokens": f"{record['target_tokens']:,}",
        "parameters": f"{record['parameters']:,}",
    }
    described = (make("div", make("dt", what), make("dd", text)) for what, text in facts.items())
    caption = make("figcaption", "Loss by update:")
    keys = {"validation": "key source", "train": "key target"}
    caption.extend(make("span", name, class_=keys[name]) for name in losses)
    told = f"validation loss {best['validation_loss']:.3f} at the best update"
    label = find_label(metric)
    best_score = best["validation_scores"][metric]
    return make(
        "section",
        make("h2", "Training, and what it cost"),
        make("dl", *described),
        make(
            "div",
            make("figure", caption, draw_curves(losses, label=f"Losses by update: {told}")),
            make(
                "figure",
                make("figcaption", f"{label} of validation sentences by update"),
                draw_curves(scores, label=f"{label} by update: {best_score:.1f} at the best"),
            ),
            class_="two",
        ),
        _tell_command("cat runs/usage/*.json", "Time and memory of each stage on this machine"),
        _tell_command(".venv/bin/dvc repro train"),
        id="training",
    )


def _show_text(download: Mapping[str, Any]) -> Element:
    section = make("section", make("h2", "Text, and what was removed"), id="text")
    if download:
        section.append(tabulate_removed(download["removed"]))
    section.append(
        make("p", make("a", "All of the training text", href="data.html"), ", corpus by corpus.")
    )
    section.append(_tell_command(".venv/bin/dvc repro --single-item --force download"))
    return section


def _tell_command(command: str, what: str = "Computed again by") -> Element:
    return make("p", f"{what}: ", make("code", command), class_="soft")
