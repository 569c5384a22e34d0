"""DATA=europarl_article: the article's data, with archive and vectors from a local server."""

import hashlib

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text.vocabulary import SPECIALS, UNK, Vocabulary
from stages import embeddings, tokenize, vocabulary
from stages.configure.compose import apply_changes, compose_groups
from stages.configure.sections import build_all
from tests.support import opus
from tests.support.bringing import bring
from tests.support.web_server import whole

MODELS = [
    *(f"transformer_article{size}" for size in ("", "_lite")),
    *(f"convs2s_article{size}" for size in ("", "_lite")),
]
PAIRS = [
    ("Die Sitzung ist eröffnet.", "The sitting is opened."),
    ("Das war 2014, nicht heute!", "That was in 2014, not today!"),
    *((f"Frau Präsidentin, {word}.", f"Madam President, {word}.") for word in ("ja", "nein")),
    *((f"Ein Satz {'sehr ' * n}lang.", f"A {'very ' * n}long sentence.") for n in range(1, 36)),
]
WORDS = {"de": ["die", ".", "sitzung", ",", "ist", "satz", "2014"], "en": ["the", ",", ".", "is"]}
WIDTH = 300


def compose(*choices):
    return build_all(compose_groups(["data=europarl_article", *choices]), source="conf")


@pytest.mark.parametrize("model", MODELS)
def test_preset_composes_with_the_articles_models(model):
    settings = compose(f"model={model}")
    download, training = settings["download"], settings["train"]

    assert (download.languages.source, download.languages.target) == ("de", "en")
    europarl = download.corpora["europarl"]
    assert (europarl.kind, europarl.corpus, europarl.version) == ("opus", "Europarl", "v8")
    assert download.vectors.url.endswith("/wiki.{language}.vec")
    assert (download.vectors.kind, download.vectors.rows) == ("download", 100_000)
    assert (settings["tokenize"].kind, settings["tokenize"].numbers) == ("spacy", "drop")
    assert (settings["vocabulary"].words, settings["vocabulary"].max_size) == ("vectors", 100_000)
    assert (settings["embeddings"].vectors.kind, settings["embeddings"].frozen) == ("vectors", True)
    assert training.model.width == WIDTH
    assert training.batching.kind == "buckets"
    assert training.batching.shuffle_pairs == 1000
    assert training.training.max_gradient_norm is None
    assert training.training.normalize_loss == "sentence"


def test_buckets_include_start_and_end():
    """Lengths are 1, 2, 4, ..., 256; sentences with words are never in the first two buckets."""
    wanted = [2**power for power in range(9)]
    ours = compose()["train"].batching.boundaries
    for words in range(1, 300):
        bucket = sum(words + 2 >= boundary for boundary in wanted)

        assert sum(words >= boundary for boundary in ours) + 2 == bucket


def test_lite_transformer_is_the_default():
    lite, full = compose(), compose("model=transformer_article")

    assert (lite["train"].model.encoder_layers, lite["train"].budget.epochs) == (2, 1)
    assert (full["train"].model.encoder_layers, full["train"].budget.epochs) == (3, 100)


def serve_text(site):
    """Write the archive and the vectors to the server; return settings that fetch them."""
    content = opus.archive(PAIRS, "Europarl")
    site.put("/v8/de-en.zip", whole(content))
    draw = np.random.default_rng(1)
    for language, words in WORDS.items():
        rows = (f"{w} {' '.join(f'{x:.3f}' for x in draw.normal(size=WIDTH))}\n" for w in words)
        vectors = f"{len(words)} {WIDTH}\n{''.join(rows)}"
        site.put(f"/wiki.{language}.vec", whole(vectors.encode()))
    home = f"http://127.0.0.1:{site.port}"
    return [
        f"download.corpora.europarl.url='{home}/v8/{{pair}}.zip'",
        f"download.corpora.europarl.sha256={hashlib.sha256(content).hexdigest()}",
        f"download.vectors.url='{home}/wiki.{{language}}.vec'",
        "download.vectors.rows=6",
        "download.http.attempts=1",
        "download.split.validation_per_10000=1000",
        "download.split.test_per_10000=1000",
        "download.near_duplicates.distance=0.0",
    ]


@pytest.mark.slow
def test_text_and_vectors_are_the_articles(site, tmp_path):
    values = apply_changes(compose_groups(["data=europarl_article"]), serve_text(site))
    settings = build_all(values, source="conf")
    place = {name: tmp_path / name for name in ("corpus", "vectors", "tokenizer", "tokenized")}
    bring(settings["download"], tmp_path)
    tokenize.run(
        settings["tokenize"],
        languages=("de", "en"),
        corpus=place["corpus"],
        tokenizer=place["tokenizer"],
        tokenized=place["tokenized"],
        workers=settings["workers"],
    )
    vocabulary.run(
        settings["vocabulary"],
        tokenizer=place["tokenizer"],
        tokenized=place["tokenized"],
        vectors=place["vectors"],
        vocabulary=tmp_path / "vocabulary",
        workers=settings["workers"],
    )
    embeddings.run(
        settings["embeddings"],
        vocabulary=tmp_path / "vocabulary",
        tokenized=place["tokenized"],
        vectors=place["vectors"],
        embeddings=tmp_path / "embeddings",
    )
    for side, language in (("source", "de"), ("target", "en")):
        text = (place["tokenized"] / f"train.{side}").read_text()
        tokens = {*text.split()}
        known = Vocabulary.load(tmp_path / "vocabulary" / f"{side}.txt")
        [table] = load_file(tmp_path / "embeddings" / f"{side}.safetensors").values()

        assert all(token.isalpha() or token in {".", ","} for token in tokens)
        assert tokens == {token.lower() for token in tokens}
        assert known.tokens == (*SPECIALS, *WORDS[language][:6], *ALL_SYMBOLS)
        assert table.shape == (len(known), WIDTH)
        np.testing.assert_allclose(table[UNK], table[len(SPECIALS) :].mean(axis=0), atol=1e-6)
