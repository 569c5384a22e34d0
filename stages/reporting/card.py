"""The model card: description, origin and scores of a model.

It begins with the metadata that Hugging Face reads (https://huggingface.co/docs/hub/model-cards).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from nmt_core.evaluation.registered import find_label, find_metric_names
from nmt_core.translation.behaviour import Behaviour
from stages.params import DownloadParams
from stages.reporting.confidence import describe_confidence

TEMPLATE = """# {source} to {target}

A {architecture} of {parameters:,} weights that translates {source} to {target}.

In a checkout of the project that made it (the distribution `nmt-pipeline`; the command is `nmt`):

```
pip install '.[{extras}]'
nmt translate --model FOLDER < in.txt > out.txt
nmt serve --model FOLDER      # a page, and LibreTranslate's API
```

```python
from nmt_core import Translator

print(Translator.load("FOLDER").translate(["..."]))
```

| | |
|---|---|
| corpus | {corpus} |
| pairs | {train:,} to train, {validation:,} to validate, {test:,} to test |
{monolingual}| training | {steps:,} updates, {epochs}, {tokens:,} target tokens; best at {best:,} |
{start}{tags}{terms}{scores}
| near duplicates | {near} |
| perplexity | {perplexity:.2f} per target token |
| failures | {failures} |
| numbers, placeholders and the like | {literals} |
| made with | {packages}; all packages and licences: `sbom.cdx.json` |
| commit | {commit}, of {date} |
| fingerprint | {fingerprint} |

## What it is for

Sentences of the kind it was trained on, one a line, where a person reads the result or a mistake
costs little. It may leave out, add or twist what the source says. `nmt translate --flag-below` and
the page of `nmt serve` mark what is unlikely to be good; what is wrong may look good, too. Names,
numbers and negations deserve a second look.

Scores are of detokenized translations against the untouched references of the test set, of which
neither side of any pair was seen in training. Text of another kind than the corpus will be
translated worse, and nobody has measured how much. What the corpus gets wrong or says of people,
the model may repeat.
{behaviour}

## Confidence

{confidence}

## Data

{data}
{examples}"""


def render_card(
    download: DownloadParams,
    record: dict[str, Any],
    measured: dict[str, Any],
    *,
    commit: str,
    date: str,
    packages: str,
    extras: str = "serve",
) -> str:
    """Return the card in Markdown; it does not depend on the time or place of writing.

    Args:
        download: settings of the text.
        record: of the training, as the train stage writes it.
        measured: metrics of the stages ``download``, ``shard`` and ``evaluate``; of ``export``, the
            reports of its ``engines``, and the number of ``glossary_terms``, where a glossary is
            sealed with the model.
        commit: the code of the model.
        date: of that commit.
        packages: the most important ones and their versions.
        extras: of the distribution, to install for translating with the model.
    """
    scores, shards, exported = measured["evaluate"], measured["shard"], measured.get("export", {})
    data = measured["download"]["corpus"]
    failures = ", ".join(
        f"{count} {kind.replace('_', ' ')}" for kind, count in scores["failures"].items()
    )
    values = {
        "extras": extras,
        "perplexity": scores["perplexity"],
        "near": describe_near(download, measured["download"]["near_duplicates"], scores),
        "failures": f"{failures}, of {scores['sentences']:,} sentences",
        "literals": describe_literals(scores["literals"]),
        "source": download.languages.source,
        "target": download.languages.target,
        "architecture": record["params"]["model"]["architecture"],
        "parameters": record["parameters"],
        "corpus": data["name"],
        "data": data["text"],
        "train": shards["train_pairs"],
        "validation": shards["validation_pairs"],
        "test": scores["sentences"],
        "steps": record["steps"],
        "epochs": describe_epochs(record["epochs"]),
        "tokens": record["target_tokens"],
        "best": record["best_step"],
        "packages": packages,
        "commit": commit,
        "date": date,
        "fingerprint": record["fingerprint"],
    }
    cells = {
        name: _cell(value) if isinstance(value, str) else value for name, value in values.items()
    }
    text = TEMPLATE.format(
        **cells,
        confidence="\n".join(describe_confidence(scores, exported.get("engines", {}))),
        start=start_row(record.get("initial_model", {})),
        monolingual=monolingual_row(measured["download"].get("monolingual", {})),
        tags=tag_row(scores, measured["download"].get("corpora", {})),
        terms=glossary_row(exported.get("glossary_terms", 0)),
        scores="\n".join(score_rows(scores)),
        examples="\n".join(quote_near(measured["download"]["near_duplicates"])),
        behaviour="\n".join(tabulate_behaviour(scores["behaviour"])),
    )
    return f"---\n{_front_matter(download, record, scores, data)}---\n\n{text}"


def describe_epochs(number: int) -> str:
    """Describe the number of epochs."""
    if number == 0:
        return "less than an epoch"
    return "1 epoch" if number == 1 else f"{number} epochs"


def score_rows(scores: dict[str, Any]) -> Iterator[str]:
    """Yield two rows of the card's table for each metric."""
    for name in find_metric_names(scores):
        value, low, high = (scores[key] for key in (name, f"{name}_low", f"{name}_high"))
        yield f"| {find_label(name)} | {value:.1f} (95 % confidence: {low:.1f} to {high:.1f}) |"
        yield f"| | `{_cell(scores[f'{name}_signature'])}` |"


