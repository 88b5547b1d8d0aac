"""What the SQLite queue promises beyond its port: exact leases, no doubles, a file that stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from fonds.model.errors import ConfigurationError, StorageFullError
from fonds.model.message import Delivery, Message, Subscription
from fonds.queues.sqlite import SqliteQueue
from unit.queues.queue_of_a_test import OTHER, READER, Clock, receive, seen


def test_a_lease_that_ends_gives_the_message_to_the_next_reader(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.topic, [Message("a", b"")])
    receive(queue)
    clock.now_s += 899.0
    assert receive(queue) == []
    clock.now_s += 1.0
    assert seen(receive(queue)) == [("a", 0, 1)]


def test_a_message_whose_lease_ended_goes_before_those_put_later(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("old", b"")])
    receive(queue)
    queue.put(READER.incoming, [Message("new", b"")])
    clock.now_s += 900.0
    assert seen(receive(queue)) == [("old", 0, 1), ("new", 0, 0)]


def test_who_lost_a_lease_may_settle_and_cannot_release(queue: SqliteQueue, clock: Clock) -> None:
    queue.put(READER.incoming, [Message("a", b"")])
    late = receive(queue)
    clock.now_s += 900.0
    other = SqliteQueue(queue._file.path, clock=clock)
    taken = receive(other)
    queue.release(late)
    assert receive(queue) == []
    queue.settle(late)
    other.settle(taken)
    assert queue.get_depth(READER).pending == 0
    other.close()


def test_settling_late_does_not_touch_a_message_put_again_since(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("a", b"1")])
    late = receive(queue)
    clock.now_s += 900.0
    queue.settle(receive(queue))
    queue.put(READER.incoming, [Message("a", b"2")])
    queue.settle(late)
    assert [one.message.body for one in receive(queue)] == [b"2"]


def test_closing_gives_back_what_is_in_hand(queue: SqliteQueue, path: Path) -> None:
    queue.put(READER.incoming, [Message("a", b"")])
    leaving = SqliteQueue(path)
    receive(leaving)
    leaving.close()
    assert seen(receive(queue)) == [("a", 0, 1)]


def test_an_id_that_waits_or_is_in_hand_is_not_added_again(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("a", b"first"), Message("a", b"second")])
    queue.put(READER.incoming, [Message("a", b"third")])
    (delivery,) = receive(queue)
    assert delivery.message.body == b"first"
    queue.put(READER.incoming, [Message("a", b"fourth")])
    assert queue.get_depth(READER).pending == 1
    queue.settle([delivery])
    assert queue.get_depth(READER).pending == 0
    queue.put(READER.incoming, [Message("a", b"fifth")])
    assert [one.message.body for one in receive(queue)] == [b"fifth"]


def test_an_id_is_added_where_it_is_missing_only(queue: SqliteQueue) -> None:
    queue.put(READER.topic, [Message("a", b"first")])
    queue.settle(receive(queue, OTHER.incoming))
    queue.put(READER.topic, [Message("a", b"second"), Message("b", b"second")])
    assert [(one.message.id, one.message.body) for one in receive(queue)] == [
        ("a", b"first"),
        ("b", b"second"),
    ]
    assert [one.message.body for one in receive(queue, OTHER.incoming)] == [b"second", b"second"]


def test_a_higher_attempt_takes_the_place_of_the_one_there(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("a", b"", attempt=1)])
    in_hand = receive(queue)
    queue.put(READER.incoming, [Message("a", b"", attempt=2)])
    queue.put(READER.incoming, [Message("a", b"", attempt=1)])
    queue.settle(in_hand)
    assert seen(receive(queue)) == [("a", 2, 0)]


def test_a_due_retry_waits_until_its_predecessor_is_settled(
    queue: SqliteQueue, clock: Clock
) -> None:
    queue.put(READER.incoming, [Message("a", b"")])
    in_hand = receive(queue)
    queue.put(READER.incoming, [Message("a", b"", attempt=1)], delay_s=5.0)
    clock.now_s += 5.0
    assert receive(queue) == []
    queue.settle(in_hand)
    assert seen(receive(queue)) == [("a", 1, 0)]


def test_delayed_messages_come_when_they_are_due(queue: SqliteQueue, clock: Clock) -> None:
    queue.put(READER.incoming, [Message("later", b"")], delay_s=60.0)
    queue.put(READER.incoming, [Message("soon", b"")], delay_s=30.0)
    clock.now_s += 29.0
    assert receive(queue) == []
    clock.now_s += 1.0
    assert seen(receive(queue)) == [("soon", 0, 0)]
    assert queue.get_depth(READER).delayed == 1


def test_a_topic_may_not_have_the_name_of_an_address(queue: SqliteQueue) -> None:
    with pytest.raises(ConfigurationError, match="both a topic and an address"):
        queue.declare([Subscription("third", READER.quarantine)])
    with pytest.raises(ConfigurationError, match="declare"):
        queue.put("third-in", [Message("a", b"")])


def test_a_subscription_may_move_to_another_topic(queue: SqliteQueue) -> None:
    queue.declare([Subscription("reader", "elsewhere")])
    queue.put("topic", [Message("a", b"")])
    queue.put("elsewhere", [Message("b", b"")])
    assert seen(receive(queue)) == [("b", 0, 0)]


def test_a_topic_is_no_address_to_receive_from(queue: SqliteQueue) -> None:
    with pytest.raises(ConfigurationError, match="declare"):
        receive(queue, READER.topic)


def test_deliveries_of_another_queue_are_refused(queue: SqliteQueue) -> None:
    with pytest.raises(TypeError, match="not a delivery"):
        queue.settle([Delivery(Message("a", b""), READER.incoming, receipt=7)])


def test_a_body_is_kept_once_for_all_subscriptions_and_goes_with_the_last(
    queue: SqliteQueue,
) -> None:
    queue.put(READER.topic, [Message("a", b"x" * 100_000)])
    contents = "SELECT count(*) FROM contents"
    with queue._file.read_connection() as connection:
        assert connection.execute(contents).fetchone() == (1,)
    queue.settle(receive(queue))
    with queue._file.read_connection() as connection:
        assert connection.execute(contents).fetchone() == (1,)
    queue.settle(receive(queue, OTHER.incoming))
    with queue._file.read_connection() as connection:
        assert connection.execute(contents).fetchone() == (0,)


def test_the_file_does_not_grow_with_what_passed_through(queue: SqliteQueue, path: Path) -> None:
    def pass_through(rounds: int) -> int:
        for turn in range(rounds):
            queue.put(READER.incoming, [Message(f"m{turn}-{i}", b"x" * 20_000) for i in range(20)])
            queue.settle(receive(queue))
        return page_count(queue)

    after_some = pass_through(5)
    assert pass_through(45) <= after_some + 10
    wal = path.with_name(path.name + "-wal")
    assert wal.stat().st_size < 64 * 1024**2 + 1024**2


def test_a_backlog_that_was_worked_off_gives_its_space_back(
    queue: SqliteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.queues.sqlite.SHRINK_EVERY_SETTLES", 1)
    monkeypatch.setattr("fonds.queues.sqlite.SHRINK_PAGES", 500)
    queue.put(READER.incoming, [Message(f"m{i}", b"x" * 50_000) for i in range(200)])
    full = page_count(queue)
    while batch := queue.receive(READER.incoming, 10, 0.0):
        queue.settle(batch)
    assert page_count(queue) < full / 2


def page_count(queue: SqliteQueue) -> int:
    with queue._file.read_connection() as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


def test_a_full_disk_loses_nothing_and_goes_on_once_there_is_room(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("kept", b"x" * 5000)])
    with queue._file.read_connection() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(StorageFullError, match=r"queue\.sqlite"):
        queue.put(READER.incoming, [Message(f"m{i}", b"x" * 5000) for i in range(50)])
    kept = receive(queue)
    assert seen(kept) == [("kept", 0, 0)]
    queue.settle(kept)
    with queue._file.read_connection() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    queue.put(READER.incoming, [Message(f"m{i}", b"x" * 5000) for i in range(50)])
    assert len(receive(queue)) == 50


def test_a_lease_that_failed_leaves_no_owner_nobody_knows(
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
    other = SqliteQueue(path)
    queue.close()
    assert seen(receive(other)) == [("a", 0, 1)]
    other.close()
