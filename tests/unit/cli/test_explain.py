"""``nmt explain``, ``sample``, ``next``, ``tokenize``: alternatives, attention, samples, tokens."""

import math
import shutil
from dataclasses import replace

import pytest

from nmt_core.cli import options
from nmt_core.models.settings import RnnConfig
from nmt_core.search.settings import SamplingConfig
from nmt_core.text import Characters
from nmt_core.text.aligner.aligner import format_links
from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.scripted import scripted_translator
from tests.support.tiny import LINES, export, judge_by_score, tiny_translator

PAIRS = [("das haus", "the house"), ("das rote haus", "the house red"), ("er sieht", "he sees")]


def ask(command, bundle, *arguments, lines=LINES):
    """Return the fields of the lines that a command writes."""
    text = "".join(f"{line}\n" for line in lines)
    result = run(command, "--model", bundle, *arguments, lines=text.encode())
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def rank(searched):
    return [
        [str(number), str(rank), f"{each.score:.4f}", each.text]
        for number, own in enumerate(searched, start=1)
        for rank, each in enumerate(own, start=1)
    ]


# explain


def test_every_step_of_the_search_is_shown(bundle):
    translator = Translator.load(bundle)
    rows = ask("explain", bundle, "--search", "--beam-size", 3, lines=[*LINES[:1], ""])
    finished = {(row[4], row[3]) for row in rows if row[2] == "end"}
    [best, *_] = translator.search(LINES[:1], beam_size=3, n_best=3)[0]

    assert {row[0] for row in rows} == {"1"}  # an empty line has no search
    assert [row[1:3] for row in rows[:3]] == [["1", "1"], ["1", "2"], ["1", "3"]]
    log_prob = math.log(math.prod(best.token_probabilities))
    assert any(text == best.text and abs(float(p) - log_prob) < 1e-3 for text, p in finished)


@pytest.mark.parametrize(
    ("arguments", "search"),
    [
        ((), {"n_best": 1}),
        (("--n-best", 2), {"n_best": 2}),
        (("--n-best", 6), {"n_best": 6, "beam_size": 6}),  # wider than the model's beam
        (("--beam-size", 1), {"n_best": 1, "beam_size": 1}),
        (("--n-best", 3, "--diversity", 5), {"n_best": 3, "beam_size": 3, "diversity": 5.0}),
        (("--prefix", "dog"), {"n_best": 1, "prefixes": ["dog"] * 4}),
    ],
    ids=str,
)
def test_translations_are_explained_best_first(bundle, arguments, search):
    searched = Translator.load(bundle).search(LINES, **search)
    rows = ask("explain", bundle, *arguments)

    assert [row[:4] for row in rows] == rank(searched)
    for row, each in zip(rows, (each for own in searched for each in own), strict=True):
        assert row[4:6] == ["kept", "-"]
        numbers = [float(number) for number in row[6].strip("[]").split()]
        assert numbers == pytest.approx([*each.token_probabilities], abs=6e-4)


def test_doubts_belong_to_the_best_translation(bundle, monkeypatch):
    own = scripted_translator(str, lambda text: text.replace("94", "95"))
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: own)
    result = run("explain", "--model", bundle, "--n-best", 2, "es sind 94")

    assert [row.split("\t")[4] for row in result.stdout.splitlines()] == [
        "kept",
        "missing 94, added 95",
    ]
    assert result.stderr == ""


def test_attention_is_drawn_for_each_line(bundle, tmp_path):
    folder = tmp_path / "pictures"
    rows = ask("explain", bundle, "--attention", folder, lines=LINES[1:])
    assert rows == ask("explain", bundle, lines=LINES[1:])
    assert sorted(path.name for path in folder.iterdir()) == ["1.png", "3.png"]

    assert "exists; give a new folder" in refuse(
        "explain", "--model", bundle, "--attention", folder
    )


@pytest.mark.slow
def test_heads_are_drawn_beside_their_mean(bundle, tmp_path):
    ask("explain", bundle, "--attention", tmp_path / "pictures", "--heads", lines=LINES[:1])

    names = ["1-encoder.png", "1-heads.png", "1.png"]
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == names


@pytest.mark.parametrize(
    ("settings", "more", "lacks"),
    [({"attention": "none", "input_feeding": False}, (), ";"), ({}, ("--heads",), " heads;")],
)
def test_model_without_attention_says_so(tmp_path, settings, more, lacks):
    shape = RnnConfig(width=8, hidden_width=8, direction="forward", **settings)
    plain = export(tmp_path / "export", translator=tiny_translator(model=shape), model=shape)
    refused = run("explain", "--model", plain, "--attention", tmp_path / "a", *more, "Hund")

    assert refused.exit_code == 1
    assert f"this model has no attention{lacks}" in refused.stderr
    assert not (tmp_path / "a").exists()


