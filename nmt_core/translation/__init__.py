"""Translate text with an exported model. Importing this package imports no torch."""
