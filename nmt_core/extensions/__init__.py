"""Language models and text classifiers; no other room imports this room."""
