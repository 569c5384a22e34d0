"""A translation memory finds similar texts, in its scope, and forgets what it should."""

import errno
import random
import sqlite3
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance.Levenshtein import normalized_similarity

from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.translation.memory.journal import Correction, SuggestedEntry
from nmt_core.translation.memory.search import (
    bound_lengths,
    format_differences,
    list_differences,
    list_terms,
)
from nmt_core.translation.memory.store import MemoryScope, MemoryUnit, TranslationMemory

DE_EN = Languages(source="de", target="en")
ALL = MemoryScope(DE_EN)
WORDS = [f"{a}{b}{c}" for a in ("b", "k", "str", "w") for b in "aeiou" for c in ("l", "nd", "t")]


@pytest.fixture
def memory(tmp_path):
    return TranslationMemory(tmp_path / "memory")


def put(memory, *pairs, scope=ALL, **options):
    return memory.put(scope, [MemoryUnit(*pair) for pair in pairs], **options)


def targets(memory, text, scope=ALL, **options):
    return [one.target for one in memory.search(text, scope, **options)]


def test_white_space_is_ignored(memory):
    put(memory, (" Ein\n Haus. ", "A  house."))

    found = memory.find_exact("Ein Haus.", ALL)
    assert ("A house.", 1.0) == (found.target, found.score)
    assert found == memory.search("Ein  Haus.", ALL)[0]
    assert memory.find_exact("ein Haus.", ALL) is None


def test_unicode_forms_are_equal(memory):
    """macOS writes ü as u and a mark, as do texts copied from PDF."""
    apart = unicodedata.normalize("NFD", "Er prüft die Maßnahmen für Übersetzer.")
    put(memory, (apart, "first"), ("Über uns", "About us"))

    assert "first" == memory.find_exact("Er prüft die Maßnahmen für Übersetzer.", ALL).target
    [found] = memory.search(unicodedata.normalize("NFD", "Über uns"), ALL)
    assert (found.source, found.score) == ("Über uns", 1.0)


def test_unapproved_units_of_earlier_versions_are_not_served(memory):
    put(memory, ("Hund", "dog"))
    with sqlite3.connect(memory.path) as file:
        file.execute("UPDATE unit SET approved = 0")

    assert memory.find_exact("Hund", ALL) is None
    assert [] == memory.search("Hund", ALL) == [*memory.read(ALL)]
    for target in ("cur", "hound"):  # the newest unit of a source counts
        put(memory, ("Hund", target))
        assert [target] == [unit.target for unit in memory.read(ALL)] == targets(memory, "Hund")


def test_own_units_come_first_and_others_stay_private(memory):
    scopes = [ALL._replace(project=p, key=k) for k in ("", "mine", "theirs") for p in ("", "p")]
    for number, scope in enumerate(scopes):
        put(memory, ("Haus", f"house {number}"), scope=scope)
        put(memory, (f"Nur in {number}", "only"), scope=scope)
    put(memory, ("Haus", "casa"), scope=MemoryScope(Languages(source="de", target="es")))

    mine = ALL._replace(project="p", key="mine")
    assert "house 3" == memory.find_exact("Haus", mine).target
    assert "house 2" == memory.find_exact("Haus", mine._replace(project="other")).target
    assert "house 1" == memory.find_exact("Haus", mine._replace(key="new")).target
    assert "house 0" == memory.find_exact("Haus", ALL).target
    assert {"house 0", "house 1", "house 2", "house 3"} == {*targets(memory, "Haus", mine, most=9)}
    assert memory.find_exact("Nur in 4", mine) is None
    assert ["house 3", "only"] == [unit.target for unit in memory.read(mine)]


