"""What translations are scored by: a metric is a file of this folder, called by its name."""
