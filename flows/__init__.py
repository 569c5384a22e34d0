"""Orchestration: runs the stages through DVC, on a schedule or on demand."""
