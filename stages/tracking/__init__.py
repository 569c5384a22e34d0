"""Journals of runs, and MLflow kept up to date with them."""
