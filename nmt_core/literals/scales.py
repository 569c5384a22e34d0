"""Words of scale beside numbers in digits, such as *million*, and what powers of ten they mean.

The words are those of CLDR 48 for compact numbers (Unicode Technical Standard 35, part 3, section
2.4), with other abbreviations that texts use; a test compares them with Babel.
"""

from functools import lru_cache
from itertools import combinations

import regex

from nmt_core.literals.units import SPACES

GAPS = f"{SPACES}\N{HYPHEN-MINUS}"
"""What may stand between a number and a word of scale."""

_SERBIAN = "3 hiljad- hilj 6 milion- mil 9 milijard- mlrd 12 bilion- bil"
_CHINESE = "2 百- 3 千- 4 万- 萬- 8 亿- 億- 12 兆-"
_NORWEGIAN = "2 hundre- 3 tusen- 6 million- mill mio 9 milliard- mrd 12 billion- bill"

_WORDS = {
    "af": "2 honderd 3 duisend 6 miljoen- 9 miljard- mjd 12 biljoen-",
    "ak": "3 apem mpem 6 ɔpepem 9 ɔpepepem 12 ɔpepepepem",
    "am": "3 ሺ 6 ሚሊዮን- 9 ቢሊዮን- 12 ትሪሊዮን-",
    "ar": "3 ألف- آلاف 6 مليون- ملايين 9 مليار- 12 ترليون- تريليون-",
    "az": "6 milyon- mln 9 milyard- mlrd 12 trilyon- trln",
    "be": "3 тысяч- тыс 6 мільён- млн 9 мільярд- млрд 12 трыльён- трлн",
    "bg": "3 хиляд- хил 6 милион- млн 9 милиард- млрд 12 трилион- трлн",
    "bs": _SERBIAN,
    "ca": "3 mil miler- 6 milió milion- 12 bilió bilion-",
    "chr": "3 ꭲꮿꭶᏼꮅ 6 ꭲᏻꮖꮧꮕꮫ 9 ꭲꮿꮤꮃꮧꮕꮫ 12 ꭲꮿꮶꭰꮧꮕꮫ",
    "cs": "3 tisíc- tis 6 milion- mil mio 9 miliard- mld 12 bilion- bil",
    "cy": "3 mil 6 miliwn- 9 biliwn- 12 triliwn-",
    "da": "2 hundrede- 3 tusind- 6 million- mio mill 9 milliard- mia mrd 12 billion- bio",
    "de": "2 hundert- 3 tausend- tsd 6 million- mio mill 9 milliard- mrd mia 12 billion- bio",
    "ee": "3 akpe 6 miliɔn 9 biliɔn 12 triliɔn",
    "el": "3 χιλιάδ- χιλ 6 εκατομμ- εκατ 9 δισεκατομμ- δισ 12 τρισεκατομμ- τρισ",
    "en": "2 hundred- 3 thousand- 5 lakh- 6 million- mln mn 7 crore- 9 billion- bln bn "
    "12 trillion-",
    "eo": "3 mil 6 milion- 9 miliard- 12 duilion-",
    "es": "3 mil miles millar- 6 millón millon- mill 9 millardo- 12 billón billon-",
    "et": "3 tuhat tuhande- tuh 6 miljon- mln 9 miljard- mld 12 triljon- trln",
    "fa": "3 هزار- 6 میلیون- 9 میلیارد- 12 تریلیون- هزارمیلیارد",
    "fi": "3 tuha- 6 miljoon- milj 9 miljardi- mrd 12 biljoon- bilj",
    "fil": "3 libo- 6 milyon- 9 bilyon- 12 trilyon-",
    "fo": "3 túsund- tús 6 millión- mió 9 milliard- mia 12 billión- bió",
    "fr": "3 mille millier- 6 million- mio 9 milliard- mrd mds 12 billion-",
    "ga": "3 míle mhíle 6 milliún- mhilliún- 9 billiún- bhilliún- mbilliún- "
    "12 trilliún- thrilliún- dtrilliún-",
    "he": "3 אלף- אלפי- 6 מיליון- מיליוני- 9 מיליארד- 12 טריליון-",
    "hi": "3 हज़ार- 5 लाख- 7 करोड़- 9 अरब- 11 खरब- 13 नील-",
    "hr": "3 tisuć- tis 6 milijun- milijon- mil 9 milijard- mlrd mlr 12 bilijun- bil",
    "hu": "3 ezer- 6 millió- 9 milliárd- mrd 12 billió-",
    "hy": "3 հազար- հզր 6 միլիոն- մլն 9 միլիարդ- մլրդ 12 տրիլիոն- տրլն",
    "id": "3 ribu- 6 juta- 9 miliar- 12 triliun-",
    "is": "2 hundr- 3 þúsund- þús 6 milljón- 9 milljarð- 12 billjón-",
    "it": "3 mila mille migliai- 6 milion- mln 9 miliard- mld mrd 12 bilion- bln",
    "ja": "2 百- 3 千- 4 万- 8 億- 12 兆-",
    "ka": "3 ათას- ათ 6 მილიონ- მლნ 9 მილიარდ- მლრდ მლრ 12 ტრილიონ- ტრლ",
    "kk": "3 мың- 6 миллион- млн 9 миллиард- млрд 12 триллион- трлн",
    "kl": "3 tusind- 6 million- 9 milliard- 12 billion-",
    "km": "3 ពាន់- 6 លាន- 9 ប៊ីលាន- 12 ទ្រីលាន-",
    "ko": "2 백- 3 천- 4 만- 8 억-",
    "ky": "3 миң- 6 миллион- млн 9 миллиард- млд 12 триллион- трлн",
    "lb": "3 dausend- dsd 6 millioun- mio 9 milliard- mrd 12 billioun- bio",
    "lo": "3 ພັນ- 5 ແສນ- 6 ລ້ານ- 9 ຕື້- 12 ລ້ານລ້ານ-",
    "lt": "3 tūkstan- tūkst 6 milijon- mln 9 milijard- mlrd 12 trilijon- trln",
    "lv": "3 tūksto- tūkst 6 miljon- milj 9 miljard- mljrd 12 triljon- trilj",
    "mk": "3 илјад- илј 6 милион- мил 9 милијард- милј 12 билион- бил",
    "ms": "3 ribu- 6 juta- 9 bilion- 12 trilion-",
    "my": "3 ထောင်- 4 သောင်း- 5 သိန်း- 6 သန်း- 7 ကုဋေ- 14 ကောဋိ-",
    "ne": "3 हजार- 5 लाख- 7 करोड- 9 अरब- 11 खरब-",
    "nl": "2 honderd- 3 duizend- 6 miljoen- mln mio 9 miljard- mld mrd 12 biljoen- bln",
    "nn": _NORWEGIAN,
    "no": _NORWEGIAN,
    "pl": "3 tysi- tys 6 milion- mln 9 miliard- mld 12 bilion- bln",
    "pt": "3 mil milhar- 6 milhão milhõ- 9 bilhão bilhõ- 12 trilhão trilhõ- bilião biliõ-",
    "ro": "3 mie mii 6 milion- milioane- mil 9 miliard- mld 12 trilion- trilioane- tril",
    "ru": "3 тысяч- тыс 6 миллион- млн 9 миллиард- млрд 12 триллион- трлн",
    "se": "3 duhá- 6 miljon- 9 miljard- 12 biljon-",
    "sk": "3 tisíc- tis 6 milión- mil mio 9 miliard- miliárd- mld 12 bilión- bil",
    "sl": "3 tisoč- tis 6 milijon- mio 9 milijard- mrd 12 bilijon- bil",
    "sq": "3 mijë- 6 milion- mln 9 miliard- mld 12 bilion- bln",
    "sr": "3 хиљад- хиљ 6 милион- мил 9 милијард- млрд 12 билион- бил " + _SERBIAN,
    "sv": "2 hundra- 3 tusen- 6 miljon- milj 9 miljard- mdr 12 biljon-",
    "sw": "3 elfu- 6 milioni- 9 bilioni- 12 trilioni-",
    "ta": "3 ஆயிர- 6 மில்லியன்- 9 பில்லியன்- 12 டிரில்லியன்-",
    "th": "3 พัน- 4 หมื่น- 5 แสน- 6 ล้าน-",
    "tr": "3 bin 6 milyon- mln 9 milyar- mlr 12 trilyon-",
    "uk": "3 тисяч- тис 6 мільйон- млн 9 мільярд- млрд 12 трильйон- трлн",
    "vec": "3 mila 6 milion- mln 9 miliard- mld 12 bilion- bln",
    "vi": "3 nghìn- ngàn- 6 triệu- 9 tỷ- tỉ-",
    "yue": _CHINESE,
    "zh": _CHINESE,
    "zu": "3 inkulungwane 6 isigidi 12 isigidintathu",
}
"""Words by the powers of ten that they stand for; ``-`` ends those that may have any ending.

Some that CLDR has are left out since beside a number they mostly are something else: *min* of
Azerbaijani, and the word for 10**12 of Korean, which is that for an article of a law.
"""

