"""The journal of corrections loses nothing that was confirmed, and keeps nothing deleted."""

import errno
import re
import resource
import signal
import subprocess
import sys
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.translation.memory.journal import (
    Correction,
    CorrectionJournal,
    SuggestedEntry,
    Suggestion,
    select_corrections,
)
from tests.support.projects import PROJECT

DE_EN = Languages(source="de", target="en")
EN_DE = Languages(source="en", target="de")
TEXTS = st.text(min_size=1).filter(str.strip)


def suggestion(source="Ein Haus.", target="A house.", **given):
    return Suggestion(languages=DE_EN, source=source, target=target, **given)


@pytest.fixture
def journal(tmp_path):
    return CorrectionJournal(tmp_path / "corrections.jsonl")


@pytest.fixture
def at_once(monkeypatch):
    """A disk that answers at once, for tests that write much and simulate no crash."""
    monkeypatch.setattr("os.fsync", lambda handle: None)


def ids(corrections):
    return [each.id for each in corrections]


def test_suggestion_is_read_back(journal):
    given = suggestion("a\n\u2028<b>\x00\r", "\t😀", before="x", key="k", model="m")

    assert [] == journal.read()
    [made] = journal.suggest(given)
    [read] = journal.read()

    assert (dict(given).items() <= dict(read.suggestion).items(), made) == (True, read.id)
    assert read.status == "suggested"
    assert re.fullmatch("[0-9a-f]{16}", made)
    assert journal.path.read_text().splitlines()[0] == '{"format": "nmt corrections 1"}'
    assert journal.path.stat().st_mode & 0o777 == 0o600


def test_reasons_of_earlier_versions_are_read(journal):
    [made] = journal.suggest(suggestion())
    with journal.path.open("a") as file:
        file.write(f'{{"event": "dropped", "id": "{made}", "reason": "odd", "time": "2025"}}\n')

    assert ["dropped"] == [each.status for each in journal.read()]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("s1 s2 a1 a2 d1", "a2 d1"),
        ("s1 s2 a1 a2 d1 s1", "a2 d1"),
        ("s1 s2 s1", "s2 s1"),
        ("s1 s2 s1 a1 a2 s1", "a1 a2"),
        ("s1 s2 a2 a1", "a2 a1"),
        ("s1 d1 a1", "a1"),
    ],
)
def test_last_decision_counts_and_the_newest_is_last(journal, events, expected):
    """A repeated suggestion counts as new as its last line until it is decided on."""
    verdicts = {"a": "approved", "d": "dropped"}
    for event, target in events.split():
        if event == "s":
            journal.suggest(suggestion(target=target))
        else:
            [decided] = journal.decide(verdicts[event], [suggestion(target=target).id])
            assert decided.status == verdicts[event]

    read = [f"{each.status[0]}{each.suggestion.target}" for each in journal.read()]
    assert read == expected.split()


def test_whole_lines_survive_a_truncation(journal, caplog, at_once):
    """Law: of a file truncated at any byte, entries with whole lines are read."""
    journal.suggest(suggestion(target="ä"))
    journal.suggest(suggestion(target="b"))
    journal.decide("approved", [suggestion(target="ä").id])
    whole = journal.path.read_bytes()
    kinds = [b"suggested", b"suggested", b"approved"]
    lines_end = {0, *(place + 1 for place, byte in enumerate(whole) if byte == ord("\n"))}
    near = {end + step for end in lines_end for step in range(-3, 4)}
    for size in sorted((near | {*range(0, len(whole), 17)}) & {*range(len(whole))}):
        caplog.clear()
        journal.path.write_bytes(whole[:size])
        lines = whole[:size].count(b"\n")
        torn = not whole[:size].endswith(b"\n") and size > 0

        read = journal.read()

        assert min(2, max(0, lines - 1)) == len(read)
        assert ("approved" in {each.status for each in read}) == (lines == len(kinds) + 1)
        assert journal.path.read_bytes() == whole[:size]
        journal.suggest(suggestion(target="c"))
        assert [torn] == [bool(caplog.records)]
        assert "ä" not in caplog.text
        sound = b"".join(whole[:size].splitlines(True)[:lines])
        assert journal.path.read_bytes().startswith(sound)
        assert suggestion(target="c").id in ids(journal.read())
    journal.path.write_bytes(whole + bytes(200_000))  # of a power cut
    assert len(journal.read()) == 2


def test_reading_needs_no_writable_disk(journal, monkeypatch):
    journal.suggest(suggestion())

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.open", refuse)
    assert [suggestion().id] == ids(journal.read())


def test_full_disk_leaves_the_journal_unchanged(journal):
    journal.suggest(suggestion(), suggestion(target="House.", key="k"))
    before = journal.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
    try:
        with pytest.raises(NmtError, match=r"could not be written .*; free disk space"):
            journal.suggest(suggestion(target="Home."))
        with pytest.raises(NmtError):
            journal.decide("approved", [suggestion().id])
        resource.setrlimit(resource.RLIMIT_FSIZE, (60, hard))
        with pytest.raises(NmtError):
            journal.delete(lambda each: each.suggestion.key == "k")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert before == journal.path.read_bytes()
    journal.suggest(suggestion(target="Home."))
    assert 3 == len(journal.read())


def test_confirmation_follows_the_disk(journal, monkeypatch):
    journal.suggest(suggestion())
    synced = []
    monkeypatch.setattr("os.fsync", lambda _: synced.append(journal.path.read_text().count("\n")))
    journal.suggest(suggestion(target="Home."))
    journal.decide("dropped", [suggestion().id])

    assert [3, 4] == synced


