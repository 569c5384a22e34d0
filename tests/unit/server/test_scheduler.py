"""Requests share batches in turn, and leave nothing behind."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.literals.glossary import Glossary
from nmt_core.server.errors import RequestError
from nmt_core.server.metrics import Metrics
from nmt_core.server.scheduler import Scheduler, SearchRequest
from nmt_core.server.segmentation import LEAST_TOKENS, count_costs
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import Slow, StandIn, in_a_loop, model_of


class Running:
    """A scheduler at work on one translator."""

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
        tokens = count_costs(self.translator.source, lines, 512)
        found = await self.scheduler.search(user, SearchRequest(self.model, **how), lines, tokens)
        return [best.text for best, *_ in found]

    def begin(self, lines, **how):
        return asyncio.ensure_future(self.ask(lines, **how))

    async def occupy(self):
        """Let the engine be busy with a line of somebody's until it may go on."""
        task = self.begin(["busy"], user="busy")
        await asyncio.to_thread(self.translator.begun.wait, 10)
        return task

    async def finish(self, tasks, *, failing=False):
        """Let the engine go on once all tasks wait, and return what comes of them."""
        await settle()
        self.translator.go.set()
        return await asyncio.gather(*tasks, return_exceptions=failing)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


@given(
    requests=st.lists(
        st.tuples(st.sampled_from("abc"), st.lists(st.integers(1, 40), max_size=9)), max_size=9
    ),
    batch=st.integers(1, 100),
    portion=st.integers(1, 60),
    workers=st.integers(1, 3),
)
@settings(max_examples=40)
@in_a_loop
async def test_everyone_gets_the_translations_of_their_own_lines(requests, batch, portion, workers):
    async with Running(batch_tokens=batch, portion_tokens=portion, workers=workers) as running:
        asked = [
            [f"{user}{number}x{line} " * words for line, words in enumerate(lengths)]
            for number, (user, lengths) in enumerate(requests)
        ]
        both = zip(asked, requests, strict=True)
        found = await asyncio.gather(*(running.ask(lines, user=user) for lines, (user, _) in both))
        assert found == [[line.upper().strip() for line in lines] for lines in asked]
        lines = [line for call in running.translator.calls for line in call]
        assert sorted(lines) == sorted(line for each in asked for line in each)
        for call in running.translator.calls:
            tokens = sum(max(LEAST_TOKENS, len(line.split())) for line in call)
            assert tokens <= batch or len(call) == 1
        assert (running.scheduler.tokens, running.scheduler.count_waiting()) == (0, 0)


@in_a_loop
async def test_a_single_request_does_not_wait():
    async with Running(wait_seconds=1.0) as running:
        for _ in range(3):
            async with asyncio.timeout(0.5):
                await running.ask(["line"])


@in_a_loop
async def test_a_batch_after_a_shared_one_waits_for_company():
    async with Running(Slow(), wait_seconds=1.0) as running:
        tasks = [await running.occupy(), *(running.begin([f"{n}"], user=str(n)) for n in range(3))]
        await running.finish(tasks)
        first = running.begin(["first"], user="0")
        await asyncio.sleep(0.02)
        assert not first.done()
        await asyncio.gather(first, *(running.ask(["late"], user=str(n)) for n in range(1, 3)))

    assert [1, 3, 3] == [len(call) for call in running.translator.calls]


@pytest.mark.parametrize(
    "sent", [[[f"many {n}"] for n in range(100)], [["long " * 4] * 500]], ids=["many", "long"]
)
@in_a_loop
async def test_users_have_turns_whatever_they_send(sent):
    """One user's hundred requests do not keep another's waiting, nor does a long text."""
    sizes = {"batch_tokens": 40, "portion_tokens": 20}
    async with Running(Slow(), **sizes) as running:
        tasks = [await running.occupy(), *(running.begin(one, user="many") for one in sent)]
        await settle()
        tasks.append(running.begin(["mine"], user="me"))
        await running.finish(tasks)

    assert "mine" in running.translator.calls[1]


