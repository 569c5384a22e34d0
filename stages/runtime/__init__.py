"""What every stage runs on: its start and end, its fingerprint, git, the trained model."""
