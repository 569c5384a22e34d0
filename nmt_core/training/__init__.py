"""The training loop, loss, optimizers, schedules, checkpoints and data parallelism."""
