"""The training loop, its loss, optimizer, schedule, checkpoints and processes."""
