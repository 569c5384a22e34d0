"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "aliases counted once, however often they are spelt out",
        "stages/runtime/params_file.py",
        "waiting += node.value\n",
        "waiting += list({id(inner): inner for inner in node.value}.values())\n",
    ),
    (
        "Norwegian is no language",
        "stages/runtime/params_file.py",
        '("bool", "tTfF", "(true',
        '("bool", "tTfFno", "(no|on|true',
    ),
    (
        "characters that count as two vocabularies",
        "stages/params.py",
        'self.kind in ("characters", "initial_model")',
        'self.kind in ("initial_model",)',
    ),
    ("tabs in the table of translations", "stages/evaluate.py", 'cell.replace("\\t", " ")', "cell"),
]
