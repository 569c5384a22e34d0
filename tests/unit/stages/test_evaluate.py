"""Measures and files of the evaluation; integration tests run the whole stage."""

import json
import math
from collections import Counter
from dataclasses import replace

import pytest

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.search.settings import BeamConfig
from nmt_core.text.translation import Translation
from nmt_core.translation.translator import Translator
from stages import evaluate
from stages.params import EvaluateParams
from stages.paths import Inputs
from stages.reporting.evaluation import ConfidenceReport
from stages.reporting.measures import TranslatedText, measure_slices, measure_translations
from stages.runtime.trained import list_tags, read_validation, tag_lines
from tests.support.run_pages import TRAINING
from tests.support.slow_cases import mark_slow
from tests.support.tagged import tagged_translator
from tests.support.tiny import LINES, subwords, tiny_translator

CHINESE = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"]
DE_EN = Languages(source="de", target="en")


def make_text(hypotheses, references, sources=None, *, target="en", read=None):
    """Return a translated test set."""
    languages = Languages(source="de", target=target)
    found = [Translation(line, -0.5, (), (), ()) for line in hypotheses]
    return TranslatedText(languages, sources or references, references, read or [], found)


class CountingTokenizer:
    def __init__(self):
        self.seen = Counter()
        self.decode = subwords().decode

    def encode(self, line):
        self.seen[line] += 1
        return subwords().encode(line)


def test_each_test_line_is_tokenized_once(tmp_path, monkeypatch):
    """It is translated, scored, counted and drawn."""
    translator = tiny_translator()
    sides = [replace(side, tokenizer=CountingTokenizer()) for side in [translator.source] * 2]
    translator = replace(translator, source=sides[0], target=sides[1])
    monkeypatch.setattr(evaluate, "load_trained", lambda *_: translator)
    (tmp_path / "training.json").write_text(json.dumps(TRAINING))
    references = [str(number) for number, _ in enumerate(LINES)]
    for name, lines in (("source", LINES), ("target", references)):
        (tmp_path / f"test.{name}").write_text("\n".join([*lines, ""]), encoding="utf-8")
    for name in ("source", "target"):
        (tmp_path / f"validation.{name}").touch()
    measured = evaluate.run(
        EvaluateParams(resamples=10, pictures=1),
        Inputs(trained=tmp_path, corpus=tmp_path),
        languages=DE_EN,
        reports=tmp_path / "reports",
    )

    assert sides[0].tokenizer.seen == Counter(LINES)
    assert [sides[1].tokenizer.seen[line] for line in references] == [1] * len(references)
    assert (tmp_path / "reports" / "attention" / "1.png").exists()
    verdict = measured.verdict.summary
    assert verdict.startswith("Not ready: 0% of the test sentences")
    assert f">{verdict}</h1>" in (tmp_path / "reports" / "index.html").read_text()


def test_tabs_in_translations_become_spaces(tmp_path):
    """A tab would shift the columns of its line for every later program."""
    text = make_text(["a\thypothesis", "two"], ["a\t reference", "2"], ["a\tsource", "zwei"])
    path = tmp_path / "translations.tsv"
    evaluate.write_translations(path, text)

    assert path.read_text(encoding="utf-8").splitlines() == [
        "score\tsource\treference\thypothesis",
        "-0.5000\ta source\ta  reference\ta hypothesis",
        "-0.5000\tzwei\t2\ttwo",
    ]
    evaluate.write_examples(tmp_path / "examples.json", text, EvaluateParams(examples=9))
    assert files.read_json(tmp_path / "examples.json")[1] == {
        "source": "zwei",
        "reference": "2",
        "hypothesis": "two",
    }


def test_scores_follow_the_target_language():
    scores = make_text([CHINESE[0], CHINESE[1][2:]], CHINESE, target="zh").score(
        EvaluateParams(resamples=10)
    )

    assert 50 < scores["bleu"].value < 100
    assert scores["bleu"].low < scores["bleu"].value < scores["bleu"].high
    assert "|tok:zh|" in scores["bleu"].signature
    assert scores["chrf"].signature.startswith("chrF2|")


@pytest.mark.parametrize(
    ("hypotheses", "references", "target", "expected"),
    [
        ([line * 3 for line in CHINESE], CHINESE, "zh", {"length_ratio": 3, "sentences": 2}),
        (["cccc"], ["b"], "th", {"length_ratio": 4}),
        (["Hund"] * 3, ["Hund", "Hund", "Hund " * 4], "en", {"length_ratio": 0.5}),
    ],
)
def test_lengths_and_failures_follow_the_target_language(hypotheses, references, target, expected):
    """Without spaces, each Chinese line would be a single word that is never repeated."""
    translator = tiny_translator()
    sources = ["a"] * len(references)
    read = [translator.source.tokenize(line) for line in sources]
    text = make_text(hypotheses, references, sources, target=target, read=read)
    fields = measure_translations(translator, text)

    assert fields.items() >= expected.items()
    assert fields["perplexity"] == pytest.approx(math.exp(fields["cross_entropy"]))
    failures = {"zh": ("too_long", 2), "th": ("looping", 1), "en": ("empty", 0)}[target]
    assert fields["failures"][failures[0]] == failures[1]


def test_corpora_are_slices_if_there_are_several():
    references = ["abcdefgh"] * 4
    text = make_text([*references[:3], ""], references, ["eins", "zwei", "eins", "eins"])
    corpora = {"own": slice(0, 3), "web": slice(3, 4)}
    params = EvaluateParams(resamples=10)
    slices = measure_slices(params, text, corpora)

    assert slices["corpus own"].scores["chrf"][0] == pytest.approx(100)
    assert slices["corpus web"].scores["chrf"][0] == 0
    alone = measure_slices(params, text, {"one": slice(0, 4)})
    assert not [name for name in alone if name.startswith("corpus")]


