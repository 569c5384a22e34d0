"""What the benchmark of beam sizes measures, of a translator that tells how it was searched."""

from dataclasses import dataclass

import pytest

from benchmarks import beam_sizes
from nmt_core.translation.settings import TranslatorConfig

MEAN, SUM = beam_sizes.PENALTIES
LINES = ["one two three four five six seven eight.", "nine ten eleven twelve thirteen fourteen."]


@dataclass(frozen=True)
class Shortening:
    """Repeats a line; by sums, it leaves out a word for each doubling of the beam."""

    config: TranslatorConfig

    def translate(self, lines):
        beam = self.config.beam
        dropped = 0 if beam.length_penalty else beam.beam_size.bit_length() - 1
        return [" ".join(line.split()[dropped:]) for line in lines]


@pytest.fixture(scope="module")
def found():
    return [
        beam_sizes.measure_beam(
            Shortening(TranslatorConfig()),
            size,
            penalty,
            sources=LINES,
            references=LINES,
            language="en",
        )
        for size in (1, 2, 8)
        for penalty in beam_sizes.PENALTIES
    ]


def test_each_beam_and_penalty_is_searched_and_scored(found):
    ratios = {(one.size, one.penalty): one.length_ratio for one in found}
    scores = {(one.size, one.penalty): one.bleu for one in found}

    assert [ratios[size, MEAN] for size in (1, 2, 8)] == [1.0, 1.0, 1.0]
    assert [ratios[size, SUM] for size in (1, 2, 8)] == pytest.approx([1.0, 12 / 14, 8 / 14])
    assert scores[8, MEAN] == scores[1, SUM] == pytest.approx(100)
    assert scores[8, SUM] < scores[2, SUM] < 100


def test_a_table_has_a_row_for_each_size(found):
    rows = beam_sizes.format_table(found).splitlines()

    assert [row.split(" | ")[0] for row in rows[2:]] == ["| 1", "| 2", "| 8"]
    assert {row.count("|") for row in rows} == {8}
    assert rows[3].startswith("| 2 | 100.0 | 1.000 | ")
    assert f" | {found[3].bleu:.1f} | 0.857 | " in rows[3]


def test_a_picture_has_a_curve_for_each_penalty(found, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(beam_sizes, "draw_panels", lambda _, panels: given.extend(panels))
    beam_sizes.draw_beam_sizes(tmp_path / "a.png", found)
    scores, lengths = given

    assert [(curve.label, curve.x) for curve in lengths.curves] == [
        (MEAN, [1, 2, 8]),
        (SUM, [1, 2, 8]),
    ]
    assert lengths.curves[1].y == pytest.approx([1.0, 12 / 14, 8 / 14])
    assert scores.curves[0].y == pytest.approx([100.0] * 3)
    assert scores.ticks == [1, 2, 8]