@in_a_loop
async def test_turns_go_round_among_users_with_much_to_translate():
    """No batch holds a portion of each of them; after three, all have had two."""
    async with Running(Slow(), batch_tokens=40, portion_tokens=20) as running:
        tasks = [await running.occupy()]
        tasks += [running.begin([f"{user} " * 20] * 10, user=user) for user in "abc"]
        await running.finish(tasks)

    served = [line[0] for call in running.translator.calls[1:4] for line in call]
    assert sorted(served) == ["a", "a", "b", "b", "c", "c"]


@in_a_loop
async def test_a_users_short_request_passes_their_own_long_one():
    sizes = {"batch_tokens": 40, "portion_tokens": 20}
    async with Running(Slow(), **sizes) as running:
        tasks = [await running.occupy(), running.begin(["long " * 4] * 50, user="me")]
        await settle()
        tasks.append(running.begin(["short"], user="me"))
        await running.finish(tasks)

    assert any("short" in call for call in running.translator.calls[1:3])


@in_a_loop
async def test_kinds_of_search_do_not_mix_and_none_starves():
    async with Running(Slow()) as running:
        tasks = [await running.occupy()]
        tasks += [running.begin([f"{n}"], user=str(n), n_best=1 + n % 3) for n in range(9)]
        await running.finish(tasks)

    assert [1, 3, 3, 3] == [len(call) for call in running.translator.calls]


@in_a_loop
async def test_a_request_keeps_the_model_it_began_with():
    async with Running(Slow(mark="old ")) as running:
        tasks = [await running.occupy(), running.begin(["a"], user="a")]
        await settle()
        running.model = model_of(StandIn(mark="new "))
        tasks.append(running.begin(["b"], user="b"))
        running.translator.go.set()

        assert [["old BUSY"], ["old A"], ["new B"]] == await asyncio.gather(*tasks)


@in_a_loop
async def test_who_hangs_up_amid_a_text_frees_the_rest():
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
async def test_a_full_queue_says_when_to_come_again():
    async with Running(Slow(), queue_tokens=40) as running:
        tasks = [await running.occupy(), running.begin(["line"] * 10)]
        await settle()
        with pytest.raises(RequestError) as refused:
            await running.ask(["one more"])
        running.translator.go.set()
        await asyncio.gather(*tasks)
        await running.ask(["one more"])

    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) >= 1


@in_a_loop
async def test_whatever_one_user_sends_others_are_let_in_up_to_their_share():
    async with Running(Slow(), queue_tokens=60) as running:
        tasks = [await running.occupy(), running.begin(["word " * 400], user="many")]
        await settle()
        tasks += [running.begin(["mine"] * 5, user="me"), running.begin(["mine"], user="she")]
        await settle()
        for user, lines in (("many", 1), ("me", 6), ("new", 6)):
            with pytest.raises(RequestError) as refused:
                await running.ask(["more"] * lines, user=user)
            assert refused.value.status == 429
        running.translator.go.set()
        await asyncio.gather(*tasks)


@in_a_loop
async def test_a_text_larger_than_the_queue_is_translated_when_none_waits():
    async with Running(queue_tokens=8) as running:
        assert ["LINE"] * 10 == await running.ask(["line"] * 10)


@in_a_loop
async def test_only_the_request_fails_that_the_engine_cannot_translate(caplog):
    async with Running(Slow(poison="poison")) as running:
        tasks = [await running.occupy()]
        tasks += [running.begin([line], user=line) for line in ("good", "poison", "fine")]
        done = await running.finish(tasks, failing=True)

    assert [["BUSY"], ["GOOD"], ["FINE"]] == [done[0], done[1], done[3]]
    assert (done[2].status, "poison" in done[2].message) == (500, False)
    assert "poison" not in "".join(str(vars(record)) for record in caplog.records)
    assert running.metrics.registry.get_sample_value("nmt_failures_total") == 1


