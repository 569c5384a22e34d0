"""Promotion: the gate between the champion and this checkout's export.

Each translates the test set by its own settings, and ``nmt_core.evaluation.gate`` decides. The
result is written to the challenger's run, as ``runs/<fingerprint>/promotion.{json,md}`` and as
numbers and tags in MLflow.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.languages import read_languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.corpora.corpus import GIVEN
from nmt_core.evaluation.gate import Candidate, Verdict, find_configured_slice, judge
from nmt_core.evaluation.metric import SlicedText
from nmt_core.evaluation.registry import GateConfig
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import DownloadParams, EvaluateParams, PromotionParams
from stages.registry.exported import (
    TEST_SET,
    Exported,
    HeldOut,
    describe_test_set,
    read_described,
    read_held_out,
)
from stages.registry.registry import Registry, RegistryAwayError, Version
from stages.reporting.pages import render_template
from stages.tracking.tracker import open_tracker

EVIDENCE = (TEST_SET, "held_out", "signature")
"""Tags about the test of a challenger, which its promotion copies to the version."""

Judged = Literal["same", "current"]
"""The test set of a comparison: the same as at the champion's promotion, or the current one."""

RECASED_SENTENCES = 160
"""Number of test sentences that both models also translate in capitals or lower case."""


class Contest(Config):
    """The verdict on a challenger, with its evidence."""

    outcome: Literal["promote", "hold", "reject", "first", "same"]
    """Outcome of the gate; "first" without a champion, "same" if the challenger is the champion."""
    reason: str
    """One sentence."""
    challenger: str
    """Digest of the challenger's export."""
    champion: int | None
    """Version of the champion; None without one."""
    verdict: Verdict | None = None
    """Verdict of the gate; None for the outcomes "first" and "same"."""

    @property
    def won(self) -> bool:
        """Whether the challenger becomes champion."""
        return self.outcome in ("promote", "first")


def run_contest(
    registry: Registry,
    challenger: Exported,
    params: EvaluateParams,
    *,
    gate: GateConfig,
    test_set: Judged = "same",
    promotion: PromotionParams = PromotionParams(),
) -> Contest:
    """Return the result of comparing the challenger with the champion.

    Both translate now, on the same device. The ``test_set`` ``same`` requires the test set of the
    champion's promotion; ``current`` uses the current one, if the champion cannot have been trained
    on it. Slices of ``promotion`` are added to those of the gate.

    Raises:
        NmtError: if the models cannot be compared.
        RegistryError: if MLflow does not answer, or lacks the champion.
    """
    champion = registry.champion()
    number = champion.number if champion else None
    decide = partial(Contest, challenger=challenger.digest, champion=number)
    if champion is None:
        reason = f"{registry.name} has no champion yet"
        return decide(outcome="first", reason=reason)
    if champion.digest == challenger.digest:
        reason = f"version {champion.number}, the champion, is the same export"
        return decide(outcome="same", reason=reason)
    check_same_test_set(champion, challenger.tags, test_set)
    gate = gate.model_copy(update={"slices": {**promotion.slices, **gate.slices}})
    codes = challenger.languages.codes
    text = SlicedText(*challenger.held_out[:2], codes)
    for name in gate.slices:
        find_configured_slice(name, text)  # raises before minutes are spent on translations
    recased = dict(recase(challenger.held_out.sources, params.seed))
    old, new = translate_by_both(
        registry, champion, challenger, challenger.held_out, params, recased=recased
    )
    verdict = judge(old, new, gate, languages=codes)
    return decide(outcome=verdict.outcome, reason=verdict.reason, verdict=verdict)


def check_test_set(
    registry: Registry, download: DownloadParams, params: EvaluateParams, test_set: Judged
) -> None:
    """Check before training that a model of this checkout could be judged on its test set.

    If MLflow does not answer, nothing is checked: ``run_contest`` checks again.

    Raises:
        BundleError: if an earlier version wrote the report on the text.
        NmtError: if the comparison would be unfair, with the reason and a remedy.
        RegistryError: if the champion has no tags about its test.
    """
    try:
        champion = registry.champion()
    except RegistryAwayError:
        return
    if champion is not None:
        language = download.languages.target
        tags = describe_test_set(
            read_held_out(), read_described(), metric=params.metrics[0], language=language
        )
        check_same_test_set(champion, tags, test_set)


def check_same_test_set(champion: Version, tags: Mapping[str, str], test_set: Judged) -> None:
    """Check that a comparison on a test set is fair; ``tags`` describe the test set.

    The test set of the champion's promotion was held out from both models. Another test set must
    follow the same rule of holding out, so that the champion was not trained on its pairs; only its
    target sentences may have been in training, with other sources.

    Raises:
        NmtError: if it is unfair, with the reason and a remedy.
    """
    name = f"version {champion.number}, the champion,"
    anew = "judge both on the current test set: test_set=current"
    signature = tags["signature"]
    same = champion.tag(TEST_SET) == tags[TEST_SET]
    if test_set == "same" and not same:
        raise NmtError(f"{name} was promoted on another test set; restore that, or {anew}")
    if test_set == "same" and champion.tag("signature") != signature:
        raise NmtError(
            f"{name} was scored with {champion.tag('signature')}, but this environment has "
            f"{signature}; install the earlier version of the metric, or {anew}"
        )
    rules = champion.tag("held_out"), tags["held_out"]
    if not same and (rules[0] != rules[1] or GIVEN in rules):
        raise NmtError(
            f"{name} may have been trained on the current test set, which is held out {rules[1]}, "
            f"the champion's {rules[0]}; hold it out as before, or promote by hand"
        )


