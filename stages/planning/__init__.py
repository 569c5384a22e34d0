"""Predict the time and memory of a run from a short calibration on this machine."""
