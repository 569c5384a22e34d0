"""What is no translation: language models and classifiers of text; the rest does without them."""
