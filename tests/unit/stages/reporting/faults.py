"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "pretrain: a card without the second half's start",
        "stages/reporting/card.py",
        "for half, base in origins.items()\n",
        "for half, base in list(origins.items())[:1]\n",
    ),
    (
        "losses shown as gains",
        "stages/reporting/contest_page.py",
        "gain=score - score_before",
        "gain=score_before - score",
    ),
    (
        "words marked that both texts have",
        "stages/reporting/marked_text.py",
        '"" if n in same[1] else "ins"',
        '"ins" if n in same[1] else ""',
    ),
]
