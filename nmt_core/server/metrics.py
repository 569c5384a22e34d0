"""Prometheus metrics of the server."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from nmt_core.server.models import Models, ServedModel
from nmt_core.text.translation import Translation
from nmt_core.translation.confidence import TENTHS

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
BOUNDS = tuple((tenth + 1) / TENTHS for tenth in range(TENTHS))
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Metrics:
    """All metrics of one server, in a separate registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter = partial(Counter, namespace="nmt", registry=self.registry)
        gauge = partial(Gauge, namespace="nmt", registry=self.registry)
        histogram = partial(Histogram, namespace="nmt", registry=self.registry)
        self._requests = counter("requests", "Answered requests.", ["route", "status"])
        self._seconds = histogram(
            "request_seconds",
            "Seconds from a request's head to the end of its response.",
            ["route"],
            buckets=SECONDS,
        )
        self.gone = counter("gone", "Clients that disconnected before the response.")
        self.failures = counter("failures", "Requests for which the engine failed.")
        self._batch_sentences = histogram("batch_sentences", "Sentences per batch.", buckets=SIZES)
        self._batch_tokens = histogram("batch_tokens", "Source tokens per batch.", buckets=SIZES)
        self._tokens = counter("tokens", "Source and target tokens.", ["pair", "side"])
        self._breaches = counter("breaches", "Literals lost or added.", ["pair", "kind"])
        self._unknown = counter(
            "sentences_unknown", "Sentences with words unknown to training.", ["pair"]
        )
        self._confidence = histogram(
            "confidence", "Confidence of translations.", ["pair"], buckets=BOUNDS
        )
        self._validation = gauge(
            "confidence_validation",
            "Share of validation sentences whose confidence is at most le.",
            ["pair", "le"],
        )
        self.queue_tokens = gauge("queue_tokens", "Source tokens in the queue.")
        self.queue = gauge("queue_requests", "Requests in the queue.")
        self.swaps = counter("swaps", "Replacements of a model by a newer one.")
        self._models = gauge("model", "Served models.", ["pair", "version", "digest", "engine"])
        self._current = gauge(
            "model_current", "1 if the served model is up to date, 0 after a problem.", ["pair"]
        )

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a response."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_batch(
        self, model: ServedModel, translations: Sequence[Sequence[Translation]], tokens: int
    ) -> None:
        """Count a batch of translations."""
        self._batch_sentences.observe(len(translations))
        self._batch_tokens.observe(tokens)
        pair = "-".join(model.pair)
        self._tokens.labels(pair, "source").inc(tokens)
        for best, *_ in translations:
            self._tokens.labels(pair, "target").inc(len(best.tokens) + 1)
            for breach in best.breaches:
                self._breaches.labels(pair, breach.kind).inc()
            if best.unknown_words:
                self._unknown.labels(pair).inc()
            if best.confidence is not None:
                self._confidence.labels(pair).observe(best.confidence)

    def render(self, models: Models) -> bytes:
        """Return all metrics in Prometheus's text format."""
        for gauge in (self._models, self._current, self._validation):
            gauge.clear()
        for watched in models.watched:
            for model in watched.models:
                pair = "-".join(model.pair)
                engine = model.translator.engine.name
                self._models.labels(pair, model.version, model.digest, engine).set(1)
                self._current.labels(pair).set(not watched.problem)
                if fitted := model.translator.confidence_model:
                    total = sum(fitted.validation)
                    for bound, count in zip(BOUNDS, accumulate(fitted.validation), strict=True):
                        self._validation.labels(pair, str(bound)).set(count / total)
        return generate_latest(self.registry)
