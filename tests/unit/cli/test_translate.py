"""``nmt translate``: one line in, one line out; and the reports beside the lines."""

import shlex
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from nmt_core.base.languages import Languages
from nmt_core.cli import lines as streams
from nmt_core.cli import options
from nmt_core.documents.review import RESTORED, UNKNOWN
from nmt_core.literals.glossary import Glossary
from nmt_core.text.restoration import Restorer
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.scripted import scripted_translator
from tests.support.tagged import tagged_translator
from tests.support.tiny import LINES, export, judge_by_score, tiny_translator

DE_EN = Languages(source="de", target="en")


def translate(bundle, *options, lines=LINES):
    text = "".join(f"{line}\n" for line in lines)
    result = run("translate", "--model", bundle, *options, lines=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


# lines


def test_one_line_gives_one_line_in_order(bundle, monkeypatch):
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)
    expected = "".join(f"{text}\n" for text in Translator.load(bundle).translate(LINES))

    assert translate(bundle) == expected
    assert translate(bundle, *LINES, lines=["Brot"]) == expected  # stdin is not read
    assert translate(bundle, "--threads", 1) == expected
    monkeypatch.setattr(streams, "FIRST_LINES", 1)
    monkeypatch.setattr(streams, "MAX_LINES", 3)
    assert translate(bundle, lines=LINES * 3) == expected * 3
    assert translate(bundle, lines=[]) == ""


def test_whole_lines_are_not_cut_into_sentences(bundle):
    translator = Translator.load(bundle)
    line = "Ja. Nein."
    whole = translator.translate_sentences([line], beam_size=2)

    assert translate(bundle, "--whole-lines", "--beam-size", 2, line) == f"{whole[0]}\n"
    assert (
        translate(bundle, "--beam-size", 2, line) == f"{translator.translate(line, beam_size=2)}\n"
    )
    assert whole[0] != translator.translate(line, beam_size=2)


def test_only_newlines_end_a_line(bundle):
    text = "Hund\u2028Garten\x0bHaus\rBrot\r\n\x85\nBrot"  # the last line has no line end
    result = run("translate", "--model", bundle, lines=text.encode())

    assert result.stdout.count("\n") == 3
    lines = text.split("\n")
    assert result.stdout_bytes.decode().split("\n")[:-1] == Translator.load(bundle).translate(lines)


def test_exported_model_needs_no_name(bundle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--model is missing" in refuse("translate", "Hund")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/export").symlink_to(bundle)

    assert run("translate", "Hund").stdout == translate(bundle, "Hund")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--beam-size", 10**6], "beam.beam_size must be less than or equal to 1000"),
        (["\udcff"], "LINE is not UTF-8 (character 1)"),
        (["--device", "meta"], "there is no device 'meta' here"),
        (["--confidence"], "this model does not estimate confidence"),
        (["--memory", "none"], "--memory none does not exist"),
        (["--tag", "own"], "there is no tag 'own'; leave it out"),
        (["--glossary", "none"], "languages"),
        ([__file__], f"{__file__} is a file"),
    ],
    ids=str,
)
def test_refusals_name_what_is_wrong(bundle, arguments, message):
    for lines in (b"Hund\n", b""):
        assert message in refuse("translate", "--model", bundle, *arguments, lines=lines)


def test_lines_may_look_like_options_or_files(bundle):
    for line in ("--sample", "letter.docx", "Ein Haus " * 500):
        assert translate(bundle, "--", line).count("\n") == 1


def test_wrong_bytes_are_named_by_line(bundle):
    message = refuse("translate", "--model", bundle, lines=b"Haus\nBr\xf6t\n")

    assert "line 2 of the input is not UTF-8 (byte 3 is 0xf6)" in message


# reports


@pytest.fixture
def doubting(tmp_path):
    """A model with confidence, and two lines, one of which has a poor translation."""
    plain = tiny_translator()
    lines = ["Hund", "Wo ist das rote Haus?"]
    scores = [best.score for [best] in plain.search(lines, n_best=1)]
    judging = replace(plain, confidence_model=judge_by_score(sum(scores) / 2))
    doubtful, good = lines if scores[0] < scores[1] else lines[::-1]
    return export(tmp_path / "export", translator=judging), doubtful, good


def test_lines_are_flagged_below_a_tenth(bundle, monkeypatch):
    def judge(lines, translations):
        pairs = zip(lines, translations, strict=True)
        return [[each._replace(confidence=len(line) / 100) for each in own] for line, own in pairs]

    judging = replace(scripted_translator(), confidence_model=SimpleNamespace(judge=judge))
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: judging)
    result = run("translate", "--model", bundle, "abcdefghi", "abcdefghijk")

    assert result.stderr == "1 of 2 lines needs review: line 1: confidence 0.09\n"


def test_confidence_and_checks_are_columns(doubting):
    bundle, doubtful, good = doubting
    words = ("translate", "--model", bundle)
    both = run(*words, "--checks", "--confidence", good, doubtful, "").stdout.splitlines()

    assert [line.split("\t")[1:] for line in both] == [
        ["kept", "1.00"],
        ["kept", "0.00"],
        ["kept", "-"],
    ]
    assert run(*words, "--confidence", good).stdout.endswith("\t1.00\n")


