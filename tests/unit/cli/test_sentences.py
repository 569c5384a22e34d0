"""Lines of several sentences: ``nmt translate`` translates each sentence by itself."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.alignment.learning import learn_aligner
from nmt_core.base.languages import Languages
from nmt_core.cli import options
from nmt_core.cli.sentences import LineCutter, search_sentences
from nmt_core.documents.plan import Segmenter
from nmt_core.literals.checking import Breach
from nmt_core.memory.store import TranslationMemory
from nmt_core.memory.unit import MemoryScope, MemoryUnit
from nmt_core.text.span import Span
from nmt_core.translation.translation import EMPTY_TRANSLATION
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.tiny import export, judge_by_score, tiny_translator

DE_EN = Languages(source="de", target="en")
TWO = "Der Hund schläft. Wo ist das Haus?"
ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\t"

german = replace(tiny_translator(), languages=DE_EN)
texts = st.one_of(st.text(), st.text("aA. !?。本\u3000\u2028\x85\r\n\t1;"))


class Searched:
    """A search that notes what it is asked for and answers in capitals, or as it is told."""

    def __init__(self, answers=None):
        self.answers, self.asked = answers or {}, []

    def __call__(self, lines, prefixes):
        assert len(prefixes) == len(lines)
        self.asked += lines
        return [[self.answer(line)] for line in lines]

    def answer(self, line):
        return self.answers.get(line) or found(line.upper())


def found(text, **known):
    return EMPTY_TRANSLATION._replace(text=text, **known)


def search(lines, answers=None, *, translator=german):
    searched = Searched(answers)
    cut = search_sentences(searched, translator)(lines, [""] * len(lines))
    return [one for [one] in cut], searched.asked


def speak(source):
    return replace(german, languages=Languages(source=source, target="en"))


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    aligning = replace(german, aligner=learn_aligner([("Hund", "dog")]))
    return export(tmp_path_factory.mktemp("models") / "export", translator=aligning)


@given(st.lists(texts, max_size=4))
def test_one_line_gives_one_line_whatever_it_holds(lines):
    answers, asked = search(lines, {line: found("x") for line in lines})

    assert len(answers) == len(lines)
    assert all(len(one.text.splitlines()) <= 1 and "\t" not in one.text for one in answers)
    assert all(one.text == one.text.strip() for one in answers)
    assert len(asked) >= len(lines)


@given(texts)
def test_a_line_of_one_sentence_is_searched_as_it_is(text):
    [answer], asked = search([text], {text: found("as it was", score=-0.5)})

    if len(asked) == 1:
        assert (asked, answer) == ([text], found("as it was", score=-0.5))
    else:
        assert len(Segmenter("de").find_sentences(text)) > 1
        assert all(one == " ".join(one.split()) for one in asked)


@pytest.mark.parametrize(
    "line",
    [
        "",
        " \t",
        " Das  Haus\u2028ist rot. \r",
        "Dr. Müller kam am 3. Mai.",
        "12. 13. 14.",
        "a" * 500,
    ],
)
def test_what_is_no_two_sentences_is_left(line):
    assert search([line])[1] == [line]


def test_french_titles_end_no_sentence():
    line = "M. Dupont est là."
    assert search([line], translator=speak("fr"))[1] == [line]
    assert search([f"{line} Merci."], translator=speak("fr"))[1] == [line, "Merci."]


def test_lines_and_sentences_keep_their_order():
    answers, asked = search(["Ja. Nein.", "", "Wo?", "Das ist es. Gut.  * * *.  Da."])

    assert asked == ["Ja.", "Nein.", "", "Wo?", "Das ist es.", "Gut.", "Da."]
    assert [one.text for one in answers] == [
        "JA. NEIN.",
        "",
        "WO?",
        "DAS IST ES. GUT.  * * *.  DA.",
    ]


@pytest.mark.parametrize(
    ("between", "written"),
    [("  ", "  "), ("\u3000", "\u3000"), (" \t", " "), ("\r\n", " "), (" \u2028\x85 ", " ")],
    ids=ascii,
)
def test_white_space_between_stays_but_for_ends(between, written):
    [answer], _ = search([f" Ja.{between}Nein.\r"])

    assert answer.text == f"JA.{written}NEIN."


def test_a_space_is_written_where_only_the_target_has_one():
    line, translator = "你好。谢谢你！", speak("zh")
    told = {"你好。": found("Hello."), "谢谢你！": found("Thanks!")}
    same = {"你好。": found("こんにちは。"), "谢谢你！": found("ありがとう！")}

    assert search([line], told, translator=translator)[0][0].text == "Hello. Thanks!"
    assert search([line], same, translator=translator)[0][0].text == "こんにちは。ありがとう！"


def test_a_wide_space_between_stays():
    told = {"你好。": found("Hello."), "谢谢你！": found("Thanks!")}
    [answer], asked = search(["你好。\u3000谢谢你！"], told, translator=speak("zh"))

    assert (answer.text, asked) == ("Hello.\u3000Thanks!", ["你好。", "谢谢你！"])


def test_pieces_of_a_long_word_are_put_together_again():
    config = german.config.model_copy(update={"max_source_tokens": 9})
    [answer], asked = search(["a" * 99], translator=replace(german, config=config))

    assert len(asked) > 1
    assert answer.text == "A" * 99


def test_what_stands_around_the_sentences_stays():
    [answer], asked = search(["* * *. Ja. Nein. 😀"])

    assert (answer.text, asked) == ("* * *. JA. NEIN. 😀", ["Ja.", "Nein."])


def test_a_sentence_without_translation_leaves_no_gap():
    [answer], _ = search(["Ja. Nein. Doch."], {"Nein.": found("", score=-1.0)})

    assert answer.text == "JA. DOCH."


def test_what_is_known_of_sentences_is_known_of_the_line():
    lost, more = Breach("number", "94", "94", "missing"), Breach("number", "5", "", "added")
    first = found("A", confidence=0.8, breaches=(lost,), unknown_words=("x", "y"))
    second = found("B", confidence=0.4, breaches=(more,), unknown_words=("y",))
    third = found("C", confidence=0.6, restored_words=("z",))
    answers = {"Ja.": first, "Nein.": second, "Doch.": third}
    [both, some], _ = search(["Ja. Nein. Doch.", "Ja. Gut."], answers)

    assert both == found(
        "A B C",
        confidence=0.4,
        breaches=(lost, more),
        restored_words=("z",),
        unknown_words=("x", "y"),
    )
    assert some.confidence is None


@pytest.mark.parametrize("tag", [None, "own"])
def test_a_sentence_is_cut_only_where_the_model_would_not_read_on(tag):
    side = replace(german.source, tag=tag)
    words = " ".join(["Hund"] * 200)
    most = len(side.tokens(words)) + (tag is not None)
    for room, cut in ((most, False), (most - 1, True)):
        config = german.config.model_copy(update={"max_source_tokens": room})
        translator = replace(german, source=side, config=config)
        _, asked = search([words], translator=translator)

        assert (len(asked) > 1) is cut
        assert " ".join(asked) == words
    assert all(len(side.tokens(one)) <= Segmenter.most_tokens for one in asked)


def test_no_piece_is_longer_than_a_small_model_reads():
    config = german.config.model_copy(update={"max_source_tokens": 9})
    cutter = LineCutter.of(replace(german, config=config))
    line = "Der Hund sieht das Haus und den Garten und kauft Brot. Ja."

    spans = cutter.cut(line)

    assert len(spans) > 2
    assert all(len(german.source.tokens(line[start:end])) <= 9 for start, end in spans)
    assert spans[-1] == Span(len(line) - 3, len(line))


def test_a_line_comes_out_as_its_sentences(own):
    hund, haus, both = Translator.load(own).translate([*TWO.split(". "), TWO])
    hund, haus = (
        run("translate", "--model", own, one).stdout.rstrip("\n")
        for one in ("Der Hund schläft.", "Wo ist das Haus?")
    )
    piped = run("translate", "--model", own, lines=f"{TWO}\r\n\n \n{TWO}".encode())

    assert run("translate", "--model", own, TWO).stdout == f"{hund} {haus}\n"
    assert piped.stdout == f"{hund} {haus}\n\n\n{hund} {haus}\n"
    assert f"{both}\n" == run("translate", "--model", own, "--whole-lines", TWO).stdout
    assert both != f"{hund} {haus}"


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        ([], False),
        (["--checks"], False),
        (["--beam-size", 1], False),
        (["--prefix", ""], False),
        (["--whole-lines"], True),
        (["--whole-lines", "--checks"], True),
        (["--n-best", 1], True),
        (["--diversity", 1], True),
        (["--sample", 1], True),
        (["--prefix", "dog"], True),
        (["--prefix-file", "dogs"], True),
        (["--scores"], True),
        (["--alignments", "links"], True),
        (["--attention", "pictures"], True),
    ],
    ids=str,
)
def test_options_that_need_the_line_keep_it_whole(own, tmp_path, monkeypatch, asked, whole):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dogs").write_text("dog\n")
    read = note_what_is_read(monkeypatch)

    assert run("translate", "--model", own, *asked, TWO).exit_code == 0
    assert {*read} - {""} == ({TWO} if whole else {"Der Hund schläft.", "Wo ist das Haus?"})


def test_a_conversation_keeps_lines_whole(own, monkeypatch):
    read = note_what_is_read(monkeypatch)

    assert run("translate", "--model", own, "-i", lines=f"{TWO}\n").exit_code == 0
    assert {*read} == {TWO}


def note_what_is_read(monkeypatch):
    read, translate = [], Translator._translate

    def note(self, lines, *arguments):
        read.extend(getattr(line, "line", line) for line in lines)
        return translate(self, lines, *arguments)

    monkeypatch.setattr(options.Translator, "_translate", note)
    return read


def test_lines_of_doubtful_sentences_are_named(tmp_path):
    plain = tiny_translator()
    sentences = ["Der Hund schläft.", "Wo ist das Haus?"]
    scores = [best.score for [best] in plain.search(sentences, n_best=1)]
    good = sentences[scores.index(max(scores))]
    judging = replace(plain, confidence_model=judge_by_score(sum(scores) / 2))
    own = export(tmp_path / "export", translator=judging)
    done = run("translate", "--model", own, "--confidence", TWO, f"{good} {good}")

    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["0.00", "1.00"]
    assert done.stderr.startswith("line 1: the translation is good with")


def test_a_memory_has_lines_before_it_has_sentences(own, tmp_path):
    known = [("Der Hund schläft.", "Hound!"), ("Wo ist das Haus?", "House!"), ("Ja. Nein.", "Both")]
    TranslationMemory(tmp_path / "m.db").put(
        MemoryScope(DE_EN), [MemoryUnit(*pair) for pair in known]
    )
    given_memory = ["--model", own, "--memory", tmp_path / "m.db"]
    lines = ["Ja. Nein.", TWO, "Der Hund schläft. Ja.", "Ja."]
    done = run("translate", *given_memory, *lines).stdout.splitlines()
    told = run("translate", *given_memory, *lines).stderr

    assert done == ["Both", "Hound! House!", f"Hound! {done[3]}", done[3]]
    assert "lines 1, 2: translated by the memory\n" in told
    assert "memory" not in run("translate", *given_memory, "--whole-lines", TWO).stderr


def test_a_document_is_never_whole_lines(own):
    told = refuse("translate", "--model", own, "--whole-lines", "--paragraphs", lines=TWO)

    assert "--whole-lines is for lines, not for documents" in told
