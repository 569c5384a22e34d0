"""What the files of the page contain, and what they never contain."""

import re

import pytest

from nmt_core.server.settings import ServerConfig
from tests.support.projects import PROJECT

PAGE = PROJECT / "nmt_core" / "server" / "page"
FILES = {path.name: path.read_text() for path in sorted(PAGE.iterdir())}
INDEX = FILES["index.html"]
SCRIPTS = [name for name in FILES if name.endswith(".js")]


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_another_address(name):
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", FILES[name])

    assert [] == [one for one in addresses if one != "http://www.w3.org/2000/svg"]


def test_nothing_is_inline_under_a_strict_policy():
    assert [] == re.findall(r"<style|\sstyle=|\son\w+=|javascript:", INDEX)
    assert [] == [one for one in re.findall(r"<script([^>]*)>", INDEX) if "src=" not in one]


@pytest.mark.parametrize("name", SCRIPTS)
def test_text_is_never_read_as_html(name):
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|Function\("

    assert [] == re.findall(markup, FILES[name])
    assert [] == re.findall(r"document\.cookie|sessionStorage|indexedDB", FILES[name])
    assert ("localStorage" in FILES[name]) == (name == "terms.js")


def test_every_file_is_requested_and_exists():
    named = set(re.findall(r'(?:src|href)="([\w.]+)"', INDEX)) - {"docs"}
    for name in SCRIPTS:
        named |= set(re.findall(r'from "\./([\w.]+)"', FILES[name]))

    assert {*FILES} == named | {"index.html", "docs.html"}


def test_elements_used_by_scripts_exist_once():
    ids = re.findall(r'\sid="([\w-]+)"', INDEX)
    wanted = {
        one
        for name in SCRIPTS
        for one in re.findall(r"(?:find|getElementById)\(\"([\w-]+)\"\)", FILES[name])
    }

    assert len(ids) == len(set(ids))
    assert wanted <= set(ids)
    assert set(re.findall(r'(?:\sfor|aria-\w+by)="([\w-]+)"', INDEX)) <= set(ids)


def test_the_page_waits_as_long_as_the_server():
    """Otherwise it would discard a file that is nearly done, however often it is sent."""
    [milliseconds] = re.findall(r"const PATIENCE = ([\d_]+);", FILES["api.js"])

    assert int(milliseconds) > 1000 * ServerConfig().work_seconds
