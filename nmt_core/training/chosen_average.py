"""Which average of a trained model and the one that it started from was chosen, and why."""

from nmt_core.base.config import Config


class ChosenAverage(Config):
    """The average that was chosen, and why."""

    share: float
    """Of the initial model."""
    loss: float
    """Of the average on validation text, per token, in nats."""
    initial_loss: float
    """The same of the initial model."""


def describe_average(chosen: ChosenAverage) -> str:
    """Say to a person what was chosen, and why."""
    return (
        f"the finished model is {chosen.share:.1f} of the initial one and {1 - chosen.share:.1f} "
        f"of what was trained since: its loss on validation text is {chosen.loss:.3f}, the initial "
        f"model's {chosen.initial_loss:.3f}"
    )
