"""Pairs of a teacher: whoever stops goes on, whoever shares the work makes the same bytes."""

import pytest

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.screening.settings import LookConfig
from stages import paths
from stages.synthesis import synthesis
from stages.synthesis.settings import SynthesisConfig
from stages.synthesis.synthesis import render_synthesis, synthesize
from stages.synthesis.teachers import TaughtLine

DE_EN = Languages(source="de", target="en")
LINES = [f"zeile {number}" for number in range(95)]


class Counting:
    """A teacher that writes capitals; scores fall with the number, but each tenth line loops."""

    def __init__(self, identity="one", dies_at=None):
        self.identity, self.dies_at, self.asked = identity, dies_at, []

    def teach(self, lines):
        if self.dies_at is not None and len(self.asked) >= self.dies_at:
            raise KeyboardInterrupt
        self.asked += [*lines]
        return [self.translate(line) for line in lines]

    def translate(self, line):
        number = int(line.split()[-1])
        if number % 10 == 9:
            return TaughtLine(line.upper(), -1000.0, "looping")
        return TaughtLine(line.upper(), -float(number), "")


@pytest.fixture
def make(monkeypatch, tmp_path):
    """Synthesize in a folder of a name; returns what was written, and all files of it."""
    text = tmp_path / "text.de"
    files.write_lines(text, LINES)
    asked = []

    def run(folder, teacher, look=None, **settings):
        monkeypatch.setattr(paths, "DOWNLOADS", tmp_path / folder)
        monkeypatch.setattr(
            synthesis, "find_teacher", lambda _, languages: asked.append(languages) or teacher
        )
        config = SynthesisConfig(**{"text": (text,), "chunk_lines": 10, **settings})
        written = synthesize(config, DE_EN, corpus=tmp_path / "corpus", look=look)
        made = config.folder / "pairs"
        return written, {path.name: path.read_text() for path in sorted(made.glob("*"))}

    run.asked, run.text = asked, text
    run.name = lambda backward: "backtranslated" if backward else "distilled"
    return run


@pytest.mark.parametrize("backward", [False, True])
def test_text_that_is_wrong_as_a_whole_is_not_translated(make, backward):
    """Unless whoever gives it wants it so; text of the project has been looked at before."""
    teacher = Counting()
    files.write_lines(
        make.text, [f"Les enfants ont joué dans la cour hier, {n}" for n in range(95)]
    )
    code = "en" if backward else "de"
    told = rf"{make.name(backward)}.*the text is fr and not {code}; give .*Les enfants"
    for look in (LookConfig(), LookConfig(accepted=["lower_case"])):
        with pytest.raises(CorpusError, match=told):
            make("a", teacher, look=look, backward=backward)
    assert not teacher.asked
    for look in (None, LookConfig(accepted=["wrong_language"])):
        assert make("a", teacher, look=look, backward=backward)[0].kept
    assert len(teacher.asked) == 95
    files.write_lines(make.text.parent / "corpus/train.source", files.read_lines(make.text))
    assert make("b", teacher, look=LookConfig(), text=())[0].kept


def test_what_is_kept_are_sound_pairs_with_the_best_scores(make):
    written, made = make("whole", Counting(), lowest=0.1)
    sound = [line for line in LINES if int(line.split()[1]) % 10 != 9]
    kept = sound[: len(sound) - round(len(sound) * 0.1)]
    assert made["train.source"].splitlines() == kept
    assert made["train.target"].splitlines() == [line.upper() for line in kept]
    assert written.kept == len(kept)
    assert written.dropped == {"looping": 9, "low score": len(sound) - len(kept)}
    assert written.lines == len(LINES) == written.kept + sum(written.dropped.values())
    assert written.examples["looping"][0] == ("zeile 9", "ZEILE 9")
    assert max(map(len, written.examples.values())) == 3
    table = render_synthesis(written)
    assert f"| kept | {written.kept} |" in table
    assert "| looping | `zeile 9` | `ZEILE 9` |" in table


def test_backward_what_is_written_is_the_text(make):
    written, made = make("back", Counting(), backward=True, lowest=0.0)
    assert make.asked == [Languages(source="en", target="de")]
    assert made["train.target"].splitlines()[:2] == LINES[:2]
    assert made["train.source"].splitlines()[:2] == ["ZEILE 0", "ZEILE 1"]
    assert written.least_score is None
    assert "low score" not in written.dropped


