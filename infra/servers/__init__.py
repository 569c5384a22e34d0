"""Prefect, MLflow, their database and file store, as plain processes of this machine."""
