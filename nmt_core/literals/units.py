"""Signs of units and currencies beside numbers, and the words that stand for them."""

import regex

from nmt_core.literals.kind import Literal, LiteralSpan

SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
"""Spaces between a number and its unit, and in numbers, where a plain one groups threes alone."""

SAME_UNITS = {"EUR": "€", "USD": "$", "US$": "$", "GBP": "£"}
SAME_UNITS |= {"m²": "m2", "m³": "m3", "m/s²": "m/s2"}
"""Signs that say the same."""

LONGEST_UNIT = 12
"""Characters beside a number in which its unit is looked for."""

_SPELLED = {
    "%": r"(?i:prozent|per ?cent|pour ?cent|por ?ciento|por ?cento|per ?cento|procent|procento?|"
    r"процент(?:а|ов)?|відсотк(?:а|ів|и))",
    "€": r"(?i:euros?|евро|євро|ευρώ)",
    "$": r"(?i:(?:us-)?dollars?|dólar(?:es)?|доллар(?:а|ов)?|долар(?:а|ів|и)?)",
}
"""Words that stand behind a number as a sign does, and for nothing else, in some languages."""
_SPELLED_SIGNS = {sign: regex.compile(words) for sign, words in _SPELLED.items()}
_ANY_SPELLED = "|".join(_SPELLED.values())
LONGEST_SIGN = 3
"""Letters of signs that are no words, but for those of thousands."""

CURRENCY = regex.compile(r"US\$|\p{Sc}")
_CODES = "EUR|USD|GBP"
_THOUSANDS = r"(?:[kKMGT]|Mds?|mln|mld|mrd|Mi[oa]\.?|Mrd\.?)"
"""What stands between a number and a currency for thousands, millions and so on."""

_UNIT = (
    r"%(?!\p{Nd}|[({]|[sdifux@](?!\p{L}))|"  # which would be a placeholder
    rf"‰|°[CF]?|(?:{_CODES})(?![\p{{L}}\p{{Nd}}])|"
    rf"(?:{_THOUSANDS}[{SPACES}]?)?(?:{CURRENCY.pattern})(?!\p{{Nd}})|"
    r"(?:km/h|m/s[²2]?|[kMGT]?Wh|[kMGT]?Hz|[kMG]?W|[kM]?V|m?A|[kM]?J|[hk]?Pa|[kMGT]i?B|"
    r"[kMGT]?bit/s|[µnmckd]?m[²³23]?|[µnmk]?g|[mcdh]?l|mL|[µnm]?M|ha|kcal|"
    rf"(?:{_ANY_SPELLED})(?!-))(?![\p{{L}}\p{{Nd}}'’])"
)
MILLIONS_OR_METRES = "m"
"""A sign behind a number that does not count before one of a currency, as in *£5m*."""
_UNIT_AFTER = regex.compile(rf"[{SPACES}]?({_UNIT})")
_UNIT_BEFORE = regex.compile(rf"({CURRENCY.pattern}|(?<!\p{{L}})(?:{_CODES}))[{SPACES}]?$")

LONE_SIGN = regex.compile(
    rf"(?<![\p{{L}}°%‰\p{{Sc}}])(?<!\p{{N}}[{SPACES}]?(?:{_THOUSANDS}[{SPACES}]?)?)"
    rf"(?:{CURRENCY.pattern}|[%‰])(?![\p{{L}}%‰\p{{Sc}}{{(]|[{SPACES}]?\p{{Nd}})"
)
"""A sign of a currency or of parts of a hundred or thousand that stands beside no number, as in
*{price} €*."""

_DEGREES = (
    r"celsi|cels[ij]|celz|цельс|gra[adu]|grá[du]|grād|degr|stup|stop|aste|kraad|derece|laips|fok|βαθ|"
    r"μοίρ|град|度"
)
_NAMES = {
    sign: regex.compile(rf"(?<![\p{{Latin}}\p{{Cyrillic}}\p{{Greek}}])(?:{names})")
    for sign, names in {
        "%": r"per ?c[ei]nt|p[eo]r ?cien|por ?cent|pour ?cent|pro[csz]+en|prósent|protsent|odst|"
        r"posto|százal|yüzde|τοι[σς] ?εκατ|процен|відсот|パーセント|百分",
        "€": r"e[uúv]ro?(?!o?p)|eir[aou]|e[uv]r[aei]|ewro|ευρ(?!ω?π)|ев?вро(?!п)|евр[ао](?!п)|"
        r"євро(?!п)|ユーロ|欧元",
        "$": r"usd|dol|dól|dalir|dalur|δολ|дол|ドル|美元",
        "£": r"gbp|pou?nd|pund|pfund|punt|funt|font|lib[er]|libier|nael|livre|lir[ae]|sterl|svar|"
        r"mārc|фунт|лир|λίρ|ポンド|英镑",
        "°": _DEGREES,
        "°C": _DEGREES,
        "°F": rf"fahr|{_DEGREES}",
    }.items()
}
"""What words for some units begin with, in lower case, in languages of Europe and a few others: of
other languages, the sign alone counts."""

_WORDS_BEHIND = 3
"""Words behind a number among which that of its unit stands, such as *square metres*."""
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_LATIN = regex.compile(r"\p{Latin}")


def find_unit(line: str, start: int, end: int) -> LiteralSpan | None:
    """Return where the sign of a unit or currency stands beside a number; None if there is none."""
    match = _UNIT_AFTER.match(line, end, end + LONGEST_UNIT)
    if match is None or match[1] == MILLIONS_OR_METRES:
        match = _UNIT_BEFORE.search(line, max(0, start - LONGEST_UNIT), start) or match
    return LiteralSpan(*match.span(1)) if match else None


def read_spelled(unit: str) -> str:
    """Return the sign that a unit in words stands for; signs as they are."""
    if len(unit) <= LONGEST_SIGN:
        return unit
    return next((sign for sign, words in _SPELLED_SIGNS.items() if words.fullmatch(unit)), unit)


def normalize_unit(sign: str) -> str:
    """Return the one of the signs that say the same; thousands of a currency may be said anyhow."""
    sign = read_spelled(sign)
    currency = CURRENCY.search(sign)
    alone = currency[0] if currency else sign
    return SAME_UNITS.get(alone, alone)


def names_sign(line: str, sign: str) -> bool:
    """Tell whether a line says a sign such as ``€`` in words, anywhere."""
    names = _NAMES.get(sign)
    return names is not None and names.search(line.casefold()) is not None


def is_money(line: str, number: Literal) -> bool:
    """Tell whether a sign or a word for a currency stands right beside a number."""
    if CURRENCY.search(number.unit):
        return True
    behind = _WORD.search(line, number.end, number.end + LONGEST_UNIT)
    if behind is None or line[number.end : behind.start()].strip():
        return False
    return any(names_sign(line[behind.start() :][:LONGEST_UNIT], sign) for sign in "€$£")


def names_unit(line: str, number: Literal, sign: str) -> bool:
    """Tell whether a line says a unit in words: a sign anywhere, others behind the number.

    Args:
        line: text of any language.
        number: a literal in it.
        sign: of a unit, see :func:`normalize_unit`.
    """
    if not sign[0].isalpha():
        return names_sign(line, sign)
    behind = _WORD.findall(line, number.end)[:_WORDS_BEHIND]
    initial = sign[0].replace("µ", "m").casefold()
    return any(one[0].casefold() == initial or not _LATIN.match(one) for one in behind)
