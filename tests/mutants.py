"""Do the tests notice? Break the code in one known way at a time, and see which test falls.

Usage: python -m tests.mutants [WORD ...]     (only mutants whose name holds a word)

Works in a copy of the project and leaves this one alone. Each mutant is a line of code and what to
write in its place; a mutant that no test notices is a hole in the tests, and ends this with 1.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

TOP = Path(__file__).parents[1]
LAWS = "tests/laws/test_seq2seq_laws.py"
SEARCH = "tests/laws/test_beam_laws.py tests/laws/test_beam_oracle.py"


class Mutant(NamedTuple):
    """One way to break the code."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant(
        "a softmax that only nearly masks",
        "nmt_core/models/attention.py",
        ".softmax(dim=-1).masked_fill(blocked, 0.0)",
        ".softmax(dim=-1)",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "attention scores not scaled",
        "nmt_core/models/attention.py",
        "(query * query.size(-1) ** -0.5)",
        "query",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "hypotheses folded into the wrong sentence",
        "nmt_core/models/attention.py",
        "query.unflatten(0, (sentences, -1))",
        "query.unflatten(0, (-1, sentences)).transpose(0, 1)",
        LAWS,
    ),
    Mutant(
        "the causal mask off by one",
        "nmt_core/models/transformer.py",
        "diagonal=keys - queries + 1",
        "diagonal=keys - queries + 2",
        LAWS,
    ),
    Mutant(
        "a step at the wrong position",
        "nmt_core/models/transformer.py",
        "self.target_embedding(tokens, state.position)",
        "self.target_embedding(tokens)",
        LAWS,
    ),
    Mutant(
        "rows of a state not selected",
        "nmt_core/models/seq2seq.py",
        "return value.index_select(0, rows)",
        "return value[: len(rows)]",
        LAWS,
    ),
    Mutant(
        "K candidates instead of 2K",
        "nmt_core/decoding/beam.py",
        "topk(min(2 * size, total[0].numel()), dim=1)",
        "topk(min(size + 1, total[0].numel()), dim=1)",
        SEARCH,
    ),
    Mutant(
        "a search that stops at the first end",
        "nmt_core/decoding/beam.py",
        "done = finished.score[:, config.best - 1] >= bound",
        "done = finished.score[:, config.best - 1] > -torch.inf",
        SEARCH,
    ),
    Mutant(
        "lengths without the end of sentence",
        "nmt_core/decoding/beam.py",
        "length**config.length_penalty)",
        "max(1, length - 1) ** config.length_penalty)",
        SEARCH,
    ),
    Mutant(
        "states of the wrong sentence followed",
        "nmt_core/decoding/beam.py",
        "[:, None] * size + parent",
        "[:, None] + parent",
        SEARCH,
    ),
    Mutant(
        "positions with sine and cosine swapped",
        "nmt_core/models/embedding.py",
        "torch.stack([angle.sin(), angle.cos()], dim=-1)",
        "torch.stack([angle.cos(), angle.sin()], dim=-1)",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "dropout that keeps the scale",
        "nmt_core/models/dropout.py",
        "keep.mul_(_LEVELS / (_LEVELS - level))",
        "keep",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "label smoothing that forgets the right word",
        "nmt_core/training/loss.py",
        "torch.full_like(right, label_smoothing - 1)",
        "torch.full_like(right, -1)",
        "tests/unit/test_loss.py",
    ),
    Mutant(
        "dropout drawn anew after a restart",
        "nmt_core/training/trainer.py",
        'torch.manual_seed(seed_of(self.seed, "dropout", step, *self.world.names))',
        "pass",
        "tests/laws/test_resume_laws.py",
    ),
    Mutant(
        "a repeated n-gram allowed at its end",
        "nmt_core/decoding/constraints.py",
        "tokens[:, length - size + 1 :]",
        "tokens[:, length - size + 1 :] * 0 - 1",
        SEARCH,
    ),
    Mutant(
        "a convolution that sees the next word",
        "nmt_core/models/convs2s.py",
        "F.pad(x, (0, 0, self.before, 0)) if past is None",
        "F.pad(x, (0, 0, self.before - 1, 1)) if past is None",
        LAWS,
    ),
    Mutant(
        "a convolution that reads padding",
        "nmt_core/models/convs2s.py",
        "x.masked_fill(padding[:, :, None], 0.0)",
        "x",
        LAWS,
    ),
    Mutant(
        "batch statistics of padding",
        "nmt_core/models/convs2s.py",
        "real = (~padding).to(x.dtype)[:, :, None]",
        "real = torch.ones_like(padding).to(x.dtype)[:, :, None]",
        "tests/unit/test_convs2s.py",
    ),
    Mutant(
        "sums that lose their variance",
        "nmt_core/models/convs2s.py",
        "HALF = 0.5**0.5",
        "HALF = 0.5",
        "tests/unit/test_convs2s.py",
    ),
    Mutant(
        "a source reversed with its padding",
        "nmt_core/models/rnn.py",
        "lengths[:, None] - 1 - place",
        "x.size(1) - 1 - place + 0 * lengths[:, None]",
        LAWS,
    ),
    Mutant(
        "recurrent attention to padding",
        "nmt_core/models/rnn.py",
        "masked_softmax(self._scores(query, keys), memory.blocked)",
        "self._scores(query, keys).softmax(dim=-1)",
        LAWS,
    ),
    Mutant(
        "a state that forgets what was fed",
        "nmt_core/models/rnn.py",
        "fed = [state.vector] if self.input_feeding else []",
        "fed = [state.vector * 0] if self.input_feeding else []",
        "tests/unit/test_rnn.py",
    ),
    Mutant(
        "a prefix that ends one word early",
        "nmt_core/decoding/rules.py",
        "given = length <= self.prefix.size(1)",
        "given = length < self.prefix.size(1)",
        SEARCH,
    ),
    Mutant(
        "many samples in batches as large as those of few",
        "nmt_core/decoding/translator.py",
        "self.config.max_tokens * configured // max(configured, hypotheses)",
        "self.config.max_tokens",
        "tests/unit/test_translator.py",
    ),
    Mutant(
        "batches that do not know how large the vocabulary is",
        "nmt_core/decoding/translator.py",
        "MOST_LOG_PROBS // (hypotheses * len(self.target_vocabulary))",
        "len(lines)",
        "tests/unit/test_translator.py",
    ),
    Mutant(
        "a demanded token that loses its own probability",
        "nmt_core/decoding/constraints.py",
        "own.where(demanded, log_probs.gather(1, tokens))",
        "log_probs.gather(1, tokens)",
        SEARCH,
    ),
    Mutant(
        "scores of pairs that count padding",
        "nmt_core/decoding/likelihood.py",
        "real = batch.target_output != PAD",
        "real = batch.target_output == batch.target_output",
        "tests/unit/test_translator.py",
    ),
    Mutant(
        "pairs scored together whatever their length",
        "nmt_core/decoding/likelihood.py",
        "batches(lengths, translator.config.max_tokens, len(pairs))",
        "batches(lengths, 10**9, len(pairs))",
        "tests/unit/test_translator.py",
    ),
    Mutant(
        "doubts about what was begun by others",
        "nmt_core/cli/translate.py",
        "(sample, prefix, prefix_file, fuse))",
        "(sample, prefix, fuse))",
        "tests/unit/test_cli.py",
    ),
    Mutant(
        "doubts about what was advised by others",
        "nmt_core/cli/translate.py",
        "(sample, prefix, prefix_file, fuse))",
        "(sample, prefix, prefix_file))",
        "tests/unit/test_cli_language.py",
    ),
    Mutant(
        "beginnings of any length",
        "nmt_core/decoding/translator.py",
        "return self.cut(self.target_tokenizer.encode(normalize(prefix)), prefix)",
        "return self.target_tokenizer.encode(normalize(prefix))",
        "tests/unit/test_translator.py",
    ),
    Mutant(
        "diversity that changes scores",
        "nmt_core/decoding/beam.py",
        "log_prob=total.flatten(1).gather(1, best.indices)",
        "log_prob=best.values",
        SEARCH,
    ),
    Mutant(
        "samples drawn from more than the top p",
        "nmt_core/language_models/sampling.py",
        "before >= sampling.top_p",
        "before > 2 * sampling.top_p",
        "tests/laws/test_sampling_laws.py tests/unit/test_language_models.py",
    ),
    Mutant(
        "drawn from a sum taken for one",
        "nmt_core/language_models/sampling.py",
        "noise[:, None] * cumulative[:, -1:]",
        "noise[:, None] * 1.0",
        "tests/laws/test_sampling_laws.py",
    ),
    Mutant(
        "probability that is lost on the way to shorter contexts",
        "nmt_core/language_models/ngram.py",
        "left = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount))",
        "left = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount) * 0.9)",
        "tests/unit/test_ngram.py tests/laws/test_language_model_laws.py",
    ),
    Mutant(
        "perplexity of a character that is said to be a token's",
        "nmt_core/language_models/scoring.py",
        "-self.log_likelihood / max(1, self.tokens)",
        "-self.log_likelihood / max(1, self.characters)",
        "tests/unit/test_language_models.py",
    ),
    Mutant(
        "writing that forgets at the end of a line",
        "nmt_core/language_models/sampling.py",
        "state = state if model.carries else model.start(1)",
        "state = model.start(1)",
        "tests/unit/test_language_models.py",
    ),
    Mutant(
        "blank lines that are scored, though nothing was learnt of them",
        "nmt_core/language_models/text_model.py",
        "counts = [self.units.document or not blank(line) for line in lines]",
        "counts = [True for _ in lines]",
        "tests/unit/test_language_models.py",
    ),
    Mutant(
        "text that can hold a start, an end or padding",
        "nmt_core/vocabulary.py",
        "enumerate(tokens) if number >= UNK}",
        "enumerate(tokens)}",
        "tests/unit/test_vocabulary.py",
    ),
    Mutant(
        "a language model with half its say",
        "nmt_core/decoding/fusion.py",
        "log_probs + self.weight * advice",
        "log_probs + 0.5 * self.weight * advice",
        "tests/laws/test_fusion_laws.py",
    ),
    Mutant(
        "p-values corrected as if all were the smallest",
        "nmt_core/evaluation/significance.py",
        "(len(p_values) - rank) * p_values[number]",
        "len(p_values) * p_values[number]",
        "tests/unit/test_significance.py",
    ),
    Mutant(
        "a budget of tokens that counts steps",
        "nmt_core/training/budget.py",
        "(tokens, self.tokens)",
        "(steps, self.tokens)",
        "tests/unit/test_budget.py",
    ),
    Mutant(
        "a document on one validation line read whole",
        "nmt_core/data/batch.py",
        "(source[:LONGEST], target[:LONGEST])",
        "(source[:LONGEST], target)",
        "tests/laws/test_batching_laws.py",
    ),
    Mutant(
        "a closed terminal that costs what was not saved",
        "nmt_core/training/trainer.py",
        "STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)",
        "STOPPING = (signal.SIGTERM, signal.SIGINT)",
        "tests/laws/test_stopping_laws.py -m slow",
    ),
    Mutant(
        "a speed since the beginning",
        "nmt_core/training/display.py",
        ">= RECENT_SECONDS",
        ">= 1000 * RECENT_SECONDS",
        "tests/unit/test_display.py",
    ),
    Mutant(
        "averages left in the model after a validation",
        "nmt_core/training/trainer.py",
        "weight.copy_(value)",
        "pass",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "gradients never clipped",
        "nmt_core/training/trainer.py",
        "(self.model.parameters(), self.config.max_gradient_norm)",
        "(self.model.parameters(), 1e9)",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "patience that never forgets",
        "nmt_core/training/trainer.py",
        "0 if best else progress.validations_since_best + 1",
        "progress.validations_since_best + (not best)",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "averages that remember the random start",
        "nmt_core/training/trainer.py",
        "min(self.config.average, (1 + step) / (10 + step))",
        "self.config.average",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a loss that is no number until the next validation",
        "nmt_core/training/trainer.py",
        "            if not math.isfinite(value):",
        "            if value is None:",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a training loss summed since the beginning",
        "nmt_core/training/trainer.py",
        "        progress.loss_sum, progress.loss_tokens = 0.0, 0\n",
        "",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a learning rate one update late",
        "nmt_core/training/trainer.py",
        "            steps=step + 1,",
        "            steps=step,",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a batch named that is the next one",
        "nmt_core/training/trainer.py",
        "in batch {position.batch + 1} of",
        "in batch {position.batch + 2} of",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a language model's first update without a rate",
        "nmt_core/training/language_model.py",
        "(step + 1) / (self._total + 1)",
        "step / (self._total + 1)",
        "tests/unit/test_language_models.py",
    ),
    Mutant(
        "a language model's learning rate backwards",
        "nmt_core/training/language_model.py",
        "(step + 1) / (self._total + 1)",
        "(self._total - step) / (self._total + 1)",
        "tests/unit/test_language_models.py",
    ),
    Mutant(
        "code that makes no other training",
        "stages/fingerprint.py",
        'sorted(every_file(entry["deps"]))',
        "[]",
        "tests/unit/test_fingerprint.py",
    ),
    Mutant(
        "folders that make no other training",
        "stages/fingerprint.py",
        'found = place.rglob("*") if place.is_dir() else [place]',
        "found = [place]",
        "tests/unit/test_fingerprint.py",
    ),
    Mutant(
        "files in another place that make no other training",
        "stages/fingerprint.py",
        "path.as_posix(): files",
        "path.suffix: files",
        "tests/unit/test_fingerprint.py",
    ),
    Mutant(
        "a validation with dropout",
        "nmt_core/training/trainer.py",
        "        self.model.eval()\n",
        "",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "dropout that ends with the first validation",
        "nmt_core/training/trainer.py",
        "            self.model.train()\n",
        "            pass\n",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "one draw of dropout for all updates",
        "nmt_core/training/trainer.py",
        'seed_of(self.seed, "dropout", step, *self.world.names)',
        'seed_of(self.seed, "dropout", 0, *self.world.names)',
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "labels smoothed otherwise than set",
        "nmt_core/training/trainer.py",
        "label_smoothing=self.config.label_smoothing",
        "label_smoothing=0.1",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a loss per token whatever is set",
        "nmt_core/training/trainer.py",
        "per=self.config.normalize_loss",
        'per="token"',
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "words never drawn for the loss",
        "nmt_core/training/trainer.py",
        "if expected else None",
        "if not expected else None",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "own words as if training had just begun",
        "nmt_core/training/trainer.py",
        "self.config.scheduled_sampling, done)",
        "self.config.scheduled_sampling, 0.0)",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a point of the curve summed since the beginning",
        "nmt_core/training/trainer.py",
        "        progress.recent_sum, progress.recent_tokens = 0.0, 0\n",
        "",
        "tests/laws/test_training_laws.py",
    ),
    Mutant(
        "a best model of a future that was lost",
        "nmt_core/training/checkpoint.py",
        "            self._best = best\n",
        "            self._best = max(map(_step_of, [p.stem for p in self.folder.iterdir()]))\n",
        "tests/laws/test_resume_laws.py -k lost_future",
    ),
    Mutant(
        "a best model that goes before its checkpoint",
        "nmt_core/training/checkpoint.py",
        "- {*kept, *bests}",
        "- {*kept, *list(bests)[:1]}",
        "tests/unit/test_checkpoint.py",
    ),
    Mutant(
        "a checkpoint's position altered unnoticed",
        "nmt_core/training/checkpoint.py",
        "if digest != _digest(record):",
        "if not digest:",
        "tests/unit/test_checkpoint.py",
    ),
    Mutant(
        "temporary files taken from those who write them",
        "nmt_core/files.py",
        "with suppress(OSError), _locked(part, wait=False):",
        "with suppress(OSError):",
        "tests/unit/test_files.py",
    ),
    Mutant(
        "a temporary file taken before it is locked",
        "nmt_core/files.py",
        "            if part.exists():  # or",
        "            if True:  # or",
        "tests/unit/test_files.py",
    ),
    Mutant(
        "JSON that spells out every letter with a dot",
        "nmt_core/files.py",
        "ensure_ascii=False",
        "ensure_ascii=True",
        "tests/unit/test_files.py",
    ),
    Mutant(
        "files that only their writer can read",
        "nmt_core/files.py",
        "            part.chmod(READABLE)\n",
        "",
        "tests/unit/test_files.py",
    ),
    Mutant(
        "files of a folder that only their writer can read",
        "nmt_core/files.py",
        "                    file.chmod(READABLE)\n",
        "",
        "tests/unit/test_files.py",
    ),
    Mutant(
        "settings without a finite value",
        "nmt_core/config.py",
        "allow_inf_nan=False",
        "allow_inf_nan=True",
        "tests/unit/test_config.py",
    ),
    Mutant(
        "the last of two deaths told as the cause",
        "stages/torchrun.py",
        "silent[:1]",
        "silent[-1:]",
        "tests/unit/test_torchrun.py",
    ),
    Mutant(
        "word vectors of which the last is lost",
        "nmt_core/embeddings/vectors.py",
        "if rows < promised:",
        "if rows + 1 < promised:",
        "tests/unit/test_vectors.py",
    ),
    Mutant(
        "vectors for reserved tokens",
        "nmt_core/embeddings/vectors.py",
        "enumerate(vocabulary.tokens[len(SPECIALS) :], start=len(SPECIALS))",
        "enumerate(vocabulary.tokens)",
        "tests/unit/test_vectors.py",
    ),
    Mutant(
        "a journal that anybody sends while it is held",
        "stages/journal.py",
        "fcntl.LOCK_EX",
        "fcntl.LOCK_SH",
        "tests/unit/test_tracking.py",
    ),
    Mutant(
        "runs of the same journal that stand side by side",
        "stages/mlflow_run.py",
        "for other in others:",
        "for other in others[:0]:",
        "tests/integration/test_mlflow.py -k moment",
    ),
    Mutant(
        "a comparison that knows only runs that came after it",
        "stages/mlflow_run.py",
        "if child.data.tags.get(MLFLOW_PARENT_RUN_ID) != self._id:",
        "if MLFLOW_PARENT_RUN_ID in child.data.tags:",
        "tests/integration/test_mlflow.py -k comparison",
    ),
    Mutant(
        "points that a continued run sends again",
        "stages/mlflow_run.py",
        "if point not in self._points:",
        "if point not in fresh:",
        "tests/integration/test_mlflow.py -k killed",
    ),
    Mutant(
        "a server that is told only what came after its return",
        "stages/tracking.py",
        "return run, offset, run.send(entries)",
        "return run, offset, run.send(entries if len(entries) < 40 else entries[-1:])",
        "tests/integration/test_mlflow.py -k comes_back",
    ),
    Mutant(
        "a password in the settings of a run",
        "stages/description.py",
        "return shown(value)",
        "return value",
        "tests/unit/test_description.py",
    ),
    Mutant(
        "a password taken into a setting",
        "nmt_core/fetch/address.py",
        "if _USER.search(url):",
        "if not url:",
        "tests/unit/test_address.py",
    ),
    Mutant(
        "a password shown up to its first @",
        "nmt_core/fetch/address.py",
        r"(?<=://)[^\s/?#]*@",
        r"(?<=://)[^\s/?#@]*@",
        "tests/unit/test_address.py",
    ),
    Mutant(
        "a password sent on to another host",
        "nmt_core/fetch/http.py",
        "return httpx.NetRCAuth(named)",
        'return httpx.BasicAuth("anna", "canary")',
        "tests/unit/test_fetch.py -k own_host",
    ),
    Mutant(
        "a tracking address told with its password",
        "stages/tracking.py",
        "                shown(self._uri),",
        "                self._uri,",
        "tests/unit/test_tracking.py -k password",
    ),
    Mutant(
        "what MLflow says told with its password",
        "stages/tracking.py",
        'without_secrets(f"{type(error).__name__}: {error}")',
        'f"{type(error).__name__}: {error}"',
        "tests/unit/test_tracking.py -k password",
    ),
    Mutant(
        "words learnt from text as it lies, and translated normalised",
        "nmt_core/text/tokenizing.py",
        "tokenizer.encode(normalize(line))",
        "tokenizer.encode(line)",
        "tests/unit/test_normalize.py",
    ),
    Mutant(
        "subwords learnt from text as it lies",
        "stages/tokenize.py",
        "yield from map(normalize, evenly(files.read_lines(path), total, at_most))",
        "yield from evenly(files.read_lines(path), total, at_most)",
        "tests/unit/test_normalize.py",
    ),
    Mutant(
        "compatibility characters folded",
        "nmt_core/text/normalize.py",
        'unicodedata.normalize("NFC", line)',
        'unicodedata.normalize("NFKC", line)',
        "tests/unit/test_normalize.py",
    ),
    Mutant(
        "separators that join words when translating, and part them in a corpus",
        "nmt_core/text/normalize.py",
        r"\x0e-\x1b",
        r"\x0e-\x1f",
        "tests/unit/test_normalize.py",
    ),
    Mutant(
        "digits joined in pieces",
        "nmt_core/text/subwords.py",
        "split_digits=True",
        "split_digits=False",
        "tests/laws/test_subword_laws.py",
    ),
    Mutant(
        "sentences compared by lower case",
        "nmt_core/text/cleaning.py",
        "normalize(line).casefold()",
        "normalize(line).lower()",
        "tests/unit/test_cleaning.py",
    ),
    Mutant(
        "sentences compared with their symbols",
        "nmt_core/text/cleaning.py",
        'in "PSZC"',
        'in "PZC"',
        "tests/unit/test_cleaning.py",
    ),
    Mutant(
        "sentences compared by what models never see",
        "nmt_core/text/cleaning.py",
        "normalize(line).casefold()",
        "line.casefold()",
        "tests/unit/test_cleaning.py",
    ),
    Mutant(
        "a test set split off with its duplicates",
        "nmt_core/text/cleaning.py",
        'if filters.remove_duplicates if name == "train" else name not in texts:',
        'if filters.remove_duplicates and name == "train":',
        "tests/unit/test_cleaning.py",
    ),
    Mutant(
        "batches that forget the end of a sentence",
        "nmt_core/data/batching.py",
        "lengths[numbers].max(axis=1) + 1 if",
        "lengths[numbers].max(axis=1) if",
        "tests/laws/test_batching_laws.py",
    ),
    Mutant(
        "a section that counts as its last spelling says",
        "stages/params.py",
        "if count > 1]",
        "if count > 9]",
        "tests/unit/test_params.py",
    ),
    Mutant(
        "aliases counted once, however often they are spelt out",
        "stages/params.py",
        "waiting += node.value\n",
        "waiting += list({id(inner): inner for inner in node.value}.values())\n",
        "tests/unit/test_params.py",
    ),
    Mutant(
        "a file without end, because it told no length",
        "nmt_core/fetch/http.py",
        "if size > self._config.max_bytes:",
        "if total and size > self._config.max_bytes:",
        "tests/unit/test_fetch.py -k large",
    ),
    Mutant(
        "a file taken as whole, because it told no length",
        "nmt_core/fetch/http.py",
        "            self._check_whole()",
        "            pass",
        "tests/unit/test_fetch.py -k without_a_length",
    ),
    Mutant(
        "a pipe read until it ends",
        "nmt_core/text/corpus.py",
        "if path.exists() and not path.is_file():",
        "if path.is_dir():",
        "tests/unit/test_corpus.py -k zero",
    ),
    Mutant(
        "repairs of the last text alone",
        "stages/download.py",
        "repaired[what] = repaired.get(what, 0) + count",
        "repaired[what] = count",
        "tests/integration/test_download.py -k repairs",
    ),
    Mutant(
        "stopped by what a killed run has left",
        "stages/download.py",
        "    shutil.rmtree(folder, ignore_errors=True)\n    folder.mkdir",
        "    folder.mkdir",
        "tests/integration/test_download.py -k repairs",
    ),
    Mutant(
        "all text cut by the rules of one language",
        "stages/tokenize.py",
        "TokenizeJob((span,), tokenizer.absolute() / side)",
        'TokenizeJob((span,), tokenizer.absolute() / "source")',
        "tests/unit/test_normalize.py -k each_side",
    ),
    Mutant(
        "text cut by the rules of the other language",
        "stages/tokenize.py",
        "for language in languages)",
        "for language in languages[::-1])",
        "tests/unit/test_normalize.py -k each_side",
    ),
    Mutant(
        "text cut in the middle of a line",
        "nmt_core/parallel/spans.py",
        "                begin = place + end",
        "                begin = place + end - 1",
        "tests/laws/test_parallel_laws.py -k spans",
    ),
    Mutant(
        "results in the order in which they come",
        "nmt_core/parallel/ahead.py",
        "== at_most:\n            yield waiting.popleft()()",
        "== at_most:\n            yield waiting.pop()()",
        "tests/laws/test_parallel_laws.py -k order",
    ),
    Mutant(
        "a worker that outlives its parent",
        "nmt_core/parallel/pool.py",
        "    end_with_parent()\n    if",
        "    if",
        "tests/laws/test_parallel_laws.py -k parent",
    ),
    Mutant(
        "workers that hear of an interrupt",
        "nmt_core/parallel/pool.py",
        "[signal.SIGINT]",
        "[]",
        "tests/laws/test_parallel_laws.py -k interrupt",
    ),
    Mutant(
        "a worker that keeps yesterday's tokenizer",
        "nmt_core/parallel/__init__.py",
        "_loaded(load, path, *map(files.sha256, parts))",
        "_loaded(load, path)",
        "tests/laws/test_parallel_laws.py -k keeps",
    ),
    Mutant(
        "workers with other code",
        "nmt_core/parallel/cluster.py",
        "if identity() != expected:",
        "if not expected:",
        "tests/integration/test_workers.py -k other_code",
    ),
    Mutant(
        "a byte-order mark looked for in every chunk",
        "nmt_core/text/corpus.py",
        "start=rows.spans[0].first",
        "start=1",
        "tests/unit/test_corpus.py",
    ),
    Mutant(
        "a gain that one test alone is sure of",
        "nmt_core/evaluation/gate.py",
        "better=max(gain, no_gain)",
        "better=min(gain, no_gain)",
        "tests/unit/test_gate.py -k both_tests",
    ),
    Mutant(
        "a loss that one test alone is sure of",
        "nmt_core/evaluation/gate.py",
        "worse=max(loss, no_loss)",
        "worse=min(loss, no_loss)",
        "tests/unit/test_gate.py -k both_tests",
    ),
    Mutant(
        "exchanges that tie left out of a gain",
        "nmt_core/evaluation/gate.py",
        "chance >= found",
        "chance > found",
        "tests/unit/test_gate.py -k both_tests",
    ),
    Mutant(
        "resamples that tie left out of a gain",
        "nmt_core/evaluation/gate.py",
        "drawn <= 0",
        "drawn < 0",
        "tests/unit/test_gate.py -k both_tests",
    ),
    Mutant(
        "the same thousand exchanges again and again",
        "nmt_core/evaluation/resampling.py",
        'generator(seed, "exchange", number)',
        'generator(seed, "exchange", 0)',
        "tests/unit/test_gate.py -k resample",
    ),
    Mutant(
        "the same thousand test sets again and again",
        "nmt_core/evaluation/resampling.py",
        'generator(seed, "bootstrap", number)',
        'generator(seed, "bootstrap", 0)',
        "tests/unit/test_gate.py -k resample",
    ),
    Mutant(
        "a comparison in which ties are no chance",
        "nmt_core/evaluation/significance.py",
        "np.abs(chance) >= abs(found)",
        "np.abs(chance) > abs(found)",
        "tests/unit/test_significance.py",
    ),
    Mutant(
        "a comparison that asks about one side",
        "nmt_core/evaluation/significance.py",
        "np.abs(chance) >= abs(found)",
        "chance >= found",
        "tests/unit/test_significance.py",
    ),
    Mutant(
        "a comparison of first seeds",
        "nmt_core/evaluation/significance.py",
        "for lines in seeds]",
        "for lines in seeds[:1]]",
        "tests/unit/test_significance.py",
    ),
    Mutant(
        "validation hypotheses in the order of their length",
        "nmt_core/evaluation/validation.py",
        "hypotheses[number] =",
        "hypotheses[first + numbers.index(number)] =",
        "tests/unit/test_validation.py",
    ),
    Mutant(
        "tabs in the table of translations",
        "stages/evaluate.py",
        'cell.replace("\\t", " ")',
        "cell",
        "tests/unit/test_evaluate.py",
    ),
    Mutant(
        "traditional Chinese in words between spaces",
        "nmt_core/evaluation/words.py",
        'language.partition("-")[0]',
        "language",
        "tests/unit/test_scores.py -k spaces",
    ),
    Mutant(
        "validation in English words, whatever the language",
        "nmt_core/evaluation/validation.py",
        "language=self.language",
        'language="en"',
        "tests/unit/test_validation.py",
    ),
    Mutant(
        "of equal scores the first is best",
        "nmt_core/training/trainer.py",
        "(point.validation_bleu, *by_loss)",
        "(point.validation_bleu,)",
        "tests/laws/test_resume_laws.py -k equal_scores",
    ),
    Mutant(
        "ideographs that say no more than letters",
        "nmt_core/text/cleaning.py",
        "2 * len(_IDEOGRAPHS.findall(line))",
        "0",
        "tests/unit/test_cleaning.py -k letters",
    ),
    Mutant(
        "a validation ended by detached full stops",
        "nmt_core/evaluation/scores.py",
        "    _check_pairs(hypotheses, references)\n    result",
        "    check(hypotheses, references)\n    result",
        "tests/unit/test_scores.py -k on_the_way",
    ),
    Mutant(
        "the last decoder layer aligns",
        "nmt_core/models/transformer.py",
        "aligning = max(0, len(self.decoder) - 2)",
        "aligning = max(0, len(self.decoder) - 1)",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "nothing dropped inside the dense block",
        "nmt_core/models/transformer.py",
        "over_time=self.over_time)\n        x = self.outer(x)",
        "over_time=self.over_time) if x is None else x\n        x = self.outer(x)",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "nothing dropped after a sub-layer",
        "nmt_core/models/transformer.py",
        "y = dropout(y, self.drop,",
        "y = dropout(y, 0.0,",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "no dropout of the target words",
        "nmt_core/models/transformer.py",
        "x = self._drop(self.target_embedding(tokens, state.position))",
        "x = self.target_embedding(tokens, state.position)",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "no dropout of the source words",
        "nmt_core/models/transformer.py",
        "x = self._drop(self.source_embedding(source))",
        "x = self.source_embedding(source)",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "attention weights never dropped",
        "nmt_core/models/attention.py",
        "dropout(weights, self.drop, training=self.training) @ values",
        "weights @ values",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "no dropout in published convolutions",
        "nmt_core/models/convs2s.py",
        "over_time=self.over_time)\n        length",
        "over_time=self.over_time) if x is None else x\n        length",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "no dropout before a recurrent output",
        "nmt_core/models/rnn.py",
        "vectors = dropout(vectors, self.drop, training=self.training)",
        "pass",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "no dropout between recurrent steps",
        "nmt_core/models/rnn.py",
        "dropout(x, self.drop, training=self.training)\n            after.append",
        "x\n            after.append",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "further decoder layers begin from the first",
        "nmt_core/models/rnn.py",
        "ends += ends[-1:] *",
        "ends += ends[:1] *",
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "tie output ties the source where sizes agree",
        "nmt_core/models/embedding.py",
        'if config.tie == "all":',
        'if config.tie == "all" or source.num_embeddings == target.num_embeddings:',
        "tests/unit/test_settings_matter.py",
    ),
    Mutant(
        "a level that is not enough",
        "nmt_core/evaluation/gate.py",
        "if first.better > level:",
        "if first.better >= level:",
        "tests/unit/test_gate.py -k least_effect",
    ),
    Mutant(
        "a least effect that is not enough",
        "nmt_core/evaluation/gate.py",
        "first.difference < config.minimum_effect",
        "first.difference <= config.minimum_effect",
        "tests/unit/test_gate.py -k least_effect",
    ),
    Mutant(
        "a fingerprint without the target language",
        "stages/train.py",
        'fingerprint([params, languages], "train")',
        'fingerprint([params], "train")',
        "tests/unit/test_fingerprint.py",
    ),
    Mutant(
        "a p-value of nothing",
        "nmt_core/evaluation/resampling.py",
        "float(1 + as_extreme.sum()) / (1 + len(as_extreme))",
        "float(as_extreme.mean())",
        "tests/unit/test_gate.py -k one_of_the_trials",
    ),
    Mutant(
        "extras left off the bill of materials",
        "stages/bill.py",
        'for one in ("", *need.extras)',
        'for one in ("",)',
        "tests/unit/test_bill.py",
    ),
    Mutant(
        "pipes that cut the cells of a model card",
        "stages/card.py",
        'replace("|", "\\\\|")',
        'replace("|", "|")',
        "tests/unit/test_card.py",
    ),
    Mutant(
        "a bundle of links",
        "nmt_core/bundle.py",
        "        if stat.S_ISLNK(mode):",
        "        if False:",
        "tests/unit/test_bundle.py -k only_files",
    ),
    Mutant(
        "memory taken before shapes are compared",
        "nmt_core/bundle.py",
        "    if wrong := misfits(build, stored):",
        "    build()\n    if wrong := misfits(build, stored):",
        "tests/unit/test_bundle.py -k beyond",
    ),
    Mutant(
        "no canary proves all",
        "nmt_core/bundle.py",
        "    if not expected:\n",
        "    if expected is None:\n",
        "tests/unit/test_bundle.py -k malformed",
    ),
]


def copy(folder: Path) -> None:
    """Copy what git knows of."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, folder / name)


def caught(mutant: Mutant, folder: Path) -> str | None:
    """Return the first test that notices, or None."""
    path = folder / mutant.file
    code = path.read_text(encoding="utf-8")
    if code.count(mutant.old) != 1:
        sys.exit(f"{mutant.file} holds {mutant.old!r} {code.count(mutant.old)} times, not once")
    path.write_text(code.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
        ran = subprocess.run(
            [*command, *mutant.tests.split()],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(code, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return failed[1].split("/")[-1] if failed else None


def main(words: list[str]) -> int:
    """Try every mutant; return 1 if one was not noticed."""
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    table = Table("mutant", "the first test that notices")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        for mutant in track(chosen, description="mutants"):
            test = caught(mutant, Path(folder))
            missed += test is None
            table.add_row(mutant.name, test or "[red]none[/red]")
    Console(width=150).print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
