"""Kinds of corpora by name: each is a file with a ``Corpus`` and a line here."""

from typing import Annotated

from nmt_core.base.config import OpenUnion
from nmt_core.base.registry import Registry
from nmt_core.corpora.corpus import Corpus

CORPORA: Registry[type[Corpus]] = Registry(
    "a kind of corpus",
    "nmt.corpora",
    {
        "dates": "stages.dates.corpus:DatesCorpus",
        "demo": "stages.demo.corpus:DemoCorpus",
        "europarl": "nmt_core.corpora.europarl:EuroparlCorpus",
        "files": "nmt_core.corpora.local:FilesCorpus",
    },
)
"""The settings of each kind of corpus."""

CorpusConfig = Annotated[Corpus, OpenUnion(CORPORA)]
"""The settings of any corpus, told apart by ``kind``."""
