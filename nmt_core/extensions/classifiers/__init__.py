"""Text classification: which of some labels has a text, as the sentiment of a film review?"""
