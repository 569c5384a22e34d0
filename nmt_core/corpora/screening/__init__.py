"""Screening of parallel text: signals of a pair, thresholds that are learnt, and findings."""
