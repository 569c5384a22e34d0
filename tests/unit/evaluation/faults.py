"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "possible links that count as wrong",
        "nmt_core/evaluation/alignment.py",
        "len(ours & (theirs.possible | theirs.sure))",
        "len(ours & theirs.sure)",
    ),
    (
        "links of people counted from 1",
        "nmt_core/evaluation/alignment.py",
        "links[found[2]].add((int(found[1]) - 1, int(found[3]) - 1))",
        "links[found[2]].add((int(found[1]), int(found[3])))",
    ),
    (
        "an interval of which one end is a step too far",
        "nmt_core/evaluation/metrics/sacrebleu.py",
        "drawn[-1 - beyond]",
        "drawn[-beyond]",
    ),
    (
        "validation hypotheses in the order of their length",
        "nmt_core/evaluation/validation.py",
        "hypotheses[number] =",
        "hypotheses[first + numbers.index(number)] =",
    ),
]