_LETTERS = {"k": {3}, "t": {3, 12}, "m": {6}, "b": {9, 12}, "g": {9}, "md": {9}, "mm": {6, 9}}
_LETTERS |= {"mn": {6}, "bn": {9, 12}, "mi": {6}, "bi": {9, 12}, "tn": {3, 12}, "tr": {6, 12}}
_LETTERS |= {"mr": {9}, "ma": {9}, "rb": {3}, "jt": {6}, "l": {5}, "cr": {7}, "м": {6}, "т": {3}}
"""Abbreviations behind digits that may stand for powers of ten, or for units."""

_SHORT = regex.compile(rf"\p{{Nd}}[{GAPS}]?(\p{{L}}{{1,2}})(?!\p{{L}})")
_JOINED = regex.compile(r"[\p{Han}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts in which words stand behind others without a space."""
SHORT = 4
"""Letters of words that may be others or abbreviations, and are no part of compounds."""
LARGE = 6
"""The power of ten of words that say a number by themselves, as in *a million*."""
_LINK = "(?:de |na )?"
"""What languages put before a word of scale, such as Romanian and Filipino."""
_ENDING = r"[\p{L}\p{M}]*+"
_METRIC = "(?![克米瓦卡赫分])"
"""Behind words of Chinese that are then prefixes of units."""


class ScaleWords:
    """The words of scale of a language."""

    def __init__(self, words: str) -> None:
        """Take words as they stand in the table of this file."""
        powers, power = {}, 0
        for word in words.split():
            power = int(word) if word.isdecimal() else power
            powers[word] = power
        longest = sorted((word for word in powers if not word.isdecimal()), key=len)[::-1]
        self._stems = {word.rstrip("-").casefold(): powers[word] for word in longest}
        one = "|".join(map(bound_word, longest))
        space = rf"[{GAPS}]?{_LINK}"
        beside = rf"{space}(?P<words>(?:{one})(?:{space}(?:{one}))*+)"
        self._beside = regex.compile(beside, regex.IGNORECASE)
        self._behind_digit = regex.compile(rf"\p{{Nd}}{beside}", regex.IGNORECASE)
        self._large = [
            stem for stem, power in self._stems.items() if power >= LARGE and len(stem) > SHORT
        ]
        large = "|".join(map(regex.escape, self._large))
        self._large_word = regex.compile(rf"(?<!\p{{L}})(?:{large}){_ENDING}", regex.IGNORECASE)
        self._within = regex.compile("|".join(map(bound_part, longest)))

    def find(self, line: str, end: int) -> str:
        """Return the words of scale behind a number that ends there; nothing if there are none."""
        match = self._beside.match(line, end)
        return match["words"] if match else ""

    def list_behind_digits(self, line: str) -> list[int]:
        """Return the powers of ten of words that stand behind digits."""
        return [self.read(match["words"]) for match in self._behind_digit.finditer(line)]

    def list_alone(self, line: str) -> set[int]:
        """Return the powers of ten of words that stand behind no digit."""
        return self.list_powers(self._behind_digit.sub(" ", line))

    def find_large(self, line: str) -> list[str]:
        """Return the long words of a million and more that stand behind no digit."""
        folded = line.casefold()
        if not any(stem in folded for stem in self._large):
            return []
        return self._large_word.findall(self._behind_digit.sub(" ", line))

    def read(self, words: str) -> int:
        """Return the power of ten of words of scale one behind another."""
        return sum(self._read(words))

    def list_powers(self, line: str) -> set[int]:
        """Return the powers of ten that a line says anywhere, also by two of its words."""
        said = {*self._read(line)}
        for match in _SHORT.finditer(line):
            said |= _LETTERS.get(match[1].lower(), set())
        return said | set(map(sum, combinations(said, 2)))

    def _read(self, text: str) -> list[int]:
        folded = text.casefold().replace("i\N{COMBINING DOT ABOVE}", "i")
        return [self._stems[match[0]] for match in self._within.finditer(folded)]


@lru_cache
def load_scale_words(language: str) -> ScaleWords | None:
    """Return the words of scale of a language; None if they are not known."""
    words = _WORDS.get(language.partition("-")[0])
    return ScaleWords(words) if words else None


def bound_word(word: str) -> str:
    """Return what finds a word of the table behind a number, with its ending."""
    stem = regex.escape(word.rstrip("-").casefold())
    if _JOINED.match(word):
        return stem + _METRIC
    return stem + _ENDING if word.endswith("-") else rf"{stem}(?!\p{{L}})"


def bound_part(word: str) -> str:
    """Return what finds a word of the table anywhere, long stems within other words, too."""
    begin = "" if len(word) > SHORT or _JOINED.match(word) else r"(?<!\p{L})"
    return begin + bound_word(word).removesuffix(_ENDING)
