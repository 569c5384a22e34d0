"""Formats of files with both sides of parallel text."""
