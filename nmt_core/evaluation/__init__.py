"""Metrics, significance tests, the gate, and scores for validation."""
