"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "possible links that count as wrong",
        "benchmarks/gold_links.py",
        "len(ours & (theirs.possible | theirs.sure))",
        "len(ours & theirs.sure)",
    ),
    (
        "links of people counted from 1",
        "benchmarks/gold_links.py",
        "links[found[2]].add((int(found[1]) - 1, int(found[3]) - 1))",
        "links[found[2]].add((int(found[1]), int(found[3])))",
    ),
]
