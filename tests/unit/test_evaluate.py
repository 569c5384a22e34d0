"""What is measured beside BLEU and chrF."""

from stages.evaluate import measures
from tests.unit.tiny import LINES, tiny_translator


def measured(references):
    return measures(tiny_translator(), LINES, references, LINES)


def test_a_document_on_one_line_counts_as_far_as_a_translator_reads():
    """Time and memory of attention would grow with its square."""
    translator = tiny_translator()
    document = "7" * 20_000
    pieces = translator.target_tokenizer.encode(document)
    beginning = translator.target_tokenizer.decode(pieces[:512])
    assert translator.target_tokenizer.encode(beginning) == pieces[:512]
    found, expected = (measured([*LINES[1:], text]) for text in (document, beginning))

    assert (found["pairs_cut"], expected["pairs_cut"]) == (1, 0)
    assert found["cross_entropy"] == expected["cross_entropy"]
