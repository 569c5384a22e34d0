"""Workers have limits and turns, and end with what they work for."""

import asyncio
import os
from contextlib import asynccontextmanager

import psutil
import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.server import worker_pool
from nmt_core.server.errors import RequestError
from nmt_core.server.worker_pool import FairSlots, WorkerLimits, WorkerPool
from tests.support.processes import wait_for
from tests.support.stand_in import in_a_loop
from tests.support.tasks import (
    be_killed,
    burn,
    die,
    fail,
    note_and_sleep,
    refuse,
    take_memory,
    tell_process,
)


@asynccontextmanager
async def pool_of(count=1, memory=2**29, seconds=30):
    pool = WorkerPool(count, WorkerLimits(memory, seconds))
    pool.start()
    try:
        yield pool
    finally:
        pool.stop()


@in_a_loop
async def test_worker_is_another_process_that_lasts(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    async with pool_of() as pool:
        processes = {await pool.run("me", tell_process) for _ in range(3)}
        threads = await pool.run("me", os.getenv, "OMP_NUM_THREADS")
        niceness = await pool.run("me", os.nice, 0)

    assert threads == "1"  # or each would take all cores from those that translate
    assert niceness == os.nice(0) + worker_pool.NICE
    assert len(processes) == 1
    assert os.getpid() not in processes
    assert not psutil.pid_exists(processes.pop())


@pytest.mark.parametrize(
    ("task", "arguments", "error", "reason"),
    [
        (refuse, (), DocumentError, "this document is wrong"),
        (take_memory, (2**30,), DocumentError, "512 MiB of memory"),
        (burn, (60,), DocumentError, "1 seconds of processor time"),
        (die, (), DocumentError, "cut it in parts"),
        (be_killed, (), DocumentError, "cut it in parts"),
        (fail, (), RequestError, "the server's log says why"),
    ],
)
@in_a_loop
async def test_failed_task_is_explained_and_the_next_one_runs(
    caplog, task, arguments, error, reason
):
    async with pool_of(seconds=1) as pool:
        first = await pool.run("me", tell_process)
        with pytest.raises(error, match=reason):
            await pool.run("me", task, *arguments)
        assert await pool.run("me", tell_process) != first

    assert "secret" not in "".join(str(vars(record)) for record in caplog.records)
    failures = [record.failure for record in caplog.records if record.levelname == "ERROR"]
    assert [failure[-10:] for failure in failures] == ["ValueError"] * (task is fail)


@in_a_loop
async def test_each_task_has_processor_time_of_its_own():
    async with pool_of(seconds=2) as pool:
        assert await pool.run("me", burn, 1.2) == await pool.run("me", burn, 1.2)


@in_a_loop
async def test_idle_worker_that_was_killed_is_replaced():
    async with pool_of() as pool:
        idle = psutil.Process(await pool.run("me", tell_process))
        idle.kill()
        assert wait_for(lambda: idle.status() == psutil.STATUS_ZOMBIE, seconds=5)
        assert await pool.run("me", tell_process) != idle.pid


@in_a_loop
async def test_worker_of_a_cancelled_caller_is_killed(tmp_path):
    path = tmp_path / "process"
    async with pool_of() as pool:
        task = asyncio.ensure_future(pool.run("me", note_and_sleep, path))
        assert await asyncio.to_thread(
            wait_for, lambda: path.exists() and path.read_text(), seconds=60
        )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        pid = int(path.read_text())

        assert await pool.run("me", tell_process) != pid
        assert await asyncio.to_thread(wait_for, lambda: not psutil.pid_exists(pid), seconds=5)


@in_a_loop
async def test_worker_ends_with_its_server():
    worker = worker_pool._Worker(WorkerLimits(2**29, 30))
    worker._connection.close()

    assert worker.process.wait(30) == 0


@in_a_loop
async def test_slots_are_one_for_each_user():
    slots, inside, seen = FairSlots(2), [], []

    async def work(user):
        async with slots.take(user):
            inside.append(user)
            seen.append((len(inside), len({*inside})))
            await asyncio.sleep(0.001)
            inside.remove(user)

    await asyncio.gather(*(work(user) for user in "aaabbbccc"))
    assert {*seen} <= {(1, 1), (2, 2)}
    assert (2, 2) in seen
    assert len(seen) == 9


@in_a_loop
async def test_user_with_much_work_delays_nobody():
    order = []

    async def run(pool, user):
        await pool.run(user, tell_process, 0.05)
        order.append(user)

    async with pool_of() as pool:
        many = [asyncio.ensure_future(run(pool, "many")) for _ in range(9)]
        await asyncio.sleep(0)
        await run(pool, "me")
        await asyncio.gather(*many)

    assert order.index("me") <= 2
