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


def test_scores_of_different_test_sets_stand_in_different_tables():
    shown = show(
        version(4, OF_FILES, 28.3),
        version(3, OF_DEMO, 88.2),
        version(2, OF_FILES, 27.0),
        version(1, OF_FILES | {"test_set": "0" * 64}, 9.3),
    )
    files, demo, other, last = (
        shown.index(f"nmt-de-en, {words}")
        for words in (
            "files, test set ffffffff",
            "demo, test set dddddddd",
            "files, test set 00000000",
            "files, test set 00000000",
        )
    )

    assert files < shown.index("28.30") < shown.index("27.00") < demo < shown.index("88.20") < other
    assert last < shown.index(" 9.30") < shown.index("Scores compare within a table")


def test_one_test_set_has_one_table():
    """Even if one version learnt another corpus, too."""
    shown = show(
        version(
            2,
            OF_DEMO | {"corpus": "demo, files"},
            88.2,
            promoted_at="2026-11-24T03:10:59",
            promoted_by="me",
            reason="so",
        ),
        version(1, OF_DEMO, 87.1, rolled_back_at="2026-11-25T03:10", rolled_back_by="x"),
        champion=2,
    )
    lines = shown.splitlines()

    assert lines[0].strip() == "nmt-de-en, demo, files, test set dddddddd"
    assert lines[1].split() == ["model", "pairs", "BLEU", "since,", "by", "whom", "and", "why"]
    assert lines[2].split()[:5] == ["2", "champion", "rnn", "20,000", "88.20"]
    assert lines[3].split()[:5] == ["1", "withdrawn", "rnn", "20,000", "87.10"]
    assert " 2026-11-24 03:10 by me: so" in shown
    assert "Scores compare" not in shown


def test_all_of_a_long_reason_is_readable_in_80_columns():
    reason = (
        "BLEU is 1.20 higher, which chance alone would give with probability 0.0012, and no other "
        "score is worse"
    )
    tags = {"promoted_at": "2026-11-24T03:10:59", "promoted_by": "flow run retrain de-en c4bbf99"}
    tags |= {"reason": reason, "chrf": "55.55", "architecture": "transformer"}
    shown = show(version(12, OF_FILES, **tags), champion=12)
    words = [line[45:] for line in shown.splitlines()[2:]]

    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for word in ("champion", "transformer", "29,000", "30.00", "55.55", *reason.split()):
        assert word in shown
    assert len(words) < 12


def test_an_empty_registry_says_what_to_do():
    assert show() == "nmt-de-en: train one\n"


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
def test_what_speaks_against_a_promotion_is_told(new, champion, doubts):
    """What the gate would say is not repeated: only what one may not have seen."""
    told = list(list_doubts(new, champion))

    assert len(told) == len(doubts)
    assert all(words in doubt for words, doubt in zip(doubts, told, strict=True))
    assert all("\n" not in doubt for doubt in told)
