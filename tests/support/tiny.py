"""A whole translator in a tenth of a second: real subwords and an untrained Transformer.

Its subwords include every byte, so it can write any text, line ends too.
"""

import functools

import torch

from nmt_core.base.random import derive_seed
from nmt_core.models.settings import TransformerConfig, build_model
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.search.settings import BeamConfig
from nmt_core.text import Subwords
from nmt_core.text.side import Side
from nmt_core.text.subwords import SubwordConfig
from nmt_core.translation.bundle import write_bundle
from nmt_core.translation.confidence import ConfidenceModel, FeatureWeight
from nmt_core.translation.text_search import TranslatorConfig
from nmt_core.translation.translator import Translator

MODEL = TransformerConfig(
    width=16, heads=2, encoder_layers=1, decoder_layers=1, feed_forward_width=32
)
LINES = ["Der Hund schläft im Garten.", "Wo ist das rote Haus?", "", "Wir essen heute Brot."]


@functools.cache
def subwords():
    nouns = ("Hund", "Garten", "Haus", "Brot", "house", "garden", "dog", "bread")
    verbs = ("sieht", "kauft", "malt", "finds", "paints", "buys")
    text = [f"{noun} {verb} {other}." for noun in nouns for verb in verbs for other in nouns]
    return Subwords.train(text, SubwordConfig(vocab_size=320))


def tiny_translator(seed=0, *, model=MODEL, **settings):
    torch.manual_seed(derive_seed(seed))
    tokenizer = subwords()
    vocabulary = tokenizer.vocabulary
    built = build_model(model, source_size=len(vocabulary), target_size=len(vocabulary))
    search = BeamConfig(beam_size=3, max_length_factor=0, max_length_offset=12)
    return Translator(
        engine=PyTorchEngine(built, len(vocabulary)),
        source=Side(tokenizer, vocabulary),
        target=Side(tokenizer, vocabulary),
        config=TranslatorConfig(**{"beam": search, **settings}),
    )


def judge_by_score(bound):
    """Return a confidence of 0.00 for scores below a bound, and of 1.00 for those above."""
    return ConfidenceModel(
        good_chrf=50.0,
        sentences=200,
        intercept=0.0,
        features={"score": FeatureWeight(mean=bound, scale=1e-6, weight=10.0)},
        validation=(20,) * 10,
    )


def export(folder, *, translator=None, model=MODEL, engines=(), texts=(), directions=()):
    """Return a sealed translator in a folder, the same one or another.

    ``directions`` has the direction of each golden sentence of a multilingual model.
    """
    write_bundle(
        folder,
        translator=translator or tiny_translator(),
        model_config=model.model_dump(mode="json"),
        papers=("# A tiny model\n", {"bomFormat": "CycloneDX"}, texts),
        golden_sentences=LINES,
        golden_directions=directions,
        engines=engines,
    )
    return folder
