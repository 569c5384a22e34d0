"""Combine the evaluations of the directions of a multilingual model."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from nmt_core.base.languages import Languages
from nmt_core.evaluation.metric import Score
from nmt_core.evaluation.quality import KeptLiterals
from nmt_core.evaluation.slices import SliceScore
from nmt_core.text.language_detection import find_base, load_scorer
from stages.reporting.evaluation import (
    ConfidenceReport,
    DirectionEvaluation,
    Evaluation,
    Remark,
    RunVerdict,
)


def measure_off_target(hypotheses: Sequence[str], target: str, others: Sequence[str]) -> float:
    """Return the share of translations in another language of the model, by py3langid.

    Translations that are too short to identify count as right.
    """
    scorer = load_scorer()
    bases = [*dict.fromkeys(map(find_base, (target, *others)))]
    columns = [scorer.codes.index(base) for base in bases if base in scorer.codes]
    if find_base(target) not in scorer.codes or len(columns) == 1 or not hypotheses:
        return 0.0
    scores = scorer.score(hypotheses)[:, columns]
    wrong = scores.any(axis=1) & (scores.argmax(axis=1) != 0)
    return float(wrong.mean())


def combine_evaluations(parts: Mapping[Languages, Evaluation]) -> Evaluation:
    """Return the evaluation of several directions: macro averages, sums and all verdicts.

    The interval of an average has the average bounds. It is too wide if test sets are independent,
    and right if they share their sentences.
    """
    evaluations = [*parts.values()]
    first = evaluations[0]
    loss = fmean(each.cross_entropy for each in evaluations)
    literals = [each.literals for each in evaluations]
    lines, kept = sum(each.lines for each in literals), sum(each.kept for each in literals)
    return Evaluation(
        scores={
            name: average_scores([e.scores[name] for e in evaluations]) for name in first.scores
        },
        sentences=sum(each.sentences for each in evaluations),
        cross_entropy=loss,
        perplexity=math.exp(min(loss, 100.0)),
        length_ratio=fmean(each.length_ratio for each in evaluations),
        source_unknown_rate=fmean(each.source_unknown_rate for each in evaluations),
        failures=dict(sum((Counter(each.failures) for each in evaluations), Counter())),
        literals=KeptLiterals(lines=lines, kept=kept),
        confidence=ConfidenceReport(missing="each direction has its own"),
        length_penalty=fmean(each.length_penalty for each in evaluations),
        slices={
            str(languages): SliceScore(
                label=str(languages),
                sentences=each.sentences,
                scores={name: (s.value, s.low, s.high) for name, s in each.scores.items()},
            )
            for languages, each in parts.items()
        },
        verdict=combine_verdicts(parts),
        directions={
            str(languages): DirectionEvaluation(
                scores={name: score.interval for name, score in each.scores.items()},
                sentences=each.sentences,
                length_ratio=each.length_ratio,
                length_penalty=each.length_penalty,
                off_target=each.off_target,
                confidence=each.confidence,
            )
            for languages, each in parts.items()
        },
    )


def average_scores(scores: Sequence[Score]) -> Score:
    """Return the macro average of the scores of several directions."""
    return Score(
        value=fmean(score.value for score in scores),
        low=fmean(score.low for score in scores),
        high=fmean(score.high for score in scores),
        signature=" + ".join(dict.fromkeys(score.signature for score in scores)),
        details=f"average of {len(scores)} directions",
    )


def combine_verdicts(parts: Mapping[Languages, Evaluation]) -> RunVerdict:
    """Return one verdict: the model is ready if each direction is."""
    verdicts = {languages: each.verdict for languages, each in parts.items() if each.verdict}
    remarks = [
        Remark(what=f"{languages}: {remark.what}", advice=remark.advice, blocks=remark.blocks)
        for languages, verdict in verdicts.items()
        for remark in verdict.remarks
    ]
    remarks.sort(key=lambda remark: not remark.blocks)
    names = [str(languages) for languages, verdict in verdicts.items() if not verdict.ready]
    summary = f"Not ready: {', '.join(names)}." if names else "Ready in all directions."
    return RunVerdict(ready=not names, summary=summary, remarks=tuple(remarks))
