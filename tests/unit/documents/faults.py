"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "the end of a sentence taken for a word",
        "nmt_core/text/alignment.py",
        "weights[word], -abs(word - near)",
        "-weights[word], -abs(word - near)",
    ),
    (
        "a point amid another pair",
        "nmt_core/documents/passage.py",
        "_collapse(node, _leave(at, wide))",
        "_collapse(node, at)",
    ),
    (
        "marks without attention asked for",
        "nmt_core/documents/translator.py",
        "if marked is attention]",
        "if attention is False]",
    ),
    (
        "figures of messages that are translated",
        "nmt_core/documents/placeholders.py",
        "return replace(passage, items=tuple(items), is_message=True)",
        "return replace(passage, items=tuple(items))",
    ),
    (
        "text of HTML not escaped",
        "nmt_core/documents/html.py",
        "html.escape(part.text, quote=False)",
        "part.text",
    ),
    (
        "a placeholder kept as often as it is answered",
        "nmt_core/documents/placeholders.py",
        "            left[piece] -= 1",
        "            left[piece] -= 0",
    ),
    (
        "an approved segment translated again",
        "nmt_core/documents/xliff.py",
        'if given.get("approved") == "yes" or state in APPROVED:',
        "if state in APPROVED:",
    ),
    (
        "a fuzzy message that stays fuzzy whatever is answered",
        "nmt_core/documents/gettext.py",
        "flags = [FUZZY] * doubtful +",
        "flags = [FUZZY] +",
    ),
    (
        "names of columns translated",
        "nmt_core/documents/xlsx.py",
        "for piece in pieces) in kept:",
        "for piece in pieces) in ():",
    ),
]
