"""A translation memory from the web, an archive of OPUS, a sheet and a table become one text."""

import gzip
import hashlib

from nmt_core.base.config import build
from stages.params import DownloadParams
from tests.support import formats, opus
from tests.support.bringing import bring
from tests.support.web_server import serving, whole

LANGUAGES = {"source": "en", "target": "de"}
SPLIT = {"validation_per_10000": 1500, "test_per_10000": 1500}


def draw(what, count=60):
    return [
        (f"{what} {number} auf Deutsch", f"{what} {number} in English") for number in range(count)
    ]


def test_corpora_of_many_kinds_become_one_text(tmp_path):
    contents = {
        "memory": gzip.compress(formats.tmx(draw("Speicher"))),
        "tatoeba": opus.archive(draw("Satz")),
        "sheet": formats.xlsx(draw("Zelle")),
        "plain": "".join("\t".join(pair[::-1]) + "\n" for pair in draw("Rede")).encode(),
    }
    (tmp_path / "sheet.xlsx").write_bytes(contents["sheet"])
    with serving() as site:
        memory = site.put("/a.tmx.gz", whole(contents["memory"]))
        site.put("/OPUS-Tatoeba/v1/de-en.txt.zip", whole(contents["tatoeba"]))
        plain = site.put("/a.tsv", whole(contents["plain"]))
        host = f"http://127.0.0.1:{site.port}"
        corpora = {
            "memory": {"name": memory, "licence": "cc-by-4.0"},
            "tatoeba": {
                "name": "opus:Tatoeba/v1",
                "url": f"{host}/OPUS-{{corpus}}/{{version}}/{{pair}}.txt.zip",
                "licence": "cc-by-2.0",
            },
            "sheet": {"name": f"{tmp_path}/*.xlsx", "licence": "own"},
            "plain": {"kind": "url", "url": plain, "licence": "own"},
        }
        params = build(
            DownloadParams,
            {"languages": LANGUAGES, "corpora": corpora, "split": SPLIT,
             "near_duplicates": {"distance": 0.0}},
            at="download",
        )  # fmt: skip
        measured, pairs = bring(params, tmp_path / "out", processes=0)
    assert sum(measured["pairs"].values()) == 240
    for name, content in contents.items():
        found = measured["corpora"][name]
        assert sum(found["pairs"].values()) == 60
        assert [one["sha256"] for one in found["origins"]] == [hashlib.sha256(content).hexdigest()]
    lines = [source for source, _ in pairs["train"]]
    assert {line.split()[0] for line in lines} == {"Speicher", "Satz", "Zelle", "Rede"}
    assert all(line.endswith("in English") for line in lines)
