"""Kafka's own ways: shared partitions, offsets that wait, fetching ahead, what others put."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.message import Delivery, Message, Subscription
from fonds.ports import Queue
from fonds.queues.kafka.buffer import BUFFER_MAX, READY_MAX
from fonds.wiring.stores import open_backend
from real_servers import run_private_server, url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 60.0
ANSWER_MAX_S = 31.0
OPTIONS = "?partitions=3&session.timeout.ms=2000&heartbeat.interval.ms=500"
Opened = Callable[..., Any]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as stack:

        def open_one(url: str | None = None, options: str = OPTIONS) -> Any:
            queue = open_backend("queue", (url or url_of("TEST_KAFKA_URL")) + options, Path())
            stack.callback(queue.close)
            return queue

        yield open_one


@pytest.fixture
def reader() -> Subscription:
    name = f"k{os.urandom(5).hex()}"
    return Subscription(f"{name}-step", f"{name}.topic")


def take(queue: Queue, address: str, count: int) -> list[Delivery]:
    found: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} came"
        found += queue.receive(address, count - len(found), 1.0)
    return found


def ids(deliveries: list[Delivery]) -> list[str]:
    return [delivery.message.id for delivery in deliveries]


def hosts() -> str:
    return url_of("TEST_KAFKA_URL").partition("//")[2]


WORK = """
import sys, time
from pathlib import Path
from fonds.model.message import Subscription
from fonds.wiring.stores import open_backend
queue = open_backend("queue", sys.argv[1], Path())
reader = Subscription(sys.argv[2], sys.argv[3])
queue.declare([reader])
print("ready", flush=True)
while True:
    found = queue.receive(reader.incoming, 5, 1.0)
    for one in found:
        print("took", one.message.id, flush=True)
        time.sleep(0.01)
    queue.settle(found)
    for one in found:
        print("settled", one.message.id, flush=True)
"""


def test_what_a_killed_process_did_not_settle_is_done_by_the_one_it_shared_with(
    opened: Opened, reader: Subscription
) -> None:
    queue = opened()
    queue.declare([reader])
    words = [sys.executable, "-c", WORK, url_of("TEST_KAFKA_URL") + OPTIONS]
    words += [reader.name, reader.topic]
    workers = [
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(2)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        queue.put(reader.topic, [Message(f"m{n}", b"body") for n in range(400)])
        killed = workers[0]
        assert killed.stdout is not None
        # It holds a batch it has not settled when it dies.
        assert killed.stdout.readline().startswith("took")
        killed.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while queue.get_depth(reader).pending:
            assert time.monotonic() < deadline, queue.get_depth(reader)
            time.sleep(0.2)
        workers[1].send_signal(signal.SIGKILL)
        said = [worker.communicate()[0].split("\n") for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    done = [{line[8:] for line in lines if line.startswith("settled ")} for lines in said]
    assert done[1], "the other one took part"
    assert done[0] | done[1] == {f"m{n}" for n in range(400)}


HOLD = """
import sys, time
from pathlib import Path
from fonds.model.message import Subscription
from fonds.wiring.stores import open_backend
queue = open_backend("queue", sys.argv[1], Path())
reader = Subscription(sys.argv[2], sys.argv[3])
queue.declare([reader])
held, count = [], int(sys.argv[4])
while len(held) < count:
    held += queue.receive(reader.incoming, count - len(held), 1.0)
