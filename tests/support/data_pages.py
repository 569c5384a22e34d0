"""Pages about data, with corpora of a test."""

from nmt_core.base.languages import Languages
from stages.reporting.data_page import render_data_page
from stages.reporting.download_report import DownloadReport

LANGUAGES = Languages(source="de", target="en")
HOSTILE = "<script>alert('x')</script>&amp;\"><img src=https://e.example onerror=x>\0\x1b\u202e"
PAIRS = [
    ("Das ist ein kleines Haus am Rande der Stadt.", "This is a small house outside of the town."),
    ("Der Hund schläft heute unter dem alten Tisch.", "Today the dog sleeps under the old table."),
    ("Nein!", "No!"),
]
REASONS = {"duplicate": 3, "also_in_test": 4}
NEAR = {
    "pairs": 2,
    "test_sentences": 1,
    "validation_sentences": 1,
    "examples": [
        {"side": "test", "train": HOSTILE, "held_out": PAIRS[0][0], "edits": 2},
        {"side": "validation", "train": "a b", "held_out": "a c", "edits": 1},
    ],
}


def describe(name, *, train=3, weight=1.0, licence="own"):
    """Return the download stage's report of a corpus."""
    return {
        "kind": name,
        "licence": licence,
        "pairs": {"test": 1, "validation": 2, "train": train},
        "removed": {"train": REASONS, "validation": {}, "test": {"empty_side": 1}},
        "weight": weight,
        "notices": [HOSTILE],
        "examples": {"length_ratio": [("Ja.", f"Yes {HOSTILE}")], "duplicate": [PAIRS[2]]},
        "origins": [{"url": f"https://{name}.example/{HOSTILE}", "bytes": 12, "sha256": "0a"}],
    }


def gather(corpora, near):
    """Return the report of a download stage with these corpora."""
    splits, [first, *_] = ("train", "validation", "test"), corpora.values()
    removed = {
        split: {why: n * len(corpora) for why, n in first["removed"][split].items()}
        for split in splits
    }
    return {
        "corpora": corpora,
        "pairs": {split: sum(one["pairs"][split] for one in corpora.values()) for split in splits},
        "removed": removed,
        "near_duplicates": near,
        "repaired": {},
        "noticed": {"html_entities": 5},
    }


def render(corpora, *, pairs=PAIRS, near=NEAR, languages=LANGUAGES, **more):
    """Return the page of corpora that all have these pairs."""
    examples = {name: pairs[: one["pairs"]["train"]] for name, one in corpora.items()}
    report = DownloadReport.parse(gather(corpora, near) | more)
    return render_data_page(report, examples, languages)
