"""Screening of parallel text: signals of pairs, learnt thresholds, and findings."""