def test_alignments_are_a_line_for_each_translation(tmp_path):
    aligner, sure = learn_aligner(PAIRS * 5), judge_by_score(-1e9)
    own = replace(tiny_translator(), load_aligner=lambda: aligner, confidence_model=sure)
    model = export(tmp_path / "own", translator=own)
    rows = ask("explain", model, "--alignments", tmp_path / "links", "--n-best", 2)
    expected = aligner.align([(LINES[int(row[0]) - 1], row[3]) for row in rows])

    assert rows[0][5] == "1.00"  # the confidence
    links = (tmp_path / "links").read_text().splitlines()
    assert links == [format_links(each) for each in expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-best", 3, "--beam-size", 2], "n_best (3) exceeds beam_size (2)"),
        (["--beam-size", 10**6], "beam.beam_size must be less than or equal to 1000"),
        (["--prefix", "a\udcff"], "--prefix is not UTF-8 (character 2)"),
        (["--alignments", "links"], "exported without an aligner"),
        (["--heads"], "--heads draws into a folder; add --attention DIR"),
        (["--search", "--attention", "new"], "--search prints to the screen only; omit new"),
    ],
    ids=str,
)
def test_refusals_name_what_is_wrong(bundle, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)

    assert message in refuse("explain", "--model", bundle, *arguments, lines=b"Hund\n")
    assert [*tmp_path.iterdir()] == []


# sample and next


@pytest.mark.parametrize(
    ("arguments", "sampling"),
    [
        ((), {}),
        (("--prefix", "dog"), {}),
        (
            ("--samples", 2, "--temperature", 0.5, "--top-k", 9, "--top-p", 0.8, "--seed", 3),
            {"samples": 2, "temperature": 0.5, "top_k": 9, "top_p": 0.8, "seed": 3},
        ),
    ],
)
def test_samples_are_numbered_as_drawn(bundle, arguments, sampling):
    prefixes = ["dog" if "--prefix" in arguments else ""] * len(LINES)
    drawn = Translator.load(bundle).sample(LINES, SamplingConfig(**sampling), prefixes=prefixes)

    assert ask("sample", bundle, *arguments) == rank(drawn)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--top-p", 3], "sample.top_p must be less than or equal to 1, got 3.0"),
        (["--samples", 10**9], "sample.samples must be less than or equal to 1000"),
    ],
)
def test_impossible_samples_are_refused(bundle, arguments, message):
    assert message in refuse("sample", "--model", bundle, *arguments, lines=b"Hund\n")


@pytest.mark.parametrize(("arguments", "lines"), [(("Hund",), b"Haus\n"), ((), b"Hund\n")])
def test_next_tokens_have_probabilities(bundle, arguments, lines):
    expected = Translator.load(bundle).next_tokens("Hund", "dog", 3)
    result = run("next", "--model", bundle, "--prefix", "dog", "-k", 3, *arguments, lines=lines)

    assert result.stdout.splitlines() == [f"{token}\t{p:.4f}" for token, p in expected]


# tokenize


def test_tokens_are_numbered_and_unknown_ones_marked(bundle, tmp_path):
    Characters().save(tmp_path / "tokenizer/target")
    Vocabulary([*SPECIALS, *"ab▁"]).save(tmp_path / "vocabulary/target.txt")
    rows = ask("tokenize", tmp_path, "--side", "target", lines=["ab b", "", "aö☃"])
    assert rows == [
        ["1", "a b ▁ b", "4 5 6 5", ""],
        ["2", "", "", ""],
        ["3", "a ö ☃", "4 3 3", "ö ☃"],
    ]

    side = Translator.load(bundle).source
    [[_, tokens, numbers, _]] = ask("tokenize", bundle, lines=["Der  Hund ☃"])
    assert tokens.split(" ") == side.tokens("Der  Hund ☃")
    assert [*map(int, numbers.split(" "))] == side.ids("Der  Hund ☃")


def test_tokenizer_that_is_missing_or_altered_is_refused(bundle, tmp_path):
    assert "cannot be read" in refuse("tokenize", "--model", tmp_path, "Hund")
    altered = shutil.copytree(bundle, tmp_path / "altered")
    (altered / "vocabulary/source.txt").write_text("none")
    assert "vocabulary/source.txt" in refuse("tokenize", "--model", altered, "Hund")
