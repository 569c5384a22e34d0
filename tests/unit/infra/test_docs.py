"""Links in the documentation lead to existing pages, also on the site."""

import json
import re
import subprocess
from importlib import import_module

import pytest

from infra.docs import COURSE, LINK, build_notebook, list_pages, rewrite_links
from tests.support.projects import PROJECT

LISTED = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=PROJECT, capture_output=True, text=True, check=True
)
DOCUMENTS = LISTED.stdout.splitlines()


def list_anchors(text):
    """Return the anchors of the headings of a Markdown file, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_and_headings(document):
    path = PROJECT / document
    for link in LINK.finditer(path.read_text()):
        target = path.parent / link[1]
        assert target.exists(), link[0]
        if link[2]:
            assert link[2][1:] in list_anchors(target.read_text()), link[0]


@pytest.mark.parametrize(
    ("link", "rewritten"),
    [
        ("[a](integrate.md#lines)", "[a](integrate.md#lines)"),
        ("[a](page.png)", "[a](page.png)"),
        ("[a](../dvc.yaml)", "[a](https://x.org/nmt/blob/main/dvc.yaml)"),
        ("[a](../infra)", "[a](https://x.org/nmt/blob/main/infra)"),
        ("[a](https://y.org/z) and [b](#here)", "[a](https://y.org/z) and [b](#here)"),
    ],
)
def test_external_links_lead_to_the_repository(monkeypatch, link, rewritten):
    monkeypatch.chdir(PROJECT)
    path = (PROJECT / "docs/your-text.md").relative_to(PROJECT)
    assert rewrite_links(path, link, "https://x.org/nmt") == rewritten


PAGE = (
    "# Count\n\nCount.\n\n```\nnmt\n```\n\n```text\n5.4\n```\n\nDraw:\n```python\nprint(1)\n\n```\n"
)


def test_notebook_has_the_cells_of_its_pages_and_no_outputs(tmp_path):
    (tmp_path / "1.md").write_text(PAGE)
    cells = build_notebook([tmp_path / "1.md"] * 2)["cells"]

    sources = ["# Count\n\nCount.", "%%bash\nnmt", "Draw:", "print(1)"]
    assert ["".join(cell["source"]) for cell in cells] == sources * 2
    assert [cell.get("outputs") for cell in cells] == [None, [], None, []] * 2


def test_notebook_of_the_course_is_that_of_its_pages():
    """``python -m infra.docs`` writes it."""
    notebook = json.loads((PROJECT / COURSE / "course.ipynb").read_text())

    assert notebook == build_notebook(list_pages(PROJECT / COURSE))


def test_names_that_the_course_imports_exist():
    cells = build_notebook(list_pages(PROJECT / COURSE))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = "\n".join([*code, (PROJECT / COURSE / "toy.py").read_text()])
    names = re.findall(r"^from ((?:nmt_core|stages)[\w.]*) import (.+)", lines, re.MULTILINE)

    assert len(names) > 10
    for module, imported in names:
        assert all(hasattr(import_module(module), name) for name in imported.split(", ")), module
