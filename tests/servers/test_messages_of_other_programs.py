"""Other programs on our topics: what bare clients put is received, and what we put they can read."""

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

from fixtures import rabbit_leftovers
from fonds.archive.warc.messages import MessageWriter, read_messages
from fonds.model.message import PIPELINE, Delivery, Message, Subscription, TopicTraits
from fonds.queues.headers import COUNT_MAX, Value
from fonds.queues.rabbit.amqp_tables import Properties, encode_table
from fonds.queues.rabbit.topology import name_incoming_queue, name_quarantine_queue
from fonds.wiring.stores import open_backend
from real_servers import url_of

pytestmark = pytest.mark.servers

PATIENCE_S = 30.0
RABBITMQ, KAFKA = "TEST_RABBITMQ_URL", "TEST_KAFKA_URL"
Opened = Callable[[str], Any]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as stack:

        def open_one(variable: str) -> Any:
            queue = open_backend("queue", url_of(variable), Path())
            stack.callback(rabbit_leftovers.close, queue)
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
    found: list[Delivery] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} came"
        found += queue.receive(address, count - len(found), 1.0)
    return found


def kafka_settings() -> dict[str, Any]:
    return {"bootstrap.servers": url_of(KAFKA).partition("//")[2]}


def produce(topic: str, *records: dict[str, Any]) -> None:
    producer = Producer(kafka_settings())
    for record in records:
        producer.produce(topic, **record)
    assert producer.flush(PATIENCE_S) == 0


