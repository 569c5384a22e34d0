"""Numbers with their units, written as languages write them.

Tables follow CLDR 48 as far as Babel shows it, and a test compares them; see ``number_format.py``.
"""

from collections.abc import Container, Iterable, Iterator

from typing_extensions import override

from nmt_core.literals.kind import LiteralKind, LiteralSpan
from nmt_core.literals.number import DIGIT, Number
from nmt_core.literals.units import CURRENCY, find_unit, normalize_unit, read_spelled
from nmt_core.literals.worth import name_scaled, write_worth

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
SPACE = "\N{NO-BREAK SPACE}"

_CURRENCIES = {
    f"¤{SPACE}#": (
        "aa ab an ann apc arn as ba bal bew bgc bgn blo blt bo brx bss byn cad cch cho cic ckb co "
        "cop csw cu de-AT de-CH de-LI dv en-AT en-CH en-MV en-NL eo es-PE es-PY es-UY fa frr fur "
        "fy gaa gez gn ha hnj ia ie ii io it-CH iu jbo jgo jv kaa kaj kcg ken kgp kkj kok kpe ksh "
        "la lag lij lkt lmo lrc ltg mai mdf mfe mg mgh mgo mhn mi mic mn mni moh ms-BN mus myv mzn "
        "nds ne nl nnh nqo nso nv ny oc os osa pap pis prg ps pt qu quc raj rhg rif rw sat scn sd "
        "sdh shn sid skr sma smj sms ssy sw syr szl ta-MY ta-SG tig to trv trw ts tyv vmw vo wa "
        "wae wal wbp wo yi yrl za"
    ),
    f"#{SPACE}¤": (
        "ar asa ast az bas be bg br bs ca ce cs cv da de dsb dua dyo el en-150 en-BE en-CZ en-DE "
        "en-DK en-ES en-FI en-FR en-HU en-IT en-NO en-PL en-PT en-RO en-SE en-SI en-SK es et eu "
        "ewo ff fi fo fr gl gsw he hr hsb ht hu hy is it ka kea kk ksf ku ky lb lld ln lt lv mk my "
        "nb nmg nn no pl pt-AO pt-CH pt-CV pt-GQ pt-GW pt-LU pt-MO pt-MZ pt-PT pt-ST pt-TL rm ro "
        "ru sah sc se sk sl smn sq sr sv tg tk tpi tt tzm uk uz vi xog yav"
    ),
    f"#{NARROW_SPACE}¤": "vec",
    "#¤": "agq bez bn ccp dje kab khq km ksb lg lu luo rn rwk sbp seh ses shi twq zgh",
    "¤#": (
        "bn-IN es-419 es-AR es-BO es-BR es-BZ es-CL es-CO es-CR es-CU es-DO es-EC es-GT es-HN "
        "es-MX es-NI es-PA es-PR es-SV es-US es-VE"
    ),
}
_PERCENTS = {
    f"#{SPACE}¤": (
        "ab bas be br ca ce co cs cu cv da de dsb dua dz en-AT en-DE en-DK en-FI en-NO en-SE es fi "
        "fo fr gl gsw hr hsb ht kl ksh lb lt mk nb nds nn no qu rm rn ro ru se sk sl smn sv "
        "tk tt zgh"
    ),
    f"¤{SPACE}#": "blo eu",
    f"#{NARROW_SPACE}¤": "oc",
    "¤#": "ku tok tr",
    "#¤": (
        "de-CH de-LI es-419 es-AR es-BO es-BR es-BZ es-CL es-CO es-CR es-CU es-DO es-EC es-GT "
        "es-HN es-MX es-NI es-PA es-PE es-PR es-PY es-SV es-US es-UY es-VE fr-CH"
    ),
}


_CURRENCY_PATTERNS, _PERCENT_PATTERNS = (
    {code: pattern for pattern, codes in table.items() for code in codes.split()}
    for table in (_CURRENCIES, _PERCENTS)
)


class Amount(LiteralKind):
    """Numbers with the units beside them."""

    name = "amount"
    symbol_class = "number"

    def __init__(self, numbers: Container[str]) -> None:
        """Take the numbers, as they are written, whose units count as parts of them.

        Words of scale do so, too, of those that are given with them.
        """
        self._numbers = numbers

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        end = 0
        for number in Number().find(line, language):
            text = line[number.start : number.end]
            unit = find_unit(line, number.start, number.end)
            loses_scale = number.scale and name_scaled(text, number.scale) in self._numbers
            if not (loses_scale or (unit and text in self._numbers)):
                continue
            start = min(number.start, unit.start) if unit else number.start
            if start >= end:  # a sign between two numbers is that of the first
                end = max(number.end, unit.end) if unit else number.end
                if loses_scale:
                    words = line.index(number.scale, number.end)
                    end = max(end, find_scale_end(line, words, number.scale))
                beside = line[max(0, start - 1) : start] + line[end : end + 1]
                if not DIGIT.search(beside):  # unlike 5€50
                    yield LiteralSpan(start, end, *number[2:])

    @override
    def write(self, text: str, source: str, target: str) -> str:
        if source == target:
            return text
        number = next(Number().find(text, source))
        figure, unit = text[number.start : number.end], read_spelled(number.unit)
        written = Number().write(figure, source, target)
        if number.scale:
            written = write_worth(figure, number.scale, source, target)
            unit = normalize_unit(unit)
        pattern = find_pattern(unit, target)
        if number.scale and pattern is None:
            return f"{written} {unit}".rstrip()
        if pattern is None:
            return text[: number.start] + written + text[number.end :]
        digits = written.lstrip("+-")
        sign = written.removesuffix(digits)
        return sign + pattern.replace("#", digits).replace("¤", unit)


def list_with_amounts(kinds: Iterable[LiteralKind], numbers: Container[str]) -> list[LiteralKind]:
    """Return kinds of literals, with some numbers, as they are written, as amounts with units."""
    return [*(one for one in kinds if one.name != Number.name), Amount(numbers), Number()]


def find_scale_end(line: str, start: int, scale: str) -> int:
    """Return where words of scale end, with the dot of an abbreviation amid a line."""
    end = start + len(scale)
    return end + 1 if line[end : end + 1] == "." and line[end + 1 :].strip() else end


def find_pattern(unit: str, language: str) -> str | None:
    """Return how a language writes a currency, or parts of a hundred or thousand, with a number.

    Returns:
        ``¤`` where the unit stands and ``#`` where the number does, with the space between them;
        None for other units, which stand as they do in any language.
    """
    base = language.partition("-")[0]
    if unit in {"%", "‰"}:
        return _PERCENT_PATTERNS.get(language, _PERCENT_PATTERNS.get(base, "#¤"))
    if CURRENCY.fullmatch(unit):
        return _CURRENCY_PATTERNS.get(language, _CURRENCY_PATTERNS.get(base, "¤#"))
    return None
