"""Synthetic pairs: a teacher translates text in chunks, and pairs are selected."""

import gzip
from dataclasses import replace

import pytest

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages, read_languages
from nmt_core.literals.checking import check_literals
from nmt_core.text.translation import Translation
from nmt_core.translation.protection import find_flaws
from nmt_core.translation.translator import Translator
from stages import paths
from stages.synthesis import synthesis
from stages.synthesis.composition import SynthesisConfig, find_folder
from stages.synthesis.synthesis import (
    check_inputs,
    list_texts,
    load_teacher,
    open_text,
    read_texts,
    render_synthesis,
    synthesize,
)
from tests.support import tiny
from tests.support.multilingual import multilingual_translator

DE_EN, EN_DE = Languages(source="de", target="en"), Languages(source="en", target="de")
LINES = [f"zeile {number}" for number in range(95)]


class Capitals:
    """A teacher that writes capitals; each tenth line is a loop."""

    def __init__(self, identity="capitals", dies_at=None):
        self.identity, self.dies_at, self.lines = identity, dies_at, []

    def translate(self, lines):
        if self.dies_at is not None and len(self.lines) >= self.dies_at:
            raise KeyboardInterrupt
        self.lines += [*lines]
        return [self.write(line) for line in lines]

    def write(self, line):
        return line.upper(), "looping" if int(line.split()[-1]) % 10 == 9 else ""


@pytest.fixture
def text(tmp_path):
    return files.write_lines(tmp_path / "text.de", LINES) or tmp_path / "text.de"


@pytest.fixture
def make(monkeypatch, tmp_path, text):
    """Synthesize in a named folder; return the result and the written files."""

    def run(folder, teacher, **settings):
        monkeypatch.setattr(paths, "DOWNLOADS", tmp_path / folder)
        monkeypatch.setattr(synthesis, "CHUNK_LINES", 10)
        loaded = (teacher.identity, teacher.translate)
        monkeypatch.setattr(synthesis, "load_teacher", lambda *_: loaded)
        config = SynthesisConfig(**{"text": (text,), **settings})
        counts = []
        written = synthesize(config, "made", DE_EN, say=lambda *numbers: counts.append(numbers))
        assert counts[-1] == (written.lines, written.lines)
        pairs = find_folder("made") / "pairs"
        return written, {path.name: path.read_text() for path in sorted(pairs.glob("*"))}

    return run


def test_flawed_translations_are_dropped(make):
    written, made = make("whole", Capitals())
    kept = [line for line in LINES if int(line.split()[1]) % 10 != 9]
    assert made["train.source"].splitlines() == kept
    assert made["train.target"].splitlines() == [line.upper() for line in kept]
    assert (written.lines, written.kept, written.dropped) == (95, 86, {"looping": 9})
    table = render_synthesis([written])
    assert "| kept | 86 |" in table
    assert "| looping | 9 |" in table


def test_backward_pairs_have_text_as_target(make):
    _, made = make("back", Capitals(), backward=True)
    assert made["train.target"].splitlines()[:2] == LINES[:2]
    assert made["train.source"].splitlines()[:2] == ["ZEILE 0", "ZEILE 1"]


@pytest.mark.parametrize("dies_at", [0, 10, 50, 90])
def test_stopped_run_continues_to_the_same_bytes(make, dies_at):
    whole = make("whole", Capitals())
    stopped, again = Capitals(dies_at=dies_at), Capitals()
    with pytest.raises(KeyboardInterrupt):
        make("stopped", stopped)
    assert make("stopped", again) == whole
    assert [*stopped.lines, *again.lines] == LINES


def test_chunk_appears_whole_or_not_at_all(make):
    class Unwritable(Capitals):
        def write(self, line):
            return (object(), "") if line == LINES[15] else super().write(line)

    with pytest.raises(TypeError):
        make("stopped", Unwritable())
    assert make("stopped", Capitals()) == make("whole", Capitals())


def test_only_new_text_or_another_teacher_translates(make, text):
    make("same", Capitals())
    for settings in ({"share": 0.3}, {"licence": "cc0-1.0"}):
        teacher = Capitals()
        make("same", teacher, **settings)
        assert not teacher.lines
    other = Capitals("other")
    make("same", other)
    assert other.lines == LINES
    new = [f"neu {number}" for number in range(20)]
    files.write_lines(text, ["", *LINES[:90], "  ", *new])
    make("same", teacher := Capitals())
    assert teacher.lines == new


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([f"zeile {number}9" for number in range(30)], "30 looping"),
        ([*LINES[:8], LINES[9]], "only 8 of 9 translations"),
        ([" "], "no text to translate"),
    ],
)
def test_too_little_text_changes_nothing(make, text, lines, message):
    _, before = make("few", Capitals())
    files.write_lines(text, lines)
    with pytest.raises(CorpusError, match=message):
        make("few", Capitals())
    files.write_lines(text, LINES)
    assert make("few", Capitals())[1] == before


