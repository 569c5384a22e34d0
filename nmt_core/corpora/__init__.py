"""Parallel text: sources, filters, splits and removal of leaks."""
