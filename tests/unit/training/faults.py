"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "label smoothing that forgets the right word",
        "nmt_core/training/loss.py",
        "torch.full_like(right, label_smoothing - 1)",
        "torch.full_like(right, -1)",
    ),
    (
        "of equal validations the last is best",
        "nmt_core/training/selection.py",
        "max(range(len(merits)),",
        "max(reversed(range(len(merits))),",
    ),
    (
        "one draw of dropout for all updates",
        "nmt_core/training/trainer.py",
        'derive_seed(objective.seed, "dropout", step, *rank)',
        'derive_seed(objective.seed, "dropout", 0, *rank)',
    ),
    (
        "a best model of a future that was lost",
        "nmt_core/training/checkpoint.py",
        "            self._best = best\n",
        "            self._best = max(map(_step_of, [p.stem for p in self.folder.iterdir()]))\n",
    ),
    (
        "tensors of a checkpoint that go before what names them",
        "nmt_core/training/checkpoint.py",
        'for suffix in (".json", ".safetensors"):',
        'for suffix in (".safetensors", ".json"):',
    ),
    (
        "muon without Nesterov's look ahead",
        "nmt_core/training/optimizer.py",
        "torch.stack(gradients).lerp_(torch.stack(means), self._config.momentum)",
        "torch.stack(means)",
    ),
    (
        "passes that draw the same",
        "nmt_core/training/distributed.py",
        "World(self.rank + self.size * passes.rank, ",
        "World(self.rank + passes.rank, ",
    ),
    (
        "muon's updates rounded as its products are",
        "nmt_core/training/optimizer.py",
        "(x.mT if tall else x).to(matrices.dtype)",
        "(x.mT if tall else x)",
    ),
    (
        "the initial model's rows taken by number, not by token",
        "nmt_core/training/initial.py",
        "(number, numbers[token]) for number",
        "(number, min(number, len(old) - 1)) for number",
    ),
]
