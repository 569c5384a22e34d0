"""Kinds of corpora by name: each is a file with a ``Corpus`` and a line here."""

from typing import Annotated, Any

from nmt_core.base.config import OpenUnion
from nmt_core.base.registry import Registry
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.short_names import expand_name

CORPORA: Registry[type[Corpus]] = Registry(
    "a kind of corpus",
    "nmt.corpora",
    {
        "europarl": "nmt_core.corpora.europarl:EuroparlCorpus",
        "files": "nmt_core.corpora.local:FilesCorpus",
        "mtdata": "nmt_core.corpora.mtdata:MtdataCorpus",
        "opus": "nmt_core.corpora.opus:OpusCorpus",
        "text": "nmt_core.corpora.monolingual:MonolingualCorpus",
        "url": "nmt_core.corpora.web:WebCorpus",
    },
)
"""The settings of each kind of corpus."""


def _expand(settings: Any) -> Any:
    match settings:
        case str(name):
            return expand_name(name)
        case {"name": str(name), **others} if "kind" not in others:
            return expand_name(name) | others
        case {"role": "monolingual", **others} if "kind" not in others:
            return {"kind": "text", **settings}
    return settings


CorpusConfig = Annotated[Corpus, OpenUnion(CORPORA, expand=_expand)]
"""The settings of any corpus, told apart by ``kind``; or a name that stands for them, alone or as
``name`` beside other settings."""
