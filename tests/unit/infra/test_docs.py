"""Links in the documentation lead to existing pages, also on the site."""

import re
import subprocess

import pytest

from infra.docs import LINK, rewrite_links
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
