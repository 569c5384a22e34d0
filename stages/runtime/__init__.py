"""The runtime of stages: start and end, fingerprints, git, the trained model."""
