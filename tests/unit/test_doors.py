"""The example of every base class works as a separate package."""

import sys
from pathlib import Path

import pytest
import torch

from nmt_core.base.config import build
from nmt_core.corpora.corpus import Corpus
from nmt_core.documents.formats import Format, find_format, translate_data
from nmt_core.evaluation.metric import Metric
from nmt_core.evaluation.registry import find_label, load_metric
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import RnnConfig, build_model, read_model_config
from nmt_core.search.engine import PROGRAMS, Engine, Program
from nmt_core.search.stepwise import greedy_search
from nmt_core.translation.engine_export import HeldOutText, prepare_engines
from stages.download import describe_corpora
from stages.params import DownloadParams
from tests.support.echoes import Echo
from tests.support.packages import example_of, install
from tests.support.tiny import LINES, MODEL, tiny_translator

IMPORTS = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

"""
LANGUAGES = {"source": "de", "target": "en"}


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Install the examples of base classes as one module."""

    def offer(imports, *kinds, name=None, **points):
        code = "\n".join([IMPORTS, imports, *map(example_of, kinds)])
        return install(tmp_path, monkeypatch, code, name=name, **points)

    before = {*sys.modules}
    yield offer
    for name in {"captions", "copying", "even"} - before:
        sys.modules.pop(name, None)


def test_the_example_of_a_metric_works(offer):
    imports = "from nmt_core.evaluation.metric import Metric, Score"
    offer(imports, Metric, metrics={"exact": "Exact"})

    assert load_metric("exact", "en").score(["a", "b"], ["a", "c"], ["x", "y"]).value == 50
    assert find_label("exact") == "exact"


def test_the_example_of_a_corpus_works(offer, tmp_path):
    imports = """
from nmt_core.corpora.corpus import Corpus, Description
from nmt_core.corpora.parallel_text import Text
"""
    offer(imports, Corpus, corpora={"table": "TableCorpus"})
    corpus = {"kind": "table", "path": "pairs.tsv"}
    params = build(
        DownloadParams, {"languages": LANGUAGES, "corpora": {"table": corpus}}, at="download"
    )
    [corpus] = params.corpora.values()
    texts = corpus.obtain(params.languages, fetch=pytest.fail, scratch=tmp_path)

    assert texts["train"].parts == ((Path("pairs.tsv"),),)
    assert describe_corpora(params).licence == {"license": "unknown"}


def test_the_example_of_a_format_works(offer):
    imports = """
from nmt_core.documents.formats import Format
from nmt_core.documents.document import make_document
from nmt_core.documents.segments import (Piece, Role, make_parts, write_plainly)
"""
    offer(imports, Format, name="captions", formats={"captions": "CAPTIONS"})
    read = b"00:01 Good morning.\n00:05 Rain.\n"
    assert find_format("Film.CAP") == "captions"
    data = translate_data(read, "captions", Echo(str.upper).translator).data
    assert data == b"00:01 GOOD MORNING.\n00:05 RAIN.\n"


def test_the_example_of_an_engine_works(offer, tmp_path, monkeypatch):
    imports = """
from nmt_core.search.engine import Hypothesis
from nmt_core.search.engine import InexpressibleError, Engine
from nmt_core.search.engine import Program
"""
    offer(imports, Engine, Program, name="copying", engines={"copying": "COPYING"})
    monkeypatch.setattr(PROGRAMS, "builtins", {})
    models = {"good": RnnConfig(width=16, hidden_width=16), "bad": MODEL}
    told = {
        name: prepare_engines(
            ["int8"],
            translator=tiny_translator(model=model),
            model_config=model,
            folder=tmp_path / name,
            text=HeldOutText(LINES, LINES),
            threads=1,
        )[1]["copying_int8"]
        for name, model in models.items()
    }

    assert told["good"]["bleu"] == pytest.approx(100)
    assert "it is not recurrent" in told["bad"]["left_out"]


def test_the_example_of_an_architecture_works(offer):
    imports = """
import torch
from torch import Tensor, nn
from nmt_core.models.seq2seq import Memory, Seq2Seq, State
from nmt_core.models.settings import Seq2SeqConfig
"""
    offer(imports, Seq2Seq, name="even", architectures={"even": "EvenConfig"})
    model = build_model(read_model_config({"architecture": "even"}), source_size=9, target_size=9)
    source = torch.tensor([[4, 5, 3]])
    found = greedy_search(model, source, source == 0, torch.tensor([4]))

    assert len(found) == 1
    assert torch.full((1, 3, 9), 0.0).equal(model(source, source == 0, source))
