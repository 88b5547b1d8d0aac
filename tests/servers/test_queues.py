"""RabbitMQ and Kafka beyond the port: restarts, killed readers, long work, mixed delays, strangers."""

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

from fixtures import rabbit_leftovers
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.message import Delivery, Message, Subscription, TopicTraits
from fonds.ports import Queue
from fonds.wiring.stores import open_backend
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
def opened() -> Iterator[Callable[..., Any]]:
    """Opens queues by URL, and closes them when the test is over."""
    with ExitStack() as stack:

        def open_one(kind: str, url: str | None = None) -> Any:
            whole = (url or url_of(VARIABLES[kind])) + OPTIONS[kind]
            queue = open_backend("queue", whole, Path())
            stack.callback(rabbit_leftovers.close, queue)
            return queue

        yield open_one


@pytest.fixture
def reader() -> Subscription:
    name = f"s{os.urandom(5).hex()}"
    return Subscription(f"{name}-step", f"{name}.topic")


def take(queue: Queue, address: str, count: int) -> list[Delivery]:
    """Receives until `count` messages came, whatever the server does meanwhile."""
    found: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} came"
        try:
            found += queue.receive(address, count - len(found), 1.0)
        except StoreUnavailableError:
            time.sleep(0.2)
    return found


def again(act: Callable[[], None]) -> None:
    """Do it as soon as the server is back."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return act()
        except StoreUnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@each_queue
def test_a_broker_that_is_killed_and_comes_back_has_lost_nothing(
    kind: str, opened: Callable[..., Any], reader: Subscription
) -> None:
    with run_private_server(kind) as server:
        queue = opened(kind, server.url)
        queue.declare([reader])
        ids = {f"m{number}" for number in range(50)}
        queue.put(reader.topic, [Message(one, b"body") for one in sorted(ids)])
        held = take(queue, reader.incoming, 10)
        server.stop()
        with pytest.raises(StoreUnavailableError):
            queue.put(reader.topic, [Message("late", b"")])
        server.start()
        again(lambda: queue.put(reader.topic, [Message("late", b"")]))
        again(lambda: queue.settle(held))
        seen: set[str] = set()
        # What was in hand may come again; it is known by its id.
        while seen | {one.message.id for one in held} != ids | {"late"}:
            batch = take(queue, reader.incoming, 1)
            seen |= {one.message.id for one in batch}
            again(lambda batch=batch: queue.settle(batch))
        _emptied(queue, reader)


def _emptied(queue: Queue, reader: Subscription) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while queue.get_depth(reader).pending:
        assert time.monotonic() < deadline, queue.get_depth(reader)
        queue.settle(queue.receive(reader.incoming, 100, 0.5))


HOLD = """
import sys, time
from pathlib import Path
from fonds.model.message import Subscription
from fonds.wiring.stores import open_backend
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
@pytest.mark.parametrize("what", ["settle-none", "settle-some"])
def test_what_a_killed_reader_held_comes_to_another_and_is_counted(
    kind: str, what: str, opened: Callable[..., Any], reader: Subscription
) -> None:
    queue = opened(kind)
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"", key="one key") for n in range(5)])
    url = url_of(VARIABLES[kind]) + OPTIONS[kind]
    words = [sys.executable, "-c", HOLD, url, reader.name, reader.topic, what]
    other = subprocess.Popen(words, stdout=subprocess.PIPE)
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"holding\n"
        other.send_signal(signal.SIGKILL)
        other.wait()
    missed = {"m0", "m1", "m4"} if what == "settle-some" else {f"m{n}" for n in range(5)}
    found = take(queue, reader.incoming, len(missed))
    assert {one.message.id for one in found} == missed
    assert {one.redelivered for one in found} == {1}
    assert queue.receive(reader.incoming, 5, 1.0) == []
    queue.settle(found)
    _emptied(queue, reader)


