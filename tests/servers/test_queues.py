"""RabbitMQ and Kafka beyond the port: restarts, killed readers, long work, delays, shared brokers."""

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

from fixtures import rabbit_cleanup
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.message import Delivery, Message, Subscription, TopicTraits
from fonds.ports import Queue
from fonds.wiring.backends import open_backend
from real_servers import run_private_server, url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 60.0
VARIABLES = {"rabbitmq": "TEST_RABBITMQ_URL", "kafka": "TEST_KAFKA_URL"}
OPTIONS = {
    "rabbitmq": "",
    "kafka": "?partitions=3&session.timeout.ms=2000&heartbeat.interval.ms=500",
}
each_queue = pytest.mark.parametrize("kind", ["rabbitmq", "kafka"])


@pytest.fixture
def open_queue() -> Iterator[Callable[..., Any]]:
    """Open queues by URL, and close them after the test."""
    with ExitStack() as stack:

        def open_one(kind: str, url: str | None = None) -> Any:
            full_url = (url or url_of(VARIABLES[kind])) + OPTIONS[kind]
            queue = open_backend("queue", full_url, Path())
            stack.callback(rabbit_cleanup.close_queue, queue)
            return queue

        yield open_one


@pytest.fixture
def reader() -> Subscription:
    name = f"s{os.urandom(5).hex()}"
    return Subscription(f"{name}-step", f"{name}.topic")


def take(queue: Queue, address: str, count: int) -> list[Delivery]:
    """Receive until `count` messages arrived, even if the server fails meanwhile."""
    deliveries: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(deliveries) < count:
        assert time.monotonic() < deadline, f"{len(deliveries)} of {count} arrived"
        try:
            deliveries += queue.receive(address, count - len(deliveries), 1.0)
        except StoreUnavailableError:
            time.sleep(0.2)
    return deliveries


def retry(act: Callable[[], None]) -> None:
    """Retry until the server is back."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return act()
        except StoreUnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@each_queue
def test_a_killed_and_restarted_broker_loses_no_message(
    kind: str, open_queue: Callable[..., Any], reader: Subscription
) -> None:
    with run_private_server(kind) as server:
        queue = open_queue(kind, server.url)
        queue.declare([reader])
        ids = {f"m{number}" for number in range(50)}
        queue.put(reader.topic, [Message(id_, b"body") for id_ in sorted(ids)])
        in_hand = take(queue, reader.incoming, 10)
        server.stop()
        with pytest.raises(StoreUnavailableError):
            queue.put(reader.topic, [Message("late", b"")])
        server.start()
        retry(lambda: queue.put(reader.topic, [Message("late", b"")]))
        retry(lambda: queue.settle(in_hand))
        received: set[str] = set()
        # Messages in hand may be redelivered with the same id.
        while received | {delivery.message.id for delivery in in_hand} != ids | {"late"}:
            batch = take(queue, reader.incoming, 1)
            received |= {delivery.message.id for delivery in batch}
            retry(lambda batch=batch: queue.settle(batch))
        _wait_until_empty(queue, reader)


def _wait_until_empty(queue: Queue, reader: Subscription) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while queue.get_depth(reader).pending:
        assert time.monotonic() < deadline, queue.get_depth(reader)
        queue.settle(queue.receive(reader.incoming, 100, 0.5))


HOLD = """
import sys, time
from pathlib import Path
from fonds.model.message import Subscription
from fonds.wiring.backends import open_backend
queue = open_backend("queue", sys.argv[1], Path())
reader = Subscription(sys.argv[2], sys.argv[3])
queue.declare([reader])
held = []
while len(held) < 5:
    held += queue.receive(reader.incoming, 5 - len(held), 1.0)
if sys.argv[4] == "settle-some":
    queue.settle(held[2:4])
