"""Kafka beyond the port: shared partitions, held offsets, prefetching, a restart."""

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
from fonds.wiring.backends import open_backend
from real_servers import run_private_server, url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 60.0
ANSWER_MAX_S = 31.0
OPTIONS = "?partitions=3&session.timeout.ms=2000&heartbeat.interval.ms=500"
OpenQueue = Callable[..., Any]


@pytest.fixture
def open_queue() -> Iterator[OpenQueue]:
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
    deliveries: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(deliveries) < count:
        assert time.monotonic() < deadline, f"{len(deliveries)} of {count} arrived"
        deliveries += queue.receive(address, count - len(deliveries), 1.0)
    return deliveries


def ids(deliveries: list[Delivery]) -> list[str]:
    return [delivery.message.id for delivery in deliveries]


def get_bootstrap_servers() -> str:
    return url_of("TEST_KAFKA_URL").partition("//")[2]


WORK = """
import sys, time
from pathlib import Path
from fonds.model.message import Subscription
from fonds.wiring.backends import open_backend
queue = open_backend("queue", sys.argv[1], Path())
reader = Subscription(sys.argv[2], sys.argv[3])
queue.declare([reader])
print("ready", flush=True)
while True:
    deliveries = queue.receive(reader.incoming, 5, 1.0)
    for delivery in deliveries:
        print("took", delivery.message.id, flush=True)
        time.sleep(0.01)
    queue.settle(deliveries)
    for delivery in deliveries:
        print("settled", delivery.message.id, flush=True)
"""