@pytest.mark.parametrize("validated", [0, 200])
def test_restored_and_unknown_words_are_reported(doubting, tmp_path, validated):
    bundle, _, _ = doubting
    plain = Translator.load(bundle)
    model = plain.confidence_model.model_copy(update={"sentences_unknown": validated})
    restorer = Restorer({"haus": "Haus"}, {}, ["wo", "ist", "das", "haus", "zebra"])
    own = replace(plain, restorer=restorer, languages=DE_EN, confidence_model=model)
    strange = export(tmp_path / "strange", translator=own)
    lines = ("Wo ist das Haus?", "WO IST DAS HAUS?", "Wo ist das Haus Eule")
    reports = run("translate", "--model", strange, *lines).stderr

    second, third = reports.split("; ")[1:]
    assert f"{RESTORED}: Wo, ist, das, Haus" in second
    assert (f"{UNKNOWN}: Eule" in third) == (not validated)
    assert reports.count(RESTORED) == 1


# terms and tags


def test_a_given_glossary_extends_and_overrides_the_models(bundle, tmp_path, monkeypatch):
    (terms := tmp_path / "terms.tsv").write_text("Haus\tmanor\tmansion\nTee\n")
    own = Glossary({"Haus": ("hut",), "rotes Haus": ("red hut",), "Hund": ("hound",)}, ("de", "en"))
    sealed = replace(
        scripted_translator(lambda text: text.replace("Haus", "house").replace("Hund", "dog")),
        glossaries=(own,),
    )
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: sealed)
    line = "das Haus, rotes Haus, Hund, Tee"

    assert translate(bundle, line) == "das hut, red hut, hound, Tee\n"
    assert (
        translate(bundle, "--glossary", terms, "--checks", line)
        == "das manor, rotes manor, hound, Tee\tkept\n"
    )
    terms.write_text("a\tb\na\tc\n")
    assert "line 2" in refuse("translate", "--model", tmp_path, "--glossary", terms, "x")


@pytest.mark.parametrize("command", ["translate", "translate-file", "explain", "sample", "next"])
def test_engine_device_threads_and_terms_reach_the_translator(tmp_path, monkeypatch, command):
    loaded = []

    def load(folder, **options):
        loaded.append((folder, options))
        return scripted_translator()

    monkeypatch.setattr(options.Translator, "load", load)
    monkeypatch.setattr(options.Translator, "next_tokens", lambda *_: [])
    (terms := tmp_path / "terms.tsv").write_text("Haus\tmanor\n")
    words = ["--model", tmp_path, "--device", "cuda:7", "--threads", 3]
    has_engine = command not in ("sample", "next")  # which need PyTorch
    words += ["--engine", "some", "--glossary", terms] if has_engine else []
    result = run(command, *words, lines="das Haus")

    engine = "some" if has_engine else "torch"
    assert loaded == [(tmp_path, {"engine": engine, "device": "cuda:7", "threads": 3})]
    assert ("das manor" in result.stdout) == has_engine


def test_lines_documents_and_test_sets_share_the_tag(tmp_path):
    tagged = export(tmp_path / "export", translator=replace(tagged_translator(), languages=DE_EN))
    translator, line = Translator.load(tagged), "Der Hund sieht Haus."
    for name in ("text", "reference"):
        (tmp_path / name).write_text(f"{line}\n")
    sides = ("--source", tmp_path / "text", "--reference", tmp_path / "reference")
    for tag in (None, "own"):
        words = ("--model", tagged, *(("--tag", tag) if tag else ()))
        expected = translator.translate(line, tag=tag)
        assert run("translate", *words, line).stdout == f"{expected}\n"
        assert run("translate-file", *words, lines=line).stdout == expected
        [sentence] = translator.choose_tag(tag).translate_sentences([line])
        (tmp_path / "reference").write_text(f"{sentence}\n")
        assert "100.0 to 100.0" in run("evaluate", *words, *sides, "--metric", "chrf").stdout
        [[best]] = translator.choose_tag(tag).search([line], n_best=1)
        explained = run("explain", *words, line)
        assert explained.stdout.split("\t")[2:4] == [f"{best.score:.4f}", best.text]
        [[drawn]] = translator.choose_tag(tag).sample([line])
        assert run("sample", *words, line).stdout.split("\t")[2] == f"{drawn.score:.4f}"
    assert "there is no tag 'Own'; choose one of news, own" in refuse(
        "translate", "--model", tagged, "--tag", "Own", line
    )


# streams of a shell


def nmt(bundle, *arguments, **streams):
    command = [sys.executable, "-m", "nmt_core.cli", *arguments, "--model", str(bundle)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **streams)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["translate", "next"])
@pytest.mark.parametrize(
    ("redirection", "reason"),
    [
        ("<&-", "standard input is closed"),
        (">&-", "standard output is closed"),
        ("> /dev/full", "standard input or output failed (No space left on device)"),
    ],
)
def test_broken_streams_are_reported(bundle, command, redirection, reason):
    program = shlex.join([sys.executable, "-m", "nmt_core.cli", command, "--model", str(bundle)])
    ran = subprocess.run(
        ["sh", "-c", f"echo Hund | {program} {redirection}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert ran.stderr.startswith(f"nmt: {reason}")
    assert ran.stderr.count("\n") == 1


@pytest.mark.slow
def test_line_is_answered_before_the_next_is_written(bundle):
    [expected] = Translator.load(bundle).translate(["Hund"])
    with nmt(bundle, "translate", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(2):
            process.stdin.write(b"Hund\n")
            process.stdin.flush()

            assert process.stdout.readline().decode() == f"{expected}\n"
        process.stdin.close()

        assert process.wait() == 0


@pytest.mark.slow
def test_broken_pipe_is_quiet(bundle):
    """As in `nmt translate | head -1`."""
    with nmt(bundle, "translate", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(b"Hund\n" * 40)
        process.stdin.close()

        assert process.stderr.read() == b""
        assert process.wait() == 1
