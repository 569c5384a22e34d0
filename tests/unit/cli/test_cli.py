import io
import re
import shlex
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from nmt_core.base.languages import Languages
from nmt_core.base.seal import digest_bundle
from nmt_core.cli import lines as streams
from nmt_core.cli.conversation import SURE, UNSURE, render_translation
from nmt_core.cli.records import translate_lines
from nmt_core.cli.translate_options import Beginnings
from nmt_core.documents.review import RESTORED, UNKNOWN
from nmt_core.models.settings import RnnConfig
from nmt_core.search.settings import SamplingConfig
from nmt_core.text.restoration import Restorer
from nmt_core.translation.translation import EMPTY_TRANSLATION
from nmt_core.translation.translator import Translator
from tests.support.commands import run
from tests.support.tiny import LINES, export, judge_by_score, tiny_translator


def translate(bundle, *options, lines=LINES):
    text = "".join(f"{line}\n" for line in lines)
    result = run("translate", "--model", bundle, *options, lines=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_one_line_gives_one_line_in_order(bundle):
    expected = Translator.load(bundle).translate(LINES)

    assert "".join(f"{text}\n" for text in expected) == translate(bundle)


def test_more_lines_than_a_chunk_keep_their_order(bundle, monkeypatch):
    monkeypatch.setattr(streams, "FIRST_LINES", 1)
    monkeypatch.setattr(streams, "MOST_LINES", 3)

    assert translate(bundle).splitlines() * 3 == translate(bundle, lines=LINES * 3).splitlines()


def test_lines_may_be_given_as_arguments(bundle):
    """Standard input is left alone then, and options hold for each."""
    assert translate(bundle, *LINES, lines=["Brot"]) == translate(bundle)
    assert translate(bundle, "Hund", "--n-best", 2, "Haus").count("\n") == 4
    result = run("translate", "--model", bundle, "-i", "Hund")

    assert "--interactive asks for lines" in result.stderr


@pytest.fixture
def doubting(tmp_path):
    """A model with confidence; and two lines, of whose translations one is hardly good."""
    plain = tiny_translator()
    lines = ["Hund", "Wo ist das rote Haus?"]
    scores = [best.score for [best] in plain.search(lines, n_best=1)]
    doubting = replace(plain, confidence_model=judge_by_score(sum(scores) / 2))
    doubtful, good = lines if scores[0] < scores[1] else lines[::-1]
    return export(tmp_path / "export", translator=doubting), doubtful, good


def test_lines_that_are_hardly_good_are_named(doubting):
    bundle, doubtful, good = doubting
    some = run("translate", "--model", bundle, good, doubtful, "", doubtful)

    assert (
        some.stderr
        == "2 of 4 lines need review: line 2: confidence 0.00; line 4: confidence 0.00\n"
    )
    assert run("translate", "--model", bundle, doubtful).stderr.startswith(
        "1 of 1 line needs review"
    )
    assert run("translate", "--model", bundle, good, "").stderr == ""


def test_progress_counts_each_line_that_is_translated(monkeypatch):
    counted = []
    monkeypatch.setattr("nmt_core.cli.records.show_progress", lambda: nullcontext(counted.append))
    portions = [["a", "b"], ["c"]]
    translate_lines(
        portions,
        lambda lines, _: [[EMPTY_TRANSLATION]] * len(lines),
        Beginnings(None, None),
        lambda *_: (),
        0.0,
        lambda *_: None,
    )

    assert counted == [2, 1]


@pytest.mark.parametrize(("below", "named"), [(0, False), (0.01, True), (1, True)])
def test_who_flags_decides_from_where_on(doubting, below, named):
    bundle, doubtful, good = doubting
    told = run("translate", "--model", bundle, "--flag-below", below, doubtful, good).stderr

    assert ("review: line 1: confidence 0.00" in told) is named
    assert run("translate", "--model", bundle, "--flag-below", 1, good).stderr == ""


def test_confidence_is_written_where_it_is_asked_for(doubting):
    bundle, doubtful, good = doubting
    asked = ("translate", "--model", bundle, "--confidence", "--flag-below", 0)
    single, ranked = (
        run(*asked, *options, good, doubtful, "").stdout.splitlines()
        for options in ((), ("--n-best", 2))
    )

    assert [line.split("\t")[-1] for line in single] == ["1.00", "0.00", "-"]
    assert len({len(line.split("\t")) for line in ranked}) == 1
    assert ranked[-1].endswith("\t-")


@pytest.mark.parametrize("asked", [("--confidence",), ("--flag-below", 0.3)], ids=str)
def test_a_model_that_has_no_confidence_is_asked_for_none(bundle, asked):
    refused = run("translate", "--model", bundle, *asked, "Hund")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "has no confidence" in refused.stderr
    assert run("translate", "--model", bundle, "--flag-below", 0, "Hund").stderr == ""


@pytest.mark.parametrize(
    "option", [("--sample", 1), ("--prefix", "dog"), ("--prefix-file", "dogs.txt")], ids=str
)
def test_what_was_not_measured_has_no_confidence(doubting, tmp_path, monkeypatch, option):
    bundle, doubtful, _ = doubting
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dogs.txt").write_text("dog\n")
    found = run("translate", "--model", bundle, "--confidence", *option, doubtful)

    assert found.stdout.endswith("\t-\n")
    assert found.stderr == ""


def test_restored_words_are_reported(tmp_path):
    languages = Languages(source="de", target="en")
    translator = replace(
        tiny_translator(), restorer=Restorer({"haus": "Haus"}, {}), languages=languages
    )
    bundle = export(tmp_path / "export", translator=translator)
    lines = ["WO IST DAS HAUS?", "Wo ist das Haus?"]
    told = run("translate", "--model", bundle, *lines)
    asked = run("translate", "--model", bundle, "-i", lines="".join(f"{one}\n" for one in lines))

    assert f"{RESTORED}: Wo, ist, das, Haus; line 2" in told.stderr
    assert asked.stdout.count(f"{RESTORED[1:]}: Wo, ist, das, Haus.") == 1


def test_words_that_leave_a_translation_without_confidence_are_told(doubting, tmp_path):
    bundle, _, good = doubting
    words = ["zebra", *re.findall(r"\w+", good.lower())]
    restorer = Restorer({}, {}, words)
    plain = replace(Translator.load(bundle), restorer=restorer)
    languages = Languages(source="de", target="en")
    told = []
    for unknown in (0, 200):
        model = plain.confidence_model.model_copy(update={"sentences_unknown": unknown})
        own = replace(plain, languages=languages, confidence_model=model)
        strange = export(tmp_path / f"{unknown}", translator=own)
        asked = ("translate", "--model", strange, "--flag-below", 0)
        told.append(run(*asked, good, f"{good} Eule", "Zebra Eule Eule").stderr)
    spoken, judged = (
        " ".join(
            run(
                "translate", "--model", tmp_path / name, "-i", lines=f"{good} Eule\n"
            ).stdout.split()
        )
        for name in ("0", "200")
    )

    assert f"{UNKNOWN}: Eule; line 3: " in told[0]
    assert UNKNOWN not in told[1]
    assert f"{UNKNOWN[1:]}: Eule." in spoken
    assert "Confidence" not in spoken
    assert "Confidence" in judged
    assert UNKNOWN[1:] not in judged


def test_a_conversation_tells_doubts(doubting):
    bundle, doubtful, good = doubting
    told = [
        run("translate", "--model", bundle, "-i", lines=f"{line}\n").stdout
        for line in (doubtful, good)
    ]

    assert [text.count("look at this") for text in told] == [1, 0]
    assert [text.count("Confidence 0.00.") for text in told] == [1, 0]
    assert "Confidence: 1.00, likely good" in told[1]


def test_who_types_is_told_that_lines_are_awaited(bundle, monkeypatch):
    class Typed(io.BytesIO):
        def isatty(self):
            return True

    monkeypatch.setattr("nmt_core.cli.lines.open_standard_input", lambda: Typed(b"Hund\n"))
    result = run("translate", "--model", bundle)

    assert "Write lines; each is translated when it ends." in result.stderr
    assert result.stdout == translate(bundle, "Hund")


def test_only_newlines_end_a_line(bundle):
    text = "Hund\u2028Garten\x0bHaus\rBrot\r\n\x85\nBrot"  # the last has no end
    result = run("translate", "--model", bundle, lines=text.encode())

    assert result.stdout.count("\n") == 3
    lines = text.split("\n")
    assert result.stdout_bytes.decode().split("\n")[:-1] == Translator.load(bundle).translate(lines)


def test_no_input_gives_no_output(bundle):
    assert translate(bundle, lines=[]) == ""


def test_bytes_that_are_not_text_are_named_by_line(bundle):
    result = run("translate", "--model", bundle, lines=b"Haus\nBr\xf6t\n")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "line 2 of the input is not UTF-8 (byte 3 is 0xf6)" in result.stderr


def test_scores_follow_their_translation(bundle):
    translator = Translator.load(bundle)
    written = translate(bundle, "--scores").splitlines()

    assert len(LINES) == len(written)
    for [best], line in zip(translator.search(LINES, n_best=1), written, strict=True):
        text, probabilities, score = line.split("\t")

        assert best.text == text
        assert re.fullmatch(r"\[(\d\.\d{3}( (?!\]))?)*\]", probabilities)
        assert len(best.token_probabilities) == len(probabilities.strip("[]").split())
        assert f"Score: {best.score:.4f}" == score


def test_n_best_numbers_lines_and_ranks(bundle):
    found = Translator.load(bundle).search(LINES, n_best=2)
    expected = [
        [str(number), str(rank), f"{best.score:.4f}", best.text]
        for number, every in enumerate(found, start=1)
        for rank, best in enumerate(every, start=1)
    ]

    assert expected == [line.split("\t") for line in translate(bundle, "--n-best", 2).splitlines()]
    assert expected == [
        line.split("\t")[:4] for line in translate(bundle, "--n-best", 2, "--scores").splitlines()
    ]


def test_n_best_widens_the_models_beam(bundle):
    assert len(translate(bundle, "--n-best", 6, lines=["Hund"]).splitlines()) == 6


def test_n_best_beyond_an_explicit_beam_is_refused(bundle):
    result = run("translate", "--model", bundle, "--n-best", 3, "--beam-size", 2)

    assert result.exit_code == 1
    assert "--n-best 3" in result.stderr
    assert "use --beam-size 3" in result.stderr


def test_samples_are_numbered_as_drawn(bundle):
    sampling = SamplingConfig(samples=2, temperature=0.5, top_k=9, top_p=0.8, seed=3)
    found = Translator.load(bundle).sample(LINES, sampling)
    expected = [
        [str(number), str(rank), f"{one.score:.4f}", one.text]
        for number, every in enumerate(found, start=1)
        for rank, one in enumerate(every, start=1)
    ]
    options = ("--temperature", 0.5, "--top-k", 9, "--top-p", 0.8, "--seed", 3)
    written = translate(bundle, "--sample", 2, *options).splitlines()

    assert expected == [line.split("\t") for line in written]


def test_one_sample_is_a_translation_like_any(bundle):
    assert translate(bundle, "--sample", 1, "--temperature", 0) != ""
    assert len(translate(bundle, "--sample", 1).splitlines()) == len(LINES)


def test_diversity_reaches_the_search(bundle):
    found = Translator.load(bundle).search(LINES, n_best=3, beam_size=3, diversity=5.0)
    written = translate(bundle, "--n-best", 3, "--diversity", 5).splitlines()

    assert [one.text for every in found for one in every] == [row.split("\t")[3] for row in written]
    assert written != translate(bundle, "--n-best", 3).splitlines()


def test_translations_begin_as_asked(bundle, tmp_path):
    file = tmp_path / "beginnings.txt"
    file.write_text("dog\n\n\nbread house\n")

    alike = translate(bundle, "--prefix", "dog").splitlines()
    each = translate(bundle, "--prefix-file", file).splitlines()

    assert [line.startswith("dog") for line in alike] == [bool(line) for line in LINES]
    assert (each[0], each[1]) == (alike[0], translate(bundle).splitlines()[1])
    assert each[3].startswith("bread house")


@pytest.mark.parametrize(("count", "problem"), [(2, "fewer"), (9, "more")])
def test_a_file_of_beginnings_has_a_line_for_every_line(bundle, tmp_path, count, problem):
    file = tmp_path / "beginnings.txt"
    file.write_text("dog\n" * count)
    lines = "".join(f"{line}\n" for line in LINES).encode()
    result = run("translate", "--model", bundle, "--prefix-file", file, lines=lines)

    assert result.exit_code == 1
    assert result.stderr == f"nmt: {file} has {problem} lines than the input; it needs as many\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--top-k", 4), "--top-k is for drawing translations; add --sample 1"),
        (("--seed", 4), "--seed is for drawing translations; add --sample 1"),
        (("--sample", 2, "--n-best", 2), "--sample draws translations and --n-best"),
        (("--prefix", "a", "--prefix-file", "none"), "--prefix and --prefix-file contradict"),
        (("--prefix-file", "none"), "none cannot be read (No such file or directory)"),
        (("--sample", 1, "--top-p", 3), "sample.top_p must be less than or equal to 1, got 3.0"),
        (("--sample", 10**9), "sample.samples must be less than or equal to 1000"),
        (("--beam-size", 10**6), "beam.beam_size must be less than or equal to 1000"),
        (("--batch-tokens", 10**9), "translate.batch_tokens must be less than or equal to 1000000"),
        (("--prefix", "a\udcff"), "--prefix is not UTF-8 (character 2)"),
        (("\udcff",), "LINE is not UTF-8 (character 1)"),
        (("--device", "meta"), "there is no device 'meta' here"),
    ],
    ids=str,
)
def test_contradictory_options_are_refused(bundle, options, message):
    result = run("translate", "--model", bundle, *options, lines=b"Hund\n")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"nmt: {message}")