def test_another_process_settles_messages_of_a_killed_one(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    queue = open_queue()
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
        # It has an unsettled batch in hand when it is killed.
        assert killed.stdout.readline().startswith("took")
        killed.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while queue.get_depth(reader).pending:
            assert time.monotonic() < deadline, queue.get_depth(reader)
            time.sleep(0.2)
        workers[1].send_signal(signal.SIGKILL)
        outputs = [worker.communicate()[0].split("\n") for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    done = [{line[8:] for line in lines if line.startswith("settled ")} for lines in outputs]
    assert done[1], "the other worker settled nothing"
    assert done[0] | done[1] == {f"m{n}" for n in range(400)}


HOLD = """
import sys, time
from pathlib import Path
from fonds.model.message import Subscription
from fonds.wiring.backends import open_backend
queue = open_backend("queue", sys.argv[1], Path())
reader = Subscription(sys.argv[2], sys.argv[3])
queue.declare([reader])
held, count = [], int(sys.argv[4])
while len(held) < count:
    held += queue.receive(reader.incoming, count - len(held), 1.0)
queue.settle([delivery for delivery in held if delivery.message.id in sys.argv[5:]])
print("holding", flush=True)
time.sleep(600)
"""


def test_each_killed_reader_counts_once_per_message_in_hand(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    queue = open_queue()
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"", key="one key") for n in range(6)])
    words = [sys.executable, "-c", HOLD, url_of("TEST_KAFKA_URL") + OPTIONS]
    words += [reader.name, reader.topic]
    # The first reader settles a message in the middle, the second also those before it.
    for arguments in (["4", "m2"], ["4", "m0", "m1"]):
        with subprocess.Popen([*words, *arguments], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"holding\n"
            process.send_signal(signal.SIGKILL)
    deliveries = take(queue, reader.incoming, 3)
    counts = {delivery.message.id: delivery.redelivered for delivery in deliveries}
    assert counts == {"m3": 2, "m4": 1, "m5": 0}
    queue.settle(deliveries)
    assert queue.get_depth(reader).pending == 0


def test_a_stopped_broker_is_reported_in_time_and_work_resumes(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    with run_private_server("kafka") as server:
        queue = open_queue(server.url)
        queue.declare([reader])
        queue.put(reader.topic, [Message(f"m{n}", b"") for n in range(4)])
        in_hand = take(queue, reader.incoming, 4)
        server.stop()
        for act in (
            lambda: queue.settle(in_hand),
            lambda: queue.receive(reader.incoming, 1, 20.0),
            lambda: queue.get_depth(reader),
            lambda: queue.declare([reader]),
        ):
            started = time.monotonic()
            with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1"):
                act()
            assert time.monotonic() - started < ANSWER_MAX_S
        server.start()
        # Without messages, an idle reader must stop reporting the error.
        _retry(lambda: queue.receive(reader.incoming, 0, 0.0))
        _retry(lambda: queue.settle(in_hand))
        _retry(lambda: _wait_until_empty(queue, reader, ids(in_hand)))
        queue.close()
        after = open_queue(server.url)
        after.declare([reader])
        assert after.receive(reader.incoming, 4, 3.0) == []
        after.close()


def test_a_refused_login_is_reported(open_queue: OpenQueue, reader: Subscription) -> None:
    queue = open_queue(
        f"kafka://user:password@{get_bootstrap_servers()}", "?security.protocol=sasl_plaintext"
    )
    with pytest.raises(ConfigurationError, match="refuses"):
        queue.declare([reader])


def _retry(act: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            act()
        except StoreUnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def _wait_until_empty(queue: Queue, reader: Subscription, expected_ids: list[str]) -> None:
    """Wait until nothing is pending. Messages in hand may be redelivered after a long outage."""
    deadline = time.monotonic() + PATIENCE_S
    while queue.get_depth(reader).pending or queue.receive(reader.incoming, 1, 0.0):
        assert time.monotonic() < deadline, queue.get_depth(reader)
        redelivered = queue.receive(reader.incoming, 4, 0.5)
        assert set(ids(redelivered)) <= set(expected_ids)
        queue.settle(redelivered)


def test_delayed_messages_arrive_in_order_of_their_due_times(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    queue = open_queue()
    queue.declare([reader])
    for delay_s in (60.0, 6.0, 3.0, 5.0, 1.0, 60.0, 2.0, 4.0):
        queue.put(reader.incoming, [Message(f"{delay_s:.0f} s", b"")], delay_s=delay_s)
    started = time.monotonic()
    for due_s in (1, 2, 3, 4, 5, 6):
        (delivery,) = take(queue, reader.incoming, 1)
        assert delivery.message.id == f"{due_s} s"
        assert time.monotonic() - started < due_s + 1
        queue.settle([delivery])
    depth = queue.get_depth(reader)
    assert (depth.ready, depth.in_hand, depth.delayed) == (0, 0, 2)


def test_many_long_delays_do_not_block_short_ones(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    queue = open_queue()
    queue.declare([reader])
    count = BUFFER_MAX * 2
    queue.put(reader.incoming, [Message(f"long {n}", b"") for n in range(count)], delay_s=3600.0)
    assert queue.receive(reader.incoming, 1, 2.0) == []
    queue.put(reader.incoming, [Message("short", b"")], delay_s=1.0)
    assert ids(take(queue, reader.incoming, 1)) == ["short"]
    assert queue.get_depth(reader).delayed == count


def test_a_backlog_larger_than_the_buffer_arrives_once(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    queue = open_queue()
    queue.declare([reader])
    sent = [f"m{n}" for n in range(READY_MAX * 4)]
    queue.put(reader.topic, [Message(id_, b"") for id_ in sent])
    received: list[str] = []
    while len(received) < len(sent):
        batch = take(queue, reader.incoming, 1)
        batch += queue.receive(reader.incoming, 150, 0.0)
        received += ids(batch)
        queue.settle(batch)
    assert sorted(received) == sorted(sent)


def test_a_paused_partition_is_read_after_it_returns(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    first, second = open_queue(), open_queue()
    for queue in (first, second):
        queue.declare([reader])
    sent = [f"m{n}" for n in range(READY_MAX * 3)]
    first.put(reader.topic, [Message(id_, b"") for id_ in sent])
    in_hand = take(first, reader.incoming, 1)
    # The first reader has filled its buffer. The second joins, receives moved messages, and closes.
    assert take(second, reader.incoming, 1)
    second.close()
    first.settle(in_hand)
    received = set(ids(in_hand))
    while len(received) < len(sent):
        # Messages in hand may be redelivered with their partition.
        batch = take(first, reader.incoming, 1)
        batch += first.receive(reader.incoming, 150, 0.0)
        first.settle(batch)
        received |= set(ids(batch))
    assert received == set(sent)
    assert first.get_depth(reader).ready == 0


def test_a_body_of_twelve_megabytes_is_received(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    queue = open_queue()
    queue.declare([reader])
    body = os.urandom(12_000_000)
    queue.put(reader.topic, [Message("large", body)])
    assert take(queue, reader.incoming, 1)[0].message.body == body
    with pytest.raises(ConfigurationError, match="too large"):
        queue.put(reader.topic, [Message("larger", body + body)])


def test_a_deleted_topic_is_reported(open_queue: OpenQueue, reader: Subscription) -> None:
    queue = open_queue()
    queue.declare([reader])
    admin = AdminClient({"bootstrap.servers": get_bootstrap_servers()})
    admin.delete_topics([reader.topic])[reader.topic].result()
    with pytest.raises(ConfigurationError, match="refuses"):
        queue.put(reader.topic, [Message("a", b"")])


def test_only_the_new_reader_settles_messages_that_moved_to_it(
    open_queue: OpenQueue, reader: Subscription
) -> None:
    first, second = open_queue(), open_queue()
    for queue in (first, second):
        queue.declare([reader])
    first.put(reader.topic, [Message(f"m{n}", b"") for n in range(30)])
    in_hand = take(first, reader.incoming, 30)
    moved = take(second, reader.incoming, 1)
    first.settle(in_hand)
    first.release(in_hand)
    # All moved messages arrive at the second reader, because the first could not settle them any more.
    while batch := second.receive(reader.incoming, 30, 1.0):
        moved += batch
    assert 0 < len(moved) < 30
    assert len(set(ids(moved))) == len(moved)
    assert first.receive(reader.incoming, 30, 0.5) == []
    second.settle(moved)
    assert second.get_depth(reader).ready == 0
