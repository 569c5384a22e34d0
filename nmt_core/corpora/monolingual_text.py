"""Join monolingual corpora by language, without a sentence that is validated or tested on."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.base.parallel.spans import append
from nmt_core.corpora.cleaning import CleanedCorpus, JoinedSplit, advise_other_text, mark_repeated
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.near_duplicates import find_near_pairs
from nmt_core.corpora.sifting import SiftedCorpus
from nmt_core.corpora.splitting import NearDuplicateConfig, digest
from nmt_core.corpora.staging import PairKeys

HELD_OUT = ("test", "validation")


def join_monolingual(
    sifted: Mapping[str, SiftedCorpus],
    path: Path,
    *,
    corpus: Path,
    side: str,
    scratch: Path,
    near_duplicates: NearDuplicateConfig,
    workers: WorkersConfig,
) -> dict[str, CleanedCorpus]:
    """Write the text of a language, one sentence a line; return the counts of each corpus.

    No sentence stays that is one of validation or test on its side, or near to one, nor any but the
    first of equal ones.

    Args:
        sifted: the corpora of the language, by name, in order; one at least.
        path: the file to write.
        corpus: folder of parallel text, with validation and test.
        side: source or target, whichever has the language.
        scratch: folder for temporary files.
        near_duplicates: the threshold of sentences that are too near.
        workers: processes or a cluster.

    Raises:
        CorpusError: if a corpus is left without any line.
        WorkersError: if workers are lost.
    """
    corpora = {name: CleanedCorpus(readings=one.readings) for name, one in sifted.items()}
    for name, read in sifted.items():
        corpora[name].removed["train"].update(read.removed["train"])
    joined = JoinedSplit.read("train", [*sifted.values()], [*corpora.values()], scratch)
    keep = np.ones(joined.bounds[-1], dtype=np.bool_)
    for split in HELD_OUT:
        known = b"".join(
            digest(make_comparison_key(line))
            for line in files.read_lines(corpus / f"{split}.{side}")
        )
        held_out = np.frombuffer(known, dtype="<u8")
        # each line is a pair with itself
        marked = joined.keys.shared_with(PairKeys(np.stack([held_out, held_out], axis=1)))
        joined.strike(keep, marked, f"also_in_{split}")
    if near_duplicates.distance and near_duplicates.remove:
        lines = scratch / f"held_out.{side}"
        lines.touch()
        for split in HELD_OUT:
            append(corpus / f"{split}.{side}", lines)
        text = {side: joined.pairs.files["source"]}
        near = find_near_pairs(
            text, {side: lines}, near_duplicates, workers=workers, scratch=scratch
        )
        lines.unlink()
        marked = np.zeros_like(keep)
        marked[near.rows] = True
        joined.strike(keep, marked, "near_duplicate")
    joined.strike(keep, mark_repeated(joined), "duplicate")
    written = scratch / "monolingual"
    written.mkdir()
    joined.write(written, keep)
    (written / "train.source").replace(path)
    (written / "train.target").unlink()
    written.rmdir()
    for name, one in corpora.items():
        if not one.kept["train"]:
            why = one.list_reasons("train")
            told = ", ".join(f"{reason} {count}" for reason, count in sorted(why.items()))
            raise CorpusError(
                f"no line of the corpus {name} is left (removed: {told or 'none, it is empty'}); "
                f"{advise_other_text(why) or 'loosen its filter'}, or take it out of "
                f"download.corpora"
            )
    return corpora
