"""``nmt corrections`` and ``nmt memory``: decided, served, exported and deleted."""

from dataclasses import replace
from itertools import chain, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.opening import read_pair_file
from nmt_core.corpora.formats.translations import FORBIDDEN, write_pair_file
from nmt_core.translation.memory.journal import CorrectionJournal, Suggestion
from nmt_core.translation.memory.store import MemoryScope, MemoryUnit, TranslationMemory
from tests.support import formats
from tests.support.commands import refuse, run
from tests.support.tiny import export, tiny_translator

DE_EN = Languages(source="de", target="en")
LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PAIRS = [("Hund", "hound!"), ("Die alte Katze schläft.", "The old cat\x85 sleeps."), ("Leer", "")]


@pytest.fixture
def journal(tmp_path):
    kept = CorrectionJournal(tmp_path / "corrections.jsonl")
    kept.suggest(
        Suggestion(languages=DE_EN, source="Hund", target="dog", key="a" * 16),
        Suggestion(languages=DE_EN, source="Hund", target="hound", key="b" * 16),
        Suggestion(languages=DE_EN, source="Katze\t\x1b[2J", target="cat", before="kitty"),
    )
    return kept


@pytest.fixture
def memory(tmp_path):
    (path := tmp_path / "old.tmx").write_bytes(formats.tmx(PAIRS))
    assert nmt_memory(tmp_path / "m.db", "import", path) == "imported: 2\n"
    return tmp_path / "m.db"


def decide(journal, *arguments):
    result = run("corrections", *arguments, "--journal", journal.path)
    assert result.exit_code == 0, result.output
    return result.stdout


def nmt_memory(file, command, *arguments, languages="de-en"):
    result = run("memory", command, *arguments, "--languages", languages, "--memory", file)
    assert result.exit_code == 0, result.output
    return result.stdout


def list_rows(journal):
    return [line.split("\t") for line in decide(journal, "list").splitlines()]


def list_targets(journal, status="suggested approved dropped"):
    return [row[6] for row in list_rows(journal) if row[1] in status.split()]


def test_all_are_listed_without_control_characters(journal):
    first, _, third = list_rows(journal)

    assert (len(first[0]), first[1], first[3:]) == (
        16, "suggested", ["a" * 16, "de en", "Hund", "dog", ""]
    )  # fmt: skip
    assert third[3:] == ["-", "de en", "Katze\\t\\x1b[2J", "cat", "kitty"]


@pytest.mark.parametrize(
    ("steps", "approved", "exported"),
    [
        (["approve 1 0", "drop 2"], ["hound", "dog"], [("Hund", "dog")]),
        (["approve 0 1"], ["dog", "hound"], [("Hund", "hound")]),
        (["approve --all"], ["dog", "hound", "cat"], [("Hund", "hound"), ("Katze [2J", "cat")]),
        (["drop 0", "approve --all"], ["hound", "cat"], [("Hund", "hound"), ("Katze [2J", "cat")]),
        (["approve --all", "drop 1"], ["dog", "cat"], [("Hund", "dog"), ("Katze [2J", "cat")]),
    ],
)
def test_approved_ones_are_exported(journal, tmp_path, steps, approved, exported):
    ids = [row[0] for row in list_rows(journal)]
    for step in steps:
        command, *which = step.split()
        decide(journal, command, *(ids[int(each)] if each.isdigit() else each for each in which))
    done = decide(journal, "export", tmp_path / "out.tmx", "--languages", "de-en")

    assert list_targets(journal, "approved") == approved
    assert done == f"exported: {len(exported)}\n"
    read = [*read_pair_file(tmp_path / "out.tmx", DE_EN)]
    assert [(" ".join(source.split()), target) for source, target in read] == exported


@pytest.mark.parametrize("shared", [False, True])
def test_shared_corrections_are_served_to_other_keys(journal, tmp_path, shared):
    hound, path = list_rows(journal)[1][0], tmp_path / "memory.db"
    decide(journal, "approve", hound, "--memory", path, *["--shared"] * shared)
    stored = TranslationMemory(path)

    for key, is_served in (("b" * 16, True), ("", shared), ("c", shared)):
        assert bool(stored.find_exact("Hund", MemoryScope(DE_EN, "", key))) is is_served


