"""Localised strings in JSON: i18next's and those of others, and Flutter's .arb.

All strings are translated, and no keys; the file is edited in its own text.
https://github.com/google/app-resource-bundle/wiki/ApplicationResourceBundleSpecification
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial

from nmt_core.base.errors import DocumentError
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.declarations import check_language
from nmt_core.documents.messages import read_message
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation
from nmt_core.text.language_codes import LanguageCodes

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]')
"""A string, or a sign of the syntax; what stands between them has neither."""

METADATA = "@"
LOCALE = "@@locale"


def read_json_strings(data: bytes, _: LanguageCodes | None) -> UnitFile:
    """Read a file of strings, which does not name its language.

    Raises:
        DocumentError: if it is not JSON, or has too long a string.
    """
    return _read(data, _read_value)


def read_arb(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file of Flutter's strings; values of keys with an ``@`` stay as they are.

    The target takes the place of the source in ``@@locale``.

    Raises:
        DocumentError: if it is not JSON, is in another language, or has too long a string.
    """
    return _read(data, partial(_read_resource, codes=codes))


def _read(data: bytes, read: Callable[[list[str], str], str | Unit]) -> UnitFile:
    """Read a file by a function of the keys of a string, outermost first, and of the string."""
    text = decode_utf8(data, "this document", error=DocumentError)
    try:
        json.loads(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply or a number too long")
        line = getattr(error, "lineno", 1)
        raise DocumentError(
            f"line {line} of this document is not JSON ({reason}); repair it there"
        ) from None
    parts: list[str | Unit] = []
    last = 0
    for keys, start, end in _find_values(text):
        parts += [text[last:start], read(keys, text[start:end])]
        last = end
    return UnitFile([*parts, text[last:]], str.encode)


def _find_values(text: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield where each string begins and ends that is no key, with the keys that lead to it."""
    keys: list[str] = []  # of what is open; of a list, nothing
    inside: list[str] = []
    is_key = False
    for match in TOKEN.finditer(text):
        sign = match[0]
        if sign in "{[":
            inside.append(sign)
            keys.append("")
            is_key = sign == "{"
        elif sign in "}]":
            inside.pop()
            keys.pop()
            is_key = False
        elif sign == ",":
            is_key = inside[-1] == "{"
        elif sign == ":":
            is_key = False
        elif is_key:
            keys[-1] = json.loads(sign)
        else:
            yield keys, *match.span()


def _read_value(_: list[str], raw: str) -> Unit:
    is_ascii = raw.isascii() and "\\u" in raw
    return Unit(raw, [read_message(json.loads(raw))], partial(_write, is_ascii=is_ascii))


def _read_resource(keys: list[str], raw: str, *, codes: LanguageCodes | None) -> str | Unit:
    if keys == [LOCALE]:
        locale = json.loads(raw)
        if codes is None or not locale:
            return raw
        check_language(locale, codes[0], "is in")
        return json.dumps(codes[1].replace("-", "_"))
    if any(key.startswith(METADATA) for key in keys):
        return raw
    return _read_value(keys, raw)


def _write(translation: UnitTranslation, *, is_ascii: bool) -> str:
    return json.dumps(translation.texts[0], ensure_ascii=is_ascii)
