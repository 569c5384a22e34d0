"""Each step of the course prints what its page shows; they run in order, in one namespace."""

import math
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest
import torch

from infra.docs import COURSE, list_pages, split_page
from stages.runtime.checkout import find_free_port
from tests.support.projects import PROJECT, a_users_environment

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?(?: %)?")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course in a folder of its own, whose environment is active; and what it has defined."""
    top, threads = tmp_path_factory.mktemp("course"), torch.get_num_threads()
    shutil.copytree(PROJECT / COURSE, top / COURSE, ignore=shutil.ignore_patterns("work"))
    (top / ".venv/bin").mkdir(parents=True)
    (top / ".venv/bin/activate").touch()
    yield top / COURSE, {"port": str(find_free_port("127.0.0.1"))}
    torch.set_num_threads(threads)
    sys.modules.pop("toy", None)


def run(kind, text, names):
    """Run a block as a notebook does; return its output."""
    if kind == "python":
        with redirect_stdout(StringIO()) as output:
            exec(compile(text, "course", "exec"), names)  # noqa: S102
        return output.getvalue()
    ends = "trap 'kill $(jobs -p) 2> /dev/null || :' EXIT\n"  # a server, if what follows it fails
    script = ["bash", "-eo", "pipefail", "-c", ends + text.replace("5005", names["port"])]
    env = a_users_environment() | {"PYTHONPATH": str(PROJECT)}
    return subprocess.run(script, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


def is_shown(shown, printed):
    """Tell whether two lines are equal, but for spaces and what another processor may learn."""
    words = [NUMBER.sub("0", line).split() for line in (shown, printed)]
    numbers = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False)
    return words[0] == words[1] and all(
        math.isclose(*(float(each.rstrip(" %")) for each in pair), rel_tol=0.3, abs_tol=bound)
        for pair in numbers
        for bound in [15 if pair[0].endswith("%") else 0.1]
    )


@pytest.mark.parametrize("page", list_pages(PROJECT / COURSE), ids=lambda page: page.stem)
def test_step_prints_what_its_page_shows(course, page, monkeypatch):
    folder, names = course
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    printed = ""
    for kind, text in split_page(page.read_text()):
        if kind == "text":
            lines = iter(printed.splitlines())  # in order; others may stand between
            missing = [x for x in text.splitlines() if not any(is_shown(x, each) for each in lines)]
            assert not missing, printed
        elif kind != "markdown":
            printed = run(kind, text, names)
