"""Who may meet whom, and what is said of it; the contests themselves are in integration."""

import hashlib
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import GIVEN
from nmt_core.evaluation.registered import load_metric
from nmt_core.evaluation.statistics.gate import Candidate, GateConfig, GateError, Verdict
from stages import paths
from stages.params import BehaviourParams, EvaluateParams
from stages.registry import promotion
from stages.registry.exported import Exported, HeldOut
from stages.registry.promotion import (
    Contest,
    check_same_test_set,
    check_test_set,
    enact,
    list_effects,
    list_evidence,
    recase,
    render_verdict,
    run_contest,
    translate_test_set,
)
from stages.registry.settings import PromotionParams
from stages.registry.versions import Promotion, RegistryAwayError, RegistryError, Version
from stages.tracking.journal import Journal
from stages.tracking.tracker import open_tracker

HASH = "by hash, 10 in 10,000, salt 'nmt'"
TAGS = {
    "fingerprint": "f",
    "bundle_sha256": "c",
    "test_set": "today's",
    "held_out": HASH,
    "signature": load_metric("bleu", "en").signature,
}
GERMAN = Languages(source="de", target="en")
CHALLENGER = Exported(Path("models/export"), "nmt-de-en", GERMAN, HeldOut(["a"], ["b"]), TAGS)


def champion(**tags):
    return Version(number=3, tags=TAGS | tags)


@pytest.mark.parametrize("test_set", ["same", "current"])
def test_who_was_judged_alike_may_meet(test_set):
    check_same_test_set(champion(), TAGS, test_set)
    check_same_test_set(champion(held_out=GIVEN), TAGS, test_set)


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        (
            {"test_set": "older", "signature": "BLEU|version:1.0"},
            r"promoted on another.*test_set=current",
        ),
        ({"signature": "BLEU|version:1.0"}, r"scored as BLEU\|version:1\.0, but here"),
    ],
)
def test_another_test_set_or_way_to_score_is_taken_where_both_are_scored_anew(tags, told):
    check_same_test_set(champion(**tags), TAGS, "current")

    with pytest.raises(GateError, match=told):
        check_same_test_set(champion(**tags), TAGS, "same")


@pytest.mark.parametrize(
    "rules", [(HASH, "by the grammar"), (GIVEN, HASH), (HASH, GIVEN), (GIVEN, GIVEN)]
)
def test_a_test_set_that_the_champion_may_know_is_refused(rules):
    other = champion(test_set="an older one", held_out=rules[0])

    with pytest.raises(GateError, match="may have been trained"):
        check_same_test_set(other, TAGS | {"held_out": rules[1]}, "current")


def test_a_champion_of_unknown_origin_is_refused():
    with pytest.raises(RegistryError, match="has no tag 'test_set'"):
        check_same_test_set(Version(number=3, tags={}), TAGS, "same")


class Champions:
    """A registry whose champion is the third version, or none."""

    name = "nmt-de-en"

    def champion(self):
        return champion()

    def fetch(self, version, folder):
        return folder


TESTED = {
    "test_set": HeldOut(["Ein Haus."], ["A house."]).digest,
    "held_out": HASH,
    "signature": load_metric("bleu", "zh").signature,
}


@pytest.mark.parametrize(
    ("known", "refused"),
    [
        (TESTED, None),
        (None, None),
        (RegistryAwayError("MLflow is away"), None),
        (TESTED | {"test_set": "older"}, "promoted on another test set"),
        (TESTED | {"signature": load_metric("bleu", "de").signature}, "was scored as BLEU"),
        (RegistryError("it is broken"), "it is broken"),
    ],
)
def test_the_test_set_can_be_refused_before_anything_trains(project, known, refused):
    """By text and description alone, with neither a model nor scores."""
    files.write_lines(paths.CORPUS / "test.source", ["Ein Haus."])
    files.write_lines(paths.CORPUS / "test.target", ["A house."])
    described = {"kind": "files", "held_out": HASH}
    files.write_json(paths.REPORTS / "download.json", {"corpus": described})

    def find_champion():
        if isinstance(known, Exception):
            raise known
        return known and Version(number=3, tags=known)

    registry = SimpleNamespace(champion=find_champion)
    download = SimpleNamespace(languages=Languages(source="de", target="zh"))
    params = EvaluateParams(metrics=["bleu", "chrf"])
    with pytest.raises(NmtError, match=refused) if refused else nullcontext():
        check_test_set(registry, download, params, "same")


