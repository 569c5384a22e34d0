"""OPUS's server: an index of archives, each with two files for Moses."""

import json

from tests.support.formats import zipped


def describe_archive(corpus, version, **changes):
    """Return the entry of an archive in the index; some fields may be empty."""
    entry = {
        "alignment_pairs": 3,
        "corpus": corpus,
        "documents": "",
        "id": 31736,
        "latest": "True",
        "preprocessing": "moses",
        "size": 328,
        "source": "de",
        "source_tokens": 12,
        "target": "en",
        "target_tokens": 10,
        "url": f"https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/de-en.txt.zip",
        "version": version,
    }
    return entry | changes


def index(*entries):
    return json.dumps({"corpora": entries}, indent=4).encode()


def archive(pairs, corpus="Tatoeba", source="de", target="en"):
    """Return an archive; a third file has the documents of each pair."""
    members = {
        f"{corpus}.{source}-{target}.{code}": "".join(f"{line}\n" for line in lines)
        for code, lines in zip((source, target), zip(*pairs, strict=True), strict=True)
    }
    ids = "".join(f"de/1.xml.gz\ten/1.xml.gz\t{n}\t{n}\n" for n in range(len(pairs)))
    about = {"README": "about", "LICENSE": "see the page"}
    return zipped(**about, **members, **{f"{corpus}.{source}-{target}.ids": ids})
