"""The model card: what a model is, what it was made from and how good it is."""

from typing import Any

from stages.params import DownloadParams

TEMPLATE = """# {source} to {target}

A {architecture} of {parameters:,} weights that translates {source} to {target}.

```
nmt translate --model FOLDER < in.txt > out.txt
```

| | |
|---|---|
| corpus | {corpus} |
| pairs | {train:,} to train, {validation:,} to validate, {test:,} to test |
| training | {steps:,} updates, {epochs} epochs, {tokens:,} target tokens; best at {best:,} |
| BLEU | {bleu:.1f} (95 % confidence: {bleu_low:.1f} to {bleu_high:.1f}) |
| | `{bleu_signature}` |
| chrF | {chrf:.1f} (95 % confidence: {chrf_low:.1f} to {chrf_high:.1f}) |
| | `{chrf_signature}` |
| perplexity | {perplexity:.2f} per target token |
| failures | {failures} |
| commit | {commit} |
| fingerprint | {fingerprint} |

Scores are of detokenized translations against the untouched references of the test set, of which
neither side of any pair was seen in training. Text of another kind than the corpus will be
translated worse, and nobody has measured how much.
"""


def model_card(
    download: DownloadParams, record: dict[str, Any], measured: dict[str, Any], *, commit: str
) -> str:
    """Return the card in Markdown; nothing in it depends on when or where it was written."""
    scores, shards = measured["evaluate"], measured["shard"]
    failures = ", ".join(
        f"{count} {kind.replace('_', ' ')}" for kind, count in scores["failures"].items()
    )
    return TEMPLATE.format(
        **{name: value for name, value in scores.items() if name != "failures"},
        failures=f"{failures}, of {scores['sentences']:,} sentences",
        source=download.languages.source,
        target=download.languages.target,
        architecture=record["params"]["model"]["architecture"],
        parameters=record["parameters"],
        corpus=download.corpus.kind,
        train=shards["train_pairs"],
        validation=shards["validation_pairs"],
        test=scores["sentences"],
        steps=record["steps"],
        epochs=record["epochs"],
        tokens=record["target_tokens"],
        best=record["best_step"],
        commit=commit,
        fingerprint=record["fingerprint"],
    )
