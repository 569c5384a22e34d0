"""Journals of runs, and their transfer to MLflow."""
