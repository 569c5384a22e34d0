"""What the page says of a model is what its card says."""

import pytest

from nmt_core.server.app import build_app
from nmt_core.server.card import MOST_CHARACTERS, read_card, summarize_card
from nmt_core.server.models import Bundle, LanguagePair, Models, Watched
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, client_of, in_a_loop

CARD = """# de to en

| | |
|---|---|
| corpus | EuroParl \\| of 2012 |
| pairs | 20,000 to train |
| BLEU | 88.2 (95 % confidence: 87.1 to 89.3) |
| | `BLEU\\|nrefs:1` |
| chrF | 95.3 |

| corpus | another table |
"""


@pytest.mark.parametrize(
    ("card", "told"),
    [
        (CARD, ("EuroParl | of 2012", "BLEU 88.2 (95 % confidence: 87.1 to 89.3)")),
        (CARD.replace("BLEU |", "TER |"), ("EuroParl | of 2012", "chrF 95.3")),
        (
            CARD + "| BLEU | 99 |\n",
            ("EuroParl | of 2012", "BLEU 88.2 (95 % confidence: 87.1 to 89.3)"),
        ),
        ("| corpus |  |\nx | BLEU | 1 |\n", ("", "")),
    ],
)
def test_corpus_and_score_are_found(card, told):
    assert summarize_card(card) == told


def test_a_card_is_read_as_far_as_cards_go(tmp_path):
    assert read_card(tmp_path) == ""
    (tmp_path / "README.md").write_bytes(b"\xff" + b"a" * MOST_CHARACTERS)

    assert read_card(tmp_path) == "\ufffd" + "a" * (MOST_CHARACTERS - 1)


class FolderOf:
    """A source of one folder."""

    def __init__(self, folder):
        self.folder = folder

    def poll(self):
        return Bundle(self.folder, "7", "digest")


@in_a_loop
async def test_the_page_is_told_and_led_to_the_card(tmp_path):
    (tmp_path / "README.md").write_text(CARD)
    models = Models([Watched(FolderOf(tmp_path), LanguagePair("de", "en"))], lambda _: StandIn())
    async with client_of(build_app(models, ServerConfig())) as client:
        [offered] = (await client.get("/frontend/settings")).json()["models"]
        card = await client.get(f"/{offered['card']}")
        missing = await client.get("/model_card/en/de")

    corpus, score = summarize_card(CARD)
    told = {
        "version": "7",
        "corpus": corpus,
        "score": score,
        "card": "model_card/de/en",
        "tags": [],
    }
    assert offered == {"source": "de", "target": "en", **told}
    assert card.text == CARD
    assert card.headers["Content-Type"].startswith("text/plain")
    assert missing.status_code == 400