def consume(topic: str, count: int) -> list[Any]:
    """Records as a program that knows nothing of us sees them."""
    consumer = Consumer(
        {**kafka_settings(), "group.id": os.urandom(5).hex(), "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} came"
        found += [one for one in consumer.consume(count, 1.0) if one.error() is None]
    consumer.close()
    return found


def test_a_bare_kafka_record_is_received(opened: Opened, name: str) -> None:
    queue, reader = opened(KAFKA), Subscription(f"{name}-step", f"{name}.topic", TopicTraits(3))
    queue.declare([reader])
    headers = [("raw", b"\xff\x00"), ("none", None), ("text", "zu groß".encode())]
    headers += [("twice", b"1"), ("twice", b"2"), ("fonds-attempt", b"many")]
    produce(
        reader.topic,
        {"value": b"\x80pickle", "key": b"\xfe", "partition": 2, "headers": headers},
        {"value": b'{"a": 1}', "key": "sha1:abc", "partition": 1},
        {"value": None, "partition": 1},
    )
    found = {one.message.id: one.message for one in take(queue, reader.incoming, 3)}
    expected = {
        "raw": "!bytes /wA=",
        "none": "!none",
        "text": "zu groß",
        "twice": '!list ["1","2"]',
    }
    assert found == {
        f"{reader.topic}/{place}": Message(f"{reader.topic}/{place}", body, key, 0, more)
        for place, body, key, more in (
            ("2/0", b"\x80pickle", "\\xfe", expected),
            ("1/0", b'{"a": 1}', "sha1:abc", {}),
            ("1/1", b"", "", {}),
        )
    }


def test_a_bare_amqp_message_is_received(opened: Opened, name: str, channel: Any) -> None:
    queue, reader = opened(RABBITMQ), Subscription(f"{name}-step", f"{name}.topic")
    queue.declare([reader])
    exchange = f"{reader.topic}-out"
    headers = {"x-mc-retries": 3, "raw": b"\xff", "deep": {"list": [1, {"x": None}]}}
    properties = pika.BasicProperties(headers=headers, reply_to="them", priority=1)
    channel.basic_publish(exchange, "", b"\x80pickle", properties)
    channel.basic_publish(exchange, "a.key", b"{}", pika.BasicProperties(message_id="theirs"))
    channel.basic_publish(exchange, "one", b"{}")
    channel.basic_publish(exchange, "two", b"{}")
    pickled, named, *unnamed = [one.message for one in take(queue, reader.incoming, 4)]
    assert (pickled.body, pickled.key, pickled.attempt) == (b"\x80pickle", "", 0)
    assert pickled.headers == {
        "x-mc-retries": "!int 3",
        "raw": "!bytes /w==",
        "deep": '!table {"list":["!int 1",{"x":"!none"}]}',
    }
    assert named == Message("theirs", b"{}", "a.key")
    assert [one.key for one in unnamed] == ["one", "two"]
    assert len({one.id for one in (pickled, *unnamed)}) == 3


@pytest.mark.parametrize("variable", [RABBITMQ, KAFKA])
def test_a_foreign_message_keeps_its_id_when_it_comes_again(
    variable: str, opened: Opened, name: str, channel: Any
) -> None:
    queue, reader = opened(variable), Subscription(f"{name}-step", f"{name}.topic", TopicTraits(1))
    queue.declare([reader])
    if variable == KAFKA:
        produce(reader.topic, {"value": b"body"}, {"value": b"body"})
    else:
        channel.basic_publish(f"{reader.topic}-out", "k", b"body", pika.BasicProperties())
        channel.basic_publish(f"{reader.topic}-out", "l", b"body", pika.BasicProperties())
    seen = take(queue, reader.incoming, 2)
    assert len({one.message.id for one in seen}) == 2
    queue.release(seen)
    again = take(queue, reader.incoming, 2)
    assert sorted((one.message.id, one.redelivered) for one in again) == sorted(
        (one.message.id, 1) for one in seen
    )
    queue.close()
    after = opened(variable)
    after.declare([reader])
    once_more = [one.message for one in take(after, reader.incoming, 2)]
    assert sorted(one.id for one in once_more) == sorted(one.message.id for one in seen)
    assert {one.body for one in once_more} == {b"body"}


OURS = Message("id-1", b'{"sha1hex": "ab"}', "ab" * 20, 2, {PIPELINE: "papers", "note": "zu groß"})


def test_a_bare_kafka_client_reads_what_we_put(opened: Opened, name: str) -> None:
    queue, topic = opened(KAFKA), f"{name}.results"
    queue.declare([], {topic: TopicTraits(2, "none")})
    queue.put(topic, [OURS, Message("id-2", b"raw")])
    found = {record.value(): record for record in consume(topic, 2)}
    record = found[OURS.body]
    assert record.key() == OURS.key.encode()
    assert dict(record.headers()) == {
        "fonds-id": b"id-1",
        "fonds-attempt": b"2",
        "pipeline": b"papers",
        "note": "zu groß".encode(),
    }
    assert found[b"raw"].key() == b"id-2"


def test_a_bare_amqp_client_reads_what_we_put(opened: Opened, name: str, channel: Any) -> None:
    queue, topic = opened(RABBITMQ), f"{name}.results"
    # Somebody selects by pipeline: whoever binds to the exchange gets everything all the same.
    queue.declare([Subscription(f"{name}-step", topic, pipeline="news")], {topic: TopicTraits()})
    theirs = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(theirs, f"{topic}-out")
    queue.put(topic, [OURS])
    channel.basic_publish(f"{topic}-out", "", b"theirs")
    _, properties, body = next(channel.consume(theirs))
    assert body == OURS.body
    assert (properties.message_id, properties.delivery_mode) == ("id-1", 2)
    assert properties.headers == {
        "fonds-id": "id-1",
        "fonds-key": OURS.key,
        "fonds-attempt": 2,
        "fonds-returns": 0,
        "pipeline": "papers",
        "note": "zu groß",
    }
    assert next(channel.consume(theirs))[2] == b"theirs"
    assert [one.message.body for one in take(queue, f"{name}-step-in", 1)] == [b"theirs"]


def test_a_kafka_topic_made_by_others_is_used_as_it_is(opened: Opened, name: str) -> None:
    topic = f"{name}.topic"
    admin = AdminClient(kafka_settings())
    config = {"max.message.bytes": "2000000"}
    admin.create_topics([NewTopic(topic, 5, 1, config=config)])[topic].result(PATIENCE_S)
    queue, reader = (
        opened(KAFKA),
        Subscription(f"{name}-step", topic, TopicTraits(12, "gzip", True)),
    )
    queue.declare([reader], {topic: reader.traits})
    queue.put(topic, [Message(f"m{n}", b"x") for n in range(50)])
    assert len({one.message.id for one in take(queue, reader.incoming, 50)}) == 50
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


def test_headers_of_every_type_survive_a_dump(opened: Opened, name: str, channel: Any) -> None:
    queue, reader = opened(RABBITMQ), Subscription(f"{name}-step", f"{name}.topic")
    queue.declare([reader])
    properties = Properties(headers=HEADERS, message_id="theirs")
    channel.basic_publish("", name_incoming_queue(reader), b"body", properties)
    (taken,) = take(queue, reader.incoming, 1)
    out = BytesIO()
    MessageWriter(out).write(reader.incoming, taken.message)
    queue.settle([taken])
    out.seek(0)
    queue.put(reader.quarantine, [message for _, message in read_messages(out)])
    _, found, body = next(channel.consume(name_quarantine_queue(reader)))
    assert body == b"body"
    given_back = {name: found.headers[name] for name in HEADERS}
    assert given_back == HEADERS
    assert list(map(type, given_back.values())) == list(map(type, HEADERS.values()))


class Written(pika.BasicProperties):  # type: ignore[misc]
    """Headers as somebody wrote them, byte for byte."""

    def encode(self) -> list[bytes]:
        return [b"\x20\x00", struct.pack(">I", len(self.headers)), self.headers]


def field(value: Value) -> bytes:
    """A header `x`."""
    return encode_table({"x": value})[4:]


def test_headers_no_client_reads_do_not_end_the_reader(
    opened: Opened, name: str, channel: Any
) -> None:
    """The usual client ends its connection over these, and again each time the message comes."""
    queue, reader = opened(RABBITMQ), Subscription(f"{name}-step", f"{name}.topic")
    queue.declare([reader])
    nested = b""
    for _ in range(3_000):
        nested = b"A" + struct.pack(">I", len(nested)) + nested
    many = encode_table({f"h{n}": "y" for n in range(COUNT_MAX * 3)})[4:]
    hostile = [b"\x01x" + nested, field(1.5), many, field("x" * 100_000) + b"\x01zt\x01"]
    for raw in hostile:
        channel.basic_publish("", name_incoming_queue(reader), b"", Written(headers=raw))
    deep, number, several, large = [one.message for one in take(queue, reader.incoming, 4)]
    assert deep.headers["x"].startswith("!list [[[")
    assert number.headers == {"x": "!float 1.5"}
    assert len(several.headers) == COUNT_MAX
    assert large.headers == {"z": "!bool true"}
