"""RabbitMQ beyond the port: precise delays, consumer timeouts, arguments of queues."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fixtures import rabbit_cleanup
from fonds.model.message import Delivery, Message, Subscription
from fonds.queues.rabbit.amqp_tables import Properties
from fonds.queues.rabbit.topology import (
    CONSUMER_TIMEOUT_MS,
    DELAY_MAX_S,
    name_incoming_queue,
)
from fonds.wiring.backends import open_backend
from real_servers import PrivateServer, run_private_server, url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 60.0


@pytest.fixture
def open_queue() -> Iterator[Any]:
    with ExitStack() as stack:

        def open_one(url: str | None = None) -> Any:
            queue = open_backend("queue", url or url_of("TEST_RABBITMQ_URL"), Path())
            stack.callback(rabbit_cleanup.close_queue, queue)
            return queue

        yield open_one


@pytest.fixture
def reader() -> Subscription:
    name = f"r{os.urandom(5).hex()}"
    return Subscription(f"{name}-step", f"{name}.topic")


def take(queue: Any, address: str, count: int) -> list[Delivery]:
    deliveries: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(deliveries) < count:
        assert time.monotonic() < deadline, f"{len(deliveries)} of {count} arrived"
        deliveries += queue.receive(address, count - len(deliveries), 1.0)
    return deliveries


def run_rabbitmqctl(server: PrivateServer, *words: str) -> str:
    """Run `rabbitmqctl` on the node; return its output."""
    environment = {
        **os.environ,
        "HOME": str(server.folder),
        "ERL_EPMD_PORT": str(server.port + 2),
        "RABBITMQ_NODENAME": f"fonds{server.port}@localhost",
    }
    tool = ["/usr/lib/rabbitmq/bin/rabbitmqctl", "--quiet", *words]
    process = subprocess.run(tool, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_a_message_lost_to_the_consumer_timeout_is_redelivered(
    open_queue: Any, reader: Subscription
) -> None:
    """An older broker has only a global consumer timeout, which is short in this test."""
    with run_private_server("rabbitmq") as server:
        short = "application:set_env(rabbit, consumer_timeout, 1000)"
        run_rabbitmqctl(
            server, "eval", f"{short}, application:set_env(rabbit, channel_tick_interval, 200)."
        )
        queue = open_queue(server.url)
        queue.declare([reader])
        queue.put(reader.topic, [Message("a", b"body")])
        in_hand = take(queue, reader.incoming, 1)
        assert queue.renew(in_hand) == in_hand
        deadline = time.monotonic() + PATIENCE_S
        while queue.renew(in_hand):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        queue.settle(in_hand)
        queue.release(in_hand)
        (redelivery,) = take(queue, reader.incoming, 1)
        assert (redelivery.message.id, redelivery.redelivered) == ("a", 1)
        queue.settle([redelivery])
        assert queue.get_depth(reader).pending == 0
        queue.close()


def test_queues_are_declared_with_a_consumer_timeout_of_a_day(
    open_queue: Any, reader: Subscription
) -> None:
    with run_private_server("rabbitmq") as server:
        for options in ("", "?quorum=1"):
            queue = open_queue(server.url + options)
            queue.declare([Subscription(f"{reader.name}{len(options)}", reader.topic)])
            queue.close()
        output = run_rabbitmqctl(server, "list_queues", "name", "arguments")
    lines = [line for line in output.splitlines() if "-in\t" in line or "-quar\t" in line]
    assert len(lines) == 4
    assert all(f'"x-consumer-timeout",{CONSUMER_TIMEOUT_MS}' in line for line in lines)


def test_a_delay_longer_than_the_delay_queues_is_repeated(
    open_queue: Any, reader: Subscription
) -> None:
    """Such a message leaves the delay queues early. The test publishes it as it is then."""
    import pika

    queue = open_queue()
    queue.declare([reader])
    connection = pika.BlockingConnection(pika.URLParameters(url_of("TEST_RABBITMQ_URL")))
    due_at_s = time.time() + 2.5
    headers = {"fonds-id": "long", "fonds-key": "k", "fonds-due": round(due_at_s * 1000)}
    connection.channel().basic_publish(
        "", name_incoming_queue(reader), b"body", Properties(headers=headers)
    )
    connection.close()
    (delivery,) = take(queue, reader.incoming, 1)
    assert time.time() >= due_at_s
    assert delivery.message == Message("long", b"body", "k")
    queue.put(reader.incoming, [Message("longer", b"")], delay_s=DELAY_MAX_S * 3.0)
    assert queue.get_depth(reader).delayed == 1


def test_many_delayed_messages_arrive_in_order_of_due_times(
    open_queue: Any, reader: Subscription
) -> None:
    queue = open_queue()
    queue.declare([reader])
    due = {}
    for number in range(120):
        delay_s = 1.0 + number * 37 % 120 / 10
        due[f"m{number}"] = time.time() + delay_s
        queue.put(reader.incoming, [Message(f"m{number}", b"")], delay_s=delay_s)
    arrived_at: dict[str, float] = {}
    while len(arrived_at) < len(due):
        (delivery,) = take(queue, reader.incoming, 1)
        arrived_at[delivery.message.id] = time.time()
        queue.settle([delivery])
    assert min(arrived_at[id_] - due[id_] for id_ in due) >= 0
    # No message waits for one that is due two seconds later.
    order = [due[id_] for id_ in arrived_at]
    assert all(max(order[: n + 1]) < order[n] + 2 for n in range(len(order)))


def test_acknowledging_many_messages_leaves_leased_and_released_ones(
    open_queue: Any, reader: Subscription
) -> None:
    first, second = open_queue(), open_queue()
    for queue in (first, second):
        queue.declare([reader])
    first.put(reader.topic, [Message(f"m{n}", b"") for n in range(8)])
    deliveries = {d.message.id: d for d in take(first, reader.incoming, 8)}
    first.settle([deliveries["m6"], deliveries["m0"], deliveries["m3"]])
    first.release([deliveries["m2"]])
    first.settle([deliveries["m1"], deliveries["m4"]])
    assert [d.message.id for d in first.renew(list(deliveries.values()))] == ["m5", "m7"]
    first.close()
    assert {d.message.id for d in take(second, reader.incoming, 3)} == {"m2", "m5", "m7"}
    assert second.receive(reader.incoming, 8, 1.0) == []
