"""Prefect, MLflow and what they keep their data in, as plain processes of this machine."""
