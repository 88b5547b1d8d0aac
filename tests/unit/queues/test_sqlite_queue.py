"""Guarantees of the SQLite queue beyond its port: exact leases, unique ids, a file that stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from fonds.model.errors import ConfigurationError, StorageFullError
from fonds.model.message import Delivery, Message, Subscription
from fonds.queues.sqlite import SqliteQueue
from unit.queues.queue_of_a_test import OTHER_READER, READER, Clock, receive, summarize


def test_an_expired_lease_makes_the_message_available(queue: SqliteQueue, clock: Clock) -> None:
    queue.put(READER.topic, [Message("a", b"")])
    receive(queue)
    clock.now_s += 899.0
    assert receive(queue) == []
    clock.now_s += 1.0
    assert summarize(receive(queue)) == [("a", 0, 1)]


def test_a_message_with_an_expired_lease_precedes_later_messages(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("old", b"")])
    receive(queue)
    queue.put(READER.incoming, [Message("new", b"")])
    clock.now_s += 900.0
    assert summarize(receive(queue)) == [("old", 0, 1), ("new", 0, 0)]


def test_a_process_without_its_lease_can_settle_but_not_release(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("a", b"")])
    late_deliveries = receive(queue)
    clock.now_s += 900.0
    other_queue = SqliteQueue(queue._file.path, clock=clock)
    other_deliveries = receive(other_queue)
    queue.release(late_deliveries)
    assert receive(queue) == []
    queue.settle(late_deliveries)
    other_queue.settle(other_deliveries)
    assert queue.get_depth(READER).pending == 0
    other_queue.close()


def test_settling_late_does_not_delete_a_message_put_since(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("a", b"1")])
    late_deliveries = receive(queue)
    clock.now_s += 900.0
    queue.settle(receive(queue))
    queue.put(READER.incoming, [Message("a", b"2")])
    queue.settle(late_deliveries)
    assert [delivery.message.body for delivery in receive(queue)] == [b"2"]


def test_closing_releases_leased_messages(queue: SqliteQueue, path: Path) -> None:
    queue.put(READER.incoming, [Message("a", b"")])
    closing_queue = SqliteQueue(path)
    receive(closing_queue)
    closing_queue.close()
    assert summarize(receive(queue)) == [("a", 0, 1)]


def test_an_id_that_waits_or_is_leased_is_not_added_again(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("a", b"first"), Message("a", b"second")])
    queue.put(READER.incoming, [Message("a", b"third")])
    (delivery,) = receive(queue)
    assert delivery.message.body == b"first"
    queue.put(READER.incoming, [Message("a", b"fourth")])
    assert queue.get_depth(READER).pending == 1
    queue.settle([delivery])
    assert queue.get_depth(READER).pending == 0
    queue.put(READER.incoming, [Message("a", b"fifth")])
    assert [fifth.message.body for fifth in receive(queue)] == [b"fifth"]


def test_an_id_is_added_only_to_subscriptions_without_it(queue: SqliteQueue) -> None:
    queue.put(READER.topic, [Message("a", b"first")])
    queue.settle(receive(queue, OTHER_READER.incoming))
    queue.put(READER.topic, [Message("a", b"second"), Message("b", b"second")])
    assert [(delivery.message.id, delivery.message.body) for delivery in receive(queue)] == [
        ("a", b"first"),
        ("b", b"second"),
    ]
    assert [copy.message.body for copy in receive(queue, OTHER_READER.incoming)] == [
        b"second",
        b"second",
    ]


def test_a_higher_attempt_replaces_a_lower_one(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("a", b"", attempt=1)])
    in_hand = receive(queue)
    queue.put(READER.incoming, [Message("a", b"", attempt=2)])
    queue.put(READER.incoming, [Message("a", b"", attempt=1)])
    queue.settle(in_hand)
    assert summarize(receive(queue)) == [("a", 2, 0)]


def test_a_due_retry_waits_until_its_predecessor_is_settled(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("a", b"")])
    in_hand = receive(queue)
    queue.put(READER.incoming, [Message("a", b"", attempt=1)], delay_s=5.0)
    clock.now_s += 5.0
    assert receive(queue) == []
    queue.settle(in_hand)
    assert summarize(receive(queue)) == [("a", 1, 0)]


def test_delayed_messages_are_received_when_they_are_due(queue: SqliteQueue, clock: Clock) -> None:
    queue.put(READER.incoming, [Message("later", b"")], delay_s=60.0)
    queue.put(READER.incoming, [Message("soon", b"")], delay_s=30.0)
    clock.now_s += 29.0
    assert receive(queue) == []
    clock.now_s += 1.0
    assert summarize(receive(queue)) == [("soon", 0, 0)]
    assert queue.get_depth(READER).delayed == 1


def test_a_topic_cannot_have_the_name_of_an_address(queue: SqliteQueue) -> None:
    with pytest.raises(ConfigurationError, match="both a topic and an address"):
        queue.declare([Subscription("third", READER.quarantine)])
    with pytest.raises(ConfigurationError, match="declare"):
        queue.put("third-in", [Message("a", b"")])


def test_a_subscription_can_move_to_another_topic(queue: SqliteQueue) -> None:
    queue.declare([Subscription("reader", "elsewhere")])
    queue.put("topic", [Message("a", b"")])
    queue.put("elsewhere", [Message("b", b"")])
    assert summarize(receive(queue)) == [("b", 0, 0)]


def test_receiving_from_a_topic_is_refused(queue: SqliteQueue) -> None:
    with pytest.raises(ConfigurationError, match="declare"):
        receive(queue, READER.topic)


def test_deliveries_of_another_queue_are_refused(queue: SqliteQueue) -> None:
    with pytest.raises(TypeError, match="not a delivery"):
        queue.settle([Delivery(Message("a", b""), READER.incoming, receipt=7)])


def test_a_body_is_stored_once_for_all_subscriptions_and_deleted_with_the_last(
    queue: SqliteQueue,
) -> None:
    queue.put(READER.topic, [Message("a", b"x" * 100_000)])
    contents = "SELECT count(*) FROM contents"
    with queue._file.read_connection() as connection:
        assert connection.execute(contents).fetchone() == (1,)
    queue.settle(receive(queue))
    with queue._file.read_connection() as connection:
        assert connection.execute(contents).fetchone() == (1,)
    queue.settle(receive(queue, OTHER_READER.incoming))
    with queue._file.read_connection() as connection:
        assert connection.execute(contents).fetchone() == (0,)


def test_the_file_does_not_grow_with_processed_messages(queue: SqliteQueue, path: Path) -> None:
    def pass_through(rounds: int) -> int:
        for turn in range(rounds):
            queue.put(READER.incoming, [Message(f"m{turn}-{i}", b"x" * 20_000) for i in range(20)])
            queue.settle(receive(queue))
        return count_pages(queue)

    after_some = pass_through(5)
    assert pass_through(45) <= after_some + 10
    wal = path.with_name(path.name + "-wal")
    assert wal.stat().st_size < 64 * 1024**2 + 1024**2


def test_a_processed_backlog_frees_its_disk_space(
    queue: SqliteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.queues.sqlite.SHRINK_EVERY_SETTLES", 1)
    monkeypatch.setattr("fonds.queues.sqlite.SHRINK_PAGES", 500)
    queue.put(READER.incoming, [Message(f"m{i}", b"x" * 50_000) for i in range(200)])
    full = count_pages(queue)
    while batch := queue.receive(READER.incoming, 10, 0.0):
        queue.settle(batch)
    assert count_pages(queue) < full / 2


def test_a_closed_queue_keeps_no_space_of_processed_messages(
    queue: SqliteQueue, path: Path
) -> None:
    queue.put(READER.incoming, [Message(f"m{i}", b"x" * 50_000) for i in range(20)])
    queue.put(READER.incoming, [Message("kept", b"x" * 50_000)])
    while batch := queue.receive(READER.incoming, 10, 0.0):
        queue.settle([delivery for delivery in batch if delivery.message.id != "kept"])
    queue.close()
    assert path.stat().st_size < 200_000
    reopened = SqliteQueue(path)
    reopened.declare([READER])
    assert [delivery.message.id for delivery in receive(reopened)] == ["kept"]
    reopened.close()


def count_pages(queue: SqliteQueue) -> int:
    with queue._file.read_connection() as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


def test_a_full_disk_loses_no_message_and_the_queue_recovers(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("kept", b"x" * 5000)])
    with queue._file.read_connection() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(StorageFullError, match=r"queue\.sqlite"):
        queue.put(READER.incoming, [Message(f"m{i}", b"x" * 5000) for i in range(50)])
    deliveries = receive(queue)
    assert summarize(deliveries) == [("kept", 0, 0)]
    queue.settle(deliveries)
    with queue._file.read_connection() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    queue.put(READER.incoming, [Message(f"m{i}", b"x" * 5000) for i in range(50)])
    assert len(receive(queue)) == 50


def test_a_failed_lease_leaves_no_unknown_owner(
    queue: SqliteQueue, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.put(READER.incoming, [Message("a", b"")])

    def fail(*_: object) -> None:
        raise StorageFullError("full")

    with monkeypatch.context() as failing:
        failing.setattr("fonds.queues.sqlite_rows.lease_messages", fail)
        with pytest.raises(StorageFullError):
            receive(queue)
    receive(queue)
    other_queue = SqliteQueue(path)
    queue.close()
    assert summarize(receive(other_queue)) == [("a", 0, 1)]
    other_queue.close()
