"""``nmt evaluate``: scores equal sacreBLEU's, and invalid input gives an error of one sentence."""

import re
from dataclasses import replace

import pytest
import sacrebleu
from typer.testing import CliRunner

from nmt_core import cli
from nmt_core.base.languages import Languages
from nmt_core.cli.evaluate import render_differences
from nmt_core.evaluation.significance import Difference
from nmt_core.translation.translator import Translator
from tests.support.tiny import LINES, export, tiny_translator

REFERENCES = ["The dog sleeps in the garden.", "Where is the red house?", "", "We eat bread."]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two untrained models with different weights."""
    folder = tmp_path_factory.mktemp("models")
    languages = Languages(source="de", target="en")
    for seed, name in enumerate(("one", "other")):
        export(folder / name, translator=replace(tiny_translator(seed), languages=languages))
    return folder


@pytest.fixture
def texts(tmp_path):
    for name, lines in (("test.de", LINES), ("test.en", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return "--source", tmp_path / "test.de", "--reference", tmp_path / "test.en"


def run(*arguments, width=200):
    environment = {"COLUMNS": str(width), "NO_COLOR": "1"}
    result = CliRunner().invoke(cli.app, ["evaluate", *map(str, arguments)], env=environment)
    return result.exit_code, result.stdout, " ".join(result.stderr.split())


def numbers(row):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", row)]


def test_scores_are_sacrebleus(models, texts):
    code, shown, _ = run("--model", models / "one", *texts, "--metric", "chrf")
    made = Translator.load(models / "one").translate(LINES)
    expected = sacrebleu.corpus_chrf(made, [REFERENCES], eps_smoothing=False)

    assert code == 0
    [row] = [line for line in shown.splitlines() if "chrF" in line]
    assert numbers(row)[0] == pytest.approx(expected.score, abs=0.06)
    assert "chrF2|nrefs:1|bs:1000" in row
    assert "4 sentences" in shown
    narrow = run("--model", models / "one", *texts, "--metric", "chrf", width=60)[1]
    pieces = [line.split("│")[-2].strip() for line in narrow.splitlines() if line.count("│") > 2]
    assert "".join(pieces) in row  # the signature is folded, not cut


def test_several_references_count(models, texts, tmp_path):
    second = tmp_path / "second.en"
    lines = ["The dog", "red house?", "", "bread eat we"]
    second.write_text("".join(f"{line}\n" for line in lines))
    code, shown, _ = run("--model", models / "one", *texts, "--reference", second)
    made = Translator.load(models / "one").translate(LINES)

    assert code == 0
    for label, score in (
        ("BLEU", sacrebleu.corpus_bleu(made, [REFERENCES, lines])),
        ("chrF", sacrebleu.corpus_chrf(made, [REFERENCES, lines])),
    ):
        [row] = [line for line in shown.splitlines() if f" {label} " in line]
        assert numbers(row)[0] == pytest.approx(score.score, abs=0.06)
        assert "|nrefs:2|" in row


def test_several_models_are_tested_against_each_other(models, texts):
    code, shown, _ = run("--model", models / "one", "--model", models / "other", *texts)

    rows = shown[shown.index("Differences") :].splitlines()[3:]
    rows = [row for row in rows if "BLEU" in row or "chrF" in row]
    assert (code, len(rows)) == (0, 2)
    for row in rows:
        assert 0 < numbers(row)[-1] <= 1


def test_invalid_input_gives_an_error_of_one_sentence(models, texts, tmp_path):
    one = ("--model", models / "one")
    _, source, _, reference = texts
    short, empty, latin = tmp_path / "short", tmp_path / "empty", tmp_path / "latin"
    short.write_text("The dog.\n")
    empty.write_text("")
    latin.write_bytes("Käse\n".encode("latin-1"))
    given = {
        "has 4 lines and": (*one, "--source", source, "--reference", short),
        "is empty": (*one, "--source", empty, "--reference", empty),
        "not UTF-8": (*one, "--source", latin, "--reference", short),
        "cannot be read": (*one, "--source", tmp_path / "none", "--reference", reference),
        "did you mean 'bleu'?": (*one, *texts, "--metric", "blue"),
        "--model has the same path twice": (*one, *one, *texts),
        "--reference has the same path twice": (*one, *texts, "--reference", reference),
    }

    for expected, arguments in given.items():
        code, shown, said = run(*arguments)
        assert (code, shown) == (1, "")
        assert expected in said


def test_models_need_the_same_target_language(models, texts, tmp_path):
    silent = export(tmp_path / "silent")
    french = replace(tiny_translator(), languages=Languages(source="de", target="fr"))
    export(tmp_path / "french", translator=french)

    for folder, written in ((silent, "no known language"), (tmp_path / "french", "en and fr")):
        one = () if folder == silent else ("--model", models / "one")
        code, _, said = run("--model", folder, *one, *texts)
        assert (code, f"the models write {written}" in said) == (1, True)


def test_differences_are_shown_with_pair_and_metric():
    """The columns are in order; p-values are corrected for many comparisons."""
    found = Difference(metric="bleu", first="a", second="b", value=-1.5, p_value=0.3)
    table = render_differences([found])
    told = {column.header: str(next(column.cells)) for column in table.columns}
    assert told == {"pair": "a - b", "metric": "BLEU", "difference": "-1.50", "p": "0.3000"}
