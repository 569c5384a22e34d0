"""Searches for a translation: greedy, beam and sampling, under the same rules."""
