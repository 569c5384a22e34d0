"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "links of the first of several translations only",
        "nmt_core/cli/alignments.py",
        "for links in linking(line, translations)",
        "for links in linking(line, translations[:1])",
    ),
    (
        "attention: pictures numbered as they come",
        "nmt_core/cli/attention.py",
        "        self.looks[self.lines] = look",
        "        self.looks[len(self.looks) + 1] = look",
    ),
    (
        "models that write several languages scored as one",
        "nmt_core/cli/evaluate.py",
        "    if len(written) != 1:",
        "    if len(written) > 1:",
    ),
]