def test_both_translate_and_are_judged_in_the_language_of_the_challenger(monkeypatch):
    lines = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 9
    monkeypatch.setattr(
        promotion,
        "translate_test_set",
        lambda name, *_: Candidate(
            name, lines, lines, [line[3:] for line in lines] if "version 3" in name else lines
        ),
    )
    challenger = replace(
        CHALLENGER,
        languages=Languages(source="de", target="zh"),
        tags=TAGS | {"bundle_sha256": "new"},
    )
    found = run_contest(Champions(), challenger, EvaluateParams(), gate=GateConfig())

    assert (found.outcome, found.challenger, found.champion) == ("promote", "new", 3)
    assert found.reason == found.verdict.reason
    assert 0 < found.verdict.effects[0].champion < found.verdict.effects[0].challenger
    assert sorted(one.number for one in found.changed) == [*range(1, 19)]
    assert all(one.gain > 0 and one.before == one.reference[3:] for one in found.changed)


def test_slices_of_params_yaml_and_of_the_flow_are_both_kept(tmp_path, monkeypatch):
    """Of one that both name, the flow's bound counts; a glossary is read in both languages."""
    lines = [f"The Committee has met {n} times." for n in range(30)]
    monkeypatch.setattr(
        promotion, "translate_test_set", lambda name, *_: Candidate(name, lines, lines, lines)
    )
    (tmp_path / "terms.tsv").write_text("Committee\tAusschuss\n")
    found = run_contest(
        Champions(),
        replace(
            CHALLENGER,
            languages=Languages(source="en", target="de"),
            tags=TAGS | {"bundle_sha256": "n"},
        ),
        EvaluateParams(),
        gate=GateConfig(slices={"numbers": 2.0}, resamples=100, trials=100),
        promotion=PromotionParams(
            slices={"numbers": 1.0, "glossary": 0.5}, glossary=tmp_path / "terms.tsv"
        ),
    )
    told = {one.name: (one.bound, one.sentences) for one in found.verdict.conditions[2:]}

    assert told == {"slice_numbers": (2.0, 30), "slice_glossary": (0.5, 30)}
    assert "- BLEU of the slice glossary: 100.00" in render_verdict(found)


def test_a_slice_that_cannot_be_told_is_refused_before_anything_is_translated(monkeypatch):
    monkeypatch.setattr(promotion, "translate_test_set", lambda *_: pytest.fail("it was"))
    challenger = replace(CHALLENGER, tags=TAGS | {"bundle_sha256": "new"})

    with pytest.raises(GateError, match="the slice 'sure' cannot be told of a test set in de and"):
        run_contest(
            Champions(), challenger, EvaluateParams(), gate=GateConfig(slices={"sure": 1.0})
        )


def test_some_lines_are_translated_in_other_case(tmp_path, monkeypatch):
    lines = [f"Der {word} Hund schläft." for word in "abcdefgh"]
    params = EvaluateParams(behaviour=BehaviourParams(lines=6))
    recased = dict(recase([*lines, "1 2 3"] * 3, params))
    assert {line.isupper() for line in recased.values()} == {True, False}
    assert all(lines[number % 9].lower() == line.lower() for number, line in recased.items())
    assert dict(recase(lines, EvaluateParams(behaviour=BehaviourParams(lines=0)))) == {}

    told = SimpleNamespace(translate_sentences=lambda given: [f"> {line}" for line in given])
    monkeypatch.setattr(promotion.Translator, "load", lambda *_, **__: told)
    held_out = HeldOut(lines, lines)
    found = translate_test_set("it", tmp_path, held_out, {5: "X"}, torch.device("cpu"))
    assert found.hypotheses == [f"> {line}" for line in lines]
    assert found.recased == {5: "> X"}


def test_the_first_of_all_and_the_champion_itself_meet_nobody(monkeypatch):
    contest = partial(run_contest, Champions(), CHALLENGER, EvaluateParams(), gate=GateConfig())
    assert contest() == Contest(
        outcome="same",
        reason="version 3, the champion, is this very export",
        challenger="c",
        champion=3,
    )
    monkeypatch.setattr(Champions, "champion", lambda _: None)
    assert contest() == Contest(
        outcome="first", reason="nmt-de-en has no champion yet", challenger="c", champion=None
    )


EFFECT = {"champion": 20.0, "challenger": 21.5, "difference": 1.5, "better": 0.02, "worse": 0.99}
EFFECT |= {"bootstrap": 0.0123456789, "randomization": 0.02}
VERDICT = Verdict.model_validate_json(
    Verdict.model_construct(
        outcome="promote",
        reason="it is better",
        effects=[EFFECT | {"metric": name} for name in ("bleu", "chrf")],
        conditions=[
            {"name": "literals", "label": "kept", "sentences": 153, "champion": 100.0}
            | {"challenger": 96.5, "worse": 0.0312345678},
            {"name": "case", "label": "in other case", "sentences": 0},
        ],
        sentences=1000,
        test_set="today's",
        signatures=[load_metric(name, "en").signature for name in ("bleu", "chrf")],
        gate=GateConfig(),
    ).model_dump_json(warnings=False)
)


