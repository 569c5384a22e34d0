"""Which code a stage runs, and which of its changes count."""

import ast
from pathlib import Path

import pytest

from stages.runtime.fingerprint import digest_code, parse_code, read_module
from tests.support.projects import PROJECT

CODE = '''"""What it is."""

RATE = 0.5
"""What it is for."""


def halve(values):
    """Halve them."""
    for value in values:
        assert value
        yield value * RATE
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("    for", "    # one by one\n    for", True),
        ('"""Halve them."""', '"""Halve."""\n    "all of them"', True),
        ('    """Halve them."""\n', "", True),
        ('"""What it is."""\n', "", True),
        ('"""What it is for."""\n', "", True),
        ("value * RATE", "(value*RATE)", True),
        ("\n\n\n", "\n", True),
        ("0.5", "0.25", False),
        ("0.5", "'0.5'", False),
        ("0.5", "None", False),
        ("value * RATE", "RATE * value", False),
        ("value * RATE", "value / RATE", False),
        ("        assert value\n", "", False),
        ("        yield", "    yield", False),
        ('    """Halve them."""\n', "    print('Halve them.')\n", False),
        ("def halve", "def", False),
        ("halve", "\0", False),
    ],
)
def test_code_counts_and_words_do_not(tmp_path, old, new, same):
    assert old in CODE
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(CODE)
    after.write_text(CODE.replace(old, new))

    assert same is (read_module(before)[0] == read_module(after)[0])


@pytest.mark.parametrize(
    "block",
    [
        "class C:\n async def f():\n  {}",
        "while f():\n {0}\nelse:\n {0}",
        "try:\n {0}\nexcept E:\n {0}\nelse:\n {0}\nfinally:\n {0}",
        "match f():\n case 1:\n  {}",
    ],
)
def test_words_count_in_no_block(block):
    spoken, silent = (block.format(code).encode() for code in ("'It runs.'; run()", "run()"))

    assert ast.dump(parse_code(spoken)[0]) == ast.dump(parse_code(silent)[0])


FILES = {
    "stages/train.py": "import os\nfrom nmt_core.text import cut\nfrom stages import paths\n",
    "stages/paths.py": "import nmt_core.hidden\n",
    "stages/tracking/journal.py": "",
    "nmt_core/text/__init__.py": "import torch\n",
    "nmt_core/text/cut.py": "def cut():\n    from nmt_core.late import work\n",
    "nmt_core/late.py": "KINDS = {'a': 'nmt_core.named:A', 'b': 'nmt_core.gone:B'}\n",
    "nmt_core/words.txt": "one\n",
    "nmt_core/pages/page.html": "<p>\n",
    "nmt_core/pages/parts/part.html": "<b>\n",
    "nmt_core/named.py": "import stages.tracking.journal\nimport nmt_core.package\n"
    "A, B = (Path(__file__).with_name(name) for name in 'ab')\n"
    "A, B = A.with_name('words.txt'), B.with_name('pages')\nA.with_name('missing.txt')\n",
    "nmt_core/package/__init__.py": "import nmt_core.late\n",
    "nmt_core/evaluation/metrics.py": "",
    "nmt_core/hidden.py": "'nmt_core.unused:X'\n",
    "nmt_core/unused.py": "",
}
TRAIN = {
    "stages/train.py",
    "nmt_core/text/cut.py",
    "nmt_core/late.py",
    "nmt_core/named.py",
    "nmt_core/package/__init__.py",
    "nmt_core/evaluation/metrics.py",
    "nmt_core/words.txt",
    "nmt_core/pages/page.html",
    "nmt_core/pages/parts/part.html",
}


def test_a_stage_runs_what_it_imports_or_names(tmp_path, monkeypatch):
    """Also in functions and registries, but not through neutral code."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)

    digests = digest_code(["train", "evaluate"])
    assert digests["train"].keys() == TRAIN
    assert digests["evaluate"].keys() == {f for f in FILES if "metrics" in f}
    assert len({*digests["train"].values()}) == len(TRAIN)


@pytest.mark.parametrize(
    ("stage", "names"),
    [
        ("train", set()),
        ("download", {"base.html", "data.html", "parts.html", "style.css"}),
        ("evaluate", {"base.html", "run.html", "parts.html", "style.css"}),
        ("export", {"card.md"}),
    ],
)
def test_a_stage_depends_on_its_templates(stage, names, monkeypatch):
    monkeypatch.chdir(PROJECT)
    found = {Path(name) for name in digest_code([stage])[stage]}
    assert {path.name for path in found if path.parent.name == "templates"} == names
    assert (Path("stages/demo/grammar.txt") in found) is (stage == "download")