@pytest.mark.parametrize(("arguments", "lines"), [(("Hund",), b"Haus\n"), ((), b"Hund\n")])
def test_the_next_tokens_are_shown_with_their_probabilities(bundle, arguments, lines):
    expected = Translator.load(bundle).next_tokens("Hund", "dog", 3)
    result = run("next", "--model", bundle, "--prefix", "dog", "-k", 3, *arguments, lines=lines)

    assert result.exit_code == 0
    assert "dog ..." in result.stdout
    assert [f"{p:.4f}" for _, p in expected] == re.findall(r"0\.\d{4}", result.stdout)
    assert all(token in result.stdout for token, _ in expected)


def test_batches_and_threads_change_nothing(bundle, monkeypatch):
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)

    assert translate(bundle) == translate(bundle, "--batch-tokens", 5, "--threads", 1)


def test_a_conversation_shows_how_sure_the_model_is(bundle):
    options = ("--interactive", "--n-best", 2)
    result = run("translate", "--model", bundle, *options, lines="Hund\nHaus\n")

    assert result.exit_code == 0
    assert len(re.findall(r"Score: -\d+\.\d{4}", result.stdout)) == 4
    assert len(re.findall(r"</s> [01]\.\d{3}", result.stdout)) == 4
    assert len(re.findall(r"\d+ ms", result.stdout)) == 2