@pytest.mark.parametrize(
    ("changes", "chosen", "tried"),
    [
        ({"metrics": ["chrf", "bleu"]}, 2.0, 4),
        ({"metrics": ["bleu", "chrf"]}, 1.0, 2),  # an error rate, for this test
        ({"choose_length_penalty": False}, 1.0, 0),
        ({"beam": BeamConfig(beam_size=1)}, 1.0, 0),
    ],
)
def test_the_best_length_penalty_wins(changes, chosen, tried, monkeypatch):
    """The model writes more of a reference at higher length penalties."""
    read = []

    def translate(own, lines):
        read.append(len(lines))
        return [line[: 2 + round(8 * own.config.beam.length_penalty)] for line in lines]

    monkeypatch.setattr(Translator, "translate_sentences", translate)
    monkeypatch.setattr("nmt_core.evaluation.metrics.Bleu.higher_is_better", False)
    lines = ["a b c d e f g h i"] * 600
    translator = evaluate.choose_length_penalty(
        EvaluateParams(**changes), tiny_translator(), (lines, lines, [()] * 600), language="en"
    )

    assert translator.config.beam.length_penalty == chosen
    assert read == [500] * tried


@pytest.mark.parametrize(
    ("logged", "steps", "losses"),
    [
        ([10, 20, 30, 40], [10, 20, 30, 40], [1.0, 2.0, 3.0, 4.0]),
        ([10, 20, 30], [80, 160], [4.9, 4.89]),
    ],
)
def test_curves_are_logged_points_or_validations(monkeypatch, tmp_path, logged, steps, losses):
    drawn = []
    monkeypatch.setattr(evaluate, "draw_learning_curve", lambda *a, **more: drawn.append((a, more)))
    curve = [{"step": n, "loss": n / 10, "learning_rate": 0.1} for n in logged]
    evaluate.draw_training(tmp_path, TRAINING | {"curve": curve})
    [((_, curves, scores, rates), named)] = drawn

    assert curves["validation"] == ([80, 160], [4.4, 4.39])
    assert curves["training"] == (steps, pytest.approx(losses))
    assert (scores, named) == (([80, 160], [21.0, 22.0]), {"metric": "BLEU"})
    assert rates == (steps, [0.1] * len(steps))


@pytest.fixture
def tagged(tmp_path):
    """Inputs of two corpora, the second with a tag, and a translator that knows the tag."""
    counts = [{"validation": 4, "test": 1}, {"validation": 0, "test": 3}]
    files.write_json(tmp_path / "corpus.json", {"corpora": counts})
    for split in ("validation", "test"):
        for side in ("source", "target"):
            files.write_lines(tmp_path / f"{split}.{side}", LINES)
    return tagged_translator(), Inputs(trained=tmp_path, corpus=tmp_path, tags=((), ("own",)))


def test_a_line_has_the_tag_of_its_corpus(tagged):
    translator, inputs = tagged
    tags = list_tags(inputs, "test")
    read = tag_lines(translator.source, LINES, tags)

    assert tags == [(), *[("own",)] * 3]
    assert [(text.line, text.tags) for text in read] == [*zip(LINES, tags, strict=True)]
    assert list_tags(replace(inputs, tags=((), ())), "test") == []
    assert {text.tags for text in tag_lines(translator.source, LINES, [])} == {()}
    source, _, drawn = read_validation(inputs, 4, 1)
    assert (source, drawn) == (LINES, [()] * 4)
    other = replace(inputs, tags=(("own",), ()))
    assert read_validation(other, 2, 1)[2] == [("own",)] * 2


def test_drawn_validation_pairs_keep_their_tags(tmp_path):
    for side in ("source", "target"):
        files.write_lines(tmp_path / f"validation.{side}", map(str, range(6)))
    files.write_json(tmp_path / "corpus.json", {"corpora": [{"validation": 1}] * 6})
    inputs = Inputs(corpus=tmp_path, tags=((), ("a",)) * 3)
    drawn = [read_validation(inputs, 2, seed) for seed in range(9)]

    assert {tag for *_, tags in drawn for tag in tags} == {(), ("a",)}
    for source, target, tags in drawn:
        assert source == target
        assert tags == [("a",) if int(line) % 2 else () for line in source]


@pytest.mark.parametrize("tag", mark_slow(["", "own"], but=["own"]))
def test_confidence_is_fitted_on_tagged_translations(tagged, monkeypatch, tag):
    translator, inputs = tagged
    inputs = replace(inputs, tags=((tag,) if tag else (), ()))
    files.write_json(inputs.trained / "training.json", TRAINING)
    monkeypatch.setattr(evaluate, "load_trained", lambda *_: translator)
    judged = []

    def judge(_, validation, test, **__):
        judged.extend((validation, test))
        return ConfidenceReport(missing="too few")

    monkeypatch.setattr(evaluate, "judge_confidence", judge)
    evaluate.run(
        EvaluateParams(resamples=0, pictures=0, choose_length_penalty=False),
        inputs,
        languages=DE_EN,
        reports=inputs.trained / "reports",
    )
    (sources, references, translations), test = judged
    own = translator.choose_tag("own") if tag else translator
    expected = [best.ids for [best] in own.search(LINES, n_best=1)]

    assert (sources, references) == (LINES, LINES)
    assert [one.ids for one in translations] == expected
    assert (expected == [one.ids for one in test[2]]) is not bool(tag)
