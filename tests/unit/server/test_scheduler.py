"""Requests share batches in turn, and leave no state behind."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.literals.glossary import Glossary
from nmt_core.server.errors import RequestError
from nmt_core.server.metrics import Metrics
from nmt_core.server.scheduler import INITIAL_SPEED, Scheduler, SearchRequest
from nmt_core.server.segmentation import MIN_COST, count_cost
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import Slow, StandIn, in_a_loop, model_of


class Running:
    """A running scheduler with one translator."""

    def __init__(self, translator=None, workers=1, **settings):
        self.translator = translator or StandIn()
        self.model = model_of(self.translator)
        self.metrics = Metrics()
        self.scheduler = Scheduler(ServerConfig(**settings), self.metrics, workers)

    async def __aenter__(self):
        self.scheduler.start()
        return self

    async def __aexit__(self, *_):
        if isinstance(self.translator, Slow):
            self.translator.go.set()
        await self.scheduler.stop()

    async def ask(self, lines, *, user="anybody", **how):
        segmenter = replace(self.translator.segmenter, max_tokens=512)
        tokens = [count_cost(segmenter, line) for line in lines]
        found = await self.scheduler.search(user, SearchRequest(self.model, **how), lines, tokens)
        return [best.text for best, *_ in found]

    def begin(self, lines, **how):
        return asyncio.ensure_future(self.ask(lines, **how))

    async def occupy(self):
        """Keep the engine busy with a line of another user until it is released."""
        task = self.begin(["busy"], user="busy")
        await asyncio.to_thread(self.translator.begun.wait, 10)
        return task

    async def finish(self, tasks, *, failing=False):
        """Release the engine once all tasks wait, and return their results."""
        await settle()
        self.translator.go.set()
        return await asyncio.gather(*tasks, return_exceptions=failing)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


SMALL = {"batch_tokens": 40, "portion_tokens": 20}


@given(
    requests=st.lists(
        st.tuples(st.sampled_from("abc"), st.lists(st.integers(1, 40), max_size=9)), max_size=9
    ),
    batch=st.integers(1, 100),
    portion=st.integers(1, 60),
    workers=st.integers(1, 3),
)
@in_a_loop
async def test_everyone_gets_their_own_translations(requests, batch, portion, workers):
    async with Running(batch_tokens=batch, portion_tokens=portion, workers=workers) as running:
        sent = [
            [f"{user}{number}x{line} " * words for line, words in enumerate(lengths)]
            for number, (user, lengths) in enumerate(requests)
        ]
        both = zip(sent, requests, strict=True)
        found = await asyncio.gather(*(running.ask(lines, user=user) for lines, (user, _) in both))
        assert found == [[line.upper().strip() for line in lines] for lines in sent]
        translated = [line for call in running.translator.calls for line in call]
        assert sorted(translated) == sorted(line for lines in sent for line in lines)
        sizes = [
            sum(max(MIN_COST, len(line.split())) for line in call)
            for call in running.translator.calls
        ]
        assert all(
            size <= batch or len(call) == 1
            for size, call in zip(sizes, running.translator.calls, strict=True)
        )
        assert (running.scheduler.tokens, running.scheduler.count_waiting()) == (0, 0)
        value = running.metrics.registry.get_sample_value
        assert value("nmt_batch_tokens_sum") == sum(sizes)
        assert value("nmt_batch_sentences_sum") == len(translated)


@pytest.mark.parametrize("fails", [False, True])
@in_a_loop
async def test_single_request_does_not_wait(fails):
    async with Running(StandIn(poison="poison"), wait_seconds=1.0) as running:
        if fails:
            with pytest.raises(RequestError):
                await running.ask(["poison " * 40])
        for words in (30, 20, 10):  # each smaller than the last batch
            async with asyncio.timeout(0.5):
                await running.ask(["line " * words])


@in_a_loop
async def test_batch_after_a_shared_one_waits_for_company():
    async with Running(Slow(), wait_seconds=1.0) as running:
        tasks = [await running.occupy(), *(running.begin([f"{n}"], user=str(n)) for n in range(3))]
        await running.finish(tasks)
        first = running.begin(["first"], user="0")
        await asyncio.sleep(0.02)
        assert not first.done()
        await asyncio.gather(first, *(running.ask(["late"], user=str(n)) for n in range(1, 3)))

    assert [1, 3, 3] == [len(call) for call in running.translator.calls]


@pytest.mark.parametrize(
    ("sent", "user", "batch"),
    [
        ([[f"many {number}"] for number in range(100)], "me", 1),
        ([["long " * 4] * 500], "me", 1),
        ([["long " * 4] * 50], "many", 2),
    ],
    ids=["many", "long", "own"],
)
@in_a_loop
async def test_short_request_is_in_an_early_batch(sent, user, batch):
    async with Running(Slow(), **SMALL) as running:
        tasks = [await running.occupy(), *(running.begin(lines, user="many") for lines in sent)]
        await settle()
        tasks.append(running.begin(["mine"], user=user))
        await running.finish(tasks)

    assert any("mine" in call for call in running.translator.calls[1 : batch + 1])


@in_a_loop
async def test_users_take_turns():
    """No batch contains a portion of each user; after three batches, each user has had two."""
    async with Running(Slow(), **SMALL) as running:
        tasks = [await running.occupy()]
        tasks += [running.begin([f"{user} " * 20] * 10, user=user) for user in "abc"]
        await running.finish(tasks)

    served = [line[0] for call in running.translator.calls[1:4] for line in call]
    assert sorted(served) == ["a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize(
    "options",
    [{"n_best": 2}, {"probabilities": True}, {"links": True}, {"tag": "own"},
     {"glossary": Glossary({}, ("de", "en"))}],
)  # fmt: skip
@in_a_loop
async def test_searches_with_other_options_share_no_batch(options):
    async with Running(Slow()) as running:
        tasks = [await running.occupy()]
        for user, how in (("a", {}), ("b", options), ("c", {}), ("d", options)):
            tasks.append(running.begin([user], user=user, **how))
        await running.finish(tasks)

    assert [["busy"], ["a", "c"], ["b", "d"]] == running.translator.calls


@in_a_loop
async def test_request_keeps_its_first_model():
    async with Running(Slow(mark="old ")) as running:
        tasks = [await running.occupy(), running.begin(["a"], user="a")]
        await settle()
        running.model = model_of(StandIn(mark="new "))
        tasks.append(running.begin(["b"], user="b"))
        running.translator.go.set()

        assert [["old BUSY"], ["old A"], ["new B"]] == await asyncio.gather(*tasks)


@in_a_loop
async def test_cancelled_request_frees_its_lines():
    async with Running(Slow(), batch_tokens=8) as running:
        gone = running.begin(["some"] * 10)
        await asyncio.to_thread(running.translator.begun.wait, 10)
        gone.cancel()
        running.translator.go.set()
        await asyncio.sleep(0.05)
        assert (running.scheduler.tokens, running.scheduler.count_waiting()) == (0, 0)
        assert await running.ask(["next"]) == ["NEXT"]

    assert [["some"] * 2, ["next"]] == running.translator.calls


@in_a_loop
async def test_full_queue_admits_each_users_equal_share():
    async with Running(Slow(), queue_tokens=60) as running:
        tasks = [await running.occupy(), running.begin(["word " * 400], user="many")]
        await settle()
        tasks += [running.begin(["mine"] * 5, user="me"), running.begin(["mine"], user="she")]
        await settle()
        for user, lines in (("many", 1), ("me", 6), ("new", 6)):
            with pytest.raises(RequestError) as refused:
                await running.ask(["more"] * lines, user=user)
            assert refused.value.status == 429
        wait = int(refused.value.headers["Retry-After"])
        assert wait - 1.5 <= running.scheduler.tokens / INITIAL_SPEED <= wait
        running.translator.go.set()
        await asyncio.gather(*tasks)
        await running.ask(["more"], user="new")


@in_a_loop
async def test_text_larger_than_the_queue_is_translated_alone():
    async with Running(queue_tokens=8) as running:
        assert ["LINE"] * 10 == await running.ask(["line"] * 10)


@in_a_loop
async def test_only_the_untranslatable_request_fails(caplog):
    """A failed portion need not be the first of its text."""
    translator = Slow(poison="poison")
    long = [f"long {number}" for number in range(5)]
    async with Running(translator, portion_tokens=2 * MIN_COST, batch_tokens=24) as running:
        tasks = [await running.occupy(), running.begin(long, user="long")]
        tasks.append(running.begin(["fine", "fine", "poison", "fine"], user="other"))
        tasks.append(running.begin(["good"], user="good"))
        busy, first, error, last = await running.finish(tasks, failing=True)
        sizes = [len(call) for call in translator.calls]

    assert [busy, first, last] == [["BUSY"], [line.upper() for line in long], ["GOOD"]]
    assert (error.status, "poison" in error.message) == (500, False)
    assert "poison" not in "".join(str(vars(record)) for record in caplog.records)
    assert running.metrics.registry.get_sample_value("nmt_failures_total") == 1
    assert max(sizes) > 2


@in_a_loop
async def test_engine_that_omits_lines_fails_the_requests(monkeypatch):
    """No request gets the lines of another."""
    translator = Slow()
    search = translator.search
    async with Running(translator) as running, asyncio.timeout(10):
        tasks = [await running.occupy(), *(running.begin([line] * 2) for line in ("one", "two"))]
        monkeypatch.setattr(translator, "search", lambda *a, **k: search(*a, **k)[1:])
        _, *failed = await running.finish(tasks, failing=True)
        assert [error.status for error in failed] == [500, 500]
        monkeypatch.setattr(translator, "search", search)
        assert await running.ask(["three"]) == ["THREE"]