def test_deleted_and_dropped_ones_leave_journal_and_memory(journal, memory):
    decide(journal, "approve", "--all", "--memory", memory)
    own = TranslationMemory(memory)
    own.put(MemoryScope(DE_EN, key="a" * 16), [MemoryUnit("Igel", "hedgehog")])

    deleted = decide(journal, "delete", "--key-digest", "a" * 64, "--memory", memory)
    assert (deleted, list_targets(journal)) == ("deleted: 1\n", ["hound", "cat"])
    assert own.find_exact("Igel", MemoryScope(DE_EN, key="a" * 16)) is None
    assert "dog" not in journal.path.read_text()

    hound, cat = (row[0] for row in list_rows(journal))
    assert decide(journal, "delete", cat, "--memory", memory) == "deleted: 1\n"
    assert decide(journal, "drop", hound, "--memory", memory) == "dropped: 1\n"
    assert [unit.target for unit in own.read(MemoryScope(DE_EN))] == [
        "hound!",
        "The old cat sleeps.",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["approve"], "no correction is selected"),
        (["delete"], "no correction is selected"),
        (["drop", "nothing"], "has no correction 'nothing'"),
        (["delete", "--key-digest", "aa"], "at least 8 characters"),
        (["export", "x.tmx", "--languages", "deen"], "deen"),
        (["export", "x.csv", "--languages", "de-en"], "does not end in .tmx"),
        (["export", "x.tmx", "--languages", "D-E"], "D-E"),
        (["import", "no.tmx", "--languages", "de-en"], "no.tmx"),
    ],
)
def test_wrong_command_is_refused(journal, arguments, message):
    before = journal.path.read_bytes()

    assert message in refuse("corrections", *arguments, "--journal", journal.path)
    assert before == journal.path.read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        ["corrections", "list", "--journal"],
        ["corrections", "approve", "--all", "--journal"],
        ["memory", "search", "Hund", "--languages", "de-en", "--memory"],
        ["memory", "export", "a.tmx", "--languages", "de-en", "--memory"],
    ],
)
def test_missing_file_is_named_and_not_created(tmp_path, command):
    assert "none does not exist; " in refuse(*command, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("kind", ["tmx", "xliff1", "xliff2"])
@pytest.mark.parametrize("status", ["approved", "suggested"])
def test_file_of_a_translator_goes_into_the_journal(tmp_path, kind, status):
    pairs = [("Ein Haus", "A house"), ("Leer", ""), ("Ein Haus", "A house"), ("Ä", "Ö")]
    ending = "tmx" if kind == "tmx" else "xlf"
    (path := tmp_path / f"back.{ending}").write_bytes(getattr(formats, kind)(pairs))
    kept, approve = CorrectionJournal(tmp_path / "c.jsonl"), ["--approved"] * (status == "approved")

    assert decide(kept, "import", path, "--languages", "de-en", *approve) == "imported: 2\n"
    assert {("Ein Haus", "A house", status), ("Ä", "Ö", status)} == {
        (each.suggestion.source, each.suggestion.target, each.status) for each in kept.read()
    }


@given(pairs=st.lists(st.tuples(LINES, LINES), min_size=1, max_size=5))
@settings(max_examples=25)
def test_written_pairs_are_read_again(tmp_path_factory, pairs):
    """Except for characters that XML forbids, and white space around the text."""
    path = tmp_path_factory.mktemp("pairs") / "x.tmx"

    assert len(pairs) == write_pair_file(path, pairs, DE_EN)
    with pytest.raises(ConfigError, match="already exists"):
        write_pair_file(path, pairs, DE_EN)
    clean = [tuple(FORBIDDEN.sub(" ", text).strip() for text in pair) for pair in pairs]
    assert [pair for pair in clean if all(pair)] == [*read_pair_file(path, DE_EN)]


def test_exported_memory_is_imported_again(memory, tmp_path):
    out, again = tmp_path / "out.tmx", tmp_path / "again.db"
    assert nmt_memory(memory, "export", out) == "exported: 2\n"
    assert nmt_memory(again, "import", out, "--project", "p", "--key-digest", "k") == (
        "imported: 2\n"
    )
    units = [unit[:2] for unit in TranslationMemory(memory).read(MemoryScope(DE_EN))]

    assert units == [("Hund", "hound!"), ("Die alte Katze schläft.", "The old cat sleeps.")]
    stored = TranslationMemory(again)
    assert units == [unit[:2] for unit in stored.read(MemoryScope(DE_EN, "p", "k"))]


SCOPES = list(product(("de-en", "en-de"), ("", "p"), ("", "k")))


def test_units_belong_to_languages_project_and_key(memory, tmp_path):
    nmt_memory(memory, "export", tmp_path / "in.tmx")
    for scopes in product([*SCOPES[:4], SCOPES[-1]], SCOPES):
        (languages, *into), (others, *from_) = scopes
        file = tmp_path / "-".join(scopes[0])
        names = ("--project", "--key-digest")
        options = [zip(names, values, strict=True) for values in (into, from_)]
        written, read = ([*chain.from_iterable(each)] for each in options)

        if not file.exists():
            nmt_memory(file, "import", tmp_path / "in.tmx", *written, languages=languages)
        out = tmp_path / f"{'-'.join([*scopes[0], *scopes[1]])}.tmx"
        count = 2 * (scopes[0] == scopes[1])
        assert nmt_memory(file, "export", out, *read, languages=others) == f"exported: {count}\n"
        found = nmt_memory(file, "search", "Hund", *read, languages=others)
        is_visible = all(own in ("", other) for own, other in zip(into, from_, strict=True))
        assert bool(found) == (is_visible and languages == others == "de-en")


@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        (
            "Die alte Katze schlief.",
            {},
            "0.87\tDie alte Katze [-schläft-]{+schlief+}.\tThe old cat sleeps.\n",
        ),
        ("Die alte Katze schlief.", {"--threshold": 0.9}, ""),
        ("Hund", {"--project": "p"}, "1.00\tHund\thound!\n"),
        ("Etwas anderes", {}, ""),
    ],
)
def test_similar_units_are_shown_with_their_difference(memory, text, options, shown):
    arguments = [word for option in options.items() for word in option]

    assert nmt_memory(memory, "search", text, *arguments) == shown
    assert not nmt_memory(memory, "search", text, languages="en-de")


def test_lines_are_taken_from_the_memory(memory, tmp_path):
    bundle = export(tmp_path / "model", translator=replace(tiny_translator(), languages=DE_EN))
    usual = run("translate", "--model", bundle, "Haus", "Hund").stdout.splitlines()
    done = run("translate", "--model", bundle, "--memory", memory, "Haus", "Hund")
    whole = run("translate", "--model", bundle, "--memory", memory, "--whole-lines", "Hund", "Haus")

    assert [usual[0], "hound!"] == done.stdout.splitlines()
    assert "1 of 2 lines from the memory" in done.stderr
    assert ["hound!", usual[0]] == whole.stdout.splitlines()
    assert "does not exist" in refuse("translate", "--model", bundle, "--memory", "none", "Hund")
