"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a damaged row of vectors that is spread over all numbers",
        "nmt_core/embeddings/vectors.py",
        ".reshape(dimensions)",
        "",
    ),
]
