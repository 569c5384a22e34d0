"""What people see of versions: scores of one test set together, and doubts before a promotion."""

from types import SimpleNamespace

import pytest
from rich.console import Console

from stages.registry.overview import list_doubts, render_versions
from stages.registry.versions import Version

OF_DEMO = {"corpus": "demo", "test_set": "d" * 64, "pairs": "20,000", "architecture": "rnn"}
OF_FILES = {"corpus": "files", "test_set": "f" * 64, "pairs": "29,000", "architecture": "rnn"}


def version(number, tags, bleu=30.0, **others):
    return Version(number=number, tags=tags | {"bleu": f"{bleu:.2f}"} | others)


def show(*versions, champion=None, width=80):
    by_number = {one.number: one for one in versions}
    registry = SimpleNamespace(
        name="nmt-de-en",
        champion=lambda: by_number.get(champion),
        versions=lambda: by_number,
        advise=lambda: "train one",
    )
    console = Console(width=width)
    with console.capture() as capture:
        console.print(render_versions(registry))
    return capture.get()


def test_each_test_set_has_a_table():
    """Even if one of its versions learnt another corpus, too."""
    event = {"promoted_at": "2026-11-24T03:10:59", "promoted_by": "me", "reason": "so"}
    withdrawal = {"rolled_back_at": "2026-11-25T03:10", "rolled_back_by": "x"}
    shown = show(
        version(5, OF_DEMO | {"corpus": "demo, files"}, 88.2, **event),
        version(4, OF_FILES, 28.3),
        version(3, OF_DEMO, 87.1, **withdrawal),
        version(2, OF_FILES, 27.0),
        version(1, OF_FILES | {"test_set": "0" * 64}, 9.3),
        champion=5,
    )
    lines = [line.split()[:5] for line in shown.splitlines() if line]

    assert [" ".join(line) for line in lines] == [
        "nmt-de-en, demo, files, test set",
        "model pairs BLEU since, by",
        "5 champion rnn 20,000 88.20",
        "3 withdrawn rnn 20,000 87.10",
        "nmt-de-en, files, test set ffffffff",
        "model pairs BLEU since, by",
        "4 rnn 29,000 28.30 –",
        "2 rnn 29,000 27.00 –",
        "nmt-de-en, files, test set 00000000",
        "model pairs BLEU since, by",
        "1 rnn 29,000 9.30 –",
        "Scores compare within a table,",
    ]
    assert "test set dddddddd" in shown
    assert " 2026-11-24 03:10 by me: so" in shown
    assert "Scores compare" not in show(version(1, OF_DEMO))
    assert show() == "nmt-de-en: train one\n"


def test_long_reason_is_whole_in_80_columns():
    reason = "BLEU is 1.20 higher, which chance alone would give with probability 0.0012, " * 2
    tags = {"promoted_at": "2026-11-24T03:10:59", "promoted_by": "flow run retrain de-en c4bbf99"}
    tags |= {"reason": reason, "chrf": "55.55", "architecture": "transformer"}
    shown = show(version(12, OF_FILES, **tags), champion=12)

    assert max(map(len, shown.splitlines())) <= 80
    assert {"champion", "transformer", "29,000", "30.00", "55.55", *reason.split()} <= {
        *shown.split()
    }
    assert len(shown.splitlines()) < 16


@pytest.mark.parametrize(
    ("new", "champion", "doubts"),
    [
        (version(2, OF_DEMO, 31.0), version(1, OF_DEMO, 30.0), []),
        (version(2, OF_DEMO, 31.0), None, []),
        (version(1, OF_DEMO, 10.0), version(1, OF_DEMO, 10.0), []),
        (version(2, OF_DEMO, 9.99), None, ["version 2 has a BLEU of 9.99: few of its"]),
        (version(2, OF_DEMO, 29.0), version(1, OF_DEMO, 30.0), ["BLEU of 29.00 and 30.00"]),
        (version(2, OF_DEMO, chrf="49.0"), version(1, OF_DEMO, chrf="50.0"), ["chrF of 49.0 and"]),
        (
            version(2, OF_DEMO, 0.02),
            version(1, OF_FILES, 41.0),
            ["a BLEU of 0.02", "tested on different sentences (demo and files): their scores do"],
        ),
        (version(2, {}, 50.0), version(1, OF_FILES), ["different sentences (another corpus and"]),
        (version(2, OF_DEMO, 50.0), version(1, {}), []),
    ],
)
def test_doubts_name_low_and_incomparable_scores(new, champion, doubts):
    found = list(list_doubts(new, champion))
    assert len(found) == len(doubts)
    assert all(words in doubt for words, doubt in zip(doubts, found, strict=True))
