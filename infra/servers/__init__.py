"""Prefect and MLflow as plain processes of this machine."""
