"""A corpus is a file, its line and its preset: a table on the web, added to a project."""

import hashlib
import json
import subprocess
import sys

import pytest
import yaml

from tests.support.projects import a_users_environment, copy_project
from tests.support.web_server import serving, whole

HELD_OUT = ("validation", "test")

FILE = '''
"""Parallel text on the web, in one table."""

from typing import Literal

from pydantic import Field

from nmt_core.corpora.corpus import Corpus, Description, Origin
from nmt_core.corpora.parallel_text import UNUSABLE, Text
from nmt_core.corpora.fetch.address import Address, redact_url
from nmt_core.corpora.fetch.source import Checksum
from nmt_core.corpora.fetch.source import Source


class TableCorpus(Corpus):
    """Lines of a source, a tab and a target."""

    kind: Literal["table"]
    """The tag of this choice."""

    url: Address
    """Address of the table."""

    sha256: Checksum = ""
    """Checksum of the table."""

    def check(self, languages):
        if languages.target != "en":
            raise ValueError(f"all tables are into English, got {languages.target}")

    def sources(self, languages):
        return [Source(self.url, "url", sha256=self.sha256)]

    def obtain(self, languages, *, fetch, scratch):
        [source] = self.sources(languages)
        return {"train": Text(((fetch(source).path,),), UNUSABLE)}

    def origin(self, split, languages):
        return Origin("http", redact_url(self.url))

    def describe(self):
        return Description("table", {"license": "cc0-1.0"}, "A table that anybody may copy.")
'''
LINE = '        "table": "nmt_core.corpora.table:TableCorpus",\n'
PLACE = '        "files": '

TOLD = """
import json
from stages.tracking.run_metadata import describe_dataset
found = describe_dataset("test")
print(json.dumps([found.name, found.source_type, found.source]))
"""


def table(sentences):
    return "".join(f"Satz {n}\tSentence {n}\n" for n in range(sentences)).encode()


@pytest.fixture
def project(tmp_path):
    copy_project(tmp_path, parts=("conf", "nmt_core", "stages"), names=())
    (tmp_path / "nmt_core/corpora/table.py").write_text(FILE)
    registry = tmp_path / "nmt_core/corpora/named.py"
    assert registry.read_text().count(PLACE) == 1
    registry.write_text(registry.read_text().replace(PLACE, LINE + PLACE))
    return tmp_path


@pytest.fixture
def run(project):
    def run(*arguments, fails=False):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=project,
            env=a_users_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert bool(done.returncode) == fails, done.stderr
        return done.stderr if fails else done.stdout

    return run


@pytest.mark.slow
def test_a_source_is_one_file_and_one_line(project, run):
    with serving() as site:
        url = site.put("/a.tsv", whole(table(200)))
        table_ = {"kind": "table", "url": url}
        preset = {"download": {"corpora": {"table": table_}}}
        text = f"# @package _global_\n{yaml.safe_dump(preset)}"
        (project / "conf/data/table.yaml").write_text(text)
        settings = ["data=table", *(f"download.split.{name}_per_10000=900.0" for name in HELD_OUT)]
        french = "download.languages.target=fr"
        told = run("-m", "stages.configure", *settings, french, fails=True)
        assert "all tables are into English, got fr" in told

        run("-m", "stages.configure", *settings)
        params = (project / "params.yaml").read_text()
        assert table_.items() <= yaml.safe_load(params)["download"]["corpora"]["table"].items()
        run("-m", "stages.download")
        assert digest(project) == hashlib.sha256(table(200)).hexdigest()

        site.put("/a.tsv", whole(table(300), tag='"v2"'))
        second = hashlib.sha256(table(300)).hexdigest()
        run("-m", "stages.configure", f"download.corpora.table.sha256={second}")
        run("-m", "stages.download")
        assert digest(project) == second

    pairs = measured(project)["pairs"]
    assert sum(pairs.values()) == 300
    assert min(pairs.values()) > 0
    assert json.loads(run("-c", TOLD)) == ["table de-en", "http", {"url": url}]
    assert measured(project)["corpus"] == {
        "kind": "table",
        "name": "table",
        "licence": {"license": "cc0-1.0"},
        "text": "A table that anybody may copy.",
        "held_out": "by hash, 900 in 10,000, salt 'nmt'",
    }


def measured(project):
    return json.loads((project / "reports/download.json").read_text())


def digest(project):
    return measured(project)["corpora"]["table"]["origins"][0]["sha256"]