def start_row(origin: dict[str, Any]) -> str:
    """Return the rows of the card's table for initial models, if any."""
    origins = {"": origin} if "bundle_sha256" in origin else origin
    return "".join(
        f"| {f'{half} started from'.strip()} | {_cell(base.get('registered') or base['folder'])}, "
        f"SHA-256 {base['bundle_sha256']}; what that was trained on is not looked through for "
        f"sentences of this test set |\n"
        for half, base in origins.items()
    )


def monolingual_row(corpora: Mapping[str, Any]) -> str:
    """Return the row of the card's table for text of one language alone, if any."""
    told = (
        f"{name}, {one['lines']:,} lines of {one['language']} ({one['licence']})"
        for name, one in corpora.items()
    )
    return f"| monolingual text | {_cell('; '.join(told))} |\n" if corpora else ""


def tag_row(scores: Mapping[str, Any], corpora: Mapping[str, Any]) -> str:
    """Return the row of the card's table for the tags of corpora, if any."""
    tags = sorted({tag for corpus in corpora.values() if (tag := corpus.get("tag"))})
    if not tags:
        return ""
    row = f"{', '.join(tags)}: say by `nmt translate --tag` where text is from"
    if untagged := scores.get("untagged"):
        plain = (f"{find_label(name)} {untagged[name]:.1f}" for name in find_metric_names(scores))
        lines = sum(untagged["tags"].values())
        row += f"; {lines:,} test sentences have theirs, without which: {', '.join(plain)}"
    return f"| tags | {row} |\n"


def glossary_row(terms: int) -> str:
    """Return the row of the card's table for the glossary, if there is one."""
    told = f"{terms:,}, translated as `glossary.tsv` says; scores are without it"
    return f"| terms of its glossary | {told} |\n" if terms else ""


def describe_novel(scores: dict[str, Any]) -> str:
    """Describe the scores of test sentences that are near to no training sentence."""
    novel = scores["novel"]
    novel_scores = [f"{find_label(name)} {novel[name]:.1f}" for name in find_metric_names(scores)]
    number = f"{novel['sentences']:,} test sentences"
    return f"{', '.join(novel_scores)} on the {number} that are not close to any training sentence"


def describe_literals(literals: Mapping[str, int]) -> str:
    """Say in how many test sentences all literals came through."""
    if not literals["lines"]:
        return "in no sentence whose reference keeps them"
    return (
        f"all came through in {literals['kept']:,} of the {literals['lines']:,} sentences whose "
        f"references keep them"
    )


def tabulate_behaviour(behaviour: Mapping[str, Any]) -> Iterator[str]:
    """Yield a section on what comes through when test sentences change; nothing without any."""
    yield ""
    if not behaviour:
        return
    yield "## Behaviour\n"
    yield "Of test sentences with a change, those whose numbers, placeholders and the like all came"
    yield "through, and those whose translation is otherwise the same, with 95 % intervals.\n"
    yield "| change | sentences | kept | otherwise the same |"
    yield "|---|---|---|---|"
    for name, found in behaviour.items():
        yield f"| {' | '.join(map(_cell, Behaviour.model_validate(found).cells(name)))} |"
    yield ""


def describe_near(download: DownloadParams, near: dict[str, Any], scores: dict[str, Any]) -> str:
    """Describe near duplicates of the test set in train, and the scores without them."""
    if not near:
        return "not searched for"
    removed = "removed from train" if download.near_duplicates.remove else "left in train"
    text = (
        f"{near['pairs']:,} pairs, of which a side differs from one of test or validation in at "
        f"most {download.near_duplicates.distance:.0%} of its words, were {removed}"
    )
    return f"{text}; {describe_novel(scores)}" if scores["novel"] else text


def quote_near(near: dict[str, Any]) -> Iterator[str]:
    """Yield a list of near duplicates, to judge by."""
    if not near.get("examples"):
        return
    yield "\nNear duplicates, of train beside test or validation:\n"
    for example in near["examples"]:
        yield f"- {_quote(example['train'])} beside {_quote(example['held_out'])}"
    yield ""


def _quote(text: str) -> str:
    """Escape text for Markdown."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}"


def _front_matter(
    download: DownloadParams, record: dict[str, Any], scores: dict[str, Any], data: dict[str, Any]
) -> str:
    pair = f"{download.languages.source}-{download.languages.target}"
    names, name = find_metric_names(scores), data["name"]
    values_of = [
        {
            "type": name,
            "name": find_label(name),
            "value": round(scores[name], 2),
            "args": scores[f"{name}_signature"],
        }
        for name in names
    ]
    result = {
        "task": {"type": "translation", "name": f"Translation {pair}"},
        "dataset": {"type": name.split()[0], "name": f"{name} {pair}", "split": "test"},
        "metrics": values_of,
    }
    values = {
        "language": [download.languages.source, download.languages.target],
        **data["licence"],
        "pipeline_tag": "translation",
        "tags": ["translation", record["params"]["model"]["architecture"]],
        "metrics": names,
        "model-index": [{"name": f"nmt-{pair}", "results": [result]}],
    }
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)


def _cell(text: str) -> str:
    """Return text that may stand in a cell of a table, in code, too."""
    return text.replace("|", "\\|")
