"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "pretrain: a card without the second half's start",
        "stages/reporting/card.py",
        "for half, base in origins.items()\n",
        "for half, base in list(origins.items())[:1]\n",
    ),
]