print("holding", flush=True)
time.sleep(600)
"""


@each_queue
@pytest.mark.parametrize("mode", ["settle-none", "settle-some"])
def test_unsettled_messages_of_a_killed_reader_are_redelivered(
    kind: str, mode: str, open_queue: Callable[..., Any], reader: Subscription
) -> None:
    queue = open_queue(kind)
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"", key="one key") for n in range(5)])
    url = url_of(VARIABLES[kind]) + OPTIONS[kind]
    words = [sys.executable, "-c", HOLD, url, reader.name, reader.topic, mode]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"holding\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    missed = {"m0", "m1", "m4"} if mode == "settle-some" else {f"m{n}" for n in range(5)}
    deliveries = take(queue, reader.incoming, len(missed))
    assert {delivery.message.id for delivery in deliveries} == missed
    assert {delivery.redelivered for delivery in deliveries} == {1}
    assert queue.receive(reader.incoming, 5, 1.0) == []
    queue.settle(deliveries)
    _wait_until_empty(queue, reader)


@each_queue
def test_a_long_delay_does_not_block_a_short_one(
    kind: str, open_queue: Callable[..., Any], reader: Subscription
) -> None:
    queue = open_queue(kind)
    queue.declare([reader])
    queue.put(reader.incoming, [Message("long", b"")], delay_s=600)
    queue.put(reader.incoming, [Message("short", b"")], delay_s=1)
    started = time.monotonic()
    (first,) = take(queue, reader.incoming, 1)
    assert first.message.id == "short"
    assert time.monotonic() - started > 0.8
    queue.settle([first])
    depth = queue.get_depth(reader)
    assert (depth.ready, depth.in_hand, depth.delayed) == (0, 0, 1)


@each_queue
def test_a_message_stays_in_hand_beyond_the_timeouts_of_the_broker(
    kind: str, open_queue: Callable[..., Any], reader: Subscription
) -> None:
    """Heartbeats and polls continue while a step works, so no other reader receives its message."""
    options = {"kafka": "&max.poll.interval.ms=2500", "rabbitmq": "?heartbeat=1"}[kind]
    url = url_of(VARIABLES[kind])
    with ExitStack() as stack:
        queues = [open_backend("queue", url + OPTIONS[kind] + options, Path()) for _ in range(2)]
        for queue in queues:
            stack.callback(queue.close)
            queue.declare([reader])
        for queue in queues * 3:
            # A reader that joins later receives partitions of the others.
            assert queue.receive(reader.incoming, 1, 1.0) == []
        queues[0].put(reader.topic, [Message("a", b"")])
        in_hand: list[Delivery] = []
        while not in_hand:
            holder, other_queue = queues
            in_hand = holder.receive(reader.incoming, 1, 0.5)
            queues.reverse()
        assert other_queue.receive(reader.incoming, 1, 6.0) == []
        holder.settle(in_hand)
        assert other_queue.receive(reader.incoming, 1, 1.0) == []
        assert holder.get_depth(reader).pending == 0


def test_an_unroutable_message_is_refused(
    open_queue: Callable[..., Any], reader: Subscription
) -> None:
    import pika

    from fonds.queues.rabbit.topology import name_incoming_queue

    queue = open_queue("rabbitmq")
    queue.declare([reader])
    connection = pika.BlockingConnection(pika.URLParameters(url_of("TEST_RABBITMQ_URL")))
    connection.channel().queue_delete(name_incoming_queue(reader))
    connection.close()
    with pytest.raises(ConfigurationError, match="no queue is bound"):
        queue.put(reader.topic, [Message("a", b"")])


def test_a_wrong_password_is_reported_without_it() -> None:
    url = url_of("TEST_RABBITMQ_URL").replace("guest:guest", "guest:s3cret")
    queue = open_backend("queue", url, Path())
    with pytest.raises(ConfigurationError) as raised:
        queue.declare([Subscription("a", "b")])
    assert "s3cret" not in f"{raised.value}{raised.value.__cause__}"
    queue.close()


def test_topics_are_created_with_their_traits(open_queue: Callable[..., Any]) -> None:
    from confluent_kafka.admin import AdminClient, ConfigResource

    name = f"t{os.urandom(5).hex()}.texts"
    queue = open_backend("queue", url_of("TEST_KAFKA_URL"), Path())
    queue.declare([Subscription("step", name, TopicTraits(7, "gzip", compacted=True))])
    admin = AdminClient({"bootstrap.servers": url_of("TEST_KAFKA_URL").partition("//")[2]})
    assert len(admin.list_topics(name, timeout=10).topics[name].partitions) == 7
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    settings = admin.describe_configs([resource])[resource].result(10)
    assert settings["cleanup.policy"].value == "compact"
    assert settings["compression.type"].value == "gzip"
    assert int(settings["min.compaction.lag.ms"].value) == 7 * 24 * 3600 * 1000
    queue.close()


def test_invalid_kafka_topic_names_are_refused() -> None:
    queue = open_backend("queue", url_of("TEST_KAFKA_URL"), Path())
    with pytest.raises(ConfigurationError, match="letters, digits"):
        queue.declare([Subscription("step", "a topic with blanks")])
    queue.close()


@each_queue
def test_environments_on_one_broker_have_separate_messages(
    kind: str, open_queue: Callable[..., Any]
) -> None:
    """Their subscriptions have equal names and differ only in the prefix of the topic."""
    name = f"s{os.urandom(5).hex()}"
    qa, prod = (Subscription(f"{name}.read", f"{name}-{env}.pages") for env in ("qa", "prod"))
    qa_queue, prod_queue = open_queue(kind), open_queue(kind)
    qa_queue.declare([qa])
    prod_queue.declare([prod])
    qa_queue.put(qa.topic, [Message("ours", b"")])
    qa_queue.put(qa.incoming, [Message("later", b"")], delay_s=0.05)
    qa_queue.put(qa.quarantine, [Message("failed", b"")])
    prod_queue.put(prod.topic, [Message("theirs", b"")])
    (delivery,) = take(prod_queue, prod.incoming, 1)
    assert delivery.message.id == "theirs"
    assert prod_queue.receive(prod.incoming, 10, 1.5) == []
    assert prod_queue.receive(prod.quarantine, 10, 0.5) == []
    deliveries = take(qa_queue, qa.incoming, 2)
    assert sorted(delivery.message.id for delivery in deliveries) == ["later", "ours"]
