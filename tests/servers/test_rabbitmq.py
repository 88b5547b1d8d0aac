"""RabbitMQ's own ways: delays to the second, a broker that wants its messages back, queues as declared."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fixtures import rabbit_leftovers
from fonds.model.message import Delivery, Message, Subscription
from fonds.queues.rabbit.amqp_tables import Properties
from fonds.queues.rabbit.topology import (
    CONSUMER_TIMEOUT_MS,
    DELAY_MAX_S,
    name_incoming_queue,
)
from fonds.wiring.stores import open_backend
from real_servers import PrivateServer, run_private_server, url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 60.0


@pytest.fixture
def opened() -> Iterator[Any]:
    with ExitStack() as stack:

        def open_one(url: str | None = None) -> Any:
            queue = open_backend("queue", url or url_of("TEST_RABBITMQ_URL"), Path())
            stack.callback(rabbit_leftovers.close, queue)
            return queue

        yield open_one


@pytest.fixture
def reader() -> Subscription:
    name = f"r{os.urandom(5).hex()}"
    return Subscription(f"{name}-step", f"{name}.topic")


def take(queue: Any, address: str, count: int) -> list[Delivery]:
    found: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} came"
        found += queue.receive(address, count - len(found), 1.0)
    return found


def ask(server: PrivateServer, *words: str) -> str:
    """What the node's own tool says."""
    environment = {
        **os.environ,
        "HOME": str(server.folder),
        "ERL_EPMD_PORT": str(server.port + 2),
        "RABBITMQ_NODENAME": f"fonds{server.port}@localhost",
    }
    tool = ["/usr/lib/rabbitmq/bin/rabbitmqctl", "--quiet", *words]
    done = subprocess.run(tool, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_a_broker_takes_back_is_known_to_be_lost_and_comes_again(
    opened: Any, reader: Subscription
) -> None:
    """An old broker knows only a limit of its own, which was set short here."""
    with run_private_server("rabbitmq") as server:
        short = "application:set_env(rabbit, consumer_timeout, 1000)"
        ask(server, "eval", f"{short}, application:set_env(rabbit, channel_tick_interval, 200).")
        queue = opened(server.url)
        queue.declare([reader])
        queue.put(reader.topic, [Message("a", b"body")])
        held = take(queue, reader.incoming, 1)
        assert queue.renew(held) == held
        deadline = time.monotonic() + PATIENCE_S
        while queue.renew(held):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        queue.settle(held)
        queue.release(held)
        (again,) = take(queue, reader.incoming, 1)
        assert (again.message.id, again.redelivered) == ("a", 1)
        queue.settle([again])
        assert queue.get_depth(reader).pending == 0
        queue.close()


def test_queues_ask_the_broker_to_leave_what_is_in_hand_for_a_day(
    opened: Any, reader: Subscription
) -> None:
    with run_private_server("rabbitmq") as server:
        for options in ("", "?quorum=1"):
            queue = opened(server.url + options)
            queue.declare([Subscription(f"{reader.name}{len(options)}", reader.topic)])
            queue.close()
        told = ask(server, "list_queues", "name", "arguments")
    lines = [line for line in told.splitlines() if "-in\t" in line or "-quar\t" in line]
    assert len(lines) == 4
    assert all(f'"x-consumer-timeout",{CONSUMER_TIMEOUT_MS}' in line for line in lines)


def test_a_delay_longer_than_the_queues_wait_is_waited_for_again(
    opened: Any, reader: Subscription
) -> None:
    """It comes out of them before its time: here it is put as if it just had."""
    import pika

    queue = opened()
    queue.declare([reader])
    connection = pika.BlockingConnection(pika.URLParameters(url_of("TEST_RABBITMQ_URL")))
    due_at_s = time.time() + 2.5
    headers = {"fonds-id": "long", "fonds-key": "k", "fonds-due": round(due_at_s * 1000)}
    connection.channel().basic_publish(
        "", name_incoming_queue(reader), b"body", Properties(headers=headers)
    )
    connection.close()
    (found,) = take(queue, reader.incoming, 1)
    assert time.time() >= due_at_s
    assert found.message == Message("long", b"body", "k")
    queue.put(reader.incoming, [Message("longer", b"")], delay_s=DELAY_MAX_S * 3.0)
    assert queue.get_depth(reader).delayed == 1


def test_many_delays_in_any_order_come_in_the_order_they_are_due(
    opened: Any, reader: Subscription
) -> None:
    queue = opened()
    queue.declare([reader])
    due = {}
    for number in range(120):
        delay_s = 1.0 + number * 37 % 120 / 10
        due[f"m{number}"] = time.time() + delay_s
        queue.put(reader.incoming, [Message(f"m{number}", b"")], delay_s=delay_s)
    came: dict[str, float] = {}
    while len(came) < len(due):
        (one,) = take(queue, reader.incoming, 1)
        came[one.message.id] = time.time()
        queue.settle([one])
    assert min(came[one] - due[one] for one in due) >= 0
    # No message waits behind one that is due two seconds after it, whatever both had asked for.
    order = [due[one] for one in came]
    assert all(max(order[: n + 1]) < order[n] + 2 for n in range(len(order)))
