"""What a run will take, told before it, from a short calibration on this machine."""
