"""The bare clients doing what our backends do, and the data both are given."""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import FileMetaRow

BATCH = 100
WORDS_A_DOCUMENT = 500


@dataclass(frozen=True, slots=True)
class Peer:
    """A bare client: the variable its URL stands in, and what measures it in things a second."""

    variable: str
    measure: Callable[..., float]


def file_rows(count: int) -> list[FileMetaRow]:
    now = datetime.now(UTC)
    keys = [hashlib.sha1(b"bench %d" % number).hexdigest() for number in range(count)]
    return [
        FileMetaRow(key, key + key[:24], key[:32], 10_000, "application/pdf", key[:16], now)
        for key in keys
    ]


def wide_rows(count: int) -> list[tuple[bytes, dict[str, bytes]]]:
    """Rows of the journal's layout: five cells, 1.2 kB."""
    cells = {f"file:{name}": secrets.token_bytes(200) for name in ("cdx", "meta", "mime", "size")}
    return [
        (hashlib.sha1(b"bench %d" % number).digest(), {**cells, "f:c": secrets.token_bytes(400)})
        for number in range(count)
    ]


def documents(count: int) -> list[IndexDocument]:
    chance, now = random.Random(7), datetime.now(UTC)
    lexicon = [f"w{number:05}" for number in range(20_000)]
    found = []
    for number in range(count):
        key = hashlib.sha1(b"bench %d" % number).hexdigest()
        text = " ".join(chance.choices(lexicon, k=WORDS_A_DOCUMENT))
        url = f"https://bench.example/{number}"
        found.append(
            IndexDocument(
                key, key, Kind.STORY, url, "bench.example", None, "en", f"Title {number}", text, now
            )
        )
    return found


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def rabbitmq(url: str, body: bytes, count: int) -> float:
    """Pika's blocking connection: publish with confirms, then consume and acknowledge."""
    import pika

    channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
    channel.confirm_delivery()
    queue = channel.queue_declare(f"bare-{secrets.token_hex(5)}", durable=True).method.queue
    properties = pika.BasicProperties(delivery_mode=2)

    def travel() -> None:
        for _ in range(count):
            channel.basic_publish("", queue, body, properties, mandatory=True)
        channel.basic_qos(prefetch_count=BATCH)
        for number, (method, _, _) in enumerate(channel.consume(queue), 1):
            channel.basic_ack(method.delivery_tag)
            if number == count:
                break

    seconds = _seconds(travel)
    channel.cancel()
    channel.queue_delete(queue)
    channel.connection.close()
    return count / seconds


def kafka(url: str, body: bytes, count: int) -> float:
    """confluent-kafka: produce and flush in batches, then consume and commit each batch."""
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    settings: dict[str, Any] = {"bootstrap.servers": urlsplit(url).netloc}
    topic = f"bare-{secrets.token_hex(5)}"
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(topic, 12, 1)])[topic].result()
    producer = Producer({**settings, "acks": "all", "enable.idempotence": True, "linger.ms": 2})
    more = {"group.id": topic, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**settings, **more})

    def travel() -> None:
        for start in range(0, count, BATCH):
            for number in range(BATCH):
                producer.produce(topic, body, f"{start + number}")
            producer.flush()
        consumer.subscribe([topic])
        left = count
        while left > 0:
            found = consumer.consume(BATCH, 1.0)
            if found:
                consumer.commit(asynchronous=False)
            left -= len(found)

    seconds = _seconds(travel)
    consumer.close()
    admin.delete_topics([topic])[topic].result()
    return count / seconds


def postgresql(url: str) -> float:
    """psycopg: the same upserts by executemany, a transaction for each batch."""
    import psycopg

    rows = [tuple(asdict(row).values()) for row in file_rows(5_000)]
    names = list(asdict(file_rows(1)[0]))
    columns = ", ".join(names)
    values = ", ".join("%s" for _ in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    statement = (
        f"INSERT INTO file_meta ({columns}) VALUES ({values})"
        f" ON CONFLICT (sha1hex) DO UPDATE SET {changes}"
    )
    with psycopg.connect(url) as connection:

        def upsert() -> None:
            for start in range(0, len(rows), BATCH):
                connection.cursor().executemany(statement, rows[start : start + BATCH])
                connection.commit()

        seconds = _seconds(upsert)
        keys = [row[0] for row in rows]
        connection.execute("DELETE FROM file_meta WHERE sha1hex = ANY(%s)", [keys])
    return len(rows) / seconds


def hbase(url: str, table: str) -> float:
    """happybase: the same rows by its batches."""
    import happybase

    place, rows = urlsplit(url), wide_rows(2_000)
    connection = happybase.Connection(place.hostname, place.port)

    def write() -> None:
        with connection.table(table).batch(batch_size=BATCH) as batch:
            for key, cells in rows:
                batch.put(key, {name.encode(): value for name, value in cells.items()})

    seconds = _seconds(write)
    connection.close()
    return len(rows) / seconds


def s3(url: str, data: bytes, count: int) -> float:
    """Obstore's S3Store, one put after the other."""
    import obstore
    from obstore.store import S3Store

    place = urlsplit(url)
    store = S3Store(
        place.path.strip("/").split("/")[0],
        endpoint=f"http://{place.hostname}:{place.port}",
        access_key_id=place.username,
        secret_access_key=place.password,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    keys = [f"bare/{secrets.token_hex(8)}" for _ in range(count)]
    seconds = _seconds(lambda: [obstore.put(store, key, data) for key in keys])
    obstore.delete(store, keys)
    return count / seconds


def _actions(index: str, found: Sequence[IndexDocument]) -> list[dict[str, Any]]:
    return [{"_index": index, "_id": one.id, "_source": asdict(one)} for one in found]


def elasticsearch(url: str, found: Sequence[IndexDocument]) -> float:
    """elasticsearch-py's bulk helper into an index without a mapping of ours."""
    from elasticsearch import Elasticsearch, helpers

    index, place = f"bare-{secrets.token_hex(5)}", urlsplit(url)
    client = Elasticsearch(f"http://{place.hostname}:{place.port}")
    actions = _actions(index, found)
    seconds = _seconds(lambda: helpers.bulk(client, actions, chunk_size=BATCH))
    client.indices.delete(index=index)
    client.close()
    return len(found) / seconds


def opensearch(url: str, found: Sequence[IndexDocument]) -> float:
    """opensearch-py's bulk helper into an index without a mapping of ours."""
    from opensearchpy import OpenSearch, helpers

    index, place = f"bare-{secrets.token_hex(5)}", urlsplit(url)
    client = OpenSearch(f"http://{place.hostname}:{place.port}")
    actions = _actions(index, found)
    seconds = _seconds(lambda: helpers.bulk(client, actions, chunk_size=BATCH))
    client.indices.delete(index=index)
    client.close()
    return len(found) / seconds


PEERS = {
    "amqp": Peer("TEST_RABBITMQ_URL", rabbitmq),
    "kafka": Peer("TEST_KAFKA_URL", kafka),
    "postgresql": Peer("TEST_POSTGRESQL_URL", postgresql),
    "hbase": Peer("TEST_HBASE_URL", hbase),
    "s3": Peer("TEST_S3_URL", s3),
    "elasticsearch": Peer("TEST_ELASTICSEARCH_URL", elasticsearch),
    "opensearch": Peer("TEST_OPENSEARCH_URL", opensearch),
}
