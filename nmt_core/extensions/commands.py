"""Commands of ``nmt`` for language models and classifiers.

The entry points of this project name them, so that ``nmt_core.cli`` knows none of them.
"""

from nmt_core.cli.program import Command

LANGUAGE_MODELS = "nmt_core.extensions.language_models.commands"
CLASSIFIERS = "nmt_core.extensions.classifiers.commands"

LEARN = Command(f"{LANGUAGE_MODELS}:learn", "Learn a language model from text.")
SCORE = Command(
    f"{LANGUAGE_MODELS}:score",
    "Score every line of standard input by its log-likelihood.",
)
GENERATE = Command(
    f"{LANGUAGE_MODELS}:generate",
    "Generate text, each token drawn from the model's distribution.",
)
LEARN_CLASSIFIER = Command(
    f"{CLASSIFIERS}:learn_classifier",
    "Learn which of some labels a text has, such as the sentiment of a review.",
)
CLASSIFY = Command(
    f"{CLASSIFIERS}:classify",
    "Write the label of every line of standard input, and its probability.",
)
NEIGHBOURS = Command(
    f"{CLASSIFIERS}:neighbours",
    "List the words whose embeddings are nearest to those of some words, or of their sums.",
)
