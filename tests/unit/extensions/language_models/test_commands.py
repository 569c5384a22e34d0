"""The commands that learn, score and generate."""

import math
from signal import SIGINT, raise_signal

import pytest

from nmt_core.base.progress import TrainingDisplay
from nmt_core.extensions.language_models.training import load_language_model
from nmt_core.training.settings import EpochTrainingConfig
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.tiny import export

TEXT = "the cat sat.\nthe dog sat, too.\nthe cat ran home.\n" * 8
SMALL = [
    *("--set", "model.width=8", "--set", "model.embedding_width=8", "--set", "model.layers=1"),
    *("--set", "training.epochs=2", "--set", "training.rows=4", "--set", "training.window=8"),
]


def learn(folder, *options):
    text = folder / "text.txt"
    text.write_text(TEXT, newline="")
    result = run("learn", "--text", text, "--out", folder / "lm", *options)
    assert result.exit_code == 0, result.stderr
    return folder / "lm"


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    settings = ("--set", "model.order=3", "--set", "model.kind=ngram")
    return learn(tmp_path_factory.mktemp("counted"), "--kind", "rnn", *settings)


def test_translator_gives_its_subwords(tmp_path, translator):
    model = learn(tmp_path, "--unit", "subword", "--tokens-of", translator)
    expected = Translator.load(translator).target.vocabulary.tokens

    assert load_language_model(model, device="cpu").units.vocabulary.tokens == expected


@pytest.mark.parametrize(
    ("kind", "without"),
    [("rnn", ""), ("feed_forward", "model.layers=1"), ("transformer", "model.embedding_width=8")],
)
def test_a_neural_model_is_learnt_by_a_command(tmp_path, kind, without):
    pairs = [("--set", setting) for setting in SMALL[1::2] if setting != without]
    context = ("--set", "model.context=8") if kind == "transformer" else ()
    small = [*(word for pair in pairs for word in pair), *context]
    model = learn(tmp_path, "--kind", kind, "--unit", "word", *small)

    assert load_language_model(model, device="cpu").model.config.kind == kind
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lm", "text.txt"]


@pytest.mark.usefixtures("heard")
def test_a_stopped_training_saves_and_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(EpochTrainingConfig, "log_every", 3)
    monkeypatch.setattr(TrainingDisplay, "step", lambda *_, **__: raise_signal(SIGINT))
    (tmp_path / "text.txt").write_text(TEXT)
    given = ("learn", "--kind", "rnn", "--text", tmp_path / "text.txt", "--out", tmp_path / "lm")
    assert run(*given, *SMALL).exit_code == 128 + SIGINT
    monkeypatch.undo()
    again = run(*given, *SMALL)

    assert again.exit_code == 0
    assert "continuing from step 4" in again.stderr


def test_the_slides_three_sentences_are_learnt(tmp_path):
    """Vahid 2017: P(am | i) is 1/2; an unseen text is impossible, not a number of 305 digits."""
    path, folder = tmp_path / "three.txt", tmp_path / "lm"
    path.write_text("i am from utah .\ni lived there .\nthey am here .\n")
    counting = ("model.order=2", "model.smoothing.kind=maximum_likelihood")
    settings = ("held_out=0", "unit.min_count=1", *counting)
    chosen = [word for one in settings for word in ("--set", one)]
    learnt = run("learn", "--text", path, "--out", folder, "--unit", "word", *chosen)
    assert learnt.exit_code == 0, learnt.stderr
    lines = "i am here .\nutah lived .\n"
    scored = run("score", "--language-model", folder, lines=lines)
    assert scored.exit_code == 0, scored.stderr
    first, second = (line.split("\t") for line in scored.stdout.splitlines())

    assert float(first[0]) == pytest.approx(math.log(2 / 3 * 1 / 2 * 1 / 2), abs=1e-4)
    assert second[:2] == ["-inf", "inf"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("\n" * 9 + "b\n", (), "the training text is empty"),
        ("a\n" * 9 + "\n", (), "the validation text is empty"),
    ],
)
def test_part_without_a_known_word_is_named(tmp_path, text, options, message):
    """The loss of such a part would be 0."""
    (tmp_path / "text.txt").write_text(text)
    learn = ("learn", "--text", tmp_path / "text.txt", "--out", tmp_path / "lm", "--unit", "word")

    assert message in refuse(*learn, *options)


def test_other_folder_is_never_replaced(tmp_path):
    older = learn(tmp_path)
    before = (older / "learning.json").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear")
    command = ("learn", "--text", tmp_path / "text.txt", "--set", "model.order=2", "--out")

    assert "mine contains other files" in refuse(*command, tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "Dear"
    assert run(*command, older).exit_code == 0
    assert (older / "learning.json").read_text() != before


def test_each_line_gets_a_score(counted):
    result = run("score", "--language-model", counted, lines="the cat\n\nthe dog\n")
    expected = load_language_model(counted, device="cpu").score(["the cat", "", "the dog"])

    assert result.stdout == "".join(
        f"{score.log_likelihood:.4f}\t{score.perplexity:.4f}\t{score.tokens}\n"
        for score in expected
    )
    heading, total = result.stderr.splitlines()
    assert heading == "log-likelihood\tperplexity\ttokens"
    assert total.startswith("3 lines, 17 tokens, 0 of them unknown, log-likelihood -")


def test_mismatched_inputs_are_refused(translator, counted, tmp_path):
    (text := tmp_path / "text.txt").write_text(TEXT)
    out = ("--out", tmp_path / "lm")

    assert "--tokens-of models/export" in refuse("learn", "--text", text, "--unit", "subword", *out)
    assert "requires --unit subword" in refuse("learn", "--text", text, "--tokens-of", "x", *out)
    assert "name the folder of a language model" in refuse("score", "--language-model", translator)
    assert "name the folder of a translator" in refuse("score", "--model", counted)
    assert "generate.top_p" in refuse("generate", "--language-model", counted, "--top-p", 2)


def test_text_is_generated(counted):
    options = ("--language-model", counted, "--length", 20, "--prefix", "the ")
    first, again, other = (
        run("generate", *options, *seed).stdout for seed in ((), (), ("--seed", 2))
    )

    assert first == again != other
    assert first.startswith("the ")
    assert len(first) == len("the ") + 20 + 1


@pytest.mark.parametrize("command", ["score", "generate"])
def test_device_and_threads_are_used(tmp_path, monkeypatch, command):
    counts = []
    model = learn(tmp_path, "--kind", "rnn", "--unit", "word", *SMALL)
    monkeypatch.setattr("torch.set_num_threads", counts.append)
    words = (command, "--language-model", model)

    assert run(*words, "--threads", 3, lines="the cat\n").exit_code == 0
    assert 3 in counts
    assert "cuda" in refuse(*words, "--device", "cuda:7")


@pytest.mark.parametrize(("content", "problem"), [(None, "cannot be read"), (b"\xe9", "not UTF-8")])
def test_unreadable_text_is_named(tmp_path, content, problem):
    if content:
        (tmp_path / "a.txt").write_bytes(content)
    message = refuse("learn", "--text", tmp_path / "a.txt", "--out", tmp_path / "lm")

    assert "a.txt" in message
    assert problem in message