@each_queue
def test_a_short_delay_does_not_wait_behind_a_long_one(
    kind: str, opened: Callable[..., Any], reader: Subscription
) -> None:
    queue = opened(kind)
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
def test_a_message_may_be_held_for_longer_than_the_broker_waits_for_a_sign(
    kind: str, opened: Callable[..., Any], reader: Subscription
) -> None:
    """Heartbeats and polls go on while a step works: nobody else is given its message."""
    more = {"kafka": "&max.poll.interval.ms=2500", "rabbitmq": "?heartbeat=1"}[kind]
    url = url_of(VARIABLES[kind])
    with ExitStack() as stack:
        queues = [open_backend("queue", url + OPTIONS[kind] + more, Path()) for _ in range(2)]
        for queue in queues:
            stack.callback(queue.close)
            queue.declare([reader])
        for queue in queues * 3:
            # Whoever joins later is given partitions of those that were there before.
            assert queue.receive(reader.incoming, 1, 1.0) == []
        queues[0].put(reader.topic, [Message("a", b"")])
        held: list[Delivery] = []
        while not held:
            holder, other = queues
            held = holder.receive(reader.incoming, 1, 0.5)
            queues.reverse()
        assert other.receive(reader.incoming, 1, 6.0) == []
        holder.settle(held)
        assert other.receive(reader.incoming, 1, 1.0) == []
        assert holder.get_depth(reader).pending == 0


def test_what_no_queue_takes_is_told_and_not_lost(
    opened: Callable[..., Any], reader: Subscription
) -> None:
    import pika

    from fonds.queues.rabbit.topology import name_incoming_queue

    queue = opened("rabbitmq")
    queue.declare([reader])
    connection = pika.BlockingConnection(pika.URLParameters(url_of("TEST_RABBITMQ_URL")))
    connection.channel().queue_delete(name_incoming_queue(reader))
    connection.close()
    with pytest.raises(ConfigurationError, match="no queue is bound"):
        queue.put(reader.topic, [Message("a", b"")])


def test_a_wrong_password_is_told_without_it() -> None:
    url = url_of("TEST_RABBITMQ_URL").replace("guest:guest", "guest:s3cret")
    queue = open_backend("queue", url, Path())
    with pytest.raises(ConfigurationError) as told:
        queue.declare([Subscription("a", "b")])
    assert "s3cret" not in "".join(str(one) for one in (told.value, told.value.__cause__))
    queue.close()


def test_topics_are_kept_as_their_traits_say(opened: Callable[..., Any]) -> None:
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


def test_names_kafka_does_not_allow_are_told() -> None:
    queue = open_backend("queue", url_of("TEST_KAFKA_URL"), Path())
    with pytest.raises(ConfigurationError, match="letters, digits"):
        queue.declare([Subscription("step", "a topic with blanks")])
    queue.close()


@each_queue
def test_environments_that_share_a_broker_share_no_message(
    kind: str, opened: Callable[..., Any]
) -> None:
    """Their subscriptions have one name, and are told apart by the prefix of the topic alone."""
    name = f"s{os.urandom(5).hex()}"
    qa, prod = (Subscription(f"{name}.read", f"{name}-{env}.pages") for env in ("qa", "prod"))
    ours, theirs = opened(kind), opened(kind)
    ours.declare([qa])
    theirs.declare([prod])
    ours.put(qa.topic, [Message("ours", b"")])
    ours.put(qa.incoming, [Message("later", b"")], delay_s=0.05)
    ours.put(qa.quarantine, [Message("failed", b"")])
    theirs.put(prod.topic, [Message("theirs", b"")])
    assert [one.message.id for one in take(theirs, prod.incoming, 1)] == ["theirs"]
    assert theirs.receive(prod.incoming, 10, 1.5) == []
    assert theirs.receive(prod.quarantine, 10, 0.5) == []
    assert sorted(one.message.id for one in take(ours, qa.incoming, 2)) == ["later", "ours"]
