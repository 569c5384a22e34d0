"""A source of parallel text is one file and its line: a table on the web, added to a project."""

import hashlib
import json
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.support.projects import PROJECT, a_users_environment
from tests.support.web_server import serving, whole

HELD_OUT = ("validation", "test")

FILE = '''
"""Parallel text on the web, in one table."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from nmt_core.fetch.address import Address, redact_url
from nmt_core.corpora.corpus import Corpus, Description, Obtained, Origin
from nmt_core.text.languages import Languages
from nmt_core.fetch.settings import Renewed
from nmt_core.fetch.source import Fetch, Source
from nmt_core.corpora.parallel_text import UNUSABLE, Text


class TableCorpus(Corpus):
    """Lines of a source, a tab and a target."""

    kind: Literal["table"]
    """The tag of this choice."""

    url: Address
    """Address of the table."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksum of the table."""

    def check(self, languages):
        if languages.target != "en":
            raise ValueError(f"all tables are into English, got {languages.target}")

    def sources(self, languages):
        return [Source(self.url, "download.corpus.url", renewed=self.renewed)]

    def obtain(self, languages, *, fetch, scratch):
        [source] = self.sources(languages)
        table = fetch(source)
        return Obtained({"train": Text(((table.path,),), UNUSABLE)}, [table.origin])

    def origin(self, split, languages):
        return Origin("http", redact_url(self.url))

    def describe(self):
        return Description("table", {"license": "cc0-1.0"}, "A table that anybody may copy.")
'''
LINE = "CorpusConfig = Annotated[\n    DatesCorpus |"

TOLD = """
import json
from stages.params import DownloadParams, load
from stages.registry.exported import describe_rule
from stages.tracking.run_metadata import describe_dataset
download = load(DownloadParams, "download")
found = describe_dataset("test")
print(json.dumps([found.name, found.source_type, found.source, describe_rule(download)]))
print(json.dumps(download.corpus.describe()))
"""


def table(sentences):
    return "".join(f"Satz {n}\tSentence {n}\n" for n in range(sentences)).encode()


@pytest.fixture
def project(tmp_path):
    for part in ("conf", "nmt_core", "stages"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / part, tmp_path / part, ignore=ignored)
    (tmp_path / "nmt_core/fetch/table.py").write_text(FILE)
    params = tmp_path / "stages/params.py"
    assert params.read_text().count(LINE) == 1
    line = LINE.replace("[", "[TableCorpus | ")
    before = "from nmt_core.fetch.table import TableCorpus\n\n"
    params.write_text(params.read_text().replace(LINE, before + line))
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
        preset = {"download": {"corpus": {"kind": "table", "url": url, "renewed": {}}}}
        text = f"# @package _global_\n{yaml.safe_dump(preset)}"
        (project / "conf/data/table.yaml").write_text(text)
        settings = ["data=table", *(f"download.split.{name}_per_10000=900.0" for name in HELD_OUT)]
        french = "download.languages.target=fr"
        told = run("-m", "stages.configure", *settings, french, fails=True)
        assert "all tables are into English, got fr" in told

        run("-m", "stages.configure", *settings)
        params = (project / "params.yaml").read_text()
        assert "    # Address of the table.\n" in params
        assert yaml.safe_load(params)["download"]["corpus"] == preset["download"]["corpus"]
        told = run("-m", "stages.configure.refresh")
        first = hashlib.sha256(table(200)).hexdigest()
        assert told == f"{url} had no pin and got one: SHA-256 {first}\n"
        run("-m", "stages.download")
        assert measured(project, "sha256") == first

        site.put("/a.tsv", whole(table(300), tag='"v2"'))
        run("-m", "stages.download")
        assert measured(project, "sha256") == first
        second = hashlib.sha256(table(300)).hexdigest()
        assert run("-m", "stages.configure.refresh") == f"{url} changed: SHA-256 {second}\n"
        run("-m", "stages.download")
        assert measured(project, "sha256") == second

    pairs = json.loads((project / "metrics/download.json").read_text())["pairs"]
    assert sum(pairs.values()) == 300
    assert min(pairs.values()) > 0
    [origin, description] = map(json.loads, run("-c", TOLD).splitlines())
    rule = "by hash, 900 in 10,000, salt 'nmt'"
    assert origin == ["table de-en", "http", {"url": url}, rule]
    assert description == ["table", {"license": "cc0-1.0"}, "A table that anybody may copy."]


def measured(project, what):
    metrics = json.loads((project / "metrics/download.json").read_text())
    return metrics["origins"]["0"][what]
