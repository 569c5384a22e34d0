"""Write the initial vectors of all tokens, if params.yaml sets vectors.

Usage: python -m stages.embeddings
Reads:  data/vocabulary/, and data/tokenized/train.* or data/vectors/, by embeddings.vectors
Writes: data/embeddings/embeddings.json, data/embeddings/{source,target}.safetensors,
        reports/embeddings.json
"""

from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.data.fasttext import train_vectors
from nmt_core.data.settings import GivenVectors, LearnedEmbeddings, TrainedVectors
from nmt_core.data.vectors import WordVectors, build_embedding_matrix, read_vectors
from nmt_core.text.vocabulary import Vocabulary
from stages import paths
from stages.params import EmbeddingsParams, load
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import check_digests


def run(
    params: EmbeddingsParams, *, vocabulary: Path, tokenized: Path, vectors: Path, embeddings: Path
) -> dict[str, int]:
    """Write the embedding matrices of both sides and their origins; return the counts of words."""
    config = params.vectors
    tables: dict[str, WordVectors] = {}
    match config:
        case LearnedEmbeddings():
            pass
        case TrainedVectors():
            texts = [tokenized / f"train.{side}" for side in paths.SIDES]
            words = [vocabulary / f"{side}.txt" for side in paths.SIDES]
            trained = train_vectors(texts, words, config)
            tables = dict(zip(paths.SIDES, trained, strict=True))
        case GivenVectors():
            for side in paths.SIDES:
                tokens = Vocabulary.load(vocabulary / f"{side}.txt")
                tables[side] = read_vectors(vectors / f"{side}.vec", tokens)
            source, target = (table.dimensions for table in tables.values())
            if source != target:
                raise CorpusError(
                    f"{vectors} holds source vectors of {source} dimensions and target vectors of "
                    f"{target}; use two files with the same number of dimensions"
                )
    with files.whole_folder(embeddings) as part:
        for side, table in tables.items():
            random = make_generator(params.seed, "embeddings", side)
            weight = build_embedding_matrix(table, random, name=side)
            save_file({"weight": weight}, part / f"{side}.safetensors")
        files.write_json(
            part / "embeddings.json",
            {
                "kind": config.kind,
                "frozen": params.frozen and bool(tables),
                "dimensions": {side: table.dimensions for side, table in tables.items()},
            }
            | {side: table.counts() for side, table in tables.items()},
        )
    return {
        f"{side}_{name}": count
        for side, table in tables.items()
        for name, count in table.counts().items()
    }


def main() -> None:
    """Run the stage on the project's own paths."""
    check_digests(paths.VOCABULARY, stage="vocabulary")
    metrics: dict[str, Any] = run(
        load(EmbeddingsParams, "embeddings"),
        vocabulary=paths.VOCABULARY,
        tokenized=paths.TOKENIZED,
        vectors=paths.VECTORS,
        embeddings=paths.EMBEDDINGS,
    )
    files.write_json(paths.REPORTS / "embeddings.json", metrics)


if __name__ == "__main__":
    run_stage(main)