def test_text_defaults_to_training_and_monolingual_text(tmp_path):
    corpus, alone = tmp_path / "corpus", tmp_path / "alone"
    files.write_lines(corpus / "train.source", LINES[:20])
    forward, backward = SynthesisConfig(), SynthesisConfig(backward=True)
    assert list_texts(forward, DE_EN, corpus, alone) == [corpus / "train.source"]
    with pytest.raises(CorpusError, match=r"en\.txt.*role: monolingual"):
        list_texts(backward, DE_EN, corpus, alone)
    for language in ("de", "en"):
        files.write_lines(alone / f"{language}.txt", LINES[20:40])
    assert list_texts(forward, DE_EN, corpus, alone) == [corpus / "train.source", alone / "de.txt"]
    assert list_texts(backward, DE_EN, corpus, alone) == [alone / "en.txt"]


def test_texts_are_read_without_marks_and_blank_lines(tmp_path):
    text = tmp_path / "text.de.gz"
    text.write_bytes(gzip.compress(b"\xef\xbb\xbfEins.\r\n\r\nZwei.\r\n \r\nDrei.\r\n"))
    assert [*read_texts([text, text])] == ["Eins.", "Zwei.", "Drei."] * 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.de", b"Eins.\n\xfcber\n", r"line 2 of .*text\.de is not UTF-8"),
        ("memory.tmx", b"", r"memory\.tmx is in a format of pairs"),
        ("gone.de", None, r"gone\.de is missing"),
    ],
)
def test_unusable_text_is_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        [*read_texts([tmp_path / name])]


def load(folder, languages=DE_EN, **settings):
    return load_teacher(SynthesisConfig(teacher=folder, **settings), languages)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.export(tmp_path_factory.mktemp("models") / "export")


def test_teacher_translates_like_its_model(model):
    lines = [line for line in tiny.LINES if line]
    _, translate = load(model, beam_size=3)
    expected = Translator.load(model).search(lines, beam_size=3, n_best=1)
    assert [text for text, _ in translate(lines)] == [best.text for [best] in expected]


def test_identity_names_model_and_search(model, tmp_path):
    other = tiny.export(tmp_path / "other", translator=tiny.tiny_translator(seed=5))
    identities = [load(model)[0], load(model, beam_size=3)[0], load(other)[0]]
    assert len({*identities}) == len(identities)
    assert load(model, share=0.3)[0] == identities[0]


def test_multilingual_teacher_writes_the_target_of_each_direction(monkeypatch, model):
    several = multilingual_translator("de-en", "en-de", pivot=())
    monkeypatch.setattr(Translator, "load", lambda _: several)
    teachers = {
        (pair, backward): load(model, read_languages(pair), backward=backward)
        for pair in ("de-en", "en-de")
        for backward in (False, True)
    }

    written = {key: translate(["Ja"])[0][0] for key, (_, translate) in teachers.items()}
    assert written == {
        ("de-en", False): "EN Ja", ("en-de", True): "EN Ja",
        ("en-de", False): "DE Ja", ("de-en", True): "DE Ja",
    }  # fmt: skip
    assert len({identity for identity, _ in teachers.values()}) == 2
    with pytest.raises(ConfigError, match="must translate fr-en: the model does not translate"):
        load(model, read_languages("fr-en"))


def test_training_sources_of_other_directions_are_left_out(tmp_path):
    corpus, alone, sources = tmp_path / "corpus", tmp_path / "alone", LINES[:9]
    files.write_lines(corpus / "train.source", sources)
    files.write_lines(alone / "de.txt", ["mono"])
    counts = [{"train": count} for count in (2, 3, 4)]
    directions = ["de-en", "en-de", "de-en"]
    files.write_json(corpus / "corpus.json", {"directions": directions, "corpora": counts})
    config = SynthesisConfig()

    chosen = [*sources[:2], *sources[5:], "mono"]
    assert [*open_text(config, DE_EN, corpus, alone)] == chosen
    assert [*open_text(config, EN_DE, corpus, alone)] == sources[2:5]
    files.write_json(corpus / "corpus.json", {"corpora": [{"train": 9}]})
    assert [*open_text(config, DE_EN, corpus, alone)] == [*sources, "mono"]


@pytest.mark.parametrize(
    ("breaches", "flaw"),
    [
        (find_flaws("Ein Haus.", "", tokens=1, limit=9), "empty"),
        (check_literals("17", "18", ("de", "en")), "literals"),
        ((), ""),
    ],
)
def test_first_breach_is_the_flaw(model, monkeypatch, breaches, flaw):
    best = Translation("x", -1.0, (), (), (), breaches=(*breaches,))
    monkeypatch.setattr(Translator, "search", lambda *_, **__: [[best]])
    assert load(model)[1](["17"]) == [("x", flaw)]


def test_teacher_must_translate_these_languages(tmp_path):
    folder = tmp_path / "export"
    tiny.export(folder, translator=replace(tiny.tiny_translator(), languages=DE_EN))
    check_inputs(SynthesisConfig(teacher=folder), [DE_EN])
    check_inputs(SynthesisConfig(teacher=folder, backward=True), [EN_DE])
    with pytest.raises(ConfigError, match=r"must translate en-de: .* it translates de-en; name an"):
        check_inputs(SynthesisConfig(teacher=folder), [DE_EN, EN_DE])
    with pytest.raises(ConfigError, match="gone"):
        load(tmp_path / "gone")
    with pytest.raises(CorpusError, match="none"):
        check_inputs(SynthesisConfig(teacher=folder, text=(tmp_path / "none",)), [DE_EN])