@pytest.mark.parametrize("dies_at", range(0, 100, 10))
def test_whoever_is_stopped_goes_on_and_makes_the_same(make, dies_at):
    whole = make("whole", Counting())
    stopped = Counting(dies_at=dies_at)
    if dies_at < len(LINES):
        with pytest.raises(KeyboardInterrupt):
            make("stopped", stopped)
    again = Counting()
    assert make("stopped", again) == whole
    assert [*stopped.asked, *again.asked] == LINES


def test_chunk_appears_whole_or_not_at_all(make):
    class Unwritable(Counting):
        def translate(self, line):
            taught = super().translate(line)
            return taught._replace(text=object()) if line == LINES[15] else taught

    with pytest.raises(TypeError):
        make("stopped", Unwritable())
    assert make("stopped", Counting()) == make("whole", Counting())


def test_parts_on_several_machines_make_the_same_together(make):
    whole = make("whole", Counting())
    machines = [Counting() for _ in range(3)]
    for number, machine in enumerate(machines, 1):
        written, made = make("parts", machine, part=f"{number}/3")
        assert (written is None) == (number < 3)
        assert (written, made)[number < 3 :] == (whole if number == 3 else ({},))
    assert sorted(line for one in machines for line in one.asked) == sorted(LINES)
    assert [one.asked[:10] for one in machines] == [LINES[:10], LINES[10:20], LINES[20:30]]


def test_more_text_has_the_rest_translated_alone(make):
    make("more", Counting())
    files.write_lines(make.text, [*LINES[:90], *(f"neu {number}" for number in range(20))])
    again = Counting()
    make("more", again)
    assert set(again.asked) == {f"neu {number}" for number in range(20)}


def test_another_teacher_is_asked_anew_but_not_for_other_settings_of_what_is_kept(make):
    make("same", Counting())
    for settings in ({"lowest": 0.2}, {"share": 0.3}, {"licence": "cc0-1.0"}):
        teacher = Counting()
        make("same", teacher, **settings)
        assert not teacher.asked
    other = Counting("two")
    make("same", other)
    assert other.asked == LINES


def test_empty_lines_are_left_out(make):
    files.write_lines(make.text, ["", "zeile 0", "  ", *LINES[1:]])
    teacher = Counting()
    make("empty", teacher)
    assert teacher.asked == LINES


def test_too_little_to_learn_from_is_told_and_nothing_is_lost(make):
    _, before = make("few", Counting())
    files.write_lines(make.text, [f"zeile {number}9" for number in range(30)])
    with pytest.raises(CorpusError, match=r"of 30 translations 0 .*30 looping"):
        make("few", Counting())
    files.write_lines(make.text, LINES)
    assert make("few", Counting())[1] == before


def test_text_is_found_where_download_put_it(make, tmp_path):
    corpus, alone = tmp_path / "corpus", tmp_path / "alone"
    corpus.mkdir()
    files.write_lines(corpus / "train.source", LINES[:20])
    config = SynthesisConfig()
    backward = SynthesisConfig(backward=True)

    def list_texts(config):
        return synthesis.list_texts(config, DE_EN, corpus, alone)

    assert list_texts(config) == [corpus / "train.source"]
    with pytest.raises(CorpusError, match=r"alone/en\.txt is not there.*role: monolingual"):
        list_texts(backward)
    alone.mkdir()
    for language in ("de", "en"):
        files.write_lines(alone / f"{language}.txt", LINES[20:40])
    assert list_texts(config) == [corpus / "train.source", alone / "de.txt"]
    assert list_texts(backward) == [alone / "en.txt"]


def test_text_that_is_not_there_is_named(make, tmp_path):
    with pytest.raises(CorpusError, match=r"gone\.de is not there"):
        make("gone", Counting(), text=(tmp_path / "gone.de",))
    files.write_lines(make.text, [" "])
    with pytest.raises(CorpusError, match="no text to translate"):
        make("gone", Counting())


def test_progress_counts_all_lines(make, monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "DOWNLOADS", tmp_path / "told")
    monkeypatch.setattr(synthesis, "find_teacher", lambda *_: Counting())
    told = []
    config = SynthesisConfig(text=(make.text,), chunk_lines=40)
    synthesize(config, DE_EN, say=lambda *numbers: told.append(numbers))
    assert told == [(40, 95), (80, 95), (95, 95)]
