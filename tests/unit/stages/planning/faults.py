"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a sample whose sides are drawn apart",
        "stages/planning/scratch.py",
        "chosen = set(rows[split])",
        "chosen = set(draw_rows(pairs[split], counts[split], path.name))",
    ),
    (
        "a plan that believes the clock",
        "stages/planning/prediction.py",
        "[slowness * seconds for seconds in used]",
        "[one.usage.seconds for one in samples]",
    ),
    (
        "a plan in which every search goes to its limits",
        "stages/planning/prediction.py",
        "least = start + each * items * (SEARCHED if searches else 1.0)",
        "least = start + each * items",
    ),
]
