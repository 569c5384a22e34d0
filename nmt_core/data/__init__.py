"""Training data: token IDs in shards on disk, batches, augmentation and word vectors."""
