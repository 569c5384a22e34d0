"""What a deployment needs around the pipeline."""
