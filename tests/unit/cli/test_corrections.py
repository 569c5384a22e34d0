"""``nmt corrections``: decided on, exported, deleted, and taken from files of translators."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.registered import open_units
from nmt_core.translation.memory.correction import Suggestion
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.memory.pairs import FORBIDDEN, read_pair_file, write_pair_file
from nmt_core.translation.memory.store import TranslationMemory
from nmt_core.translation.memory.unit import MemoryScope
from tests.support import formats
from tests.support.commands import refuse, run

DE_EN = Languages(source="de", target="en")
LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.fixture
def journal(tmp_path):
    kept = CorrectionJournal(tmp_path / "corrections.jsonl")
    kept.suggest(
        Suggestion(languages=DE_EN, source="Hund", target="dog", key="a" * 16),
        Suggestion(languages=DE_EN, source="Hund", target="hound", key="b" * 16),
        Suggestion(languages=DE_EN, source="Katze\t\x1b[2J", target="cat", before="kitty"),
    )
    return kept


def decide(journal, *arguments):
    return run("corrections", *arguments, "--journal", journal.path)


def listed(journal, *arguments):
    result = decide(journal, "list", *arguments)
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_all_are_listed_and_none_can_write_to_the_terminal(journal):
    rows = listed(journal)

    assert [("dog", "aaaaaaaaaaaaaaaa"), ("hound", "b" * 16), ("cat", "-")] == [
        (row[7], row[4]) for row in rows
    ]
    assert ("suggested", "1", "de en", "Katze\\t\\x1b[2J", "kitty") == (
        *rows[2][1:3], *rows[2][5:7], rows[2][8]
    )  # fmt: skip
    assert [rows[1]] == listed(journal, "--key-digest", "bbbbbbbb", "--languages", "de-en")
    assert [] == listed(journal, "--languages", "en-de")


def test_the_approved_are_exported_as_a_corpus_reads_them(journal, tmp_path):
    dog, hound, cat = (row[0] for row in listed(journal))
    assert "approved: 2\n" == decide(journal, "approve", hound, dog).stdout
    assert "dropped: 1\n" == decide(journal, "drop", cat, "--reason", "odd").stdout
    assert [cat] == [row[0] for row in listed(journal, "--status", "dropped")]

    for name in ("out.tsv", "out.tmx"):
        assert "exported: 1\n" == decide(journal, "export", tmp_path / name).stdout
        rows = open_units(tmp_path / name, DE_EN).rows
        assert [["Hund", "dog"]] == [[*row] for row in rows]

    assert "approved: 0\n" == decide(journal, "approve", "--all").stdout  # nothing is undecided


@pytest.mark.parametrize("shared", [False, True])
def test_what_a_key_gave_is_served_to_others_only_where_that_is_asked(journal, tmp_path, shared):
    hound = listed(journal)[1][0]
    path = tmp_path / "memory.db"
    decide(journal, "approve", hound, "--memory", path, *["--shared"] * shared)

    memory = TranslationMemory(path)
    found = [memory.find_exact("Hund", MemoryScope(DE_EN, "", key)) for key in ("b" * 16, "", "c")]
    assert [True, shared, shared] == [unit is not None for unit in found]


def test_what_a_key_gave_is_deleted(journal, tmp_path):
    decide(journal, "approve", "--all")

    assert "deleted: 1\n" == decide(journal, "delete", "--key-digest", "a" * 64).stdout
    assert ["hound", "cat"] == [row[7] for row in listed(journal)]
    decide(journal, "export", tmp_path / "out.tsv")
    assert "dog" not in (tmp_path / "out.tsv").read_text()
    [_, cat] = (row[0] for row in listed(journal))
    assert "deleted: 1\n" == decide(journal, "delete", cat).stdout
    assert ["hound"] == [row[7] for row in listed(journal)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["approve"], "nothing says which corrections are meant"),
        (["delete"], "nothing says which corrections are meant"),
        (["drop", "nothing"], "holds no correction 'nothing'"),
        (["delete", "--key-digest", "aa"], "needs 8 characters"),
        (["list", "--languages", "deen"], "names no two languages; write de-en"),
        (["export", "x.csv"], "has another ending than .tmx and .tsv"),
        (["export", "corrections.jsonl.tsv", "--languages", "D-E"], "must be a language code"),
        (["import", "no.tmx", "--languages", "de-en"], "no.tmx"),
    ],
)
def test_what_makes_no_sense_is_told(journal, arguments, message):
    before = journal.path.read_bytes()

    assert message in refuse("corrections", *arguments, "--journal", journal.path)
    assert before == journal.path.read_bytes()


def test_a_journal_that_is_not_there_is_told(tmp_path):
    for command in (["list"], ["approve", "--all"], ["export", "a.tsv"]):
        told = refuse("corrections", *command, "--journal", tmp_path / "none")
        assert "does not exist; name the file of nmt serve" in told


@pytest.mark.parametrize("kind", ["tmx", "xliff1", "xliff2"])
def test_a_file_that_comes_back_goes_into_the_journal(tmp_path, kind):
    pairs = [("Ein Haus", "A house"), ("Leer", ""), ("Ein Haus", "A house"), ("Ä", "Ö")]
    ending = "tmx" if kind == "tmx" else "xlf"
    (path := tmp_path / f"back.{ending}").write_bytes(getattr(formats, kind)(pairs))
    kept = CorrectionJournal(tmp_path / "c.jsonl")

    done = decide(kept, "import", path, "--languages", "de-en", "--approved")

    assert "imported: 2\n" == done.stdout
    assert {("Ein Haus", "A house", "approved"), ("Ä", "Ö", "approved")} == {
        (each.suggestion.source, each.suggestion.target, each.status) for each in kept.read()
    }


@given(pairs=st.lists(st.tuples(LINES, LINES), max_size=5), ending=st.sampled_from(["tsv", "tmx"]))
@settings(max_examples=25)
def test_what_is_written_is_read_again(tmp_path_factory, pairs, ending):
    """Law: but for characters that XML forbids, and white space around the text."""
    path = tmp_path_factory.mktemp("pairs") / f"x.{ending}"
    clean = [[FORBIDDEN.sub(" ", text) for text in pair] for pair in pairs]

    assert len(pairs) == write_pair_file(path, pairs, DE_EN)
    with pytest.raises(ConfigError, match="is not written over"):
        write_pair_file(path, pairs, DE_EN)
    assert ending == "tmx" or path.read_text().startswith("source\ttarget\n")

    wanted = [tuple(text.strip() for text in pair) for pair in clean]
    try:
        read = [*read_pair_file(path, DE_EN)]
    except CorpusError:
        assert ending == "tmx"
        assert not pairs
        return
    assert [pair for pair in wanted if all(pair)] == read
