"""Text classifiers, for example for the sentiment of reviews."""
