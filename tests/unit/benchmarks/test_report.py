"""What benchmarks write into the report."""

import pytest

from benchmarks.report import record, render_blocks
from stages.reporting.markdown import find_markers

BEGIN, END = find_markers("training")


@pytest.mark.parametrize("before", ["", f"{BEGIN}\nold\n{END}\nafter"])
def test_a_table_takes_the_place_of_the_one_before(tmp_path, before):
    report = tmp_path / "performance.md"
    report.write_text(f"# Speed\n{before}")
    rows = [["system", "a", "b"], ["ours", "1", "2"]]
    record("make bench", rows, mark="training", report=report)

    text = report.read_text()
    assert text.startswith("# Speed\n")
    assert (text.count(BEGIN), text.count(END), "old" in text) == (1, 1, False)
    assert "`make bench`:\n\n| system | a | b |\n| --- | ---: | ---: |\n| ours | 1 | 2 |" in text
    assert text.endswith("after") == bool(before)


def test_a_wide_table_is_whole_in_80_columns():
    """Words and numbers of a table of six columns broke where a terminal ended."""
    heading = ["system", "tokens per processor second", "GiB at most"]
    heading += [f"{kind} of ours is so many times as fast" for kind in ("float32", "bfloat16")]
    row = ["plain loop, bfloat16", "12,345", "1.25", "1.00 (0.98 to 1.02)", "0.50 (0.49 to 0.51)"]
    other = ["nmt, float32", "7", *row[2:]]
    title, _, name, *lines = render_blocks("target tokens", [heading, row, other]).splitlines()

    assert (title, name) == ("target tokens", "plain loop, bfloat16")
    assert lines[0] == f"  {'tokens per processor second':<41}  {'12,345':>19}"
    assert max(map(len, lines)) < 80
    assert lines[4:6] == ["", "nmt, float32"]
    assert len({len(line) for line in lines if line.startswith("  ")}) == 1
