"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "one scale for all rows of a batch",
        "nmt_core/engines/quantization.py",
        "axes=[-1], keepdims=1",
        "axes=[-1, -2], keepdims=1",
    ),
    (
        "inputs of eight bits where seven fit",
        "nmt_core/engines/quantization.py",
        "INPUT_LEVELS = 63",
        "INPUT_LEVELS = 127",
    ),
    (
        "hypotheses that go on from others",
        "nmt_core/decoding/beam.py",
        "log_prob, parents = candidates.log_prob, candidates.rows.ravel()",
        "log_prob, parents = candidates.log_prob, np.sort(candidates.rows.ravel())",
    ),
    (
        "positions that the trace has forgotten",
        "nmt_core/models/convs2s.py",
        "put_together(carried, parents), position=carried.position)",
        "put_together(carried, parents), position=1)",
    ),
    (
        "what was looked at in the first layer alone",
        "nmt_core/engines/tracing.py",
        "torch.stack(list(looks)).mean(dim=0)[:, -1]",
        "looks[0][:, -1]",
    ),
    (
        "words of other hypotheses in the Transformer's past",
        "nmt_core/models/transformer_state.py",
        "mask = masks[parents].view(",
        "mask = masks[parents // 2 * 2].view(",
    ),
    (
        "keys in the place of values",
        "nmt_core/engines/conversion.py",
        'f"{name}.cross_attention", "key", "value")',
        'f"{name}.cross_attention", "value", "key")',
    ),
    (
        "a limit that leaves no room for the end",
        "nmt_core/engines/ctranslate2.py",
        "tokens=[*candidate.tokens[:-1], END]",
        "tokens=[*candidate.tokens, END]",
    ),
]