def test_colours_tell_probabilities():
    best = SimpleNamespace(
        text="a b c d",
        score=-1.0,
        tokens=("a", "b", "c", "d"),
        token_probabilities=(0.1, UNSURE, 0.5, SURE, 0.9),
        confidence=None,
    )
    styles = [span.style for span in render_translation(best).spans]

    colours = [style.split()[-1] for style in styles if "dim" not in style][:5]
    assert colours == ["red", "yellow", "yellow", "green", "green"]


def test_verify_lists_files_and_asks_the_golden_sentences(bundle):
    result = run("verify", "--model", bundle)

    assert result.exit_code == 0
    assert "model.safetensors" in result.stdout
    assert f"bundle_sha256: {digest_bundle(bundle)}\n" in result.stdout
    assert "torch: every golden sentence is translated as when it was exported." in result.stdout


def test_verify_shows_what_has_changed(bundle, monkeypatch):
    changed = tiny_translator(seed=5)
    monkeypatch.setattr(Translator, "load", lambda *_, **__: changed)
    result = run("verify", "--model", bundle)

    assert result.exit_code == 1
    assert "Changed" in result.stdout
    assert "translates 3 of its golden sentences otherwise" in result.stderr


def test_an_error_is_one_line(tmp_path):
    result = run("verify", "--model", tmp_path / "[red]none")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"nmt: {tmp_path}/[red]none is not an exported model")
    assert result.stderr.count("\n") == 1


