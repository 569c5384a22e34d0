"""Figures of the sources, drawn by the project's own code."""

from dataclasses import replace

import numpy as np

from benchmarks.pictures import main, trace_masks
from nmt_core.base.languages import Languages
from tests.support.commands import invoke
from tests.support.tiny import LINES, export, tiny_translator


def test_masks_take_all_weight_from_what_they_block():
    for without, masked in (drawn.values() for drawn in trace_masks().values()):
        assert (without.values > 0).all()
        assert not masked.values[masked.red].any()
        for matrix in (without, masked):
            np.testing.assert_allclose(matrix.values.sum(axis=1), 1, atol=1e-6)


def test_all_figures_are_drawn_by_one_command(tmp_path):
    translator = replace(tiny_translator(), languages=Languages(source="de", target="en"))
    model = export(tmp_path / "model", translator=translator)
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in LINES))
    text = ("--source", tmp_path / "lines", "--reference", tmp_path / "lines")
    options = ("--out", tmp_path, "--model", model, *text, "--size", 1, "--size", 2)
    result = invoke(main, *map(str, options))

    assert result.exit_code == 0, result.output
    names = ("positions", "padding_mask", "causal_mask", "restarts", "beam_sizes")
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    head, _, *rows = result.stdout.splitlines()
    assert head.startswith("| beam size | BLEU, mean of log-probabilities")
    assert [row.split(" | ")[0] for row in rows] == ["| 1", "| 2"]
