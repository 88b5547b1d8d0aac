"""A purge of a server's store removes what the server lets it remove, says what remains, and changes
nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from fixtures import rabbit_cleanup
from fonds.model.archive import Blob
from fonds.model.message import Message, Subscription, TopicTraits
from fonds.model.rows import HostTextRow
from fonds.ports import Queue
from fonds.wiring.backends import open_backend
from real_servers import url_of

pytestmark = pytest.mark.servers

COUNT = 6
KAFKA_OPTIONS = "?partitions=2&session.timeout.ms=2000&heartbeat.interval.ms=500"


@pytest.fixture
def open_store() -> Iterator[Callable[..., Any]]:
    with ExitStack() as stack:

        def open_one(port: str, url: str) -> Any:
            store = open_backend(port, url, Path())
            close = rabbit_cleanup.close_queue if url.startswith("amqp") else type(store).close
            stack.callback(close, store)
            return store

        yield open_one


@pytest.fixture
def reader() -> Subscription:
    name = f"p{os.urandom(5).hex()}"
    return Subscription(f"{name}-step", f"{name}.topic")


def fill(queue: Queue, reader: Subscription) -> None:
    """Settle the first messages of a subscription, and leave the last one."""
    queue.declare([reader], {f"{reader.topic}.out": TopicTraits(partitions=1)})
    queue.put(reader.incoming, [Message(str(n), b"x" * 100) for n in range(COUNT)])
    queue.put(f"{reader.topic}.out", [Message("public", b"x" * 100)])
    seen: set[str] = set()
    while len(seen) < COUNT:
        deliveries = queue.receive(reader.incoming, COUNT, 5.0)
        seen |= {delivery.message.id for delivery in deliveries}
        queue.settle([d for d in deliveries if d.message.id != str(COUNT - 1)])


def count_kept(topic: str) -> int:
    """Return the number of records that Kafka still returns from a topic."""
    admin = AdminClient({"bootstrap.servers": url_of("TEST_KAFKA_URL").partition("//")[2]})
    partitions = [
        TopicPartition(topic, number)
        for number in admin.list_topics(topic).topics[topic].partitions
    ]

    def list_offsets(spec: OffsetSpec) -> int:
        futures = admin.list_offsets(dict.fromkeys(partitions, spec))
        return sum(future.result(20).offset for future in futures.values())

    return list_offsets(OffsetSpec.latest()) - list_offsets(OffsetSpec.earliest())


def test_kafka_deletes_what_its_only_reader_has_settled(
    open_store: Callable[..., Any], reader: Subscription
) -> None:
    queue = open_store("queue", url_of("TEST_KAFKA_URL") + KAFKA_OPTIONS)
    fill(queue, reader)
    direct_topic = f"{reader.qualified_name}-in"
    assert count_kept(direct_topic) == COUNT
    sentences = queue.purge()
    # Messages after the unsettled one in its partition stay, too.
    assert 1 <= count_kept(direct_topic) < COUNT
    assert count_kept(f"{reader.topic}.out") == 1
    assert "`segment.ms`" in sentences[0]
    assert f"{reader.topic}.out" in sentences[1]
    assert "until they are deleted there" in sentences[1]
    queue.close()
    again = open_store("queue", url_of("TEST_KAFKA_URL") + KAFKA_OPTIONS)
    again.declare([reader])
    (left,) = _receive(again, reader, 1)
    assert left.message.id == str(COUNT - 1)


def test_rabbitmq_keeps_unsettled_messages(
    open_store: Callable[..., Any], reader: Subscription
) -> None:
    queue = open_store("queue", url_of("TEST_RABBITMQ_URL"))
    fill(queue, reader)
    (sentence,) = queue.purge()
    assert "RabbitMQ keeps the bytes of settled messages" in sentence
    queue.close()
    again = open_store("queue", url_of("TEST_RABBITMQ_URL"))
    again.declare([reader])
    (left,) = _receive(again, reader, 1)
    assert left.message.id == str(COUNT - 1)
    again.settle([left])


def _receive(queue: Queue, reader: Subscription, count: int) -> Sequence[Any]:
    deliveries: list[Any] = []
    while len(deliveries) < count:
        deliveries += queue.receive(reader.incoming, count, 5.0)
    return deliveries


def test_postgresql_vacuums_every_table(open_store: Callable[..., Any]) -> None:
    records = open_store("records", url_of("TEST_POSTGRESQL_URL"))
    keys = [os.urandom(20).hex() for _ in range(50)]
    rows = [HostTextRow(key, "words " * 200) for key in keys]
    records.put(rows)
    records.delete(HostTextRow, keys[1:])
    (sentence,) = records.purge()
    assert "VACUUM FULL" in sentence
    with records._engine.connect() as connection:
        statement = (
            "select relname from pg_stat_user_tables where last_vacuum is null or "
            "last_vacuum < now() - interval '5 minutes'"
        )
        assert connection.execute(sa.text(statement)).all() == []
    assert records.get(HostTextRow, keys) == [rows[0]]
    records.delete(HostTextRow, keys)


def test_s3_names_the_versions_of_its_bucket(open_store: Callable[..., Any]) -> None:
    blobs = open_store("blobs", url_of("TEST_S3_URL"))
    key = f"text/aa/bb/{os.urandom(20).hex()}.txt"
    blobs.put([Blob(key, b"kept", "text/plain")])
    (sentence,) = blobs.purge()
    assert "versioning" in sentence
    assert blobs.get(key) == b"kept"
    blobs.delete([key])
