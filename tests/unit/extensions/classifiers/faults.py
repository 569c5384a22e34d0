"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a classifier that masks all but padding",
        "nmt_core/extensions/classifiers/model.py",
        "x.masked_fill(padding[..., None], -torch.inf)",
        "x.masked_fill(~padding[..., None], -1e4)",
    ),
    (
        "a classifier whose buckets are another process's",
        "nmt_core/extensions/classifiers/words.py",
        "zlib.crc32(word.encode())",
        "hash(word)",
    ),
    (
        "a classifier validated on the end of a file",
        "nmt_core/extensions/classifiers/labelled.py",
        'order = make_generator(seed, "held out").permutation(len(groups)).tolist()',
        "order = list(range(len(groups)))[::-1]",
    ),
    (
        "a classifier's word that is its own neighbour",
        "nmt_core/extensions/classifiers/neighbours.py",
        "similarity[[*range(len(SPECIALS)), row]]",
        "similarity[[*range(len(SPECIALS))]]",
    ),
    (
        "pretrain: a mean over padding",
        "nmt_core/extensions/classifiers/model.py",
        "lengths = (~padding).sum(dim=1, keepdim=True)",
        "lengths = padding.size(1)",
    ),
    (
        "pretrain: what one alone finds taken for what the other does",
        "nmt_core/extensions/classifiers/accuracy.py",
        "pairs.count((True, False)), pairs.count((False, True))",
        "pairs.count((False, True)), pairs.count((True, False))",
    ),
]