def held(verdict=VERDICT, **changes):
    told = {"outcome": "promote", "reason": "it is better", "champion": 3} | changes
    return Contest(challenger="c", verdict=verdict, **told)


def test_a_promotion_is_founded_on_what_was_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    founded = {name: TAGS[name] for name in ("test_set", "held_out", "signature")}
    first = held(None, outcome="first", champion=None)

    assert dict(list_evidence(first, CHALLENGER)) == founded
    Path("dvc.lock").write_text("stages: {}\n")
    assert dict(list_evidence(held(), CHALLENGER)) == founded | {
        "dvc_lock_sha256": hashlib.sha256(b"stages: {}\n").hexdigest(),
        "p_value_bleu_bootstrap": "0.0123457",
        "p_value_bleu_randomization": "0.02",
        "p_value_chrf_bootstrap": "0.0123457",
        "p_value_chrf_randomization": "0.02",
        "p_value_literals": "0.0312346",
    }


def test_a_report_shows_both_metrics():
    told = render_verdict(held())

    assert told.startswith("**promote**: it is better.\n\n| | version 3 | challenger |")
    assert "| BLEU | 20.00 | 21.50 | +1.50 | p = 0.0123 | p = 0.0200 |" in told
    assert "| chrF |" in told
    assert "On 1,000 sentences; of BLEU, p must not exceed 0.04.\n" in told
    assert "- kept: 96.50, the champion 100.00, on 153 sentences" in told
    assert "- in other case: not compared" in told


def test_a_contest_without_opponent_is_told_in_a_line():
    first = held(None, outcome="first", reason="there was none", champion=None)

    assert render_verdict(first) == "**first**: there was none.\n"
    assert list_effects(first) == ()


def test_what_came_of_a_contest_is_kept_with_the_run_unless_it_was_none(project, monkeypatch):
    monkeypatch.setattr(promotion, "open_tracker", partial(open_tracker, enabled=False))
    promotion.record_verdict(held(None, outcome="same"), CHALLENGER)
    assert not Path("runs").exists()
    promotion.record_verdict(held(), CHALLENGER)
    entries, _ = Journal("f").read()

    assert Contest.model_validate_json(Path("runs/f/promotion.json").read_bytes()) == held()
    assert Path("runs/f/promotion.md").read_text() == render_verdict(held())
    told = {"gate_outcome": "promote", "gate_reason": "it is better", "gate_refused_by": ""}
    assert entries[0]["tags"].items() >= told.items()
    *scores, literals = [one for one in entries if one["kind"] == "metrics"]
    assert literals["values"] == {
        "gate_literals_champion": 100.0,
        "gate_literals_challenger": 96.5,
        "gate_literals_worse_p": 0.0312345678,
    }
    assert [(one["values"], one["step"]) for one in scores] == [
        (
            {
                f"gate_{name}_difference": 1.5,
                f"gate_{name}_better_p": 0.02,
                f"gate_{name}_worse_p": 0.99,
            },
            0,
        )
        for name in ("bleu", "chrf")
    ]
    kept = [one["name"] for one in entries if one["kind"] == "artifact"]
    assert kept == ["promotion.json", "promotion.md", "promotion.html"]
    assert (
        '<h1 class="verdict">promote: it is better</h1>'
        in Path("runs/f/promotion.html").read_text()
    )


@pytest.mark.parametrize("outcome", ["promote", "hold", "reject", "first", "same"])
def test_who_wins(outcome):
    """And becomes champion, in the place of the one that it met, with what that is founded on."""
    found = held(outcome=outcome)
    asked = []
    registry = SimpleNamespace(
        version_holding=lambda exported: Version(number=4, tags=exported.tags),
        promote=lambda number, **wish: not asked.append((number, wish)),
    )
    assert enact(registry, found, CHALLENGER, promotion="p", by="me") == found.won
    evidence, report = dict(list_evidence(found, CHALLENGER)), render_verdict(found)
    wish = Promotion(id="p", by="me", reason=found.reason, evidence=evidence, report=report)
    assert asked == [(4, {"expected": 3, "promotion": wish})] * found.won

    assert found.won == (outcome in ("promote", "first"))
    assert found == Contest.model_validate_json(found.model_dump_json())
