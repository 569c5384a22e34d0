"""Settings of several corpora by name, each with the filters that it has."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from nmt_core.base.config import Config
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.named import check_name, list_parallel
from nmt_core.corpora.registered import CorpusConfig

CorpusName = Annotated[str, AfterValidator(check_name)]


class CorporaConfig(Config):
    """Corpora by name, and their filters."""

    languages: Languages
    """A source and a target language."""

    corpora: dict[CorpusName, CorpusConfig] = Field(min_length=1)
    """Where parallel text comes from, by names of your own: as many corpora as there are."""

    filter: FilterConfig = FilterConfig()
    """Filters of training pairs; a corpus with a filter of its own takes from here what that leaves
    out, the look at it, too."""

    @property
    def parallel(self) -> dict[str, Corpus]:
        """The corpora that give pairs, in order."""
        return list_parallel(self.corpora)

    @model_validator(mode="after")
    def _complete_filters(self) -> Self:
        """Give filters of corpora what they leave out."""
        for name, corpus in self.corpora.items():
            if own := corpus.filter:
                given = {setting: getattr(own, setting) for setting in own.model_fields_set}
                whole = FilterConfig(**dict(self.filter) | given)
                self.corpora[name] = corpus.model_copy(update={"filter": whole})
        return self
