"""Extensions beyond translation: language models and text classifiers, which nothing else needs."""