def test_units_of_a_key_crowd_out_no_others(memory):
    """However many units of another key resemble the text."""
    mine = ALL._replace(key="mine")
    put(memory, ("Der Hund schläft im Haus.", "The dog sleeps in the house."), scope=mine)
    asked = "Der Hund schlief im Haus."
    before = memory.search(asked, mine)
    flood = [(f"Der Hund schlief im Haus {n}.", "spam") for n in range(5000)]
    put(memory, (asked, "spam"), *flood, scope=ALL._replace(key="theirs"))

    assert before == memory.search(asked, mine)
    assert memory.find_exact(asked, mine) is None


def make_sentences(draw, count):
    return [" ".join(draw.choices(WORDS, k=draw.randint(3, 14))) for _ in range(count)]


def test_search_finds_what_brute_force_finds(memory):
    """Oracle: brute force, over sentences changed in up to a quarter of their words."""
    draw = random.Random(1)
    known = make_sentences(draw, 1500)
    put(memory, *((text, text.upper()) for text in known))
    wanted, got = [], []
    for text in draw.sample(known, 60):
        words = text.split()
        for _ in range(draw.randint(1, max(1, len(words) // 4))):
            words[draw.randrange(len(words))] = draw.choice(WORDS)
        asked = " ".join(words)
        best = max(normalized_similarity(one, asked) for one in known)
        wanted.append(best if best >= 0.75 else None)
        found = memory.search(asked, ALL)
        got.append(found[0].score if found else None)
        assert all(normalized_similarity(one.source, asked) == one.score >= 0.75 for one in found)
        assert sorted(found, key=lambda one: -one.score) == found

    missed = [one for one, other in zip(wanted, got, strict=True) if one != other]
    assert len(missed) <= 1
    assert sum(one is not None for one in wanted) > 30


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("我们明天去北京看长城。", "我们昨天去北京看长城。"),
        ("ここに名前を書いてください。", "そこに名前を書いてください。"),
        ("Ja.", "Ja!"),
        ("!!!", "!!"),
        ("Öffnen 12", "öffnen 12"),
        ("Donaudampfschifffahrt", "Donaudampfschiffahrt."),
    ],
)
def test_short_texts_and_other_scripts_are_found(memory, known, asked):
    put(memory, (known, "there"))
    wanted = normalized_similarity(known, asked) >= 0.6 and {*list_terms(known)} & {
        *list_terms(asked)
    }

    assert (["there"] if wanted else []) == targets(memory, asked, threshold=0.6)


@given(st.text(max_size=30), st.text(max_size=30), st.floats(0.05, 1))
@example("a" * 3, "a" * 4, 0.75)
def test_bounds_of_length_omit_nothing(one, other, threshold):
    if one and other and normalized_similarity(one, other) >= threshold:
        least, greatest = bound_lengths(len(one), threshold)
        assert least <= len(other) <= greatest


@given(st.text(max_size=40), st.text(max_size=40))
def test_differences_restore_both_texts(old, new):
    parts = list_differences(old, new)

    assert old == "".join(text for kind, text in parts if kind != "new")
    assert new == "".join(text for kind, text in parts if kind != "old")
    assert (old == new) == all(kind == "same" for kind, _ in parts)
    assert all(text for _, text in parts)
    shown = format_differences("Der Hund schläft.", "Der alte Hund schlief.")
    assert "Der {+alte +}Hund [-schläft-]{+schlief+}." == shown


def test_deleted_units_leave_no_trace(memory):
    key = ALL._replace(project="Abteilung", key="a" * 16)
    put(memory, ("Geheimnis eins", "secret"), ("Haus", "house"), scope=key)
    put(memory, ("Geheimnis zwei", "secret", "id2"), ("Haus", "home", "id3"))
    assert 2 == memory.delete(key="a" * 16)
    assert 1 == memory.delete(origins=["id2", "none", ""])

    assert [] == targets(memory, "Geheimnis zwei") + targets(memory, "Geheimnis eins", key)
    assert ["home"] == targets(memory, "Haus", key)
    left = b"".join(each.read_bytes() for each in memory.path.parent.iterdir())
    assert [] == [each for each in (b"Geheimnis", b"secret", b"aaaa", b"Abteilung") if each in left]
    with sqlite3.connect(memory.path) as file:
        [count] = file.execute("SELECT count(DISTINCT unit) FROM term").fetchone()
    assert 1 == count


def test_deleted_text_is_overwritten(tmp_path, monkeypatch):
    """Debian's SQLite does so by default; others do not."""

    def connect(*arguments, **options):
        connection = sqlite_connect(*arguments, **options)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    sqlite_connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    with TranslationMemory(tmp_path / "memory")._connected() as connection:
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_memory_on_a_read_only_volume_is_read(memory, monkeypatch):
    put(memory, ("Haus", "house"))

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.open", refuse)
    copy = TranslationMemory(memory.path)
    assert ["house"] == targets(copy, "Haus")
    with pytest.raises(NmtError, match="make it writable"):
        put(copy, ("Hund", "dog"))
    with sqlite3.connect(memory.path) as file:
        for change in ("user_version = 2", "wal_checkpoint(TRUNCATE)"):
            file.execute(f"PRAGMA {change}").fetchall()
    with pytest.raises(CorpusError, match="is not a translation memory of version 1"):
        TranslationMemory(memory.path)


def test_writer_waits_for_another(memory):
    """Approving does so while a file is imported."""
    with closing(sqlite3.connect(memory.path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, other.rollback)
        timer.start()
        put(memory, ("Haus", "house"))
        timer.join()
    assert ["house"] == targets(memory, "Haus")


def test_approved_corrections_enter_and_leave(memory):
    def correct(target, status, place, key="k"):
        entry = SuggestedEntry(languages=DE_EN, source="Haus", target=target, key=key, time="")
        return Correction(entry.id, entry, status, place)

    new, old = correct("house", "approved", 5), correct("hut", "approved", 3)
    waiting = correct("spam", "suggested", 9)
    assert 2 == memory.remember([new, waiting, old], shared=False)

    assert memory.find_exact("Haus", ALL) is None
    assert "house" == memory.find_exact("Haus", ALL._replace(key="k")).target
    assert 1 == memory.delete(origins=[new.id, old.id])
    memory.remember([new], shared=True)
    assert "house" == memory.find_exact("Haus", ALL).target


def test_portion_is_stored_whole_or_not(memory):
    put(memory, ("Haus", "house"))

    def fail():
        yield MemoryUnit("Hund", "dog")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        memory.put(ALL, fail())
    assert [] == targets(memory, "Hund")
    assert ["house"] == targets(memory, "Haus")


def test_reader_does_not_wait_for_a_writer(memory):
    put(memory, ("Haus", "house"))
    with sqlite3.connect(memory.path) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE unit SET target = 'hut'")
        with ThreadPoolExecutor(1) as pool:  # by a connection of its own
            assert ["house"] == pool.submit(targets, memory, "Haus").result(timeout=5)


def test_other_file_is_refused(tmp_path):
    (text := tmp_path / "text").write_text("Ein Haus.\n" * 200)
    other, newer = tmp_path / "other", tmp_path / "newer"
    with sqlite3.connect(other) as file:
        file.execute("CREATE TABLE t (x)")
    TranslationMemory(newer)
    with sqlite3.connect(newer) as file:
        file.execute("PRAGMA user_version = 2")
    for path, message in {
        text: "is damaged, or not a translation memory",
        other: "is not a translation memory of version 1",
        newer: "is not a translation memory of version 1",
        tmp_path: "is not a regular file",
    }.items():
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(CorpusError, match=message):
            TranslationMemory(path)
        assert before == (path.read_bytes() if path.is_file() else b"")


def test_full_disk_is_reported(memory):
    put(memory, ("Haus", "house"))
    with memory._connected() as connection:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(NmtError, match=r"could not be written \(SQLITE_FULL\); free disk space"):
        put(memory, *((f"Satz {n} {'x' * 500}", "t") for n in range(500)))
    assert ["house"] == targets(memory, "Haus")
    assert [] == targets(memory, f"Satz 1 {'x' * 500}")
