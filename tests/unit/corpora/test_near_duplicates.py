"""Near duplicates: all of them are found, and no other pair."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.near_duplicates import (
    SentenceIndex,
    allow_edits,
    cut_pieces,
    cut_words,
    find_near_pairs,
)

FEW_WORDS = ["ja", "nein", "Haus", "und", "x"]
SENTENCE = "Der Gerichtshof hat im Jahr 1998 über diese Klage zweimal beraten."


def count_edits(one, other):
    """Return Levenshtein's distance by its defining table."""
    row = list(range(len(other) + 1))
    for place, word in enumerate(one, start=1):
        before, row = row, [place]
        for column, opposite in enumerate(other, start=1):
            row.append(
                min(before[column] + 1, row[-1] + 1, before[column - 1] + (word != opposite))
            )
    return row[-1]


def draw_edited(chance):
    """Return sentences, one of them with some words inserted, dropped or changed.

    The vocabulary is small, so pieces of a sentence are found in many places and overlap.
    """
    held_out = [chance.choices(FEW_WORDS, k=chance.randrange(15)) for _ in range(8)]
    line = [*chance.choice(held_out)]
    for _ in range(chance.randrange(6)):
        place, dropped = chance.randint(0, len(line)), chance.randint(0, 1)
        line[place : place + dropped] = chance.choices(FEW_WORDS, k=chance.randint(0, 1))
    return [" ".join(words) for words in held_out], " ".join(line)


def test_results_equal_those_of_all_comparisons():
    """Up to the largest allowed number of edits; many examples have exactly that number."""
    chance, beyond = random.Random(1), []
    for _ in range(800):
        (held_out, line), distance = draw_edited(chance), chance.randint(0, 40) / 100
        every = {
            place: (count_edits(read, cut_words(line)), int(len(read) * distance + 1e-9))
            for place, sentence in enumerate(held_out)
            if (read := cut_words(sentence))
        }
        found = SentenceIndex(held_out, distance).find_near([line])

        near = {row: edits for row, (edits, most) in every.items() if edits <= most}
        assert found == ({0: near} if near else {})
        beyond += [edits - most for edits, most in every.values() if edits]

    assert sum(edits < 0 for edits in beyond) > 100
    assert min(beyond.count(0), beyond.count(1)) > 100


@given(st.integers(1, 200), st.floats(0, 0.4))
def test_pieces_cover_all_words_for_any_edits(count, distance):
    pieces = list(cut_pieces(count, allow_edits(count, distance) + 1))

    assert len(pieces) == allow_edits(count, distance) + 1
    assert [place for begin, end in pieces for place in range(begin, end)] == list(range(count))


@given(st.integers(0, 1000), st.integers(0, 40))
def test_edits_are_exact_shares_of_the_words(words, percent):
    """Independent of how a computer represents 0.2."""
    assert allow_edits(words, percent / 100) == words * percent // 100


@pytest.mark.parametrize(
    ("line", "edits"),
    [
        (SENTENCE, 0),
        ("der gerichtshof hat im jahr 1998 über diese klage zweimal beraten", 0),
        ("„Der Gerichtshof“ hat (im Jahr 1998) über diese Klage zweimal beraten!", 0),
        (SENTENCE.replace("ü", "u\u0308"), 0),
        (SENTENCE.replace("richt", "\u00adricht"), 0),
        (SENTENCE.replace("hat", "h\u200dat\u2060"), 0),
        (SENTENCE.replace("Klage", "Kla\u00adge").replace("1998", "2001"), 1),
        (SENTENCE.replace("ü", "u\u00ad\u0308") + " 😀\ufe0f", 0),
        (SENTENCE.replace("1998", "2001"), 1),
        (SENTENCE.replace("zweimal ", ""), 1),
        (SENTENCE.replace("hat", "hat gestern"), 1),
        (SENTENCE.replace("Klage", "Beschwerde").replace("hat ", ""), 2),
        (SENTENCE.replace("Klage", "Beschwerde").replace("hat im Jahr", "wird"), None),
    ],
)
def test_case_and_punctuation_make_no_other_sentence(line, edits):
    index = SentenceIndex(["Etwas anderes.", SENTENCE], 0.2)

    assert index.find_near([line]) == ({} if edits is None else {0: {1: edits}})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Über 50 % der Häuser!", ["über", "50", "der", "häuser"]),
        ("l'homme, d’État", ["l", "homme", "d", "état"]),
        ("彼は走る。", ["彼", "は", "走", "る"]),
        ("コーヒー・カップ", [*"コーヒーカップ"]),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("서울에 갔다.", ["서울에", "갔다"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("واحد، اثنان؛ ثلاثة؟", ["واحد", "اثنان", "ثلاثة"]),
        ("एक, दो।", ["एक", "दो"]),
        ("មួយ។", ["ម", "ួ", "យ"]),
        ("...", []),
    ],
)
def test_words_are_split_in_any_script(line, expected):
    assert expected == cut_words(line)


