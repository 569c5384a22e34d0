"""``make weigh`` lists the tests that take longer than most; ``make test-fast`` leaves them out."""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean

from lxml import etree

from tests.support.order import HEAVY_FILE

HEAVY_SECONDS = 0.1
"""What a test takes that is listed, in the mean of its cases."""


def weigh():
    """Run all but the slow tests, and write the names of those that are heavy."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-m", "not slow", "-n", "auto", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options]
        code = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
        seconds = read_seconds(report)
    names = sorted(name for name, cases in seconds.items() if mean(cases) >= HEAVY_SECONDS)
    HEAVY_FILE.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return code.returncode


def read_seconds(report):
    """Return what each case of each test took, with what it was given and its end."""
    seconds = defaultdict(list)
    for case in etree.parse(report).iter("testcase"):
        parts = case.get("classname").split(".")
        end = next(n for n, part in enumerate(parts, start=1) if part.startswith("test_"))
        names = [f"{'/'.join(parts[:end])}.py", *parts[end:], case.get("name").partition("[")[0]]
        seconds["::".join(names)].append(float(case.get("time")))
    return seconds


if __name__ == "__main__":
    sys.exit(weigh())
