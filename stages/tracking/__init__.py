"""What a run did: its journal, and MLflow kept up to date with it."""
