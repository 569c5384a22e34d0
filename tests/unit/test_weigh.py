"""Which tests ``make test-fast`` leaves out, for they take long."""

import re

from tests.support.order import HEAVY
from tests.support.projects import PROJECT
from tests.support.weigh import read_seconds

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_x[a[b]]" time="0.5"/>
<testcase classname="tests.unit.test_a" name="test_x[2]" time="0.25"/>
<testcase classname="tests.unit.test_a.TestB" name="test_y" time="2"/>
</testsuite></testsuites>"""


def test_cases_of_a_test_are_weighed_together(tmp_path):
    (path := tmp_path / "report.xml").write_text(REPORT)

    assert read_seconds(path) == {
        "tests/unit/test_a.py::test_x": [0.5, 0.25],
        "tests/unit/test_a.py::TestB::test_y": [2.0],
    }


def test_what_is_left_out_is_there():
    """Else a test that was renamed would be weighed under its old name."""
    for name in HEAVY:
        file, *_, test = name.split("::")
        assert re.search(rf"\bdef {test}\b", (PROJECT / file).read_text()), name
