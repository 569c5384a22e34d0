"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a plan in which what is learnt grows faster than the text",
        "stages/planning/costs.py",
        "    exponent = min(1.0, max(0.0, exponent))\n",
        "    exponent = max(0.0, exponent)\n",
    ),
    (
        "a sample whose sides are drawn apart",
        "stages/planning/sampling.py",
        "draw_rows(pairs[split], counts[split], split)",
        "draw_rows(pairs[split], counts[split], path.name)",
    ),
    (
        "a sample of the first lines",
        "stages/planning/sampling.py",
        ".permutation(total)[:count]",
        ".permutation(total)[:0].tolist() or np.arange(min(total, count))",
    ),
    (
        "processor time since a program was started",
        "stages/planning/measuring.py",
        "        begin, end = np.interp([first, last], times, used)\n",
        "        begin, end = 0.0, np.interp(last, times, used)\n",
    ),
    (
        "a plan that believes the clock",
        "stages/planning/costs.py",
        "each = min(max(seen.each, used.each / cores), used.each * slowest)",
        "each = seen.each",
    ),
    (
        "a plan in which models search the less the less they know",
        "stages/planning/lengths.py",
        "return LOST_UPDATES / (LOST_UPDATES + updates)",
        "return updates / (LOST_UPDATES + updates)",
    ),
]
