"""Pairs that a teacher makes of text: for a student that is fast, or of text of one language."""