@in_a_loop
async def test_a_batch_that_cannot_be_counted_is_answered_and_the_next_one_too(monkeypatch):
    async with Running(Slow()) as running, asyncio.timeout(10):
        monkeypatch.setattr(running.metrics, "count_batch", lambda *_, **__: 1 / 0)
        tasks = [await running.occupy(), *(running.begin([line]) for line in ("one", "two"))]

        assert await running.finish(tasks) == [["BUSY"], ["ONE"], ["TWO"]]
        assert await running.ask(["three"]) == ["THREE"]
    assert running.metrics.registry.get_sample_value("nmt_failures_total") > 0


@in_a_loop
async def test_an_engine_that_leaves_lines_out_fails_the_requests_and_not_the_server(monkeypatch):
    translator = Slow()
    search = translator.search
    async with Running(translator) as running, asyncio.timeout(10):
        tasks = [await running.occupy(), *(running.begin([line] * 2) for line in ("one", "two"))]
        monkeypatch.setattr(translator, "search", lambda *a, **k: search(*a, **k)[1:])
        _, *failed = await running.finish(tasks, failing=True)
        assert [error.status for error in failed] == [500, 500]  # and nobody has another's line
        monkeypatch.setattr(translator, "search", search)
        assert await running.ask(["three"]) == ["THREE"]


@in_a_loop
async def test_a_batch_that_failed_gives_everyone_the_rest_of_their_own_lines():
    """The portion that failed is not the first of the text."""
    translator = Slow(poison="poison")
    long = [f"long {number}" for number in range(5)]
    async with Running(translator, portion_tokens=2 * LEAST_TOKENS, batch_tokens=16) as running:
        tasks = [await running.occupy(), running.begin(long, user="long")]
        tasks.append(running.begin(["fine", "fine", "poison", "fine"], user="other"))
        done = await running.finish(tasks, failing=True)
        began = [len(call) for call in translator.calls]

    assert done[1] == [line.upper() for line in long]
    assert done[2].status == 500
    assert 4 in began


@in_a_loop
async def test_after_a_failure_a_single_request_does_not_wait():
    async with Running(StandIn(poison="poison"), wait_seconds=1.0) as running:
        with pytest.raises(RequestError):
            await running.ask(["poison " * 40])
        for words in (30, 20, 10):  # each less than the last batch
            async with asyncio.timeout(0.5):
                await running.ask(["line " * words])


@pytest.mark.parametrize("field", ["n_best", "probabilities", "links", "tag", "glossary"])
@in_a_loop
async def test_what_is_asked_for_in_another_way_is_no_part_of_a_batch(field):
    async with Running(Slow()) as running:
        tasks = [await running.occupy()]
        value = {"n_best": 2, "tag": "own", "glossary": Glossary({}, ("de", "en"))}.get(field, True)
        for user, how in (("a", {}), ("b", {field: value})):
            tasks.append(running.begin([user], user=user, **how))
        await running.finish(tasks)

    assert [["busy"], ["a"], ["b"]] == running.translator.calls


@in_a_loop
async def test_more_alternatives_than_beams_widen_the_search():
    async with Running() as running:
        found = await running.scheduler.search(
            "me", SearchRequest(running.model, n_best=7), ["line"], [4]
        )

    assert len(found[0]) == 7


@in_a_loop
async def test_batches_are_counted():
    async with Running() as running:
        await running.ask(["eins zwei drei vier fünf", "sechs"])
        value = running.metrics.registry.get_sample_value

        assert value("nmt_batch_sentences_sum") == 2
        assert value("nmt_batch_tokens_sum") == 5 + LEAST_TOKENS
        assert value("nmt_tokens_total", {"pair": "de-en", "side": "target"}) == 5 + 1 + 2
