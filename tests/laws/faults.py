"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "tags that an epoch does not draw anew",
        "nmt_core/data/tagged_pairs.py",
        'make_generator(self.seed, "tags", epoch, number)',
        'make_generator(self.seed, "tags", number)',
    ),
    (
        "a tag that a line loses where its case is restored",
        "nmt_core/translation/protection.py",
        "tokenized = replace(self.source.tokenize(restored.line), tag=line.tag)",
        "tokenized = self.source.tokenize(restored.line)",
    ),
    (
        "numbers in words that are never read in digits",
        "nmt_core/translation/protection.py",
        "text = write_in_digits(line, spelled, source) if spelled else line",
        "text = line",
    ),
    (
        "figures that are written though one is lost",
        "nmt_core/translation/figures.py",
        "for kinds in (amounts, KINDS, ()):",
        "for kinds in (amounts,):",
    ),
    (
        "tags that CTranslate2 may write",
        "nmt_core/engines/ctranslate2.py",
        "never = [PAD, BOS, *self.target.tags.values()]",
        "never = [PAD, BOS]",
    ),
    (
        "attention that has a column for the tag",
        "nmt_core/translation/source_task.py",
        "left = looks[:, 1:]",
        "left = looks",
    ),
    (
        "drawn rows that leave with others",
        "nmt_core/decoding/stepwise.py",
        "written[number * hypotheses : (number + 1) * hypotheses]",
        "written[number : number + hypotheses]",
    ),
    (
        "K candidates instead of 2K",
        "nmt_core/decoding/beam.py",
        "argsort(axis=1)[:, : 2 * size]",
        "argsort(axis=1)[:, : size + 1]",
    ),
    (
        "a search that stops at the first end",
        "nmt_core/decoding/beam.py",
        "done = scores[:, config.n_best - 1] >= bounds",
        "done = scores[:, config.n_best - 1] > -np.inf",
    ),
    (
        "lengths without the end of sentence",
        "nmt_core/decoding/beam.py",
        "/ length**config.length_penalty",
        "/ max(1, length - 1) ** config.length_penalty",
    ),
    (
        "drawn from a sum taken for one",
        "nmt_core/decoding/token_sampling.py",
        "noise[:, None] * cumulative[:, -1:]",
        "noise[:, None] * 1.0",
    ),
    (
        "sources: a beam that keeps the best of each hypothesis alone",
        "nmt_core/decoding/reader.py",
        "topk(min(count, step.size(1)), dim=1)",
        "topk(1, dim=1)",
    ),
    (
        "a document on one validation line read whole",
        "nmt_core/data/batch.py",
        "(source[:LONGEST], target[:LONGEST])",
        "(source[:LONGEST], target)",
    ),
    (
        "batches that forget the end of a sentence",
        "nmt_core/data/batching.py",
        "lengths[numbers].max(axis=1) + 1 if",
        "lengths[numbers].max(axis=1) if",
    ),
    (
        "subwords: batches cut by the lengths before drawing",
        "nmt_core/data/batch.py",
        "split_evenly(lengths, len(planned), draw)",
        "split_evenly(self.dataset.measure(numbers), len(planned), draw)",
    ),
    (
        "fewer parts of a pool than were planned",
        "nmt_core/data/batching.py",
        "draw.permutation(parts)]",
        "draw.permutation(len(batches) - 1)]",
    ),
    (
        "results in the order in which they come",
        "nmt_core/base/parallel/ahead.py",
        "== at_most:\n            yield waiting.popleft()()",
        "== at_most:\n            yield waiting.pop()()",
    ),
    (
        "a worker that keeps yesterday's tokenizer",
        "nmt_core/base/parallel/jobs.py",
        "_loaded(load, path, *map(files.sha256, parts))",
        "_loaded(load, path)",
    ),
]
