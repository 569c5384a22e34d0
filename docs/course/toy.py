"""The text of the course, and a training of half a minute.

Usage: python toy.py
Writes: work/tales.{train,test}.{de,en}; work/debates.{de,en}, from the demo's grammar

A tale is a sentence of one to three clauses. German has the participle at the end of a clause and
English has the verb after its subject, so a translator must reorder words.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch

from nmt_core import Translator
from nmt_core.base.files import write_lines
from nmt_core.base.languages import Languages
from nmt_core.data.batch import collate
from nmt_core.models.settings import Seq2SeqConfig, build_model
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.text import Subwords
from nmt_core.text.side import Side
from nmt_core.text.subwords import SubwordConfig
from nmt_core.training.loss import batch_loss
from nmt_core.translation.bundle import write_bundle
from stages.demo.corpus import load_grammar

NOUNS = (
    "der Hund dog, die Katze cat, das Kind child, der Mann man, die Frau woman, das Pferd horse, "
    "der Vogel bird, die Ente duck, der Koch cook, das Mädchen girl, die Kuh cow, der König king"
)
ADJECTIVES = "alt old, klein small, müd tired, jung young, schnell fast, klug clever"
VERBS = (
    "gesehen saw, gesucht sought, gehört heard, gefunden found, gerufen called, gemalt painted, "
    "verfolgt followed, gewaschen washed"
)
COUNTS = {"train": (4000, 1), "test": (200, 2)}
"""Pairs of each split, and the seed that they are drawn with."""

Pairs = Sequence[tuple[str, str]]


def draw_tales(split: str) -> Pairs:
    """Return the pairs of a split."""
    count, seed = COUNTS[split]
    draw = Random(seed)
    return [draw_tale(draw) for _ in range(count)]


def draw_tale(draw: Random) -> tuple[str, str]:
    """Return a sentence and its translation."""
    source, target = "", ""
    for clause in range(draw.randint(1, 3)):
        subject, who = draw_noun(draw, is_object=False)
        object_, whom = draw_noun(draw, is_object=True)
        participle, verb = draw.choice(VERBS.split(", ")).split()
        if clause and draw.randrange(2):
            source += f", weil {subject} {object_} {participle} hat"
            target += f" because {who} {verb} {whom}"
        else:
            source += f"{', und ' if clause else ''}{subject} hat {object_} {participle}"
            target += f"{' and ' if clause else ''}{who} {verb} {whom}"
    return f"{source[0].upper()}{source[1:]}.", f"{target[0].upper()}{target[1:]}."


def draw_noun(draw: Random, *, is_object: bool) -> tuple[str, str]:
    """Return a noun with its article, half of the time with an adjective, in both languages."""
    article, german, english = draw.choice(NOUNS.split(", ")).split()
    stem, adjective = draw.choice(ADJECTIVES.split(", ")).split()
    before, ending = ("den", "en") if is_object and article == "der" else (article, "e")
    if draw.randrange(2):
        return f"{before} {stem}{ending} {german}", f"the {adjective} {english}"
    return f"{before} {german}", f"the {english}"


def train(
    config: Seq2SeqConfig,
    folder: str,
    pairs: Pairs,
    *,
    languages: str = "de-en",
    steps: int = 400,
    pieces: int = 540,
) -> None:
    """Train a model on pairs of sentences, and seal it into a folder."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    draw = Random(1)
    text = [line for pair in pairs for line in pair]
    subwords = Subwords.train(text, SubwordConfig(vocab_size=pieces))
    side = Side(subwords, subwords.vocabulary)
    rows = [(side.ids(source), side.ids(target)) for source, target in pairs]
    size = len(side.vocabulary)
    model = build_model(config, source_size=size, target_size=size)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps)
    for step in range(1, steps + 1):
        batch = collate(draw.sample(rows, 32))
        loss, _ = batch_loss(model, batch, label_smoothing=0.0, per="token")
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % (steps // 4) == 0:
            print(f"step {step}: cross entropy {loss.item():.2f} nats per token")
    source, target = languages.split("-")
    translator = Translator(
        engine=PyTorchEngine(model, size),
        source=side,
        target=side,
        languages=Languages(source=source, target=target),
    )
    write_bundle(
        Path(folder),
        translator=translator,
        model_config=config.model_dump(mode="json"),
        papers=("# A model of the course\n", {"bomFormat": "CycloneDX"}, []),
        golden_sentences=[pairs[0][0]],
    )


def count_right(folder: str) -> None:
    """Print the share of unseen tales that a model translates without a mistake, by length."""
    translator, tales = Translator.load(folder), draw_tales("test")
    for clauses in (1, 3):
        sources, targets = zip(*[t for t in tales if t[0].count(" hat") == clauses], strict=True)
        right = sum(map(str.__eq__, translator.translate(sources), targets))
        print(f"clauses {clauses}: {100 * right / len(targets):.0f} % without a mistake")


def main() -> None:
    """Write the text."""
    work = Path("work")
    grammar = load_grammar()
    debates = [grammar.say(grammar.draw(Random(number), "debate")) for number in range(2000)]
    for number, code in enumerate(("de", "en")):
        for split in COUNTS:
            write_lines(
                work / f"tales.{split}.{code}", [tale[number] for tale in draw_tales(split)]
            )
        write_lines(work / f"debates.{code}", [pair[number] for pair in debates])


if __name__ == "__main__":
    main()
