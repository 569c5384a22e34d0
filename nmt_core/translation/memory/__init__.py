"""Corrections from users, and translation memories of approved translations."""
