"""How languages write numbers in Latin digits, as CLDR 48 has it: a test compares it with Babel.

A table, so that an exported model needs no package of 31 MB for two characters.
"""

from typing import NamedTuple


class NumberFormat(NamedTuple):
    """How a language writes numbers."""

    decimal: str
    group: str


POINT, COMMA = NumberFormat(".", ","), NumberFormat(",", ".")
"""The formats of English and German; a language that is not named has the first."""

_LANGUAGES = {
    NumberFormat(",", "\N{NO-BREAK SPACE}"): (
        "af agq bas be bg blo br cs cv dua dyo en-CZ en-FI en-HU en-NO en-PT en-SE en-SK en-ZA eo "
        "es-CR et ewo ff fi fr-CA ht hu hy ie ka kab kea kk ksf ky lt lv nb nmg nn no nr pl pt-AO "
        "pt-CH pt-CV pt-GQ pt-GW pt-LU pt-MO pt-MZ pt-PT pt-ST pt-TL ru sah se shi sk smn sq ss "
        "sv tg tk tok ts tt tzm uk uz ve yav zgh"
    ),
    COMMA: (
        "ar-DZ ar-LB ar-LY ar-MA ar-MR ar-TN ast az bs ca da de dsb el en-AT en-BE en-DE en-DK "
        "en-ES en-ID en-IT en-NL en-PL en-RO en-SI es eu fo fr-LU fy gl hr hsb ia id is it jgo jv "
        "kgp kkj kl ku lb lij lld ln lo lu mgh mk ms-BN ms-ID mua nl nnh ps pt qu-BO rn ro rw sc "
        "seh sg sl sr su sw-CD tr vi wo yrl"
    ),
    NumberFormat(".", "’"): ("de-CH de-LI en-CH gsw it-CH rm tn"),
    NumberFormat(".", "\N{NO-BREAK SPACE}"): ("dje khq mfe nso ses twq xh"),
    NumberFormat(",", "\N{NARROW NO-BREAK SPACE}"): ("en-FR fr vec"),
    POINT: ("es-419 es-BR es-BZ es-CU es-DO es-GT es-HN es-MX es-NI es-PA es-PE es-PR es-SV es-US"),
}

_FORMATS = {code: form for form, codes in _LANGUAGES.items() for code in codes.split()}


def find_number_format(language: str) -> NumberFormat:
    """Return how a language writes numbers; as English does if nothing is known of it."""
    base = language.partition("-")[0]
    return _FORMATS.get(language, _FORMATS.get(base, POINT))
