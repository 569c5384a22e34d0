"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "probability that is lost on the way to shorter contexts",
        "nmt_core/extensions/language_models/ngram.py",
        "left = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount))",
        "left = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount) * 0.9)",
    ),
    (
        "a language model with half its say",
        "nmt_core/extensions/language_models/fusion.py",
        "log_probs + self.weight * advice",
        "log_probs + 0.5 * self.weight * advice",
    ),
    (
        "a language model of any format",
        "nmt_core/extensions/language_models/bundle.py",
        "verify_bundle(folder, known=LANGUAGE_MODEL)",
        'verify_bundle(folder, known=files.read_json(folder / MANIFEST)["format"])',
    ),
    (
        "sources: a window of three words in place of the order",
        "nmt_core/extensions/language_models/model.py",
        "(rows, order - 1), PAD",
        "(rows, min(order, 2) - 1), PAD",
    ),
    (
        "pretrain: a context that begins anew with its older half",
        "nmt_core/extensions/language_models/transformer.py",
        "state.tokens[:, -(self.config.context // 2) :]",
        "state.tokens[:, : self.config.context // 2]",
    ),
    (
        "pretrain: reserved tokens shown instead of words",
        "nmt_core/extensions/language_models/masking.py",
        "draw.integers(len(SPECIALS), words, count)",
        "draw.integers(0, words, count)",
    ),
    (
        "pretrain: alike lines hidden alike",
        "nmt_core/extensions/language_models/masking.py",
        '"masks", epoch, begin)',
        '"masks", epoch)',
    ),
    (
        "pretrain: tokens that were not chosen learnt, too",
        "nmt_core/extensions/language_models/masking.py",
        "np.full_like(tokens, PAD)",
        "tokens.copy()",
    ),
]
