"""Scores of translations against references, and validation."""
