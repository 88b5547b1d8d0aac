"""Other programs on our topics: we receive messages of plain clients, and they read ours."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pika
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from fixtures import rabbit_cleanup
from fonds.archive.warc.messages import MessageWriter, read_messages
from fonds.model.message import PIPELINE, Delivery, Message, Subscription, TopicTraits
from fonds.queues.headers import COUNT_MAX, Value
from fonds.queues.rabbit.amqp_tables import Properties, encode_table
from fonds.queues.rabbit.topology import name_incoming_queue, name_quarantine_queue
from fonds.wiring.backends import open_backend
from real_servers import url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 60.0
RABBITMQ, KAFKA = "TEST_RABBITMQ_URL", "TEST_KAFKA_URL"
OpenQueue = Callable[[str], Any]


@pytest.fixture
def open_queue() -> Iterator[OpenQueue]:
    with ExitStack() as stack:

        def open_one(variable: str) -> Any:
            queue = open_backend("queue", url_of(variable), Path())
            stack.callback(rabbit_cleanup.close_queue, queue)
            return queue

        yield open_one


@pytest.fixture
def name() -> str:
    return f"f{os.urandom(5).hex()}"


@pytest.fixture
def channel() -> Iterator[Any]:
    with closing(pika.BlockingConnection(pika.URLParameters(url_of(RABBITMQ)))) as connection:
        yield connection.channel()


def take(queue: Any, address: str, count: int) -> list[Delivery]:
    deliveries: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(deliveries) < count:
        assert time.monotonic() < deadline, f"{len(deliveries)} of {count} arrived"
        deliveries += queue.receive(address, count - len(deliveries), 1.0)
    return deliveries


def kafka_settings() -> dict[str, Any]:
    return {"bootstrap.servers": url_of(KAFKA).partition("//")[2]}


def produce(topic: str, *records: dict[str, Any]) -> None:
    producer = Producer(kafka_settings())
    for record in records:
        producer.produce(topic, **record)
    assert producer.flush(PATIENCE_S) == 0


def consume(topic: str, count: int) -> list[Any]:
    """Read records like a program that does not know Fonds."""
    consumer = Consumer(
        {**kafka_settings(), "group.id": os.urandom(5).hex(), "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    records: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} arrived"
        records += [record for record in consumer.consume(count, 1.0) if record.error() is None]
    consumer.close()
    return records


def test_records_of_a_plain_kafka_client_are_received(open_queue: OpenQueue, name: str) -> None:
    queue, reader = open_queue(KAFKA), Subscription(f"{name}-step", f"{name}.topic", TopicTraits(3))
    queue.declare([reader])
    headers = [("raw", b"\xff\x00"), ("none", None), ("text", "zu groß".encode())]
    headers += [("twice", b"1"), ("twice", b"2"), ("fonds-attempt", b"many")]
    produce(
        reader.topic,
        {"value": b"\x80pickle", "key": b"\xfe", "partition": 2, "headers": headers},
        {"value": b'{"a": 1}', "key": "sha1:abc", "partition": 1},
        {"value": None, "partition": 1},
    )
    messages = {
        delivery.message.id: delivery.message for delivery in take(queue, reader.incoming, 3)
    }
    expected = {
        "raw": "!bytes /wA=",
        "none": "!none",
        "text": "zu groß",
        "twice": '!list ["1","2"]',
    }
    assert messages == {
        f"{reader.topic}/{place}": Message(
            f"{reader.topic}/{place}", body, key, 0, expected_headers
        )
        for place, body, key, expected_headers in (
            ("2/0", b"\x80pickle", "\\xfe", expected),
            ("1/0", b'{"a": 1}', "sha1:abc", {}),
            ("1/1", b"", "", {}),
        )
    }


def test_messages_of_a_plain_amqp_client_are_received(
    open_queue: OpenQueue, name: str, channel: Any
) -> None:
    queue, reader = open_queue(RABBITMQ), Subscription(f"{name}-step", f"{name}.topic")
    queue.declare([reader])
    exchange = f"{reader.topic}-out"
    headers = {"x-mc-retries": 3, "raw": b"\xff", "deep": {"list": [1, {"x": None}]}}
    properties = pika.BasicProperties(headers=headers, reply_to="them", priority=1)
    channel.basic_publish(exchange, "", b"\x80pickle", properties)
    channel.basic_publish(exchange, "a.key", b"{}", pika.BasicProperties(message_id="theirs"))
    channel.basic_publish(exchange, "one", b"{}")
    channel.basic_publish(exchange, "two", b"{}")
    pickled, named, *unnamed = [delivery.message for delivery in take(queue, reader.incoming, 4)]
    assert (pickled.body, pickled.key, pickled.attempt) == (b"\x80pickle", "", 0)
    assert pickled.headers == {
        "x-mc-retries": "!int 3",
        "raw": "!bytes /w==",
        "deep": '!table {"list":["!int 1",{"x":"!none"}]}',
    }
    assert named == Message("theirs", b"{}", "a.key")
    assert [message.key for message in unnamed] == ["one", "two"]
    assert len({message.id for message in (pickled, *unnamed)}) == 3


@pytest.mark.parametrize("variable", [RABBITMQ, KAFKA])
def test_a_redelivered_foreign_message_keeps_its_id(
    variable: str, open_queue: OpenQueue, name: str, channel: Any
) -> None:
    queue, reader = (
        open_queue(variable),
        Subscription(f"{name}-step", f"{name}.topic", TopicTraits(1)),
    )
    queue.declare([reader])
    if variable == KAFKA:
        produce(reader.topic, {"value": b"body"}, {"value": b"body"})
    else:
        channel.basic_publish(f"{reader.topic}-out", "k", b"body", pika.BasicProperties())
        channel.basic_publish(f"{reader.topic}-out", "l", b"body", pika.BasicProperties())
    first = take(queue, reader.incoming, 2)
    assert len({delivery.message.id for delivery in first}) == 2
    queue.release(first)
    second = take(queue, reader.incoming, 2)
    assert sorted((delivery.message.id, delivery.redelivered) for delivery in second) == sorted(
        (delivery.message.id, 1) for delivery in first
    )
    queue.close()
    after = open_queue(variable)
    after.declare([reader])
    third = [delivery.message for delivery in take(after, reader.incoming, 2)]
    assert sorted(message.id for message in third) == sorted(
        delivery.message.id for delivery in first
    )
    assert {message.body for message in third} == {b"body"}


SENT_MESSAGE = Message(
    "id-1", b'{"sha1hex": "ab"}', "ab" * 20, 2, {PIPELINE: "papers", "note": "zu groß"}
)


def test_a_plain_kafka_client_reads_our_messages(open_queue: OpenQueue, name: str) -> None:
    queue, topic = open_queue(KAFKA), f"{name}.results"
    queue.declare([], {topic: TopicTraits(2, "none")})
    queue.put(topic, [SENT_MESSAGE, Message("id-2", b"raw")])
    records = {record.value(): record for record in consume(topic, 2)}
    record = records[SENT_MESSAGE.body]
    assert record.key() == SENT_MESSAGE.key.encode()
    assert dict(record.headers()) == {
        "fonds-id": b"id-1",
        "fonds-attempt": b"2",
        "pipeline": b"papers",
        "note": "zu groß".encode(),
    }
    assert records[b"raw"].key() == b"id-2"


def test_a_plain_amqp_client_reads_our_messages(
    open_queue: OpenQueue, name: str, channel: Any
) -> None:
    queue, topic = open_queue(RABBITMQ), f"{name}.results"
    # One reader selects by pipeline, but a queue bound to the exchange still receives everything.
    queue.declare([Subscription(f"{name}-step", topic, pipeline="news")], {topic: TopicTraits()})
    own_queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(own_queue, f"{topic}-out")
    queue.put(topic, [SENT_MESSAGE])
    channel.basic_publish(f"{topic}-out", "", b"theirs")
    _, properties, body = next(channel.consume(own_queue))
    assert body == SENT_MESSAGE.body
    assert (properties.message_id, properties.delivery_mode) == ("id-1", 2)
    assert properties.headers == {
        "fonds-id": "id-1",
        "fonds-key": SENT_MESSAGE.key,
        "fonds-attempt": 2,
        "fonds-returns": 0,
        "pipeline": "papers",
        "note": "zu groß",
    }
    assert next(channel.consume(own_queue))[2] == b"theirs"
    deliveries = take(queue, f"{name}-step-in", 1)
    assert [delivery.message.body for delivery in deliveries] == [b"theirs"]


def test_an_existing_kafka_topic_is_used_unchanged(open_queue: OpenQueue, name: str) -> None:
    topic = f"{name}.topic"
    admin = AdminClient(kafka_settings())
    config = {"max.message.bytes": "2000000"}
    admin.create_topics([NewTopic(topic, 5, 1, config=config)])[topic].result(PATIENCE_S)
    queue, reader = (
        open_queue(KAFKA),
        Subscription(f"{name}-step", topic, TopicTraits(12, "gzip", True)),
    )
    queue.declare([reader], {topic: reader.traits})
    queue.put(topic, [Message(f"m{n}", b"x") for n in range(50)])
    deliveries = take(queue, reader.incoming, 50)
    assert len({delivery.message.id for delivery in deliveries}) == 50
    assert len(admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions) == 5
    assert queue.get_message_max_bytes(topic) == 2_000_000
    assert queue.get_message_max_bytes(reader.incoming) == 16_000_000


HEADERS: dict[str, Value] = {
    "text": "!int 5",
    "bytes": b"\xff\x00",
    "int": 2**40,
    "float": 1.5,
    "bool": True,
    "none": None,
    "table": {"list": [1, 1.5, "x", b"\x00", {"deep": [None, False]}]},
}


def test_headers_of_every_type_survive_a_dump(
    open_queue: OpenQueue, name: str, channel: Any
) -> None:
    queue, reader = open_queue(RABBITMQ), Subscription(f"{name}-step", f"{name}.topic")
    queue.declare([reader])
    properties = Properties(headers=HEADERS, message_id="theirs")
    channel.basic_publish("", name_incoming_queue(reader), b"body", properties)
    (delivery,) = take(queue, reader.incoming, 1)
    out = BytesIO()
    MessageWriter(out).write(reader.incoming, delivery.message)
    queue.settle([delivery])
    out.seek(0)
    queue.put(reader.quarantine, [message for _, message in read_messages(out)])
    _, received, body = next(channel.consume(name_quarantine_queue(reader)))
    assert body == b"body"
    restored = {name: received.headers[name] for name in HEADERS}
    assert restored == HEADERS
    assert list(map(type, restored.values())) == list(map(type, HEADERS.values()))


class RawHeaderProperties(pika.BasicProperties):  # type: ignore[misc]
    """Properties with headers as raw bytes."""

    def encode(self) -> list[bytes]:
        return [b"\x20\x00", struct.pack(">I", len(self.headers)), self.headers]


def field(value: Value) -> bytes:
    """Encode a value as header `x`."""
    return encode_table({"x": value})[4:]


def test_invalid_headers_do_not_stop_the_reader(
    open_queue: OpenQueue, name: str, channel: Any
) -> None:
    """Common clients close their connection on these headers, each time the message is delivered."""
    queue, reader = open_queue(RABBITMQ), Subscription(f"{name}-step", f"{name}.topic")
    queue.declare([reader])
    nested = b""
    for _ in range(3_000):
        nested = b"A" + struct.pack(">I", len(nested)) + nested
    too_many = encode_table({f"h{n}": "y" for n in range(COUNT_MAX * 3)})[4:]
    hostile = [b"\x01x" + nested, field(1.5), too_many, field("x" * 100_000) + b"\x01zt\x01"]
    for raw in hostile:
        channel.basic_publish(
            "", name_incoming_queue(reader), b"", RawHeaderProperties(headers=raw)
        )
    deep, number, several, large = [
        delivery.message for delivery in take(queue, reader.incoming, 4)
    ]
    assert deep.headers["x"].startswith("!list [[[")
    assert number.headers == {"x": "!float 1.5"}
    assert len(several.headers) == COUNT_MAX
    assert large.headers == {"z": "!bool true"}