def recase(
    sources: Sequence[str], seed: int, limit: int = RECASED_SENTENCES
) -> Iterator[tuple[int, str]]:
    """Yield line number and text of some sentences, alternately in capitals and lower case."""
    for place, number in enumerate(draw_line_numbers(len(sources), limit, seed)):
        line = sources[number].lower() if place % 2 else sources[number].upper()
        if line != sources[number]:
            yield number, line


def translate_by_both(
    registry: Registry,
    champion: Version,
    challenger: Exported,
    text: HeldOut,
    params: EvaluateParams,
    *,
    recased: Mapping[int, str],
) -> tuple[Candidate, Candidate]:
    """Return both models with translations of a text, and of its ``recased`` lines by number.

    Raises:
        RegistryError: if MLflow does not answer.
    """
    from nmt_core.base.compute import prepare_compute  # imports torch

    compute = prepare_compute(params.device, precision="float32", threads=params.threads)
    device = compute.device.type
    with TemporaryDirectory() as scratch:
        fetched = registry.fetch(champion, Path(scratch))
        return (
            translate_test_set(f"version {champion.number}", fetched, text, recased, device),
            translate_test_set(str(challenger.folder), challenger.folder, text, recased, device),
        )


def translate_test_set(
    name: str, folder: Path, held_out: HeldOut, recased: Mapping[int, str], device: str
) -> Candidate:
    """Return an export's translations of the test set and of lines in other letter case."""
    translator = Translator.load(folder, engine="torch", device=device)
    lines, count = [*held_out.sources, *recased.values()], len(held_out.sources)
    directions = [*map(read_languages, held_out.directions)]
    directions += [directions[row] for row in recased if directions]
    hypotheses = [best.text for best in translator.translate_mixed(lines, directions)]
    return Candidate(
        name,
        held_out.sources,
        held_out.references,
        hypotheses[:count],
        dict(zip(recased, hypotheses[count:], strict=True)),
        held_out.directions,
    )


def enact(
    registry: Registry, contest: Contest, challenger: Exported, *, promotion: str, by: str
) -> bool:
    """Make the challenger champion if it has won; return whether the champion changed.

    ``promotion`` is an id; repeating a promotion with the same id does nothing.

    Raises:
        RegistryError: if the champion has changed since, or MLflow does not answer.
    """
    assert contest.challenger == challenger.digest
    if not contest.won:
        return False
    return registry.promote(
        registry.version_holding(challenger).number,
        expected=contest.champion,
        promotion=promotion,
        by=by,
        reason=contest.reason,
        evidence={name: challenger.tags[name] for name in EVIDENCE},
    )


def record_verdict(contest: Contest, challenger: Exported) -> None:
    """Write the verdict to the challenger's run, and send it to MLflow.

    A comparison of the champion with itself does not overwrite the record of its promotion.
    """
    if contest.outcome == "same":
        return
    verdict, numbers = contest.verdict, dict[str, float]()
    for effect in verdict.effects if verdict else ():
        name = f"gate_{effect.metric}"
        numbers |= {f"{name}_difference": effect.difference, f"{name}_better_p": effect.better}
        numbers[f"{name}_worse_p"] = effect.worse
    for condition in verdict.conditions if verdict else ():
        name = f"gate_{condition.name}"
        if condition.sentences:
            old, new = condition.champion, condition.challenger
            numbers |= {f"{name}_champion": old, f"{name}_challenger": new}
            numbers[f"{name}_worse_p"] = condition.worse
    refused_by = ", ".join(verdict.refused_by if verdict else ())
    tags = {"gate_outcome": contest.outcome, "gate_reason": contest.reason}
    tags["gate_refused_by"] = refused_by
    keep_result("promotion", contest, render_verdict(contest), challenger, numbers, tags)


def keep_result(
    name: str,
    result: Config,
    report: str,
    challenger: Exported,
    numbers: Mapping[str, float],
    tags: Mapping[str, str] | None = None,
) -> None:
    """Write a result and its report beside the challenger's journal, and send both to MLflow."""
    folder = paths.RUNS / challenger.fingerprint
    files.write_json(folder / f"{name}.json", result.model_dump(mode="json"))
    files.write_text(folder / f"{name}.md", report)
    with open_tracker(challenger.fingerprint, tags=tags) as tracker:
        tracker.metrics(numbers, step=0)
        for suffix in ("json", "md"):
            tracker.artifact(folder / f"{name}.{suffix}")


def render_verdict(contest: Contest) -> str:
    """Return the verdict in Markdown."""
    return render_template("promotion.md", contest=contest)
