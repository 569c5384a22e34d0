"""Formats of files that hold both sides of parallel text."""
