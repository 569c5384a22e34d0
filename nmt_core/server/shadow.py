"""A challenger in the shadow: it translates a share of live lines once more, and nobody sees it."""

import logging
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from prometheus_client import CollectorRegistry, Counter

from nmt_core.server.logs import describe_failure
from nmt_core.server.models import Models, ServedModel
from nmt_core.server.scheduler import SearchRequest
from nmt_core.translation.translation import Translation

_log = logging.getLogger(__name__)


class Shadow:
    """Translates what the served model has just translated, and counts how the two differ.

    One thread does so, a batch at a time; what comes meanwhile is passed over, so that no request
    waits for it. Neither lines nor translations are kept.

    Args:
        models: the challengers, at most one for a pair of languages.
        share: of the lines that they translate, from 0 to 1.
        registry: where their counts are shown.
        draw: returns a number from 0 to 1.
    """

    def __init__(
        self,
        models: Models,
        share: float,
        registry: CollectorRegistry,
        *,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._challengers = {model.pair: model for model in models.served}
        self._share = share
        self._draw = draw
        self._thread = ThreadPoolExecutor(1, "shadow")
        self._busy = False

        def count(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"nmt_shadow_{name}", what, ["pair", *labels], registry=registry)

        self._lines = count("lines", "Lines that the challenger translated, too.")
        self._different = count("different", "Lines that it translated otherwise.")
        self._characters = count("characters", "Characters written.", "model")
        self._breaches = count("breaches", "Literals that did not come through.", "model")
        self._confidence = count("confidence", "Sum over lines of which both tell one.", "model")
        self._failed = count("failures", "Batches that the challenger failed for.")

    def follow(
        self, search: SearchRequest, lines: Sequence[str], found: Sequence[Sequence[Translation]]
    ) -> None:
        """Let the challenger translate some lines of a batch, unless it is at work."""
        challenger = self._challengers.get(search.model.pair)
        if challenger is None or self._busy or self._is_served(challenger, search.model):
            return
        chosen = [number for number in range(len(lines)) if self._draw() < self._share]
        if not chosen:
            return
        self._busy = True
        asked = search._replace(model=challenger, n_best=1, probabilities=False, links=False)
        self._thread.submit(
            self._compare,
            asked,
            [lines[number] for number in chosen],
            [found[number][0] for number in chosen],
        )

    def stop(self) -> None:
        """Wait for the batch at work, and take no other."""
        self._thread.shutdown(cancel_futures=True)

    @staticmethod
    def _is_served(challenger: ServedModel, served: ServedModel) -> bool:
        """Tell whether the challenger has become what is served."""
        return challenger.bundle.digest == served.bundle.digest

    def _compare(self, search: SearchRequest, lines: list[str], before: list[Translation]) -> None:
        pair = str(search.model.pair)
        try:
            after = [best for best, *_ in search.run(lines)]
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody waits for it
            _log.warning("the challenger in the shadow failed (%s)", describe_failure(error))
            self._failed.labels(pair).inc()
            return
        finally:
            self._busy = False
        self._lines.labels(pair).inc(len(lines))
        different = sum(a.text != b.text for a, b in zip(before, after, strict=True))
        self._different.labels(pair).inc(different)
        rated = [
            both
            for both in zip(before, after, strict=True)
            if all(one.confidence is not None for one in both)
        ]
        for side, (model, written) in enumerate((("served", before), ("shadow", after))):
            told = pair, model
            self._characters.labels(*told).inc(sum(len(one.text) for one in written))
            self._breaches.labels(*told).inc(sum(len(one.breaches) for one in written))
            sure = sum(both[side].confidence or 0.0 for both in rated)
            self._confidence.labels(*told).inc(sure)
