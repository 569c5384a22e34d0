"""What Prefect shows beside a run: all that was measured, and no cell that is cut."""

from flows import artifacts

FOUND = {
    "bleu": 12.54,
    "bleu_low": 11.0,
    "bleu_high": 14.04,
    "bleu_signature": "BLEU|nrefs:1|tok:13a",
    "chrf": 30.25,
    "chrf_low": 29.0,
    "chrf_high": 31.0,
    "chrf_signature": "chrF2|nrefs:1",
    "sentences": 2000,
    "perplexity": 1.126,
    "failures": {"empty": 3, "copied": 0, "too_long": 2},
}


def test_scores_have_intervals_and_failures_are_counted():
    assert artifacts.render_scores(FOUND) == [
        {"score": "BLEU", "value": 12.5, "95 %": "11.0 to 14.0"},
        {"score": "chrF", "value": 30.2, "95 %": "29.0 to 31.0"},
        {"score": "perplexity", "value": 1.13, "95 %": ""},
        {"score": "unusable translations: 3 empty, 0 copied, 2 too long", "value": 5, "95 %": ""},
    ]


def test_signatures_are_whole():
    assert artifacts.describe_measures(FOUND) == (
        "Scores on the 2,000 sentences of the test set\n\n"
        "- BLEU: `BLEU|nrefs:1|tok:13a`\n"
        "- chrF: `chrF2|nrefs:1`"
    )


def test_a_cell_is_text_and_nothing_else():
    told = artifacts.render_table(["source"], [["a | b <b> \\\\ & c\nd"]])

    assert told == "| source |\n| --- |\n| a \\| b &lt;b> \\\\\\\\ &amp; c d |"
