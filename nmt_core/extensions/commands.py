"""Commands of ``nmt`` for language models and classifiers.

Entry points of this package register them, so that ``nmt_core.cli`` does not depend on this room.
"""

from nmt_core.cli.program import Command

LANGUAGE_MODELS = "nmt_core.extensions.language_models.commands"
CLASSIFIERS = "nmt_core.extensions.classifiers.commands"

LEARN = Command(f"{LANGUAGE_MODELS}:learn", "Train a language model on text.")
SCORE = Command(
    f"{LANGUAGE_MODELS}:score", "Score every line of standard input by its log-likelihood."
)
GENERATE = Command(
    f"{LANGUAGE_MODELS}:generate", "Generate text by sampling from a language model."
)
LEARN_CLASSIFIER = Command(
    f"{CLASSIFIERS}:learn_classifier",
    "Train a text classifier, for example for the sentiment of reviews.",
)
CLASSIFY = Command(
    f"{CLASSIFIERS}:classify",
    "Write the label of every line of standard input, and its probability.",
)
NEIGHBOURS = Command(
    f"{CLASSIFIERS}:neighbours",
    "List the words nearest to words or sums of words, by their embeddings.",
)
