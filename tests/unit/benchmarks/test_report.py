"""What benchmarks write into the report."""

import pytest

from benchmarks.report import record
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
