"""The ground that every room stands on: errors, settings, files, seals, randomness, progress."""