queue.settle([one for one in held if one.message.id in sys.argv[5:]])
print("holding", flush=True)
time.sleep(600)
"""


def test_only_what_was_in_a_killed_hand_is_counted_and_each_time_once(
    opened: Opened, reader: Subscription
) -> None:
    queue = opened()
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"", key="one key") for n in range(6)])
    words = [sys.executable, "-c", HOLD, url_of("TEST_KAFKA_URL") + OPTIONS]
    words += [reader.name, reader.topic]
    # The first settles from the middle, the second what stood before it as well.
    for more in (["4", "m2"], ["4", "m0", "m1"]):
        with subprocess.Popen([*words, *more], stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"holding\n"
            other.send_signal(signal.SIGKILL)
    found = take(queue, reader.incoming, 3)
    assert {one.message.id: one.redelivered for one in found} == {"m3": 2, "m4": 1, "m5": 0}
    queue.settle(found)
    assert queue.get_depth(reader).pending == 0


def test_while_the_broker_is_away_this_is_said_in_time_and_afterwards_all_goes_on(
    opened: Opened, reader: Subscription
) -> None:
    with run_private_server("kafka") as server:
        queue = opened(server.url)
        queue.declare([reader])
        queue.put(reader.topic, [Message(f"m{n}", b"") for n in range(4)])
        held = take(queue, reader.incoming, 4)
        server.stop()
        for act in (
            lambda: queue.settle(held),
            lambda: queue.receive(reader.incoming, 1, 20.0),
            lambda: queue.get_depth(reader),
            lambda: queue.declare([reader]),
        ):
            started = time.monotonic()
            with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1"):
                act()
            assert time.monotonic() - started < ANSWER_MAX_S
        server.start()
        # Nothing is put: a reader that has nothing to do does not go on complaining.
        _go_on(lambda: queue.receive(reader.incoming, 0, 0.0))
        _go_on(lambda: queue.settle(held))
        _go_on(lambda: _emptied(queue, reader, ids(held)))
        queue.close()
        after = opened(server.url)
        after.declare([reader])
        assert after.receive(reader.incoming, 4, 3.0) == []
        after.close()


def test_a_refused_login_is_reported(opened: Opened, reader: Subscription) -> None:
    queue = opened(f"kafka://user:password@{hosts()}", "?security.protocol=sasl_plaintext")
    with pytest.raises(ConfigurationError, match="refuses"):
        queue.declare([reader])


def _go_on(act: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            act()
        except StoreUnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def _emptied(queue: Queue, reader: Subscription, known: list[str]) -> None:
    """What was in hand comes again if the broker was away for longer than the session lasts."""
    deadline = time.monotonic() + PATIENCE_S
    while queue.get_depth(reader).pending or queue.receive(reader.incoming, 1, 0.0):
        assert time.monotonic() < deadline, queue.get_depth(reader)
        again = queue.receive(reader.incoming, 4, 0.5)
        assert set(ids(again)) <= set(known)
        queue.settle(again)


def test_delays_of_all_lengths_come_in_the_order_they_are_due(
    opened: Opened, reader: Subscription
) -> None:
    queue = opened()
    queue.declare([reader])
    for delay_s in (60.0, 6.0, 3.0, 5.0, 1.0, 60.0, 2.0, 4.0):
        queue.put(reader.incoming, [Message(f"{delay_s:.0f} s", b"")], delay_s=delay_s)
    started = time.monotonic()
    for due_s in (1, 2, 3, 4, 5, 6):
        (one,) = take(queue, reader.incoming, 1)
        assert one.message.id == f"{due_s} s"
        assert time.monotonic() - started < due_s + 1
        queue.settle([one])
    depth = queue.get_depth(reader)
    assert (depth.ready, depth.in_hand, depth.delayed) == (0, 0, 2)


def test_more_long_delays_than_are_held_leave_short_ones_alone(
    opened: Opened, reader: Subscription
) -> None:
    queue = opened()
    queue.declare([reader])
    count = BUFFER_MAX * 2
    queue.put(reader.incoming, [Message(f"long {n}", b"") for n in range(count)], delay_s=3600.0)
    assert queue.receive(reader.incoming, 1, 2.0) == []
    queue.put(reader.incoming, [Message("short", b"")], delay_s=1.0)
    assert ids(take(queue, reader.incoming, 1)) == ["short"]
    assert queue.get_depth(reader).delayed == count


def test_a_backlog_many_times_what_is_fetched_ahead_comes_whole_and_once(
    opened: Opened, reader: Subscription
) -> None:
    queue = opened()
    queue.declare([reader])
    sent = [f"m{n}" for n in range(READY_MAX * 4)]
    queue.put(reader.topic, [Message(one, b"") for one in sent])
    seen: list[str] = []
    while len(seen) < len(sent):
        batch = take(queue, reader.incoming, 1)
        batch += queue.receive(reader.incoming, 150, 0.0)
        seen += ids(batch)
        queue.settle(batch)
    assert sorted(seen) == sorted(sent)


def test_a_partition_that_rested_when_it_went_to_another_is_read_when_it_comes_back(
    opened: Opened, reader: Subscription
) -> None:
    first, second = opened(), opened()
    for queue in (first, second):
        queue.declare([reader])
    sent = [f"m{n}" for n in range(READY_MAX * 3)]
    first.put(reader.topic, [Message(one, b"") for one in sent])
    held = take(first, reader.incoming, 1)
    # The first has read all it may by now; the second is let in, takes what moves to it, and dies of it.
    assert take(second, reader.incoming, 1)
    second.close()
    first.settle(held)
    seen = set(ids(held))
    while len(seen) < len(sent):
        # What was in hand may have moved and come back with its partition.
        batch = take(first, reader.incoming, 1)
        batch += first.receive(reader.incoming, 150, 0.0)
        first.settle(batch)
        seen |= set(ids(batch))
    assert seen == set(sent)
    assert first.get_depth(reader).ready == 0


def test_a_body_of_twelve_megabytes_travels(opened: Opened, reader: Subscription) -> None:
    queue = opened()
    queue.declare([reader])
    body = os.urandom(12_000_000)
    queue.put(reader.topic, [Message("large", body)])
    assert take(queue, reader.incoming, 1)[0].message.body == body
    with pytest.raises(ConfigurationError, match="too large"):
        queue.put(reader.topic, [Message("larger", body + body)])


def test_a_topic_somebody_took_away_is_told(opened: Opened, reader: Subscription) -> None:
    queue = opened()
    queue.declare([reader])
    admin = AdminClient({"bootstrap.servers": hosts()})
    admin.delete_topics([reader.topic])[reader.topic].result()
    with pytest.raises(ConfigurationError, match="refuses"):
        queue.put(reader.topic, [Message("a", b"")])


def test_what_moves_to_a_reader_that_joins_can_be_settled_by_nobody_else(
    opened: Opened, reader: Subscription
) -> None:
    first, second = opened(), opened()
    for queue in (first, second):
        queue.declare([reader])
    first.put(reader.topic, [Message(f"m{n}", b"") for n in range(30)])
    held = take(first, reader.incoming, 30)
    moved = take(second, reader.incoming, 1)
    first.settle(held)
    first.release(held)
    # Of what moved, everything comes to the second: the first could not settle it any more.
    while batch := second.receive(reader.incoming, 30, 1.0):
        moved += batch
    assert 0 < len(moved) < 30
    assert len(set(ids(moved))) == len(moved)
    assert first.receive(reader.incoming, 30, 0.5) == []
    second.settle(moved)
    assert second.get_depth(reader).ready == 0
