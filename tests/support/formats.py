"""Write parallel text in each format and compression, like other programs."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
import zipfile
from html import escape

from babel.messages.pofile import normalize

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

XLIFF1 = "urn:oasis:names:tc:xliff:document:1.2"
XLIFF2 = "urn:oasis:names:tc:xliff:document:2.0"


def write_units(pairs, unit):
    return "".join(unit.format(*map(escape, pair)) for pair in pairs).replace("\r", "&#13;")


def tmx(pairs, source="de", target="en"):
    sides = "".join(f'<tuv xml:lang="{code}"><seg>{{}}</seg></tuv>' for code in (source, target))
    head = f'<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="{source}"/>'
    return f"{head}<body>{write_units(pairs, f'<tu>{sides}</tu>')}</body></tmx>".encode()


def xliff1(pairs, source="de", target="en"):
    units = write_units(pairs, "<trans-unit><source>{}</source><target>{}</target></trans-unit>")
    languages = f'source-language="{source}" target-language="{target}"'
    file = f"<file {languages}><body>{units}</body></file>"
    return f'<?xml version="1.0"?><xliff version="1.2" xmlns="{XLIFF1}">{file}</xliff>'.encode()


def xliff2(pairs, source="de", target="en"):
    segments = write_units(pairs, "<segment><source>{}</source><target>{}</target></segment>")
    languages = f'srcLang="{source}" trgLang="{target}"'
    head = f'<?xml version="1.0" encoding="UTF-16"?><xliff version="2.1" xmlns="{XLIFF2}"'
    return f"{head} {languages}><file><unit>{segments}</unit></file></xliff>".encode("utf-16")


def po(pairs, source="de", target="en"):
    head = ("", f"Content-Type: text/plain; charset=utf-8\nLanguage: {target}\n")
    messages = ([normalize(text) for text in pair] for pair in [head, *pairs])
    return "".join("msgid {}\nmsgstr {}\n\n".format(*message) for message in messages).encode()


def table(rows, **options):
    text = io.StringIO(newline="")
    csv.writer(text, **options).writerows(rows)
    return text.getvalue().encode()


def csv_(pairs, source="de", target="en"):
    rows = [(number, second, first) for number, (first, second) in enumerate(pairs)]
    return b"\xef\xbb\xbf" + table([("id", target, source), *rows], delimiter=";")


def tsv(pairs, source="de", target="en"):
    return table([(source, target), *pairs], delimiter="\t")


def jsonl(pairs, source="de", target="en"):
    rows = [{"id": 1, "translation": {target: second, source: first}} for first, second in pairs]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LINK = f'<Relationships><Relationship Id="a" Type="{OFFICE}/{{}}" Target="{{}}"/></Relationships>'
STYLES = "<cellXfs><xf/><xf numFmtId='14'/><xf numFmtId='22'/></cellXfs>"
BOOK = {
    "_rels/.rels": LINK.format("officeDocument", "xl/workbook.xml"),
    "xl/workbook.xml": '<workbook><sheets><sheet name="a" r:id="a"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": LINK.format("worksheet", "worksheets/sheet1.xml"),
    "xl/styles.xml": f"<styleSheet>{STYLES}</styleSheet>",
}
"""All parts of a workbook except its sheet; the styles 1 and 2 are for days and times."""


def workbook(rows):
    """Return a workbook of one sheet, whose cells are texts, numbers or XML."""
    sheet = "".join(f"<row>{''.join(map(write_cell, row))}</row>" for row in rows)
    sheet = f"<worksheet><sheetData>{sheet}</sheetData></worksheet>"
    return zipped(**BOOK, **{"xl/worksheets/sheet1.xml": sheet})


def write_cell(value):
    if isinstance(value, int) or value is None or value.startswith("<c"):
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else value or "<c/>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def xlsx(pairs, source="de", target="en"):
    return workbook([(source, None, target), *((first, 7, second) for first, second in pairs)])


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def unzipped(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def moses(pairs, source="de", target="en"):
    """OPUS's format; lines have no line ends."""
    sides = zip(*pairs, strict=True)
    texts = {
        f"Tatoeba.de-en.{code}": "".join(f"{line}\n" for line in lines).encode()
        for code, lines in zip((source, target), sides, strict=True)
    }
    return zipped(README=b"about", LICENSE=b"free", **texts)


WRITERS = {
    "tmx": tmx,
    "xlf": xliff1,
    "xliff": xliff2,
    "po": po,
    "csv": csv_,
    "tsv": tsv,
    "jsonl": jsonl,
    "xlsx": xlsx,
}

COMPRESSORS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


UNDEFINED = bytes.fromhex("81 8d 8f 90 9d")
"""Bytes that are not characters in Windows-1252."""


def read_as_windows(text):
    """Return UTF-8 text decoded as Windows-1252, like browsers do."""
    return "".join(
        bytes([byte]).decode("latin-1" if byte in UNDEFINED else "cp1252") for byte in text.encode()
    )
