"""Workers of two versions share a queue: the older ones leave messages of the newer ones alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.model.message import DEFERRALS, FORMAT, Message
from fonds.model.rows import DispositionRow
from fonds.pipelines.runtime import worker_threads as threads_module
from fonds.pipelines.runtime.binding import bind
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.loops import BatchLoop
from fonds.pipelines.runtime.newer_messages import (
    DELAY_FIRST_S,
    DELAY_MAX_S,
    RECENT_S,
    NewerMessages,
)
from fonds.pipelines.runtime.quarantine import release
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.queues.messages.envelope import is_newer
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.blobs import FolderBlobs
from fonds.stores.records.sql import open_sqlite
from small_pipeline import AT_ONCE, RETRY, SUMS, Clock, Workplace, double, keep
from two_versions import NEWER, OLDER, SharedQueue, use_version

LARGE_NOTE = "x" * 200


def share(place: Workplace, path: Path, **values: Any) -> SharedQueue:
    """Share the queue of a test between processes, each with its own connection."""
    return SharedQueue(
        lambda: SqliteQueue(path / "queue.sqlite", clock=place.clock.seconds),
        place.records,
        place.ledger,
        place.clock,
        lambda: place.clock.pass_s(DELAY_FIRST_S),
        **values,
    )


def put_newer(place: Workplace, **changes: Any) -> Message:
    """Put a message that only a newer version can read on the queue of the first step."""
    message = replace(Message("id-001", b"\xff\x00", "key", headers={FORMAT: "2"}), **changes)
    place.queue.put(place.subscriptions[0].incoming, [message])
    return message


def receive_later(place: Workplace, delay_s: float) -> Message:
    """Return the only message of the first step once it is due, and settle it."""
    assert place.take_all("sums.double-in") == []
    place.clock.pass_s(delay_s - 0.1)
    assert place.take_all("sums.double-in") == []
    place.clock.pass_s(0.2)
    (message,) = place.take_all("sums.double-in")
    return message


def test_the_older_worker_leaves_the_messages_and_the_newer_one_reads_them(
    place: Workplace, tmp_path: Path
) -> None:
    shared = share(place, tmp_path)
    ids = shared.enter(place.queue, NEWER, *range(25)) + shared.enter(place.queue, OLDER, 100)
    rows = list(place.records.find(DispositionRow))
    older = shared.start(OLDER)
    for _ in range(6):
        older.turn()
        assert shared.audit(place.queue) == []
    assert {row.message_id for row in place.records.find(DispositionRow, {"step": "keep"})} == {
        "id-100"
    }
    waiting_rows = [row for row in place.records.find(DispositionRow) if row.verdict == "pending"]
    assert waiting_rows == [row for row in rows if row.message_id != "id-100"]
    depth = place.get_depth()
    assert (depth.ready, depth.in_hand, depth.delayed) == (0, 0, 25)
    assert shared.audit(place.queue) == []
    shared.work(OLDER, NEWER)
    assert shared.list_endings() == {(s, id_): "done" for s in ("double", "keep") for id_ in ids}
    assert shared.audit(place.queue) == []


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    deaths=st.frozensets(st.integers(0, 60), max_size=8),
    has_large_bodies=st.booleans(),
)
def test_killed_workers_of_two_versions_process_each_message_once(
    migrated: Path, deaths: frozenset[int], has_large_bodies: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        _run_killed(Path(name), migrated, deaths, has_large_bodies)


def _run_killed(
    folder: Path, migrated: Path, deaths: frozenset[int], has_large_bodies: bool
) -> None:
    clock = Clock()
    (folder / "records.sqlite").write_bytes(migrated.read_bytes())
    records = open_sqlite(folder / "records.sqlite")
    shared = SharedQueue(
        _create_opener(folder, clock, has_large_bodies),
        records,
        records.ledger,
        clock,
        lambda: clock.pass_s(DELAY_FIRST_S / 2),
        deaths,
    )
    queue = shared.open()
    ids = shared.enter(queue, NEWER, 1, 2, 3, note=LARGE_NOTE)
    ids += shared.enter(queue, OLDER, 11, 12, note=LARGE_NOTE)
    shared.work(OLDER, NEWER)
    assert shared.list_endings() == {(s, id_): "done" for s in ("double", "keep") for id_ in ids}
    assert records.ledger.recount() == []
    assert shared.audit(queue) == []
    if not deaths:
        assert not any(path.is_file() for path in (folder / "bodies").rglob("*"))
    queue.close()
    records.close()


def _create_opener(folder: Path, clock: Clock, has_large_bodies: bool) -> Callable[[], Any]:
    def open_queue() -> Any:
        queue = SqliteQueue(folder / "queue.sqlite", clock=clock.seconds)
        if not has_large_bodies:
            return queue
        return LargeBodies(queue, FolderBlobs(folder / "bodies"), BodyLimits(100, 16_000_000))

    return open_queue


def test_a_message_of_a_newer_version_is_put_back_unread_and_unchanged(place: Workplace) -> None:
    """Neither its body nor its other headers need to be known."""
    sent = put_newer(place, attempt=3, headers={FORMAT: "7", "of-the-future": "é", "run": "2"})
    loop = place.loop()
    assert loop.run_once(0.0) == loop.run_once(0.0) == 0
    received = receive_later(place, DELAY_FIRST_S)
    assert received == replace(sent, headers={**sent.headers, DEFERRALS: "1"})
    assert list(place.records.find(DispositionRow)) == []


def test_messages_wait_longer_each_time_up_to_a_maximum(place: Workplace) -> None:
    put_newer(place)
    loop = place.loop()
    for delay_s in (120.0, 240.0, 480.0, DELAY_MAX_S, DELAY_MAX_S):
        assert loop.run_once(0.0) == loop.run_once(0.0) == 0
        place.clock.pass_s(delay_s - 0.1)
        assert place.get_depth().ready == 0
        loop.run_once(0.0)
        assert place.get_depth().delayed == 1
        place.clock.pass_s(0.2)


@pytest.mark.parametrize("text", ["", "1", "0", "two", "²", "1.5", "!int 5", "9" * 10])
def test_messages_with_no_or_an_unknown_version_are_read(place: Workplace, text: str) -> None:
    assert not is_newer(Message("id", b"", headers={FORMAT: text}))
    assert not is_newer(Message("id", b""))


def test_messages_on_public_topics_are_read_by_every_version(
    place: Workplace,
) -> None:
    place.enter(1)
    bound = place.bound()
    reads = replace(bound.stage.reads, public=True)
    public = replace(bound, stage=replace(bound.stage, reads=reads))
    with use_version(0):
        assert place.loop(bound=public).run_once(0.0) == 1


def test_a_failed_put_keeps_the_message(place: Workplace) -> None:
    put_newer(place)

    class FullQueue:
        def __getattr__(self, name: str) -> Any:
            return getattr(place.queue, name)

        def put(self, *args: Any, **options: Any) -> None:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        place.loop(queue=FullQueue()).run_once(0.0)
    assert place.get_depth().ready == 1


def test_every_message_between_steps_states_its_version(place: Workplace, tmp_path: Path) -> None:
    shared = share(place, tmp_path)
    shared.enter(place.queue, NEWER, 1)
    with use_version(NEWER):
        place.loop().run_once(0.0)
    (message,) = place.take_all("sums.keep-in")
    assert message.headers[FORMAT] == "2"


def test_a_quarantined_message_that_is_released_keeps_its_version(place: Workplace) -> None:
    place.queue.put("sums.double-quar", [Message("id-001", b"{}", headers={FORMAT: "2"})])
    count = release(place.queue, place.ledger, place.subscriptions[0], lambda _: True, place.clock)
    assert count == 1
    assert place.loop().run_once(0.0) == 0
    assert place.get_depth().delayed == 1


def test_the_older_worker_logs_once_per_step_that_messages_wait(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    newer_messages = NewerMessages(clock.seconds)
    for _ in range(3):
        newer_messages.record("double", 2)
    newer_messages.record("keep", 2)
    assert [record.message.partition(":")[0] for record in caplog.records] == ["double", "keep"]
    assert "Upgrade this worker" in caplog.text
    assert set(newer_messages.describe_waits()) == {"double", "keep"}
    clock.pass_s(RECENT_S + 1)
    newer_messages.record("double", 2)
    assert set(newer_messages.describe_waits()) == {"double"}


def test_a_run_ends_while_messages_wait_for_a_newer_version(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WAIT_S", "PAUSE_FIRST_S", "POLL_S"):
        monkeypatch.setattr(threads_module, name, 0.001)
    put_newer(place)
    stages = bind(SUMS, {"double": double, "keep": keep}, "t")
    handover = Handover(place.queue, place.ledger, (), AT_ONCE)
    newer_messages = NewerMessages()

    def make_loop(bound: Any) -> BatchLoop:
        io = StageIO(bound, place.queue, place.ledger, handover, place.clock, newer_messages)
        return BatchLoop(io, RETRY)

    threads = WorkerThreads(
        place.queue, handover, stages, make_loop, 1, newer_messages=newer_messages
    )
    threads.start()
    assert threads.drain(0.05) == 1
    assert threads.stop()
    assert threads.get_troubles() == {}
    assert threads.get_waits() == {
        "double-0": "messages of a newer version of Fonds wait for a worker of that version"
    }
