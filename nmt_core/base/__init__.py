"""Shared foundation of all rooms: errors, settings, files, seals, random numbers, progress."""
