"""Models that translate."""
