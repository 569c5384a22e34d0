"""``nmt memory`` and ``nmt translate --memory``."""

from dataclasses import replace

import pytest
from lxml import etree

from nmt_core.base.languages import Languages
from nmt_core.translation.memory.store import TranslationMemory
from nmt_core.translation.memory.unit import MemoryScope, MemoryUnit
from tests.support import formats
from tests.support.commands import refuse, run
from tests.support.tiny import export, tiny_translator

PAIRS = [("Hund", "hound!"), ("Die alte Katze schläft.", "The old cat\x85 sleeps."), ("Leer", "")]


@pytest.fixture
def memory(tmp_path):
    (path := tmp_path / "old.tmx").write_bytes(formats.tmx(PAIRS))
    done = nmt_memory(tmp_path / "m.db", "import", path)
    assert (0, "imported: 2\n") == (done.exit_code, done.stdout), done.output
    return tmp_path / "m.db"


def nmt_memory(file, command, *arguments, languages="de-en"):
    named = [] if command == "list" else ["--languages", languages]
    return run("memory", command, *arguments, *named, "--memory", file)


@pytest.mark.parametrize("ending", [".tmx", ".tsv"])
def test_what_is_exported_is_what_was_imported(memory, tmp_path, ending):
    out, again = tmp_path / f"out{ending}", tmp_path / "again.db"
    assert "exported: 2\n" == nmt_memory(memory, "export", out).stdout
    assert "imported: 2\n" == nmt_memory(again, "import", out).stdout
    read = [[*TranslationMemory(path).read(MemoryScope(DE_EN))] for path in (memory, again)]
    assert read[0] == read[1] != []


DE_EN = Languages(source="de", target="en")


def test_what_is_like_a_text_is_shown_with_its_difference(memory):
    found = nmt_memory(memory, "search", "Die alte Katze schlief.").stdout
    assert "0.87\tDie alte Katze [-schläft-]{+schlief+}.\tThe old cat sleeps.\n" == found
    assert not nmt_memory(memory, "search", "Etwas anderes").stdout
    assert not nmt_memory(memory, "search", "Hund", "--project", "p", "--threshold", 1.0,
                          languages="en-de").stdout  # fmt: skip
    assert "de en\t-\t-\t2\n" == nmt_memory(memory, "list").stdout


def test_units_that_are_not_approved_are_not_exported(memory, tmp_path):
    (path := tmp_path / "new.tsv").write_text("Maus\tmouse\n")
    nmt_memory(memory, "import", path, "--unapproved")
    assert "1.00\tMaus\tmouse\n" == nmt_memory(memory, "search", "Maus").stdout
    assert "exported: 2\n" == nmt_memory(memory, "export", tmp_path / "o.tsv").stdout
    nmt_memory(memory, "export", tmp_path / "o.tmx")
    [header] = etree.parse(tmp_path / "o.tmx").iter("header")
    assert {"srclang": "de", "segtype": "sentence"}.items() <= dict(header.attrib).items()


def test_a_memory_that_is_not_there_is_told(tmp_path, bundle):
    there = ["--memory", tmp_path / "none", "--languages", "de-en"]
    assert "nmt memory import makes it" in refuse("memory", "search", "Hund", *there)
    told = refuse("translate", "--model", bundle, "--memory", tmp_path / "none", "Hund")
    assert "does not exist; nmt memory import makes it" in told
    assert not (tmp_path / "none").exists()


def test_lines_that_a_memory_has_are_taken_from_it_and_named(memory, tmp_path):
    bundle = export(tmp_path / "model", translator=replace(tiny_translator(), languages=DE_EN))
    usual = run("translate", "--model", bundle, "Haus", "Hund").stdout.splitlines()
    done = run("translate", "--model", bundle, "--memory", memory, "Haus", "Hund")
    whole = run("translate", "--model", bundle, "--memory", memory, "--whole-lines", "Hund", "Haus")

    assert done.exit_code == 0, done.output
    assert [usual[0], "hound!"] == done.stdout.splitlines()
    assert "1 of 2 lines from the memory" in done.stderr
    assert ["hound!", usual[0]] == whole.stdout.splitlines()


def test_sentences_of_a_document_are_taken_from_it(memory, tmp_path):
    bundle = export(tmp_path / "model", translator=replace(tiny_translator(), languages=DE_EN))
    (page := tmp_path / "a.html").write_text("<p>Hund</p><p><b>Hund</b> a</p>\n<p>Haus</p>")
    usual = run("translate-file", "--model", bundle, page, "--output", tmp_path / "usual.html")
    done = run("translate-file", "--model", bundle, page, "--memory", memory)

    assert (0, 0) == (usual.exit_code, done.exit_code), done.output
    first, *others = (tmp_path / "a.en.html").read_text().split("</p>")
    assert "<p>hound!" == first
    assert (tmp_path / "usual.html").read_text().split("</p>")[1:] == others


def test_approved_corrections_are_served_and_deleted_ones_are_not(memory, tmp_path):
    (path := tmp_path / "back.tsv").write_text("Maus\tmouse\n")
    journal = ["--journal", tmp_path / "c.jsonl"]
    run("corrections", "import", path, *journal, "--languages", "de-en")
    run("corrections", "approve", "--all", *journal, "--memory", memory)
    found = TranslationMemory(memory).find_exact("Maus", MemoryScope(DE_EN))
    assert "mouse" == found.target
    listed = run("corrections", "list", *journal).stdout
    run("corrections", "delete", listed.split("\t")[0], *journal, "--memory", memory)
    assert TranslationMemory(memory).find_exact("Maus", MemoryScope(DE_EN)) is None
    key = MemoryScope(DE_EN, key="a" * 16)
    TranslationMemory(memory).put(key, [MemoryUnit("Igel", "hedgehog")])
    run("corrections", "delete", "--key-digest", "a" * 64, *journal, "--memory", memory)
    assert TranslationMemory(memory).find_exact("Igel", key) is None
