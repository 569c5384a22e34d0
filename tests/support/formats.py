"""Write parallel text as programs of others do, in each format and each compression."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
import zipfile

import openpyxl
import polib
from lxml import etree

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

XLIFF1 = "urn:oasis:names:tc:xliff:document:1.2"
XLIFF2 = "urn:oasis:names:tc:xliff:document:2.0"


def tmx(pairs, source="de", target="en"):
    root = etree.Element("tmx", version="1.4")
    etree.SubElement(root, "header", srclang=source, segtype="sentence")
    body = etree.SubElement(root, "body")
    for pair in pairs:
        unit = etree.SubElement(body, "tu")
        for code, text in zip((source, target), pair, strict=True):
            variant = etree.SubElement(unit, "tuv")
            variant.set("{http://www.w3.org/XML/1998/namespace}lang", code)
            etree.SubElement(variant, "seg").text = text
    return etree.tostring(root, encoding="UTF-8", doctype='<!DOCTYPE tmx SYSTEM "tmx14.dtd">')


def xliff1(pairs, source="de", target="en"):
    root = etree.Element(f"{{{XLIFF1}}}xliff", version="1.2", nsmap={None: XLIFF1})
    file = etree.SubElement(root, f"{{{XLIFF1}}}file")
    file.attrib.update({"source-language": source, "target-language": target})
    body = etree.SubElement(file, f"{{{XLIFF1}}}body")
    for number, pair in enumerate(pairs):
        unit = etree.SubElement(body, f"{{{XLIFF1}}}trans-unit", id=str(number))
        for name, text in zip(("source", "target"), pair, strict=True):
            etree.SubElement(unit, f"{{{XLIFF1}}}{name}").text = text
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


def xliff2(pairs, source="de", target="en"):
    root = etree.Element(f"{{{XLIFF2}}}xliff", version="2.1", nsmap={None: XLIFF2})
    root.attrib.update({"srcLang": source, "trgLang": target})
    unit = etree.SubElement(etree.SubElement(root, f"{{{XLIFF2}}}file"), f"{{{XLIFF2}}}unit")
    for pair in pairs:
        segment = etree.SubElement(unit, f"{{{XLIFF2}}}segment")
        for name, text in zip(("source", "target"), pair, strict=True):
            etree.SubElement(segment, f"{{{XLIFF2}}}{name}").text = text
    return etree.tostring(root, encoding="UTF-16")


def po(pairs, source="de", target="en"):
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=utf-8", "Language": target}
    file.extend(polib.POEntry(msgid=one, msgstr=other) for one, other in pairs)
    return str(file).encode()


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


def workbook(rows, **options):
    book = openpyxl.Workbook(**options)
    sheet = book.active or book.create_sheet()
    for row in rows:
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def xlsx(pairs, source="de", target="en"):
    rows = [(source, None, target), *((first, 7, second) for first, second in pairs)]
    return workbook(rows, write_only=True)


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
    """As OPUS has it; a line holds no line end."""
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
"""Bytes that are no character of Windows-1252."""


def read_as_windows(text):
    """Return what a program shows that takes UTF-8 for Windows-1252, as browsers read that."""
    return "".join(
        bytes([byte]).decode("latin-1" if byte in UNDEFINED else "cp1252") for byte in text.encode()
    )
