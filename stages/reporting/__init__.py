"""Reports on a finished pipeline: summary, model card, bill of materials."""
