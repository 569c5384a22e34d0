"""Numbered sentence pairs: shards on disk, batches, and arrays for a model."""
