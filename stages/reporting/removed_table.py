"""What was removed from a text, as a table."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

from stages import paths
from stages.reporting.hypertext import Content, make_table


def tabulate_removed(removed: Mapping[str, Mapping[str, int]]) -> Element:
    """Return a table of the pairs of each split that were left out, by reason."""
    splits = paths.SPLITS
    reasons = sorted({why for split in splits for why in removed[split]})
    rows: list[Sequence[Content]] = [
        [name_reason(why), *(removed[split].get(why, 0) for split in splits)] for why in reasons
    ] or [["nothing", 0, 0, 0]]
    return make_table("Pairs that were left out", ["Why", *splits], rows, numbers=splits)


def name_reason(key: str) -> str:
    """Return a key of metrics in words."""
    return key.replace("_", " ").lower()
