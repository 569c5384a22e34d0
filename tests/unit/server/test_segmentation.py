"""Texts are split into segments and joined again, in processes with limits."""

import asyncio
import os
from contextlib import nullcontext
from dataclasses import replace

import psutil
import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import SAMPLE_CHARACTERS
from nmt_core.documents.plan import Segmenter
from nmt_core.server.errors import RequestError
from nmt_core.server.segmentation import (
    SourceText,
    Workers,
    count_cost,
    segment_text,
    take_sample,
    write_texts,
)
from nmt_core.text.translation import EMPTY_TRANSLATION
from tests.support.processes import wait_for
from tests.support.stand_in import in_a_loop
from tests.support.tasks import (
    Words,
    be_killed,
    burn,
    die,
    fail,
    note_and_sleep,
    refuse,
    take_memory,
    tell_process,
)

SEGMENTER = Segmenter("en", Words().tokens, 100)
TEXT = "one two three four five.\nSix. Seven."


@pytest.mark.parametrize(
    ("format_", "content", "segments"),
    [
        ("text", TEXT, [("one two three four five.", False, 5), ("Six.", False, 4),
                        ("Seven.", False, 4)]),
        ("html", "<p>A <b>big</b> one.</p>", [("A big one.", True, 4)]),
        ("text", b"One.\n", [("One.", False, 4)]),
        ("po", b'msgid "One"\nmsgstr ""\n', [("One", False, 4)]),
        ("text", "", []),
    ],
)  # fmt: skip
def test_text_is_split_into_segments(format_, content, segments):
    assert segment_text(SourceText(format_, content), SEGMENTER, 13) == (
        segments,
        ["Six. Seven."] if content is TEXT else [],
        0,
    )


def test_whole_passage_is_one_segment():
    source = SourceText("text", "Six. Seven.\nOne.")
    segments, *_ = segment_text(source, SEGMENTER, 20, {"Six. Seven."})

    assert [line for line, *_ in segments] == ["Six. Seven.", "One."]


def test_documents_count_untranslated_parts():
    source = SourceText("po", b'msgid "ja {n, plural, other {#}}"\nmsgstr ""\n')

    assert segment_text(source, SEGMENTER, 9) == ([], [], 1)


@pytest.mark.parametrize(
    ("text", "limit", "reason"),
    [
        ("One. Two.", 7, "has 8 tokens, but the limit is 7 tokens"),
        ("a" * 10**4, 1, "10,000 characters, but the limit is 1 tokens"),
        ("word " * 10, 9, "10 tokens"),
        ("word " * 10, 10, None),
    ],
)
def test_text_has_a_limit_of_tokens(text, limit, reason):
    with pytest.raises(DocumentError, match=reason) if reason else nullcontext():
        segment_text(SourceText("text", text), SEGMENTER, limit)


@pytest.mark.parametrize(("words", "cost"), [(1, 4), (7, 7), (1000, 10)])
def test_a_segment_counts_only_its_read_part(words, cost):
    assert count_cost(replace(SEGMENTER, max_tokens=10), "word " * words) == cost


@pytest.mark.parametrize(
    ("translations", "texts"),
    [
        (["A", "B C"], ["- A.\n- B.\n", "- A.\n- C.\n"]),
        (["A B", "C"], ["- A.\n- C.\n", "- B.\n- C.\n"]),
        (["A", "B"], ["- A.\n- B.\n"]),
    ],
)
def test_missing_translations_get_the_last_one(translations, texts):
    best = [
        [EMPTY_TRANSLATION._replace(text=f"{text}.") for text in several.split()]
        for several in translations
    ]

    source = SourceText("text", "- One.\n- Two.\n")
    assert write_texts(source, SEGMENTER, (), best, 0.5) == texts


@pytest.mark.parametrize("text", ["word " * 10**5, "word\n" * 10**4])
def test_sample_is_short(text):
    assert 100 < len(take_sample(SourceText("text", text))) <= SAMPLE_CHARACTERS + 5


WORDS = SourceText("text", "word " * 5000)
"""A text that is long enough for a worker."""


def workers_of(count=1, memory=2**29, seconds=30):
    return Workers(count, memory, seconds)


@in_a_loop
async def test_long_texts_and_files_share_one_process():
    workers, contents = workers_of(), ["x" * 5000, "x" * 5001, b"x", b"x"]
    sources = [SourceText("text", content) for content in contents]
    here, *there = [await workers.run("me", source, tell_process) for source in sources]

    assert here == os.getpid() not in there
    assert len({*there}) == 1


FAILING = [
    (refuse, (), DocumentError, "this document is wrong"),
    (take_memory, (2**30,), DocumentError, "512 MiB of memory"),
    (burn, (60,), DocumentError, "1 seconds of CPU time"),
    (die, (), DocumentError, "split the document"),
    (be_killed, (), DocumentError, "split the document"),
    (fail, (), RequestError, "see the server's log"),
]


@pytest.mark.slow
@in_a_loop
async def test_failed_task_is_explained_and_the_next_runs(caplog):
    workers = workers_of(seconds=1)
    for task, arguments, error, reason in FAILING:
        with pytest.raises(error, match=reason):
            await workers.run("me", WORDS, task, *arguments)
    assert await workers.run("me", WORDS, tell_process) != os.getpid()

    assert "secret" not in "".join(str(vars(record)) for record in caplog.records)
    failures = [record.failure for record in caplog.records if record.levelname == "ERROR"]
    assert [failure[-10:] for failure in failures] == ["ValueError"]


@pytest.mark.slow
@in_a_loop
async def test_each_task_has_its_own_processor_time():
    workers = workers_of(seconds=1)

    assert await workers.run("me", WORDS, burn, 0.7) == await workers.run("me", WORDS, burn, 0.7)


@in_a_loop
async def test_worker_of_a_cancelled_caller_is_killed(tmp_path):
    path, workers = tmp_path / "process", workers_of()
    task = asyncio.ensure_future(workers.run("me", WORDS, note_and_sleep, path))
    assert await asyncio.to_thread(wait_for, lambda: path.exists() and path.read_text(), seconds=60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await asyncio.to_thread(
        wait_for, lambda: not psutil.pid_exists(int(path.read_text())), seconds=5
    )


@in_a_loop
async def test_user_with_much_work_delays_nobody():
    order, workers = [], workers_of()

    async def run(user):
        await workers.run(user, WORDS, tell_process, 0.05)
        order.append(user)

    many = [asyncio.ensure_future(run("many")) for _ in range(9)]
    await asyncio.sleep(0)
    await run("me")
    await asyncio.gather(*many)

    assert order.index("me") <= 2
