"""Scores of translations against references, and what validation runs of them."""
