"""How a model behaves on one's own sentences."""

from nmt_core.cli import check
from nmt_core.translation.behaviour import AS_THEY_COME, PROBES
from tests.support.commands import refuse, run
from tests.support.scripted import scripted_translator


def test_each_change_has_a_row(bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "open_translator", lambda *_, **__: scripted_translator())
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "lines").write_text("\nDas Haus steht seit 1987 am See.\n\nÄpfel\n")
    result = run("check", "--model", bundle, "--source", tmp_path / "lines", "--lines", 1)

    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if line.startswith("│")]
    named = {name.strip(): cells for name, *cells in rows}
    assert [AS_THEY_COME, *(probe.name for probe in PROBES[:7])] == [*named][:8]
    assert named[AS_THEY_COME][-1].strip() == ""  # nothing to compare with
    assert [cell.strip() for cell in named["an emoji"]] == ["1", *["100.0 % (20.7 to 100.0)"] * 2]


def test_what_cannot_be_checked_is_told(bundle, tmp_path):
    (tmp_path / "lines").write_text("\n")
    asked = ("check", "--model", bundle, "--source", tmp_path / "lines")
    assert "holds no line" in refuse(*asked)
    (tmp_path / "lines").write_text("Das Haus\n")
    assert "which languages" in refuse(*asked)
