"""Two languages are read from a word such as en-de."""

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages, read_languages


@pytest.mark.parametrize(
    ("named", "source", "target"),
    [
        ("de-en", "de", "en"),
        ("pt-BR-en", "pt-BR", "en"),
        ("en-pt-BR", "en", "pt-BR"),
        (" pt-BR zh-Hant ", "pt-BR", "zh-Hant"),
    ],
)
def test_two_languages_are_read(named, source, target):
    assert read_languages(named) == Languages(source=source, target=target)


@pytest.mark.parametrize(
    "named", ["", "de", "de_en", "-", "de-", "German-English", "DE-EN", "de  en", "a b"]
)
def test_other_words_are_refused(named):
    with pytest.raises(ConfigError, match="de-en"):
        read_languages(named)
