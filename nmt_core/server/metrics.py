"""Metrics of the server, for Prometheus."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from nmt_core.server.models import Models, ServedModel
from nmt_core.translation.confidence import TENTHS, compute_drift, find_tenths
from nmt_core.translation.translation import Translation

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
BOUNDS = tuple((tenth + 1) / TENTHS for tenth in range(TENTHS))
LATEST, FEWEST = 500, 100
"""Sentences whose confidence is compared with validation text: at most, and at least."""

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Metrics:
    """All counts of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter = partial(Counter, namespace="nmt", registry=self.registry)
        gauge = partial(Gauge, namespace="nmt", registry=self.registry)
        histogram = partial(Histogram, namespace="nmt", registry=self.registry)
        self._requests = counter("requests", "Requests answered.", ["route", "status"])
        self._seconds = histogram(
            "request_seconds",
            "Seconds from a request's head to the end of its answer.",
            ["route"],
            buckets=SECONDS,
        )
        self.gone = counter("gone", "Clients that hung up before the answer.")
        self.failures = counter("failures", "Requests the engine failed for.")
        self._batch_sentences = histogram("batch_sentences", "Sentences of a batch.", buckets=SIZES)
        self._batch_tokens = histogram("batch_tokens", "Source tokens of a batch.", buckets=SIZES)
        self._batch_seconds = histogram("batch_seconds", "Seconds of a batch.", buckets=SECONDS)
        self._tokens = counter("tokens", "Tokens read and written.", ["pair", "side"])
        self._breaches = counter("breaches", "Literals that were lost.", ["pair", "kind"])
        self._unknown = counter(
            "sentences_unknown", "Sentences with words that training never had.", ["pair"]
        )
        self._confidence = histogram(
            "confidence", "Confidence of translations.", ["pair"], buckets=BOUNDS
        )
        self._validation = gauge(
            "confidence_validation",
            "The share of validation text whose confidence is at most le.",
            ["pair", "le"],
        )
        self._drift = gauge(
            "confidence_drift",
            "Distance of the latest confidences from those of validation text; above 0.25 the text "
            "is of another kind.",
            ["pair"],
        )
        self._latest: dict[str, tuple[str, deque[float]]] = {}
        self._queue_tokens = gauge("queue_tokens", "Source tokens that wait.")
        self._queue = gauge("queue_requests", "Requests that wait.")
        self.swaps = counter("swaps", "Models that replaced another.")
        self._models = gauge(
            "model", "The models that translate.", ["pair", "version", "digest", "engine"]
        )
        self._current = gauge(
            "model_current", "Whether a model is the one to serve, as far as is known.", ["pair"]
        )

    def watch_queue(self, tokens: Callable[[], float], requests: Callable[[], float]) -> None:
        """Read the length of the queue whenever the metrics are read."""
        self._queue_tokens.set_function(tokens)
        self._queue.set_function(requests)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_batch(
        self,
        model: ServedModel,
        translations: Sequence[Sequence[Translation]],
        *,
        tokens: int,
        seconds: float,
    ) -> None:
        """Count a batch of translations."""
        self._batch_sentences.observe(len(translations))
        self._batch_tokens.observe(tokens)
        self._batch_seconds.observe(seconds)
        pair = str(model.pair)
        self._tokens.labels(pair, "source").inc(tokens)
        written = sum(len(best.tokens) + 1 for best, *_ in translations)
        self._tokens.labels(pair, "target").inc(written)
        for best, *_ in translations:
            for breach in best.breaches:
                self._breaches.labels(pair, breach.kind).inc()
        self._unknown.labels(pair).inc(sum(bool(best.unknown_words) for best, *_ in translations))
        confidences = [best.confidence for best, *_ in translations if best.confidence is not None]
        for confidence in confidences:
            self._confidence.labels(pair).observe(confidence)
        digest, latest = self._latest.get(pair, ("", deque[float]()))
        if digest != model.bundle.digest:
            latest = deque(maxlen=LATEST)
            self._latest[pair] = (model.bundle.digest, latest)
        latest.extend(confidences)

    def _compare_confidence(self, model: ServedModel) -> None:
        """Show the confidences of validation text, and how far the latest ones are from them."""
        judging, pair = model.translator.confidence_model, str(model.pair)
        if judging is None:
            return
        for bound, share in zip(BOUNDS, np.cumsum(judging.validation), strict=True):
            self._validation.labels(pair, str(bound)).set(share / sum(judging.validation))
        digest, latest = self._latest.get(pair, ("", deque[float]()))
        if digest == model.bundle.digest and len(latest) >= FEWEST:
            seen = np.bincount(find_tenths(np.array(latest)), minlength=TENTHS).tolist()
            self._drift.labels(pair).set(compute_drift(seen, judging.validation))

    def render(self, models: Models) -> bytes:
        """Return all counts as Prometheus reads them."""
        for gauge in (self._models, self._current, self._validation, self._drift):
            gauge.clear()
        for watched in models.watched:
            if model := watched.model:
                labels = (str(model.pair), model.bundle.version, model.bundle.digest)
                self._models.labels(*labels, model.translator.engine.name).set(1)
                self._current.labels(str(model.pair)).set(not watched.problem)
                self._compare_confidence(model)
        return generate_latest(self.registry)
