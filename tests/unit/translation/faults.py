"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "weights that conversion changes",
        "nmt_core/engines/conversion.py",
        "weight.float().cpu().numpy().copy()",
        "weight.float().cpu().numpy()",
    ),
    (
        "scores of pairs that count padding",
        "nmt_core/translation/likelihood.py",
        "is_token = batch.target_output != PAD",
        "is_token = batch.target_output == batch.target_output",
    ),
    (
        "beginnings of any length",
        "nmt_core/translation/translator.py",
        "return self.cut(self.target.tokenize(prefix))",
        "return self.target.tokens(prefix)",
    ),
    (
        "golden sentences of PyTorch for every engine",
        "nmt_core/translation/golden.py",
        'answers = stored if name == "torch" else stored["golden"]',
        'answers = files.read_json(folder / "golden.json")',
    ),
]
