"""Tests on real servers, which end with the last of them in a row."""