def nmt(bundle, *arguments, **streams):
    """Run the program as a shell does."""
    command = [sys.executable, "-m", "nmt_core.cli", *arguments, "--model", str(bundle)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **streams)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["translate", "next"])
@pytest.mark.parametrize(
    ("redirection", "reason"),
    [
        ("<&-", "standard input is closed; give lines by a pipe or by < FILE"),
        (">&-", "standard output is closed; leave it open, or write > FILE"),
        ("> /dev/full", "standard input or output failed (No space left on device)"),
    ],
)
def test_streams_that_do_not_work_are_told(bundle, command, redirection, reason):
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
def test_a_line_is_answered_before_the_next_is_written(bundle):
    [expected] = Translator.load(bundle).translate(["Hund"])
    with nmt(bundle, "translate", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(2):
            process.stdin.write(b"Hund\n")
            process.stdin.flush()

            assert process.stdout.readline().decode() == f"{expected}\n"
        process.stdin.close()

        assert process.wait() == 0


@pytest.mark.slow
def test_a_broken_pipe_is_quiet(bundle):
    """As in `nmt translate | head -1`."""
    with nmt(bundle, "translate", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(b"Hund\n" * 40)
        process.stdin.close()

        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_attention_is_drawn_for_each_line(bundle, tmp_path):
    """By the numbers of the lines, of which an empty one has nothing to look at."""
    folder = tmp_path / "pictures"
    plain = translate(bundle)

    assert translate(bundle, "--attention", folder) == plain
    assert sorted(path.name for path in folder.iterdir()) == ["1.png", "2.png", "4.png"]


def test_a_folder_that_is_there_is_not_written_over(bundle, tmp_path):
    refused = run("translate", "--model", bundle, "--attention", tmp_path, "Hund")

    assert refused.stdout == ""
    assert "is there already; name a folder that is not" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_attention_of_many_or_long_lines_is_left_out_aloud(bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_core.cli.attention.MOST_PICTURES", 1)
    found = run("translate", "--model", bundle, "--attention", tmp_path / "a", "Hund", "Haus")
    long = run("translate", "--model", bundle, "--attention", tmp_path / "b", "Hund " * 99)

    assert [path.name for path in (tmp_path / "a").iterdir()] == ["1.png"]
    assert list((tmp_path / "b").iterdir()) == []
    assert f"1 lines are not drawn in {tmp_path / 'a'}: more than 1 lines" in found.stderr
    assert "1 lines are not drawn" in long.stderr


def test_a_model_without_attention_says_so(tmp_path):
    shape = RnnConfig(
        width=8, hidden_width=8, attention="none", input_feeding=False, direction="forward"
    )
    plain = export(tmp_path / "export", translator=tiny_translator(model=shape), model=shape)
    refused = run("translate", "--model", plain, "--attention", tmp_path / "a", "Hund")

    assert refused.stderr.endswith("nmt: this model has no attention; leave --attention out\n")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("option", ["-i", "--format=html"])
def test_attention_is_of_lines(bundle, tmp_path, option):
    assert run("translate", "--model", bundle, "--attention", tmp_path / "a", option).exit_code


def test_the_model_here_needs_no_name(bundle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--model is missing, and models/export does not exist" in run("translate", "Hund").stderr
    (tmp_path / "models").mkdir()
    (tmp_path / "models/export").symlink_to(bundle)
    named = run("translate", "--model", bundle, "Hund").stdout

    assert named == run("translate", "Hund").stdout != ""
