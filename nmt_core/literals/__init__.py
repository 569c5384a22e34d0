"""Literals: numbers, URLs, placeholders and terms that a translation must preserve."""
