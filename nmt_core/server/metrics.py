"""Metrics of the server, for Prometheus."""

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
from nmt_core.translation.confidence import TENTHS
from nmt_core.translation.translation import Translation

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
BOUNDS = tuple((tenth + 1) / TENTHS for tenth in range(TENTHS))
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
        self.queue_tokens = gauge("queue_tokens", "Source tokens that wait.")
        self.queue = gauge("queue_requests", "Requests that wait.")
        self.swaps = counter("swaps", "Models that replaced another.")
        self._models = gauge(
            "model", "The models that translate.", ["pair", "version", "digest", "engine"]
        )
        self._current = gauge(
            "model_current", "Whether a model is the one to serve, as far as is known.", ["pair"]
        )

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
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
        """Return all counts as Prometheus reads them."""
        for gauge in (self._models, self._current, self._validation):
            gauge.clear()
        for watched in models.watched:
            if model := watched.model:
                pair = "-".join(model.pair)
                engine = model.translator.engine.name
                self._models.labels(pair, model.version, model.digest, engine).set(1)
                self._current.labels(pair).set(not watched.problem)
                if fitted := model.translator.confidence_model:
                    total = sum(fitted.validation)
                    for bound, count in zip(BOUNDS, accumulate(fitted.validation), strict=True):
                        self._validation.labels(pair, str(bound)).set(count / total)
        return generate_latest(self.registry)
