"""Fetch files and check them before use."""