def test_words_are_never_confused():
    held_out = [f"a{number} b{number} c{number}" for number in range(25_000)]
    index = SentenceIndex(held_out, 0.0)

    assert index.find_near(held_out) == {row: {row: 0} for row in range(len(held_out))}


def plant(line, chance):
    """Return a sentence with one word changed, added or dropped, or other punctuation and case."""
    words = line.split()
    place = chance.randrange(len(words))
    kind = chance.choice(["change", "insert", "drop", "case", "marks"])
    match kind:
        case "change":
            words[place] = "planted"
        case "insert":
            words.insert(place, "planted")
        case "drop":
            del words[place]
        case "case":
            words = [word.upper() for word in words]
        case "marks":
            words[place] += " –"
    return " ".join(words)


@pytest.fixture
def make_texts(tmp_path):
    """Write both sides of train and of held-out text, with planted near duplicates."""

    def make_texts(planted):
        chance = random.Random(1)
        lexicon = [f"wort{number}" for number in range(3000)]
        draw = [
            [
                " ".join(chance.choices(lexicon, k=chance.randrange(5, 40))) + f" {side}."
                for side in ("source", "target")
            ]
            for _ in range(2000)
        ]
        train, held_out = draw[:1800], draw[1800:]
        rows = sorted(chance.sample(range(1800), planted))
        for row in rows:
            side = chance.randrange(2)
            train[row][side] = plant(chance.choice(held_out)[side], chance)
        paths = []
        for name, pairs in (("train", train), ("held", held_out)):
            paths.append({side: tmp_path / f"{name}.{side}" for side in ("source", "target")})
            for path, lines in zip(paths[-1].values(), zip(*pairs, strict=True), strict=True):
                files.write_lines(path, lines)
        return *paths, rows

    return make_texts


@pytest.mark.parametrize(("planted", "processes", "shown"), [(2, 1, 0), (20, 2, 5)])
def test_near_duplicates_are_found_and_no_other(make_texts, tmp_path, planted, processes, shown):
    train, held_out, rows = make_texts(planted)
    found = find_near_pairs(
        train,
        held_out,
        0.2,
        workers=WorkersConfig(processes=processes, chunk_lines=300),
        scratch=tmp_path,
    )

    assert rows == found.rows.tolist()
    assert found.counts.sum() == planted
    assert len(found.examples) == shown
    for side, line, near, edits in found.examples:
        assert 0 < edits == count_edits(cut_words(line), cut_words(near))
        place = [*files.read_lines(held_out[side])].index(near)
        assert found.counts[place]


def test_empty_held_out_text_has_no_duplicates(tmp_path):
    paths = {side: tmp_path / side for side in ("source", "target")}
    for path in paths.values():
        files.write_lines(path, ["...", "", "Ja."])
    found = find_near_pairs(paths, paths, 0.2, workers=WorkersConfig(), scratch=tmp_path)

    assert [2] == found.rows.tolist()
    assert [0, 0, 1] == found.counts.tolist()
    assert [] == found.examples
