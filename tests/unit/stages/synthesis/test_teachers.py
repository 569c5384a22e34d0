"""Teachers: a model and a server, asked in one way; what is wrong is told in a sentence."""

import gzip
import json
from dataclasses import replace
from functools import partial

import httpx2
import pytest
import tenacity

from nmt_core.base.errors import ConfigError, CorpusError, DownloadError
from nmt_core.base.languages import Languages
from nmt_core.translation.translation import Translation
from stages.synthesis import teachers
from stages.synthesis.settings import SynthesisConfig
from stages.synthesis.teachers import TaughtLine, find_teacher
from stages.synthesis.texts import read_texts
from tests.support.tiny import LINES, export, tiny_translator

DE_EN, EN_DE = Languages(source="de", target="en"), Languages(source="en", target="de")
ADDRESS = "https://teacher.example"


def teacher_of(given, languages=DE_EN, **settings):
    return find_teacher(SynthesisConfig(teacher=str(given), **settings), languages)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")


@pytest.fixture
def server(monkeypatch):
    """Requests that a server got, which answers as a test asks; and its teacher."""
    got, answers = [], []

    def answer(request):
        got.append(json.loads(request.content))
        capitals = {"translatedText": [line.upper() for line in got[-1]["q"]]}
        return answers.pop(0) if answers else httpx2.Response(200, json=capitals)

    transport = httpx2.MockTransport(answer)
    monkeypatch.setattr(httpx2, "Client", partial(httpx2.Client, transport=transport))
    monkeypatch.setattr(teachers, "WAIT", tenacity.wait_none())
    return got, answers, teacher_of(ADDRESS)


def test_a_model_translates_as_it_does_for_others(model):
    lines = [line for line in LINES if line]
    taught = teacher_of(model, beam_size=3).teach(lines)
    direct = teachers.Translator.load(model).search(lines, beam_size=3, n_best=1)
    assert [(best.text, best.score) for [best] in direct] == [one[:2] for one in taught]


def test_what_decides_a_models_translations_is_its_identity(model, tmp_path):
    other = export(tmp_path / "other", translator=tiny_translator(seed=5))
    known = [
        teacher_of(model),
        teacher_of(model, beam_size=3),
        teacher_of(model, sampling=True),
        teacher_of(model, sampling=True, seed=2),
        teacher_of(other),
    ]
    assert len({one.identity for one in known}) == len(known)
    assert teacher_of(model, share=0.3, lowest=0.2, part="2/3").identity == known[0].identity


def test_drawn_translations_depend_on_the_seed_alone_and_are_judged(model):
    lines = ["Der Hund sieht 17 Brot."] * 2 + LINES[:1]
    first, again = (teacher_of(model, sampling=True).teach(lines) for _ in range(2))
    other = teacher_of(model, sampling=True, seed=2).teach(lines)
    assert first == again != other
    assert first[0].flaw  # 17 is lost


@pytest.mark.parametrize("kind", ["flaw", "literal", "sound"])
def test_the_first_thing_that_is_wrong_is_named(model, monkeypatch, kind):
    breach = {
        "flaw": (teachers.find_flaws("Ein Haus.", "", tokens=1, limit=9), "empty"),
        "literal": (teachers.check_literals("17", "18", ("de", "en")), "literals"),
        "sound": ((), ""),
    }[kind]
    found = Translation("x", -1.0, (), (), (), breaches=(*breach[0],))
    teacher = teacher_of(model)
    monkeypatch.setattr(teachers.Translator, "search", lambda *_, **__: [[found]])
    assert teacher.teach(["17"]) == [TaughtLine("x", -1.0, breach[1])]


def test_a_model_of_other_languages_is_refused(tmp_path):
    folder = tmp_path / "export"
    export(folder, translator=replace(tiny_translator(), languages=DE_EN))
    teacher_of(folder)
    with pytest.raises(ConfigError, match=r"translates de to en.*has to translate en to de"):
        teacher_of(folder, EN_DE)


def test_lines_that_hold_something_are_read(tmp_path):
    text = tmp_path / "text.de.gz"
    text.write_bytes(gzip.compress(b"\xef\xbb\xbfEins.\r\n\r\nZwei.\r\n \r\nDrei.\r\n"))
    assert [*read_texts([text])] == ["Eins.", "Zwei.", "Drei."]


def test_what_is_no_text_is_told_in_a_sentence(tmp_path):
    text = tmp_path / "text.de"
    text.write_bytes(b"Eins.\n\xfcber\n")
    with pytest.raises(CorpusError, match=r"line 2 of .*text\.de is not UTF-8"):
        [*read_texts([text])]
    memory = tmp_path / "memory.tmx"
    memory.touch()
    with pytest.raises(CorpusError, match=r"memory\.tmx is of a format of pairs"):
        read_texts([memory])


def test_a_server_is_asked_for_few_lines_at_a_time(server, monkeypatch):
    got, _, teacher = server
    lines = [f"zeile {number}" for number in range(120)]
    assert teacher.teach(lines) == [TaughtLine(line.upper(), None, "") for line in lines]
    assert [len(one["q"]) for one in got] == [50, 50, 20]
    assert {"source": "de", "target": "en", "format": "text"}.items() <= got[0].items()
    assert "api_key" not in got[0]
    monkeypatch.setenv("NMT_TEACHER_KEY", "secret")
    teacher_of(ADDRESS).teach(lines[:1])
    assert got[-1]["api_key"] == "secret"
    assert "secret" not in teacher.identity
    assert "secret" not in teacher_of("https://me:secret@mt.example.org").identity


def test_identity_of_a_server_names_both_languages():
    others = [Languages(source=a, target=b) for a, b in (("en", "de"), ("de", "fr"), ("fr", "en"))]
    known = {teacher_of(ADDRESS, languages).identity for languages in (DE_EN, *others)}
    assert len(known) == 4


def test_a_server_that_is_busy_is_asked_again_but_not_for_ever(server):
    got, answers, teacher = server
    answers += [httpx2.Response(code) for code in (503, 429)]
    assert teacher.teach(["a"]) == [TaughtLine("A", None, "")]
    assert len(got) == 3
    answers += [httpx2.Response(503, text="not now")] * 9
    with pytest.raises(DownloadError, match=r"teacher\.example.*503: not now"):
        teacher.teach(["a"])
    assert len(got) == 3 + teachers.ATTEMPTS


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(400, json={"error": "zz is not supported"}),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(200, json={"translatedText": ["A", "B"]}),
        httpx2.Response(200, json={"translatedText": "A"}),
        httpx2.Response(200, json=["A"]),
        httpx2.Response(403, text="x" * 999),
    ],
)
def test_a_server_that_does_not_translate_is_told_in_a_sentence(server, answer):
    got, answers, teacher = server
    answers.append(answer)
    with pytest.raises(DownloadError, match="does not translate as") as raised:
        teacher.teach(["a"])
    assert str(answer.status_code) in str(raised.value)
    assert len(str(raised.value)) < 400
    assert len(got) == 1


def test_line_ends_in_an_answer_do_not_become_lines(server):
    _, answers, teacher = server
    answers.append(httpx2.Response(200, json={"translatedText": ["A\nB\u2028C"]}))
    assert teacher.teach(["a"])[0].text == "A B C"


@pytest.mark.parametrize("given", ["nothing/here", "ftp://x.example", "https://"])
def test_a_teacher_that_is_none_is_told(given):
    with pytest.raises((ConfigError, DownloadError), match="teacher"):
        teacher_of(given)