def test_refused_lines_leave_the_journal_unchanged(journal, monkeypatch):
    monkeypatch.setattr("nmt_core.translation.memory.journal.MAX_JOURNAL_BYTES", 100)
    [known] = journal.suggest(suggestion())
    before = journal.path.read_bytes()

    with pytest.raises(NmtError, match="has reached the limit of 100 bytes"):
        journal.suggest(suggestion(target="Home."))
    with pytest.raises(ConfigError, match="has no correction 'nothing'; run nmt corrections list"):
        journal.decide("approved", [known, "nothing"])
    for empty in ("", " \n"):
        with pytest.raises(ValueError, match="must not be empty"):
            suggestion(target=empty)
    assert before == journal.path.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"format": "nmt corrections 2"}\n', "is not a journal of corrections"),
        (b"Ein Haus.\n", "is not a journal of corrections"),
        (b"[1]\n", "is not a journal of corrections"),
        (b"x" * 500 + b"\n", "is not a journal of corrections"),
        (b'{"format": "nmt corrections 1"}\n{"event": "sung"}\n', "line 2 of .* is damaged"),
        (b'{"format": "nmt corrections 1"}\n\xff\n', "line 2 of .* is damaged"),
    ],
)
def test_other_file_is_refused_and_stays(journal, content, message):
    journal.path.write_bytes(content)

    with pytest.raises(CorpusError, match=message):
        journal.read()
    if b"1" not in content[:31]:
        with pytest.raises(CorpusError, match=message):
            journal.suggest(suggestion())
    assert content == journal.path.read_bytes()


def test_deleted_ones_leave_no_trace(journal):
    journal.suggest(*(suggestion(f"Satz {n}", f"Text {n}", key=f"key{n % 3}") for n in range(9)))
    journal.decide("approved", ids(journal.read()))
    kept = [each for each in journal.read() if each.suggestion.key != "key1"]

    gone = journal.delete(lambda each: each.suggestion.key == "key1")

    assert ["Satz 1", "Satz 4", "Satz 7"] == [each.suggestion.source for each in gone]
    assert [(e.id, e.suggestion, e.status) for e in kept] == [
        (e.id, e.suggestion, e.status) for e in journal.read()
    ]
    content = journal.path.read_text()
    assert not any(word in content for word in ("key1", "Satz 1", "Text 4", gone[0].id))
    assert journal.path.stat().st_mode & 0o777 == 0o600
    inode = journal.path.stat().st_ino
    assert [] == journal.delete(lambda each: False)
    assert inode == journal.path.stat().st_ino


WRITER = """
import sys
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.memory.journal import Suggestion
from pathlib import Path
journal = CorrectionJournal(Path(sys.argv[1]))
languages = {"source": "de", "target": "en"}
for number in range(10**9):
    text = f"{sys.argv[2]} {number}"
    [made] = journal.suggest(Suggestion(languages=languages, source=text, target="x" * 5000))
    print(made, flush=True)
"""


@pytest.mark.slow
def test_confirmed_ones_survive_a_kill(journal):
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, journal.path, str(name)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        for name in range(3)
    ]
    answered = [[process.stdout.readline().strip() for _ in range(20)] for process in running]
    for process in running:
        process.send_signal(signal.SIGKILL)
    answered += [process.communicate()[0].split("\n")[:-1] for process in running]

    known = ids(journal.read())

    assert {made for some in answered for made in some} <= set(known)
    assert len(known) <= sum(map(len, answered)) + len(running)  # one may not have been confirmed


@given(
    given=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from("xyz"),
            st.sampled_from(["suggested", "approved", "dropped"]),
        ),
        max_size=8,
    ),
    undecided=st.booleans(),
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_newest_approved_correction_is_used(tmp_path_factory, at_once, given, undecided):
    """Oracle: a plain walk backwards through the events."""
    journal = CorrectionJournal(tmp_path_factory.mktemp("journal") / "c.jsonl")
    happened = []
    for source, target, event in given:
        one = suggestion(source, target)
        if event == "suggested" or (source, target, "suggested") not in happened:
            journal.suggest(one)
            happened.append((source, target, "suggested"))
        if event != "suggested":
            journal.decide(event, [one.id])
            happened.append((source, target, event))
    status = {}
    for source, target, event in happened:
        old = status.get((source, target), "suggested")
        status[source, target] = old if event == "suggested" else event
    wanted = {}
    for name in ["approved", "suggested"][: 1 + undecided]:
        for source, target, event in reversed(happened):
            if status[source, target] == name == event:
                wanted.setdefault(source, target)

    found = [*select_corrections(journal.read(), DE_EN, undecided=undecided)]

    assert wanted == {pair.source: pair.target for pair in found}
    assert len(wanted) == len(found)
    assert all(suggestion(pair.source, pair.target).id == pair.id for pair in found)


@given(TEXTS, TEXTS)
def test_selected_text_is_a_line(source, target):
    entry = SuggestedEntry(**dict(suggestion(source, target)), time="")
    correction = Correction("i", entry, "approved", 1)
    [pair] = select_corrections([correction], DE_EN)

    composed = (normalize("NFC", text) for text in (source, target))
    assert [pair.source, pair.target] == [" ".join(text.split()) for text in composed]
    assert 1 == len(pair.source.splitlines()) == len(pair.target.splitlines())
    assert [] == [*select_corrections([correction], EN_DE)]
