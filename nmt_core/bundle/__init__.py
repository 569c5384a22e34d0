"""Exported models: sealed folders, written and proved."""
