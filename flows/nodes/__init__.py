"""Training on several machines: what is asked of Slurm and of Kubernetes."""
